package ucp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/strabo-engine/strabo/internal/memorynet"
)

type doc = map[string]any

// shop behaves like one of the two public sample shops on the wire, as far as an outbound bridge sees them.
type shop struct {
	python bool
	bare   bool // has checkouts and no extension of them
	server *httptest.Server

	mu        sync.Mutex
	checkouts map[string]doc
	replies   map[string]storedReply // by idempotency key
	orders    int
	made      int
	got       []asked
	// inject takes the place of the shop for a request, or gives nil.
	inject func(a asked) http.HandlerFunc
	// lose closes the connection after the request has had its effect.
	lose func(a asked) bool
}

type storedReply struct {
	hash   [32]byte
	status int
	body   []byte
}

type asked struct {
	line   string // METHOD operation
	header http.Header
	body   []byte
}

var prices = map[string]int{"bouquet_roses": 3500, "pot_ceramic": 1500, "gardenias": 2000}

func newShop(t *testing.T, python bool) *shop {
	s := &shop{python: python, checkouts: make(map[string]doc), replies: make(map[string]storedReply)}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// newShopInMemory opens a shop for a bubble of synctest, which the client of its server reaches.
func newShopInMemory(t *testing.T, python bool) *shop {
	s := &shop{python: python, checkouts: make(map[string]doc), replies: make(map[string]storedReply)}
	listener := memorynet.Listen()
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s}}
	s.server.Start()
	s.server.Client().Transport = &http.Transport{DialContext: listener.Dial}
	t.Cleanup(s.server.Close)
	return s
}

func (s *shop) discovery() doc {
	handlers := []any{doc{"id": "google_pay", "name": "google.pay", "version": "1.0", "config": doc{}}}
	services := doc{"dev.ucp.shopping": doc{"version": "2026-01-11", "rest": doc{"endpoint": s.server.URL}}}
	if s.python {
		services = doc{"dev.ucp.shopping": doc{
			"version": "2026-01-11", "rest": doc{"endpoint": s.server.URL + "/", "schema": nil}, "mcp": nil,
		}}
	}
	capabilities := []any{doc{"name": "dev.ucp.shopping.checkout", "version": "2026-01-11", "extends": nil}}
	if !s.bare {
		capabilities = append(capabilities, doc{
			"name": "dev.ucp.shopping.fulfillment", "version": "2026-01-11", "extends": "dev.ucp.shopping.checkout",
		})
	}
	return doc{
		"ucp": doc{
			"version": "2026-01-11", "services": services,
			"capabilities": capabilities,
		},
		"payment": doc{"handlers": handlers},
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/ucp" {
		write(w, http.StatusOK, s.discovery())
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	id, operation, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/checkout-sessions"), "/"), "/")
	a := asked{strings.TrimSpace(r.Method + " " + operation), r.Header, body}
	s.mu.Lock()
	s.got = append(s.got, a)
	inject, lose := s.inject, s.lose
	s.mu.Unlock()
	if inject != nil {
		if handler := inject(a); handler != nil {
			handler(w, r)
			return
		}
	}
	status, answer := s.serve(r, a, id)
	if lose != nil && lose(a) {
		panic(http.ErrAbortHandler)
	}
	if text, ok := answer.(string); ok {
		http.Error(w, text, status)
		return
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// fault is a refusal in the words of the flavour.
func (s *shop) fault(status int, code, format string, arguments ...any) (int, any) {
	detail := doc{"detail": fmt.Sprintf(format, arguments...)}
	if s.python {
		detail["code"] = code
	}
	return status, detail
}

func (s *shop) serve(r *http.Request, a asked, id string) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"UCP-Agent", "Request-Signature", "Request-Id", "Idempotency-Key"} {
		if s.python && r.Header.Get(name) == "" && (name != "Idempotency-Key" || r.Method != http.MethodGet) {
			return 422, doc{"detail": []any{doc{"type": "missing", "loc": []any{"header", name}}}}
		}
	}
	if r.Method == http.MethodGet {
		if c, ok := s.checkouts[id]; ok {
			return 200, clone(c)
		}
		return s.fault(404, "RESOURCE_NOT_FOUND", "Checkout session not found")
	}
	key, hash := r.Header.Get("Idempotency-Key"), sha256.Sum256(a.body)
	if stored, ok := s.replies[key]; ok {
		if stored.hash != hash {
			return s.fault(409, "IDEMPOTENCY_CONFLICT", "Idempotency key reused with different parameters")
		}
		return stored.status, json.RawMessage(stored.body)
	}
	status, answer := s.change(a, id)
	if status < 300 {
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		s.replies[key] = storedReply{hash, status, text}
		return status, json.RawMessage(text)
	}
	return status, answer
}

func (s *shop) change(a asked, id string) (int, any) {
	var body doc
	if len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &body); err != nil {
			return 400, "Malformed JSON in request body"
		}
	}
	c, known := s.checkouts[id]
	if !known && a.line != "POST" {
		return s.fault(404, "RESOURCE_NOT_FOUND", "Checkout session not found")
	}
	if known && (c["status"] == "completed" || c["status"] == "canceled") {
		verb := map[string]string{"PUT": "update", "POST complete": "complete", "POST cancel": "cancel"}[a.line]
		return s.fault(409, "CHECKOUT_NOT_MODIFIABLE", "Cannot %s checkout in state '%s'", verb, c["status"])
	}
	switch a.line {
	case "POST":
		s.made++
		c = doc{"id": fmt.Sprintf("chk_%d", s.made), "status": "incomplete", "links": []any{}, "ucp": doc{"version": "2022-01-01"}}
		if s.python {
			c["status"], c["messages"], c["order"], c["continue_url"] = "ready_for_complete", nil, nil, nil
		}
		if status, answer := s.merge(c, body, false); status != 0 {
			return status, answer
		}
		s.checkouts[c["id"].(string)] = c
		return 201, clone(c)
	case "PUT":
		if status, answer := s.merge(c, body, true); status != 0 {
			return status, answer
		}
		return 200, clone(c)
	case "POST cancel":
		c["status"] = "canceled"
		return 200, clone(c)
	case "POST complete":
		return s.complete(c, body)
	}
	return 405, "no"
}

// merge takes in what a create or an update says.
func (s *shop) merge(c, body doc, update bool) (int, any) {
	for _, name := range []string{"currency", "line_items", "payment"} {
		if body[name] == nil {
			return 422, "Invalid input at " + name
		}
	}
	if buyer, ok := body["buyer"]; ok && buyer == nil && !s.python {
		return 422, "Invalid input at buyer"
	}
	lines, subtotal := []any{}, 0
	for i, l := range body["line_items"].([]any) {
		item := l.(doc)["item"].(doc)
		if s.python && item["title"] == nil {
			return 500, "Internal Server Error"
		}
		price, ok := prices[item["id"].(string)]
		if !ok {
			return s.fault(400, "INVALID_REQUEST", "Product %s not found", item["id"])
		}
		if item["id"] == "gardenias" {
			return s.fault(400, "OUT_OF_STOCK", "Insufficient stock for item %s", item["id"])
		}
		quantity := int(l.(doc)["quantity"].(float64))
		subtotal += price * quantity
		lines = append(lines, doc{
			"id": fmt.Sprintf("line_%d", i+1), "quantity": quantity, "totals": []any{},
			"item": doc{"id": item["id"], "title": "Title of the shop", "price": price},
		})
	}
	c["line_items"], c["currency"] = lines, body["currency"]
	if buyer := body["buyer"]; buyer != nil {
		c["buyer"] = buyer
	}
	if f, ok := body["fulfillment"].(doc); ok {
		c["fulfillment"] = s.fulfil(c, f, update)
	}
	s.total(c, subtotal)
	return 0, nil
}

func (s *shop) fulfil(c, f doc, update bool) any {
	methods := []any{}
	for i, m := range f["methods"].([]any) {
		m := m.(doc)
		method := doc{
			"id": fmt.Sprintf("method_%d", i), "type": m["type"], "line_item_ids": []any{"line_1"},
			"destinations": s.destinations(c, m, update), "selected_destination_id": m["selected_destination_id"],
		}
		if s.python {
			method["groups"] = nil
		}
		if m["selected_destination_id"] != nil {
			group := doc{"id": "group_1", "options": s.options()}
			if groups, ok := m["groups"].([]any); ok {
				group["selected_option_id"] = groups[0].(doc)["selected_option_id"]
			}
			method["groups"] = []any{group}
		}
		methods = append(methods, method)
	}
	return doc{"methods": methods}
}

func (s *shop) destinations(c, m doc, update bool) any {
	if given, ok := m["destinations"].([]any); ok {
		listed := []any{}
		for i, d := range given {
			d := clone(d.(doc))
			if d["id"] == nil {
				d["id"] = fmt.Sprintf("new_%d", i)
			}
			listed = append(listed, d)
		}
		return listed
	}
	if before, ok := c["fulfillment"].(doc); ok && m["selected_destination_id"] != nil {
		return before["methods"].([]any)[0].(doc)["destinations"]
	}
	if !s.python {
		return []any{doc{"id": "dest_1", "address_country": "US", "address": doc{
			"street_address": "1600 Amphitheatre Pkwy", "address_locality": "Mountain View", "address_country": "US",
		}}}
	}
	buyer, _ := c["buyer"].(doc)
	if !update || buyer["email"] != "john.doe@example.com" {
		return nil
	}
	return []any{doc{
		"id": "addr_1", "street_address": "123 Main St", "address_locality": nil, "city": "Springfield", "region": "IL",
		"address_country": "US", "postal_code": "62704",
	}}
}

func (s *shop) options() []any {
	price := func(id, title string, amount int) doc {
		if s.python {
			return doc{"id": id, "title": title, "totals": []any{doc{"type": "subtotal", "amount": amount}, doc{"type": "total", "amount": amount}}}
		}
		return doc{"id": id, "title": title, "total": amount, "subtotal": amount, "tax": 0}
	}
	return []any{price("exp-ship-us", "Express Shipping (US)", 1500), price("std-ship", "Standard Shipping", 500)}
}

func (s *shop) total(c doc, subtotal int) {
	totals, sum := []any{doc{"type": "subtotal", "amount": subtotal}}, subtotal
	if f, ok := c["fulfillment"].(doc); ok {
		for _, m := range f["methods"].([]any) {
			groups, _ := m.(doc)["groups"].([]any)
			for _, g := range groups {
				for _, o := range s.options() {
					if o.(doc)["id"] == g.(doc)["selected_option_id"] {
						amount := map[any]int{"exp-ship-us": 1500, "std-ship": 500}[o.(doc)["id"]]
						totals, sum = append(totals, doc{"type": "fulfillment", "amount": amount}), sum+amount
					}
				}
			}
		}
	}
	c["totals"] = append(totals, doc{"type": "total", "amount": sum})
}

func (s *shop) complete(c, body doc) (int, any) {
	payment, ok := body["payment_data"].(doc)
	if !ok {
		return 422, "Invalid input at payment_data"
	}
	if s.python && body["risk_signals"] == nil {
		return 422, doc{"detail": []any{doc{"loc": []any{"body", "risk_signals"}, "msg": "Field required"}}}
	}
	credential, _ := payment["credential"].(doc)
	if payment["handler_id"] == "mock_payment_handler" {
		switch token := credential["token"]; token {
		case "success_token":
		case "fail_token":
			return s.fault(402, "INSUFFICIENT_FUNDS", "Payment Failed: Insufficient Funds (Mock)")
		case "fraud_token":
			return s.fault(403, "FRAUD_DETECTED", "Payment Failed: Fraud Detected (Mock)")
		default:
			return s.fault(402, "UNKNOWN_TOKEN", "Unknown mock token: %s", token)
		}
	} else if payment["handler_id"] != "google_pay" {
		return s.fault(400, "INVALID_REQUEST", "Unsupported payment handler: %s", payment["handler_id"])
	}
	s.orders++
	order := fmt.Sprintf("ord_%d", s.orders)
	c["status"] = "completed"
	if s.python {
		c["order"] = doc{"id": order, "permalink_url": "http://shop.example/orders/" + order}
	} else {
		c["order_id"], c["order_permalink_url"] = order, "http://shop.example/orders/"+order
	}
	return 200, clone(c)
}

func clone(c doc) doc {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	var copied doc
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&copied); err != nil {
		panic(err)
	}
	return copied
}

func (s *shop) requests() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]asked(nil), s.got...)
}

func (s *shop) lines() []string {
	var lines []string
	for _, a := range s.requests() {
		lines = append(lines, a.line)
	}
	return lines
}

// of lists the requests of one kind.
func (s *shop) of(line string) []asked {
	var found []asked
	for _, a := range s.requests() {
		if a.line == line {
			found = append(found, a)
		}
	}
	return found
}

func (s *shop) set(change func(s *shop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// checkout changes the state of the one checkout.
func (s *shop) checkout(change func(c doc)) {
	s.set(func(s *shop) { change(s.checkouts["chk_1"]) })
}
