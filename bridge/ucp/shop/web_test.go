package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// TestETags: whoever says which checkout is meant changes no other.
func TestETags(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	created := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1))
	path := "/checkout-sessions/" + created.id()
	require.Equal(t, `"1-ready_for_complete"`, created.etag)
	require.Equal(t, created.etag, s.ask(t, "GET", path, "").etag)
	change := `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 2}]}`
	changed := s.ask(t, "PUT", path, change, "If-Match", `"0-x", `+created.etag, "Idempotency-Key", "k")
	require.Equal(t, 200, changed.status, changed.raw)
	require.Equal(t, `"2-ready_for_complete"`, changed.etag)
	for _, request := range [][3]string{{"PUT", path, change}, {"POST", path + "/complete", paying("success_token")}, {"POST", path + "/cancel", ""}} {
		stale := s.ask(t, request[0], request[1], request[2], "If-Match", created.etag)
		require.Equal(t, http.StatusPreconditionFailed, stale.status, stale.raw)
		require.Equal(t, "PRECONDITION_FAILED", stale.code())
	}
	require.Equal(t, changed, s.ask(t, "PUT", path, change, "If-Match", `"0-x", `+created.etag, "Idempotency-Key", "k"), "it is repeated, not judged anew")
	require.Equal(t, 200, s.ask(t, "PUT", path, change, "If-Match", "*").status)
	paid := s.ask(t, "POST", path+"/complete", paying("success_token"), "If-Match", `"3-ready_for_complete"`)
	require.Equal(t, 200, paid.status, paid.raw)
	require.Equal(t, `"3-completed"`, paid.etag)
}

// TestPayingTooEarly: a payment that was not attempted is attempted when its request is repeated, and something else can
// be paid, but not under the same key with something else.
func TestPayingTooEarly(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	path := "/checkout-sessions/" + s.ask(t, "POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 1}]}`).id()
	require.Equal(t, 400, s.ask(t, "POST", path+"/complete", paying("success_token"), "Idempotency-Key", "early").status)
	require.Equal(t, 200, s.ask(t, "PUT", path, wants("oil-lamp", 1)).status)
	require.Equal(t, 409, s.ask(t, "POST", path+"/complete", paying("fail_token"), "Idempotency-Key", "early").status)
	paid := s.ask(t, "POST", path+"/complete", paying("success_token"), "Idempotency-Key", "early")
	require.Equal(t, 200, paid.status, paid.raw)
	require.Equal(t, "completed", paid.state())
}

// TestMoreThanCanBeCounted: sums that no platform could read are refused, and nobody waits for an answer.
func TestMoreThanCanBeCounted(t *testing.T) {
	s := newStall(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.Catalogue = dear{o.Catalogue} })
	defer s.stop()
	require.Equal(t, 201, s.ask(t, "POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 1}]}`).status)
	refused := s.ask(t, "POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 2}]}`)
	require.Equal(t, 400, refused.status, refused.raw)
	require.Contains(t, refused.raw, "more than can be counted")
}

// dear is a catalogue in which each piece costs as much as can be said.
type dear struct{ shop.Catalogue }

func (d dear) Product(ctx context.Context, id string) (model.Item, bool, error) {
	item, ok, err := d.Catalogue.Product(ctx, id)
	item.Price = 1<<53 - 1
	return item, ok, err
}

// TestChanges: a PUT keeps what it omits, and null clears.
func TestChanges(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	created := s.ask(t, "POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 2}],
	  "buyer": {"email": "grace@lighthouse.example", "consent": {"marketing": true, "analytics": false}}, "discounts": {"codes": ["keeper10", "WELCOME3", "NOPE"]}}`)
	path := "/checkout-sessions/" + created.id()
	require.Equal(t, "incomplete", created.state())
	require.Contains(t, created.raw, `"consent":{"marketing":true,"analytics":false}`)
	require.Contains(t, created.raw, "dev.ucp.shopping.buyer_consent")
	require.EqualValues(t, 1950-195-300, created.total("total"))
	require.EqualValues(t, 195, created.total("discount"), "on this wire it is positive")
	require.Contains(t, created.raw, "discount_code_invalid")
	unready := s.ask(t, "POST", path+"/complete", paying("success_token"))
	require.Equal(t, 400, unready.status)
	require.Contains(t, unready.raw, "Fulfillment address and option must be selected")

	known := s.ask(t, "PUT", path, `{"fulfillment": {"methods": [{"type": "shipping"}]}}`)
	require.Contains(t, known.raw, `"street_address":"1 Pharos Road"`)
	require.Contains(t, known.raw, `"consent"`)
	selected := s.ask(t, "PUT", path, `{"fulfillment": {"methods": [{"type": "shipping", "selected_destination_id": "home"}]}}`)
	require.Contains(t, selected.raw, `"id":"courier"`)
	require.NotContains(t, selected.raw, `"id":"airmail"`)
	ready := s.ask(t, "PUT", path, `{"fulfillment": {"methods": [{"id": "method_1", "groups": [{"selected_option_id": "post"}]}]}}`)
	require.Equal(t, "ready_for_complete", ready.state(), ready.raw)
	require.EqualValues(t, 450, ready.total("fulfillment"))
	require.EqualValues(t, 2400-240-300, ready.total("total"), "codes apply to the delivery too")
	elsewhere := s.ask(t, "PUT", path, `{"fulfillment": {"methods": [{"type": "shipping", "selected_destination_id": "nowhere"}]}}`)
	require.Equal(t, "incomplete", elsewhere.state())
	require.Contains(t, elsewhere.raw, "There is no destination nowhere")
	cleared := s.ask(t, "PUT", path, `{"fulfillment": null, "discounts": null, "buyer": null}`)
	for _, gone := range []string{"fulfillment\":{", "discounts\":", "buyer\":"} {
		require.NotContains(t, cleared.raw, gone)
	}
	refused := s.ask(t, "PUT", path, `{"line_items": [{"item": {"id": "glass-spare"}, "quantity": 1}]}`)
	require.Equal(t, 400, refused.status)
	require.Equal(t, "OUT_OF_STOCK", refused.code())
	after := s.ask(t, "GET", path, "")
	require.Contains(t, after.raw, "oil-lamp", "it stays as it was")
	require.Equal(t, 200, s.ask(t, "PUT", path, `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 1}]}`).status, "and can be changed")
	require.Equal(t, 200, s.ask(t, "POST", path+"/cancel", "").status)
	for _, late := range [][3]string{{"PUT", path, `{}`}, {"POST", path + "/complete", paying("success_token")}, {"POST", path + "/cancel", ""}} {
		require.Equal(t, 409, s.ask(t, late[0], late[1], late[2]).status)
	}
	require.Empty(t, s.log.String())
}

// TestAddressesAreKept for the next checkout of the customer, under the id that they have.
func TestAddressesAreKept(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	create := func(email, fulfillment string) answer {
		return s.ask(t, "POST", "/checkout-sessions", fmt.Sprintf(
			`{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 1}], "buyer": {"email": %q}, "fulfillment": %s}`, email, fulfillment))
	}
	given := `{"methods": [{"type": "shipping", "destinations": [{"street_address": "2 Pharos Road", "address_country": "EG"}]}]}`
	first := create("ivo@lighthouse.example", given)
	require.Equal(t, 201, first.status, first.raw)
	require.Contains(t, create("Ivo@Lighthouse.example", `{"methods": [{"type": "shipping"}]}`).raw, "2 Pharos Road")
	require.Equal(t, destination(first), destination(create("ivo@lighthouse.example", given)), "it is the same address")
	require.NotContains(t, create("eve@lighthouse.example", `{"methods": [{"type": "shipping"}]}`).raw, "Pharos Road")
	again := create("grace@lighthouse.example", `{"methods": [{"type": "shipping", "destinations": [{"id": "mine", "street_address": "1 Pharos Road",
	  "address_locality": "Alexandria", "postal_code": "21500", "address_country": "EG"}], "selected_destination_id": "mine"}]}`)
	require.Equal(t, "home", destination(again), "the shop has a name for it")
	require.Contains(t, again.raw, `"selected_destination_id":"home"`)
}

func destination(a answer) any {
	methods := a.body["fulfillment"].(map[string]any)["methods"].([]any)
	return methods[0].(map[string]any)["destinations"].([]any)[0].(map[string]any)["id"]
}

// TestOrders: what a checkout has become can be seen, and what is put is judged.
func TestOrders(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 3)).id()
	paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"))
	path := "/orders/" + paid.order()
	order := s.ask(t, "GET", path, "")
	require.Equal(t, 200, order.status, order.raw)
	require.Equal(t, id, order.body["checkout_id"])
	require.Contains(t, order.raw, `"description":"Parcel Post (Free)"`)
	require.Contains(t, order.raw, `"quantity":{"total":3,"fulfilled":0}`)
	require.Equal(t, 404, s.ask(t, "GET", "/orders/x", "").status)
	require.Equal(t, 404, s.ask(t, "PUT", "/orders/x", `{}`).status)
	put := s.ask(t, "PUT", path, `{"fulfillment": {"events": [{"id": "e", "type": "shipped", "occurred_at": "2026-01-11T00:00:00Z", "line_items": [{"id": "li_1", "quantity": 2}]}]},
	  "adjustments": [{"id": "a", "type": "refund", "occurred_at": "2026-01-11T00:00:00.5Z", "status": "pending", "amount": 5}], "totals": []}`)
	require.Equal(t, 200, put.status, put.raw)
	require.Contains(t, put.raw, `"quantity":{"total":3,"fulfilled":2}`)
	require.Contains(t, put.raw, `"status":"partial"`)
	require.Equal(t, put.raw, s.ask(t, "GET", path, "").raw)
	for _, bad := range []string{
		`{"adjustments": {}}`, `{"adjustments": [{"id": "a", "type": "refund", "occurred_at": "2026-01-11T00:00:00Z", "status": "LOST"}]}`,
		`{"adjustments": [{"id": "a", "type": "refund", "occurred_at": "today", "status": "pending"}]}`, `{"adjustments": [{}]}`, `{"id": "other"}`, `[]`,
		`{"fulfillment": {"events": [{"id": "e", "type": "shipped", "occurred_at": "2026-01-11T00:00:00Z", "line_items": [{"id": "li_1", "quantity": 0}]}]}}`,
		`{"fulfillment": {"events": [null]}}`,
	} {
		require.Equal(t, 422, s.ask(t, "PUT", path, bad).status, bad)
	}
	require.Equal(t, put.raw, s.ask(t, "GET", path, "").raw)
}

// TestWithoutSimulation there is no endpoint that only tests use.
func TestWithoutSimulation(t *testing.T) {
	s := newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.SimulationSecret = "" })
	defer s.stop()
	require.Equal(t, 404, s.ask(t, "POST", "/testing/simulate-shipping/x", "", "Simulation-Secret", "").status)
	require.Equal(t, 405, s.ask(t, "PUT", "/orders/x", `{}`).status)
}

// TestBadRequests are told what is wrong, and leave nothing behind.
func TestBadRequests(t *testing.T) {
	s := newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Changes = 3 })
	defer s.stop()
	path := "/checkout-sessions/" + s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1)).id()
	absent := "/checkout-sessions/chk_" + strings.Repeat("a", 26)
	for _, test := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/checkout-sessions", ``, 422, "must be a checkout object"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "oil-lamp"}, "quantity": 30}, {"item": {"id": "oil-lamp"}, "quantity": 30}]}`, 400, "Insufficient stock"},
		{"POST", "/checkout-sessions", `{`, 400, "not sound JSON"},
		{"POST", "/checkout-sessions", `{"a": 1, "a": 2}`, 400, "not sound JSON"},
		{"POST", "/checkout-sessions", `[]`, 422, "must be a checkout object"},
		{"POST", "/checkout-sessions", `{}`, 422, "line_items are missing"},
		{"POST", "/checkout-sessions", `{"line_items": []}`, 422, "must not be empty"},
		{"POST", "/checkout-sessions", `{"line_items": [null]}`, 422, "$.line_items[0]"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 0}]}`, 422, "at least 1"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 1.5}]}`, 422, "whole number"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 1e300}]}`, 422, "whole number"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 9007199254740991}]}`, 400, "Insufficient stock"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "candle"}, "quantity": 1}]}`, 400, "Product candle not found"},
		{"POST", "/checkout-sessions", `{"line_items": [{"item": {"ID": "wick-cotton"}, "quantity": 1}]}`, 422, "needs an item with an id"},
		{"POST", "/checkout-sessions", `{"line_items": [{"id": "a", "item": {"id": "wick-cotton"}, "quantity": 1}, {"id": "a", "item": {"id": "oil-lamp"}, "quantity": 1}]}`, 422, "Two lines"},
		{"PUT", path, `{"id": "other"}`, 422, "another checkout"},
		{"PUT", path, `{"fulfillment": {"methods": [null]}}`, 422, "$.fulfillment.methods[0]"},
		{"PUT", path, `{"fulfillment": {"methods": [{"destinations": [null]}]}}`, 422, "destinations[0]"},
		{"PUT", path, `{"fulfillment": {"methods": [{"type": "pickup"}]}}`, 400, "it has no pickup"},
		{"PUT", path, `{"discounts": {"codes": [null]}}`, 422, "$.discounts.codes[0]"},
		{"PUT", path, `{"buyer": {"phones": [null]}}`, 422, "$.buyer.phones[0]"},
		{"PUT", path, `{"buyer": "me"}`, 422, "$.buyer"},
		{"POST", path + "/complete", `{}`, 422, "payment_data"},
		{"POST", path + "/complete", `{"payment_data": {"handler_id": "barter"}}`, 400, "Unsupported payment handler"},
		{"POST", path + "/complete", `{"payment_data": {"id": "i", "type": "card", "handler_id": "mock_payment_handler"}}`, 400, "Missing credentials"},
		{"POST", path + "/complete", `{"payment_data": {"type": "card", "handler_id": "mock_payment_handler"}}`, 422, "member id"},
		{"POST", path + "/complete", `{"payment_data": {"id": "i", "type": "card", "handler_id": "google_pay"}, "ap2": {"checkout_mandate": "no"}}`, 422, "mandate"},
		{"GET", absent, ``, 404, "not found"},
		{"GET", "/checkout-sessions/x", ``, 404, "not found"},
		{"PUT", absent, `{}`, 404, "not found"},
		{"POST", absent + "/complete", paying("success_token"), 404, "not found"},
		{"POST", absent + "/cancel", ``, 404, "not found"},
		{"DELETE", path, ``, 405, "allows GET, HEAD, PUT"},
		{"GET", "/nowhere", ``, 404, "no such resource"},
	} {
		a := s.ask(t, test.method, test.path, test.body)
		require.Equal(t, test.status, a.status, "%v\n%s", test, a.raw)
		require.Contains(t, a.raw, test.says, "%v", test)
		require.NotEmpty(t, a.body["detail"])
	}
	require.Equal(t, 413, s.ask(t, "PUT", path, `{"x": "`+strings.Repeat("x", ucp.DefaultBodyLimit)+`"}`).status)
	require.Equal(t, 415, s.ask(t, "PUT", path, `{}`, "Content-Type", "text/plain").status)
	require.Equal(t, 400, s.ask(t, "PUT", path, `{}`, "Idempotency-Key", strings.Repeat("k", 256)).status)
	require.Equal(t, 400, s.ask(t, "GET", path, "", "UCP-Agent", `profile="x"; version="2099-01-01"`).status)
	for range 8 {
		if a := s.ask(t, "PUT", path, `{}`); a.status != 200 {
			require.Equal(t, "TOO_MANY_CHANGES", a.code())
			require.Empty(t, s.log.String())
			return
		}
	}
	require.Fail(t, "changes are not bounded")
}

// TestTotalsAddUp whatever is bought and however it is sent.
func TestTotalsAddUp(t *testing.T) {
	s := newStall(t)
	defer s.stop()
	outer := t
	items := []string{"lantern-brass", "lantern-storm", "wick-cotton", "oil-lamp"}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			lines = append(lines, fmt.Sprintf(`{"item": {"id": %q}, "quantity": %d}`, rapid.SampledFrom(items).Draw(t, "item"), rapid.IntRange(1, 6).Draw(t, "quantity")))
		}
		body := map[string]any{
			"line_items": json.RawMessage("[" + strings.Join(lines, ",") + "]"),
			"discounts":  map[string]any{"codes": rapid.SliceOfN(rapid.SampledFrom([]string{"KEEPER10", "WELCOME3", "keeper10", "NOPE"}), 0, 4).Draw(t, "codes")},
			"fulfillment": map[string]any{"methods": []any{map[string]any{
				"type": "shipping", "destinations": []any{map[string]any{"id": "d", "address_country": rapid.SampledFrom([]string{"EG", "GR"}).Draw(t, "country")}},
				"selected_destination_id": "d",
				"groups":                  []any{map[string]any{"selected_option_id": rapid.SampledFrom([]string{"post", "courier", "airmail", "none"}).Draw(t, "option")}},
			}}},
		}
		text, err := json.Marshal(body)
		require.NoError(t, err)
		a := s.ask(outer, "POST", "/checkout-sessions", string(text))
		if a.status == 400 {
			require.Equal(t, "OUT_OF_STOCK", a.code(), a.raw)
			return
		}
		require.Equal(t, 201, a.status, a.raw)
		sum := int64(0)
		for _, entry := range a.body["totals"].([]any) {
			total := entry.(map[string]any)
			amount := int64(total["amount"].(float64))
			require.GreaterOrEqual(t, amount, int64(0))
			switch total["type"] {
			case "discount":
				sum -= amount
			case "total":
				require.Equal(t, sum, amount, a.raw)
			default:
				sum += amount
			}
		}
	})
	require.Empty(t, s.log.String())
}
