package ucp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// aprilShop is a shop of UCP 2026-04-08 over HTTP. It keeps one checkout, recognises idempotency keys, and says what it is
// told to say.
type aprilShop struct {
	server *httptest.Server

	mu       sync.Mutex
	checkout doc // nil before it was created
	got      []aprilRequest
	answers  map[string]aprilAnswer // by key
	expires  time.Time
	orders   int
	// state says what the shop makes of the checkout after it was created, changed or declined: its status and messages.
	state func(checkout doc)
	// pay says what the shop makes of a payment. It sets the status and messages; what it gives is sent instead of the
	// checkout if it is not nil.
	pay func(checkout doc) doc
	// script is what is answered to the next requests of a kind instead, one each.
	script map[string][]http.HandlerFunc
	// seal may add to the header of an answer, which has its Content-Type, and gives the body that is sent.
	seal func(line string, status int, header http.Header, body []byte) []byte
	// after is called once a request was executed, before it is answered; it may panic with http.ErrAbortHandler.
	after func(line string)
}

type aprilRequest struct{ line, key, agent, body string }

type aprilAnswer struct {
	status int
	body   []byte
}

func newAprilShop(t *testing.T) *aprilShop {
	s := &aprilShop{
		answers: make(map[string]aprilAnswer), script: make(map[string][]http.HandlerFunc), expires: time.Now().Add(time.Hour),
		state: needsEmail,
		pay: func(checkout doc) doc {
			checkout["status"], checkout["messages"] = "completed", []any{}
			return nil
		},
	}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// needsEmail is the state of a checkout that lacks a buyer, and else may be paid.
func needsEmail(checkout doc) {
	buyer, _ := checkout["buyer"].(map[string]any)
	if buyer["email"] == nil {
		checkout["status"] = "incomplete"
		checkout["messages"] = []any{problem("missing", "$.buyer.email", "recoverable", "An email is needed.")}
		return
	}
	checkout["status"], checkout["messages"] = "ready_for_complete", []any{}
}

func problem(code, path, severity, content string) doc {
	return doc{"type": "error", "code": code, "path": path, "severity": severity, "content": content}
}

// ServeHTTP answers as UCP 2026-04-08, checkout REST binding, has it.
func (s *aprilShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/checkout-sessions")
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.got = append(s.got, aprilRequest{line, key, r.Header.Get("UCP-Agent"), string(body)})
	if scripted := s.script[line]; len(scripted) > 0 {
		s.script[line] = scripted[1:]
		s.mu.Unlock()
		scripted[0](w, r)
		return
	}
	answer, known := s.answers[key]
	if !known || key == "" {
		answer = s.execute(line, body)
		if key != "" {
			s.answers[key] = answer
		}
	}
	after, seal := s.after, s.seal
	s.mu.Unlock()
	if after != nil {
		after(line)
	}
	w.Header().Set("Content-Type", "application/json")
	text := answer.body
	if seal != nil {
		text = seal(line, answer.status, w.Header(), text)
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(text)
}

func (s *aprilShop) execute(line string, body []byte) aprilAnswer {
	var asked doc
	if len(body) > 0 && json.Unmarshal(body, &asked) != nil {
		return aprilAnswer{http.StatusBadRequest, []byte(`{"code":"invalid","content":"not JSON"}`)}
	}
	switch line {
	case "POST ":
		s.checkout = doc{"id": "chk_1", "currency": "USD", "links": []any{}, "continue_url": "https://shop.example/c/chk_1"}
		return s.change(http.StatusCreated, asked)
	case "PUT /chk_1":
		if status := s.checkout["status"]; status == "completed" || status == "canceled" || status == "complete_in_progress" {
			return s.refusal("not_modifiable", "The checkout is "+status.(string)+".")
		}
		return s.change(http.StatusOK, asked)
	case "GET /chk_1":
	case "POST /chk_1/complete":
		if s.checkout["status"] != "ready_for_complete" {
			return s.refusal("not_ready", "The checkout is "+s.checkout["status"].(string)+".")
		}
		if instead := s.pay(s.checkout); instead != nil {
			return encoded(http.StatusOK, instead)
		}
		s.place()
	case "POST /chk_1/cancel":
		if s.checkout["status"] != "completed" && s.checkout["status"] != "complete_in_progress" {
			s.checkout["status"] = "canceled"
		}
	default:
		return aprilAnswer{http.StatusNotFound, []byte(`{"code":"not_found","content":"no such place"}`)}
	}
	if s.checkout == nil {
		return s.refusal("not_found", "There is no such checkout.")
	}
	return encoded(http.StatusOK, s.checkout)
}

// place gives a completed checkout its order.
func (s *aprilShop) place() {
	if s.checkout["status"] == "completed" && s.checkout["order"] == nil {
		s.orders++
		s.checkout["order"] = doc{"id": fmt.Sprintf("ord_%d", s.orders), "permalink_url": "https://shop.example/o/1"}
	}
}

// change is an update: it replaces everything.
func (s *aprilShop) change(status int, asked doc) aprilAnswer {
	amount := 0
	var lines []any
	for i, element := range asked["line_items"].([]any) {
		line := element.(map[string]any)
		quantity := int(line["quantity"].(float64))
		amount += 1000 * quantity
		lines = append(lines, doc{
			"id": fmt.Sprintf("li_%d", i), "item": doc{"id": line["item"].(map[string]any)["id"], "title": "Thing", "price": 1000},
			"quantity": quantity, "totals": []any{},
		})
	}
	s.checkout["line_items"] = lines
	s.checkout["totals"] = []any{doc{"type": "subtotal", "amount": amount}, doc{"type": "total", "amount": amount}}
	for _, name := range []string{"buyer", "fulfillment", "discounts", "context"} {
		delete(s.checkout, name)
		if asked[name] != nil {
			s.checkout[name] = asked[name]
		}
	}
	s.state(s.checkout)
	return encoded(status, s.checkout)
}

// refusal is a business outcome without a resource.
func (s *aprilShop) refusal(code, content string) aprilAnswer {
	return encoded(http.StatusOK, doc{
		"ucp": doc{"version": "2026-04-08", "status": "error"}, "messages": []any{problem(code, "$", "recoverable", content)},
	})
}

func encoded(status int, body doc) aprilAnswer {
	out := maps.Clone(body)
	if out["ucp"] == nil {
		out["ucp"] = doc{"version": "2026-04-08", "status": "success", "capabilities": doc{}, "payment_handlers": doc{}}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return aprilAnswer{status, text}
}

// at changes the checkout, as somebody at the shop does.
func (s *aprilShop) at(change func(checkout doc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.checkout)
	s.place()
}

// lines lists the requests.
func (s *aprilShop) lines() []string {
	var lines []string
	for _, r := range s.requests() {
		lines = append(lines, r.line)
	}
	return lines
}

func (s *aprilShop) requests() []aprilRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// count tells how many requests of a kind there were.
func (s *aprilShop) count(line string) (n int) {
	for _, l := range s.lines() {
		if l == line {
			n++
		}
	}
	return n
}

func (s *aprilShop) placed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders
}
