package ucp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

func TestInboundLifeOfACheckout(t *testing.T) {
	s := newSystem(t, nil)

	created := s.ask("POST", "/checkout-sessions", onePen+"}", "UCP-Agent", `profile="https://agent.example/p"`)
	require.Equal(t, http.StatusCreated, created.status, created.raw)
	requireSchema(t, checkoutSchema, created.raw)
	require.Equal(t, "incomplete", created.state())
	require.Equal(t, "EUR", created.body["currency"])
	require.EqualValues(t, 100, created.total("total"))
	require.Equal(t, map[string]any{"email": "ada@example.org"}, created.body["buyer"])
	path := "/checkout-sessions/" + created.id()

	got := s.ask("GET", path, "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, created.raw, got.raw)

	early := s.ask("POST", path+"/complete", paying(goodToken))
	require.Equal(t, http.StatusBadRequest, early.status, early.raw)
	require.Equal(t, "Fulfillment address and option must be selected before completion.", early.detail())

	// The buyer and the line items are omitted, and kept.
	updated := s.ask("PUT", path, `{"id": "`+created.id()+`", `+shipped+`}`)
	require.Equal(t, http.StatusOK, updated.status, updated.raw)
	requireSchema(t, checkoutSchema, updated.raw)
	require.Equal(t, created.id(), updated.id())
	require.Equal(t, "ready_for_complete", updated.state())
	require.EqualValues(t, 150, updated.total("total"))
	require.Equal(t, created.body["buyer"], updated.body["buyer"])

	// Nothing changes, and nothing happens.
	before := s.records.String()
	same := s.ask("PUT", path, updated.raw)
	require.Equal(t, http.StatusOK, same.status, same.raw)
	require.Equal(t, updated.raw, same.raw)
	require.Equal(t, before, s.records.String())

	completed := s.ask("POST", path+"/complete", paying(goodToken))
	require.Equal(t, http.StatusOK, completed.status, completed.raw)
	requireSchema(t, checkoutSchema, completed.raw)
	require.Equal(t, "completed", completed.state())
	require.EqualValues(t, 1, s.stall.orders.Load())
	require.Equal(t, completed.raw, s.ask("GET", path, "").raw)

	order, ok := completed.body["order"].(map[string]any)
	require.True(t, ok)
	shown := s.ask("GET", "/orders/"+order["id"].(string), "")
	require.Equal(t, http.StatusOK, shown.status, shown.raw)
	requireSchema(t, orderSchema, shown.raw)
	require.Equal(t, created.id(), shown.body["checkout_id"])
	require.JSONEq(t, `{"events": [], "expectations": [{
	  "id": "expected_m", "line_items": [{"id": "li_1", "quantity": 1}], "method_type": "shipping",
	  "destination": {"id": "home", "address_country": "GR"}, "description": "By mule"
	}]}`, jsonOf(t, shown.body["fulfillment"]))

	for _, late := range []response{
		s.ask("POST", path+"/complete", paying(goodToken)),
		s.ask("POST", path+"/cancel", ""),
		s.ask("PUT", path, onePen+"}"),
	} {
		require.Equal(t, http.StatusConflict, late.status, late.raw)
		require.Equal(t, "CHECKOUT_NOT_MODIFIABLE", late.code())
	}
	require.EqualValues(t, 1, s.stall.orders.Load())
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func TestInboundCancel(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	canceled := s.ask("POST", path+"/cancel", "")
	require.Equal(t, http.StatusOK, canceled.status, canceled.raw)
	requireSchema(t, checkoutSchema, canceled.raw)
	require.Equal(t, "canceled", canceled.state())
	require.Equal(t, canceled.raw, s.ask("GET", path, "").raw)
	for _, late := range []response{
		s.ask("POST", path+"/complete", paying(goodToken)),
		s.ask("POST", path+"/cancel", ""),
		s.ask("PUT", path, onePen+"}"),
	} {
		require.Equal(t, http.StatusConflict, late.status, late.raw)
	}
	require.Zero(t, s.stall.orders.Load())
}

func TestInboundRefused(t *testing.T) {
	s := newSystem(t, nil)
	s.stall.pens.Store(0)
	refused := s.ask("POST", "/checkout-sessions", onePen+"}")
	require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
	require.JSONEq(t, `{"detail": "insufficient stock", "code": "OUT_OF_STOCK", "messages": [
	  {"type": "error", "code": "out_of_stock", "path": "$.line_items[0]", "content": "insufficient stock", "severity": "recoverable"}
	]}`, refused.raw)

	// A change that is refused leaves the checkout as it was.
	s.stall.pens.Store(1)
	id := s.ready(t)
	before := s.ask("GET", "/checkout-sessions/"+id, "")
	refused = s.ask("PUT", "/checkout-sessions/"+id, `{"line_items": [{"item": {"id": "pen"}, "quantity": 2}]}`)
	require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
	require.Equal(t, before.raw, s.ask("GET", "/checkout-sessions/"+id, "").raw)
	require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+id+"/complete", paying(goodToken)).status)
}

func TestInboundDeclinedMayBePaidInAnotherWay(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	declined := s.ask("POST", path+"/complete", paying(badToken))
	require.Equal(t, http.StatusPaymentRequired, declined.status, declined.raw)
	require.Equal(t, "no money in it", declined.detail())
	require.Equal(t, "PAYMENT_DECLINED", declined.code())

	shown := s.ask("GET", path, "")
	requireSchema(t, checkoutSchema, shown.raw)
	require.Equal(t, "ready_for_complete", shown.state())
	require.Contains(t, shown.raw, "payment_declined")

	completed := s.ask("POST", path+"/complete", paying(goodToken))
	require.Equal(t, http.StatusOK, completed.status, completed.raw)
	require.Equal(t, "completed", completed.state())
	require.EqualValues(t, 1, s.stall.orders.Load())
}

func TestInboundDeclinedThenPricedAnew(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	require.Equal(t, http.StatusPaymentRequired, s.ask("POST", path+"/complete", paying(badToken)).status)
	s.stall.price.Store(120)
	dearer := s.ask("POST", path+"/complete", paying(goodToken))
	require.Equal(t, http.StatusConflict, dearer.status, dearer.raw)
	require.Zero(t, s.stall.orders.Load())
	require.EqualValues(t, 170, s.ask("GET", path, "").total("total"))
	require.Equal(t, http.StatusOK, s.ask("POST", path+"/complete", paying(goodToken)).status)
}

func TestInboundDeclinedThenCanceled(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	require.Equal(t, http.StatusPaymentRequired, s.ask("POST", path+"/complete", paying(badToken)).status)
	canceled := s.ask("POST", path+"/cancel", "")
	require.Equal(t, http.StatusOK, canceled.status, canceled.raw)
	require.Equal(t, "canceled", canceled.state())
	require.Equal(t, http.StatusConflict, s.ask("POST", path+"/complete", paying(goodToken)).status)
}

func TestInboundDiscovery(t *testing.T) {
	s := newSystem(t, nil)
	profile := s.ask("GET", "/.well-known/ucp", "")
	require.Equal(t, http.StatusOK, profile.status)
	requireSchema(t, profileSchema, profile.raw)
	require.Equal(t, "public, max-age=60", profile.header.Get("Cache-Control"))
	require.Contains(t, profile.raw, `"endpoint":"http://example.com"`)
	require.NotContains(t, profile.raw, "discount")

	s = newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.PublicURL = "https://stall.example/ucp" })
	require.Contains(t, s.ask("GET", "/.well-known/ucp", "").raw, `"endpoint":"https://stall.example/ucp"`)
}

// TestInboundWrongRequests lists what is refused before anything is attempted.
func TestInboundWrongRequests(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.BodyLimit = 2000 })
	path := "/checkout-sessions/" + s.ready(t)
	before := s.records.String()
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"malformed":          {"POST", "/checkout-sessions", `{"line_items":`, nil, 400, "INVALID_REQUEST"},
		"duplicate member":   {"POST", "/checkout-sessions", `{"line_items": [], "line_items": []}`, nil, 400, "INVALID_REQUEST"},
		"no body":            {"POST", "/checkout-sessions", "", nil, 422, "INVALID_REQUEST"},
		"array":              {"POST", "/checkout-sessions", "[]", nil, 422, "INVALID_REQUEST"},
		"no lines":           {"POST", "/checkout-sessions", `{"line_items": []}`, nil, 422, "INVALID_REQUEST"},
		"lines are null":     {"POST", "/checkout-sessions", `{"line_items": null}`, nil, 422, "INVALID_REQUEST"},
		"no item":            {"POST", "/checkout-sessions", `{"line_items": [{"quantity": 1}]}`, nil, 422, "INVALID_REQUEST"},
		"quantity 0":         {"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "pen"}, "quantity": 0}]}`, nil, 422, "INVALID_REQUEST"},
		"quantity 1.5":       {"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "pen"}, "quantity": 1.5}]}`, nil, 422, "INVALID_REQUEST"},
		"two lines, one id":  {"POST", "/checkout-sessions", `{"line_items": [{"id": "a", "item": {"id": "pen"}, "quantity": 1}, {"id": "a", "item": {"id": "ink"}, "quantity": 1}]}`, nil, 422, "INVALID_REQUEST"},
		"buyer is a string":  {"PUT", path, `{"buyer": "ada"}`, nil, 422, "INVALID_REQUEST"},
		"fulfillment":        {"PUT", path, `{"fulfillment": []}`, nil, 422, "INVALID_REQUEST"},
		"groups":             {"PUT", path, `{"fulfillment": {"methods": [{"groups": 1}]}}`, nil, 422, "INVALID_REQUEST"},
		"discounts":          {"PUT", path, `{"discounts": {"codes": "10OFF"}}`, nil, 422, "INVALID_REQUEST"},
		"other id":           {"PUT", path, `{"id": "chk_other"}`, nil, 422, "INVALID_REQUEST"},
		"no payment":         {"POST", path + "/complete", `{}`, nil, 422, "INVALID_REQUEST"},
		"payment no object":  {"POST", path + "/complete", `{"payment_data": "card"}`, nil, 422, "INVALID_REQUEST"},
		"other handler":      {"POST", path + "/complete", `{"payment_data": {"handler_id": "iou"}}`, nil, 400, "INVALID_REQUEST"},
		"unknown checkout":   {"POST", "/checkout-sessions/chk_1/complete", paying(goodToken), nil, 404, "RESOURCE_NOT_FOUND"},
		"unknown, get":       {"GET", "/checkout-sessions/chk_1", "", nil, 404, "RESOURCE_NOT_FOUND"},
		"unknown, put":       {"PUT", "/checkout-sessions/chk_1", onePen + "}", nil, 404, "RESOURCE_NOT_FOUND"},
		"unknown, cancel":    {"POST", "/checkout-sessions/chk_1/cancel", "", nil, 404, "RESOURCE_NOT_FOUND"},
		"unknown order":      {"GET", "/orders/1", "", nil, 404, "RESOURCE_NOT_FOUND"},
		"unknown path":       {"GET", "/carts", "", nil, 404, "RESOURCE_NOT_FOUND"},
		"method":             {"DELETE", path, "", nil, 405, "METHOD_NOT_ALLOWED"},
		"method of complete": {"GET", path + "/complete", "", nil, 405, "METHOD_NOT_ALLOWED"},
		"media type":         {"POST", "/checkout-sessions", onePen + "}", []string{"Content-Type", "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"too large":          {"POST", "/checkout-sessions", `"` + strings.Repeat("x", 2000) + `"`, nil, 413, "BODY_TOO_LARGE"},
		"newer agent":        {"POST", "/checkout-sessions", onePen + "}", []string{"UCP-Agent", `profile="https://a.example"; version="2026-04-08"`}, 400, "VERSION_UNSUPPORTED"},
		"long key":           {"POST", "/checkout-sessions", onePen + "}", []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, "INVALID_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.ask(test.method, test.path, test.body, test.headers...)
			require.Equal(t, test.status, r.status, r.raw)
			require.Equal(t, test.code, r.code(), r.raw)
			require.NotEmpty(t, r.detail())
			require.Equal(t, "application/json", r.header.Get("Content-Type"))
			if test.status == http.StatusMethodNotAllowed {
				require.NotEmpty(t, r.header.Get("Allow"))
			}
		})
	}
	require.Equal(t, before, s.records.String(), "something was attempted")

	older := s.ask("GET", path, "", "UCP-Agent", `profile="https://a.example"; version="2025-01-01"`)
	require.Equal(t, http.StatusOK, older.status)
}

// TestInboundMerge follows what a PUT keeps, replaces and clears.
func TestInboundMerge(t *testing.T) {
	s := newSystem(t, nil)
	created := s.ask("POST", "/checkout-sessions", onePen+`, "discounts": {"codes": ["10OFF"]}}`)
	require.Equal(t, http.StatusCreated, created.status, created.raw)
	requireSchema(t, checkoutSchema, created.raw)
	require.Contains(t, created.raw, "discount_code_invalid")
	put := func(body string) response {
		t.Helper()
		r := s.ask("PUT", "/checkout-sessions/"+created.id(), body)
		require.Equal(t, http.StatusOK, r.status, r.raw)
		requireSchema(t, checkoutSchema, r.raw)
		return r
	}
	lines := func(r response) (ids []string) {
		items, _ := r.body["line_items"].([]any)
		for _, item := range items {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}
		return ids
	}
	require.Equal(t, []string{"li_1"}, lines(created))

	// The pen keeps its id, the ink gets a new one, wherever they stand.
	r := put(`{"line_items": [{"item": {"id": "ink"}, "quantity": 1}, {"item": {"id": "pen"}, "quantity": 2}]}`)
	require.Equal(t, []string{"li_2", "li_1"}, lines(r))
	require.Contains(t, r.raw, "discount_code_invalid")
	require.Contains(t, r.raw, "ada@example.org")

	r = put(`{"fulfillment": {"methods": [{"type": "shipping", "destinations": [{"id": "home"}]}]}}`)
	r = put(`{"fulfillment": {"methods": [{"type": "shipping", "selected_destination_id": "home"}]}, "buyer": {"email": "b@example.org"}}`)
	require.Contains(t, r.raw, `"selected_destination_id":"home"`)
	require.NotContains(t, r.raw, "ada@example.org")
	r = put(`{"fulfillment": {"methods": [{"type": "shipping", "groups": [{"selected_option_id": "mule", "options": [{"id": "mule"}]}]}]}}`)
	require.Contains(t, r.raw, `"selected_destination_id":"home"`)
	require.Equal(t, "ready_for_complete", r.state())

	r = put(`{"discounts": {"codes": []}, "buyer": null, "fulfillment": null}`)
	require.NotContains(t, r.raw, "b@example.org")
	require.NotContains(t, r.raw, "home")
	require.Equal(t, "incomplete", r.state())
}

// TestInboundCarriesDiscounts: where the protocol binds discounts, the codes are bound, and others make a new enactment.
func TestInboundCarriesDiscounts(t *testing.T) {
	text, err := protocols.Source("simple-ucp")
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("buyer, fulfillment)"), []byte("buyer, fulfillment, discounts)"), 1)
	text = bytes.Replace(text, []byte("Platform: line_items,"), []byte("Platform: discounts, line_items,"), 1)
	protocol, diagnostics := langshaw.Parse(text)
	require.Empty(t, diagnostics)
	rules, err := enactment.Compile(protocol, enactment.WithSecrets("payment"))
	require.NoError(t, err)
	s := newSystemOf(t, rules, nil)
	require.Contains(t, s.ask("GET", "/.well-known/ucp", "").raw, "dev.ucp.shopping.discount")

	created := s.ask("POST", "/checkout-sessions", onePen+`, "discounts": {"codes": ["10OFF"], "applied": []}}`)
	require.Equal(t, http.StatusCreated, created.status, created.raw)
	require.Contains(t, s.records.String(), `"discounts":{"codes":["10OFF"]}`)
	for _, step := range []struct {
		codes   string
		created int
	}{{`["10OFF"]`, 1}, {`[]`, 2}, {`[]`, 2}} {
		r := s.ask("PUT", "/checkout-sessions/"+created.id(), `{"discounts": {"codes": `+step.codes+`}}`)
		require.Equal(t, http.StatusOK, r.status, r.raw)
		require.Equal(t, step.created, strings.Count(s.records.String(), `"action":"Create"`))
	}
}

// TestInboundKeepsThePayment looks for the payment in everything that comes out of the bridge but the attempt.
func TestInboundKeepsThePayment(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	said := s.ask("POST", path+"/complete", paying(badToken), "Idempotency-Key", "k1").raw
	said += s.ask("POST", path+"/complete", strings.Replace(paying(badToken), "purse", "iou", 1)).raw
	said += s.ask("POST", path+"/complete", strings.TrimSuffix(paying(badToken), "}")).raw
	said += s.ask("GET", path, "").raw
	said += s.ask("POST", path+"/complete", paying(goodToken)).raw
	said += s.ask("GET", path, "").raw
	s.stop()
	require.Contains(t, said, `"status":"completed"`)
	require.Contains(t, s.records.String(), `"hidden":["payment"]`)
	for _, text := range []string{said, s.logged.String(), s.records.String()} {
		require.NotContains(t, text, "4711")
	}
}

func TestNewInboundSaysWhatIsMissing(t *testing.T) {
	s := newSystem(t, nil)
	_, err := ucp.NewInbound(s.rules, s.local, ucp.InboundOptions{})
	require.ErrorContains(t, err, "no storefront")
	_, err = ucp.NewInbound(nil, s.local, ucp.InboundOptions{Storefront: s.stall})
	require.ErrorContains(t, err, "no rules")
	_, err = ucp.NewInbound(s.rules, s.local, ucp.InboundOptions{Storefront: s.stall, PublicURL: "shop"})
	require.ErrorContains(t, err, "not absolute")
	_, err = ucp.NewInbound(s.rules, nil, ucp.InboundOptions{Storefront: s.stall})
	require.Error(t, err)
	for name, want := range map[string]string{
		"request-reply": "not keyed by cid", "simple-ucp-update": "action Create of SimpleUCPUpdate does not carry fulfillment",
	} {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		_, err = ucp.NewInbound(rules, s.local, ucp.InboundOptions{Storefront: s.stall})
		require.ErrorContains(t, err, want)
	}
}

// TestInboundLongChain: a checkout may be changed as often as one likes.
func TestInboundLongChain(t *testing.T) {
	s := newSystem(t, nil)
	id := s.ready(t)
	for i := range 50 {
		quantity := strconv.Itoa(1 + i%2)
		r := s.ask("PUT", "/checkout-sessions/"+id, `{"line_items": [{"item": {"id": "ink"}, "quantity": `+quantity+`}]}`)
		require.Equal(t, http.StatusOK, r.status, r.raw)
		require.EqualValues(t, 250*(1+i%2)+50, r.total("total"))
	}
	for range 50 {
		r := s.ask("PUT", "/checkout-sessions/"+id, `{"line_items": [{"item": {"id": "pen"}, "quantity": 11}]}`)
		require.Equal(t, http.StatusBadRequest, r.status, r.raw)
	}
	for range 50 {
		require.Equal(t, http.StatusPaymentRequired, s.ask("POST", "/checkout-sessions/"+id+"/complete", paying(badToken)).status)
	}
	require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+id+"/complete", paying(goodToken)).status)
}

// TestInboundAnyBody: whatever JSON is sent, it is never the bridge's own fault, and never taken for something else.
func TestInboundAnyBody(t *testing.T) {
	s := newSystem(t, nil)
	id := s.ready(t)
	name := rapid.SampledFrom([]string{
		"line_items", "item", "id", "quantity", "buyer", "fulfillment", "methods", "groups", "destinations", "type",
		"selected_destination_id", "selected_option_id", "discounts", "codes", "payment_data", "handler_id", "credential", "other",
	})
	scalar := rapid.SampledFrom([]string{
		`null`, `true`, `0`, `1`, `-1`, `1.5`, `1e99`, `""`, `"pen"`, `"ink"`, `"purse"`, `"li_1"`, `"home"`, `"mule"`, `"shipping"`,
	})
	var value func(t *rapid.T, depth int) string
	value = func(t *rapid.T, depth int) string {
		kind := rapid.IntRange(0, 2).Draw(t, "kind")
		if depth == 0 || kind == 0 {
			return scalar.Draw(t, "scalar")
		}
		var parts []string
		used := make(map[string]bool)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			member := name.Draw(t, "name")
			if kind == 1 {
				parts = append(parts, value(t, depth-1))
			} else if !used[member] {
				used[member] = true
				parts = append(parts, strconv.Quote(member)+":"+value(t, depth-1))
			}
		}
		if kind == 1 {
			return "[" + strings.Join(parts, ",") + "]"
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	rapid.Check(t, func(t *rapid.T) {
		body := strings.ReplaceAll(rapid.SampledFrom([]string{
			`?`, `{"line_items": ?}`, `{"line_items": [?]}`, `{"line_items": [{"item": {"id": "pen"}, "quantity": 1}], "buyer": ?}`,
			`{"line_items": [{"item": {"id": "pen"}, "quantity": 1}], "fulfillment": ?}`, `{"fulfillment": {"methods": ?}}`,
			`{"fulfillment": {"methods": [?]}}`, `{"fulfillment": {"methods": [{"groups": ?}]}}`,
			`{"fulfillment": {"methods": [{"destinations": ?, "selected_destination_id": "home"}]}}`, `{"discounts": ?}`,
			`{"payment_data": ?}`, `{"payment_data": {"handler_id": "purse", "credential": ?}}`,
		}).Draw(t, "form"), "?", value(t, 4))
		for _, r := range []response{
			s.ask("POST", "/checkout-sessions", body),
			s.ask("PUT", "/checkout-sessions/"+id, body),
			s.ask("POST", "/checkout-sessions/"+id+"/complete", body),
		} {
			require.Contains(t, []int{200, 201, 400, 402, 409, 422}, r.status, "%s\n%s", body, r.raw)
		}
	})
	require.NotContains(t, s.logged.String(), "level=ERROR")
}

// brokenStorefront cannot present anything.
type brokenStorefront struct{}

func (brokenStorefront) Present(context.Context, ucp.Contents) (ucp.Presentation, error) {
	return ucp.Presentation{}, errors.New("the catalogue is on fire")
}

// TestInboundOwnFaults: what is the bridge's own fault is logged, and not told to the platform.
func TestInboundOwnFaults(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.Storefront = brokenStorefront{} })
	r := s.ask("POST", "/checkout-sessions", onePen+"}", "Idempotency-Key", "k1")
	require.Equal(t, http.StatusInternalServerError, r.status)
	require.Equal(t, "INTERNAL_ERROR", r.code())
	require.NotContains(t, r.raw, "fire")
	require.Contains(t, s.logged.String(), "the catalogue is on fire")
	// It is not what the key stands for from now on.
	require.Equal(t, http.StatusInternalServerError, s.ask("POST", "/checkout-sessions", onePen+"}", "Idempotency-Key", "k1").status)
	require.Equal(t, 1, strings.Count(s.records.String(), `"action":"Created"`))
	// Without a key nobody can ask for it again, so it is cancelled.
	require.Zero(t, strings.Count(s.records.String(), `"action":"Cancel"`))
	require.Equal(t, http.StatusInternalServerError, s.ask("POST", "/checkout-sessions", onePen+"}").status)
	require.Equal(t, 1, strings.Count(s.records.String(), `"action":"Cancel"`))
}

// TestInboundSaysWhatTheBusinessSaid: a reason may be a sentence, or an object of one of several shapes.
func TestInboundSaysWhatTheBusinessSaid(t *testing.T) {
	for _, test := range []struct {
		reason             any
		code, detail, path string
	}{
		{"We are closed.", "REFUSED", "We are closed.", ""},
		{map[string]any{"code": "closed", "content": "We are closed.", "path": "$.buyer"}, "CLOSED", "We are closed.", "$.buyer"},
		{map[string]any{"message": "We are closed."}, "REFUSED", "We are closed.", ""},
		{map[string]any{"detail": "We are closed."}, "REFUSED", "We are closed.", ""},
		{nil, "REFUSED", "The business refused the checkout.", ""},
		{[]int{1}, "REFUSED", "The business refused the checkout.", ""},
	} {
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.refuse = func() any { return test.reason } })
		r := s.ask("POST", "/checkout-sessions", onePen+"}")
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Equal(t, test.code, r.code())
		require.Equal(t, test.detail, r.detail())
		if test.path != "" {
			require.Contains(t, r.raw, test.path)
		}
		s.stop()
	}
}
