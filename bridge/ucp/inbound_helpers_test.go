package ucp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// stall is a Business for tests: it sells pens at 100 and inks at 250 and ships for 50, and can be held up before it
// answers.
type stall struct {
	// pens is how many pens there are for a checkout; more are refused.
	pens atomic.Int64
	// price is what a pen costs, and more what else there is costs; it is set before anybody buys.
	price atomic.Int64
	more  map[string]int64
	// numbered numbers the orders, and orders counts those that happened.
	numbered atomic.Int64
	orders   atomic.Int64
	// refuse, if set, gives the reason for which everything is refused.
	refuse func() any
	// hold, if set, is called before each answer with the action of the Platform that is being answered.
	hold func(ctx context.Context, action string)
}

type stallLine struct {
	ID   string `json:"id"`
	Item struct {
		ID string `json:"id"`
	} `json:"item"`
	Quantity int64 `json:"quantity"`
}

type stallFulfillment struct {
	Methods []struct {
		Selected string `json:"selected_destination_id"`
		Groups   []struct {
			Option string `json:"selected_option_id"`
		} `json:"groups"`
	} `json:"methods"`
}

func (f stallFulfillment) option() string {
	for _, m := range f.Methods {
		for _, g := range m.Groups {
			if g.Option != "" {
				return g.Option
			}
		}
	}
	return ""
}

func (s *stall) prices() map[string]int64 {
	prices := map[string]int64{"pen": s.price.Load(), "ink": 250}
	maps.Copy(prices, s.more)
	return prices
}

// quote prices a wish.
func (s *stall) quote(lines []stallLine, shipping bool) ([]ucp.Total, error) {
	var sum int64
	for _, l := range lines {
		price, ok := s.prices()[l.Item.ID]
		switch {
		case !ok:
			return nil, fmt.Errorf("product %s not found", l.Item.ID)
		case l.Item.ID == "pen" && l.Quantity > s.pens.Load():
			return nil, errors.New("insufficient stock")
		}
		sum += price * l.Quantity
	}
	totals := []ucp.Total{{Type: "subtotal", Amount: sum}}
	if shipping {
		totals = append(totals, ucp.Total{Type: "fulfillment", Amount: 50})
		sum += 50
	}
	return append(totals, ucp.Total{Type: "total", Amount: sum}), nil
}

func (s *stall) agent(t *testing.T, rules *enactment.Rules, exec adapter.Executor) *adapter.Adapter {
	t.Helper()
	agent, err := adapter.New(rules, "Business", exec)
	require.NoError(t, err)
	value := func(e adapter.Enactment, action, attribute string, into any) error {
		for i := range e.Instances() {
			if v, ok := i.Value(attribute); ok && i.Action == action {
				return v.Decode(into)
			}
		}
		return nil
	}
	answer := func(ctx context.Context, f *adapter.FeasibleAction, action string, values adapter.Values) error {
		var cid string
		_ = f.Known["cid"].Decode(&cid)
		values["cid"] = cid
		if err := agent.Attempt(ctx, action, values).Err(ctx); !errors.Is(err, enactment.Excluded) {
			return err
		}
		return nil
	}
	held := func(ctx context.Context, action string) {
		if s.hold != nil {
			s.hold(ctx, action)
		}
	}
	agent.OnEnabled("Created", func(ctx context.Context, f *adapter.FeasibleAction) error {
		held(ctx, "Create")
		if s.refuse != nil {
			return answer(ctx, f, "Refused", adapter.Values{"reason": s.refuse()})
		}
		var lines []stallLine
		var fulfillment stallFulfillment
		err := errors.Join(value(f.Enactment, "Create", "line_items", &lines), value(f.Enactment, "Create", "fulfillment", &fulfillment))
		var totals []ucp.Total
		if err == nil {
			totals, err = s.quote(lines, fulfillment.option() != "")
		}
		if err != nil {
			return answer(ctx, f, "Refused", adapter.Values{"reason": map[string]string{
				"code": "out_of_stock", "content": err.Error(), "path": "$.line_items[0]",
			}})
		}
		return answer(ctx, f, "Created", adapter.Values{"id": "stall-" + f.Enactment.String(), "currency": "EUR", "totals": totals})
	})
	agent.OnEnabled("Completed", func(ctx context.Context, f *adapter.FeasibleAction) error {
		held(ctx, "Complete")
		var payment struct {
			Credential struct{ Token string }
		}
		if err := value(f.Enactment, "Complete", "payment", &payment); err != nil || payment.Credential.Token != goodToken {
			return answer(ctx, f, "Declined", adapter.Values{"decline": "no money in it"})
		}
		return answer(ctx, f, "Completed", adapter.Values{"order": map[string]string{
			"id": "order-" + strconv.FormatInt(s.numbered.Add(1), 10), "permalink_url": "https://stall.example/o",
		}})
	})
	agent.OnEnabled("Cancelled", func(ctx context.Context, f *adapter.FeasibleAction) error {
		held(ctx, "Cancel")
		return answer(ctx, f, "Cancelled", adapter.Values{})
	})
	return agent
}

// Present shows the stall's goods.
func (s *stall) Present(_ context.Context, contents ucp.Contents) (ucp.Presentation, error) {
	var lines []stallLine
	var fulfillment stallFulfillment
	if err := errors.Join(contents.LineItems.Decode(&lines), contents.Fulfillment.Decode(&fulfillment)); err != nil {
		return ucp.Presentation{}, err
	}
	var p ucp.Presentation
	for _, l := range lines {
		amount := s.prices()[l.Item.ID] * l.Quantity
		p.LineItems = append(p.LineItems, ucp.PresentedItem{
			ID: l.ID, Quantity: l.Quantity, Item: ucp.PresentedGood{ID: l.Item.ID, Title: "A " + l.Item.ID, Price: s.prices()[l.Item.ID]},
			Totals: []ucp.Total{{Type: "subtotal", Amount: amount}, {Type: "total", Amount: amount}},
		})
	}
	if len(fulfillment.Methods) > 0 {
		var ids []string
		for _, l := range lines {
			ids = append(ids, l.ID)
		}
		method := map[string]any{"id": "m", "type": "shipping", "line_item_ids": ids}
		if selected := fulfillment.Methods[0].Selected; selected != "" {
			method["selected_destination_id"] = selected
			method["destinations"] = []any{map[string]string{"id": selected, "address_country": "GR"}}
		}
		if option := fulfillment.option(); option != "" {
			method["groups"] = []any{map[string]any{
				"id": "g", "line_item_ids": ids, "selected_option_id": option,
				"options": []any{map[string]any{"id": option, "title": "By mule", "totals": []ucp.Total{{Type: "total", Amount: 50}}}},
			}}
		}
		p.Fulfillment = map[string]any{"methods": []any{method}}
	}
	if fulfillment.option() == "" {
		p.Messages = []ucp.Message{{
			Type: "error", Code: "missing", Path: "$.fulfillment", Severity: "recoverable",
			Content: "Fulfillment address and option must be selected before completion.",
		}}
	}
	return p, nil
}

const (
	goodToken = "token-that-pays-4711"
	badToken  = "token-that-does-not-4711"
)

// system is a stall behind an inbound bridge.
type system struct {
	stall   *stall
	rules   *enactment.Rules
	local   *syncserver.Local
	inbound *ucp.Inbound
	logged  *lines
	records *lines
	options ucp.InboundOptions

	stopBridge, stop func()
}

// startBridge makes a bridge and runs it.
func (s *system) startBridge(t *testing.T) {
	t.Helper()
	var err error
	s.inbound, err = ucp.NewInbound(s.rules, s.local, s.options)
	require.NoError(t, err)
	s.stopBridge = start(t, s.inbound.Run)
}

// lines collects what is written, line by line.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newSystem starts a system; it ends with the test, or with stop.
func newSystem(t *testing.T, configure func(*stall, *ucp.InboundOptions), options ...syncserver.Option) *system {
	t.Helper()
	rules, err := protocols.Load("simple-ucp")
	require.NoError(t, err)
	return newSystemOf(t, rules, configure, options...)
}

// newSystemOf starts a system of a protocol.
func newSystemOf(
	t *testing.T, rules *enactment.Rules, configure func(*stall, *ucp.InboundOptions), options ...syncserver.Option,
) *system {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	s := &system{stall: new(stall), rules: rules, logged: new(lines), records: new(lines)}
	s.stall.pens.Store(10)
	s.stall.price.Store(100)
	record := syncserver.WithRecorder(func(r enactment.Record) {
		if r.Kind == enactment.Happened && r.Action == "Completed" {
			s.stall.orders.Add(1)
		}
		text, err := json.Marshal(r)
		if err == nil {
			_, err = s.records.Write(append(text, '\n'))
		}
		if err != nil {
			panic(err)
		}
	})
	s.local = syncserver.NewLocal(rules, append(options, record)...)
	inboundOptions := ucp.InboundOptions{
		Storefront: s.stall, Logger: slog.New(slog.NewTextHandler(s.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		PaymentHandlers: []ucp.PaymentHandler{{
			ID: "purse", Name: "example.stall.purse", Version: "2026-01-11", Spec: "https://stall.example/purse",
			ConfigSchema: "https://stall.example/purse.json", InstrumentSchemas: []string{"https://stall.example/i.json"},
			Config: map[string]any{},
		}},
		Links: []ucp.Link{{Type: "terms_of_service", URL: "https://stall.example/terms"}},
	}
	if configure != nil {
		configure(s.stall, &inboundOptions)
	}
	s.options = inboundOptions
	s.startBridge(t)
	stopStall := start(t, s.stall.agent(t, rules, s.local).Run)
	s.stop = sync.OnceFunc(func() { s.stopBridge(); stopStall(); s.local.Close() })
	t.Cleanup(s.stop)
	return s
}

// start runs something until it is stopped, or the test ends, and waits for its end.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// response is an answer of the bridge.
type response struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

func (r response) id() string     { id, _ := r.body["id"].(string); return id }
func (r response) detail() string { detail, _ := r.body["detail"].(string); return detail }
func (r response) code() string   { code, _ := r.body["code"].(string); return code }
func (r response) state() string  { status, _ := r.body["status"].(string); return status }

func (r response) total(kind string) any {
	totals, _ := r.body["totals"].([]any)
	for _, entry := range totals {
		if total, ok := entry.(map[string]any); ok && total["type"] == kind {
			return total["amount"]
		}
	}
	return nil
}

// ask makes a request; headers come in pairs.
func (s *system) ask(method, path, body string, headers ...string) response {
	return askIn(context.Background(), s.inbound, method, path, body, headers...)
}

func askIn(ctx context.Context, handler http.Handler, method, path, body string, headers ...string) response {
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	request := httptest.NewRequestWithContext(ctx, method, path, reader)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	r := response{status: recorder.Code, header: recorder.Header(), raw: recorder.Body.String()}
	_ = json.Unmarshal(recorder.Body.Bytes(), &r.body) // What is not an object is looked at as raw.
	return r
}

// The bodies that the tests send.
const (
	onePen  = `{"currency": "EUR", "payment": {}, "line_items": [{"item": {"id": "pen", "title": "Pen"}, "quantity": 1}], "buyer": {"email": "ada@example.org"}`
	shipped = `"fulfillment": {"methods": [{"type": "shipping", "destinations": [{"id": "home", "address_country": "GR"}], "selected_destination_id": "home", "groups": [{"selected_option_id": "mule"}]}]}`
)

func paying(token string) string {
	return `{"payment_data": {"id": "i1", "handler_id": "purse", "type": "card", "brand": "x", "last_digits": "0000",
	  "credential": {"type": "token", "token": "` + token + `"}}, "risk_signals": {}}`
}

// ready creates a checkout that can be paid.
func (s *system) ready(t *testing.T) string {
	t.Helper()
	created := s.ask("POST", "/checkout-sessions", onePen+","+shipped+"}")
	require.Equal(t, 201, created.status, created.raw)
	require.Equal(t, "ready_for_complete", created.state())
	return created.id()
}

// schemas are the public schemas of the version that the bridge speaks.
var schemas = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	root := os.Getenv("STRABO_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	root = filepath.Join(root, "ucp", "v2026-01-11")
	if _, err := os.Stat(root); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(schemaLoader(root))
	return compiler, nil
})

// schemaLoader finds a schema by its URL; some of the public ones refer to others by way of schemas/schemas.
type schemaLoader string

func (root schemaLoader) Load(url string) (any, error) {
	name := strings.Replace(strings.TrimPrefix(url, "https://ucp.dev/"), "schemas/schemas/", "schemas/", 1)
	name = strings.Replace(name, "schemas/discovery/profile.json", "discovery/profile_schema.json", 1)
	file, err := os.Open(filepath.Join(string(root), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(file)
}

// requireSchema holds a body against a public schema. Where the corpus is absent it holds nothing, and
// TestSchemasAreThere says so.
func requireSchema(t *testing.T, schema, body string) {
	t.Helper()
	compiler, err := schemas()
	if err != nil {
		return
	}
	compiled, err := compiler.Compile("https://ucp.dev/" + schema)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(value), body)
}

const (
	checkoutSchema = "schemas/shopping/fulfillment.json#/$defs/checkout"
	orderSchema    = "schemas/shopping/order.json"
	profileSchema  = "schemas/discovery/profile.json"
)

func TestSchemasAreThere(t *testing.T) {
	if _, err := schemas(); err != nil {
		t.Skip("answers are not held against the public schemas: ", err)
	}
}
