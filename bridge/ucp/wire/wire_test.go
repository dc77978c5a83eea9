package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// checkout is a checkout in the model with everything that a release may have another form for.
const checkout = `{
  "ucp": {
    "version": "2026-04-08", "status": "success",
    "capabilities": {
      "dev.ucp.shopping.checkout": [{"version": "2026-04-08"}],
      "dev.ucp.shopping.discount": [{"version": "2026-04-08", "extends": "dev.ucp.shopping.checkout"}],
      "dev.ucp.shopping.fulfillment": [{"version": "2026-04-08", "extends": "dev.ucp.shopping.checkout"}]
    },
    "payment_handlers": {
      "example.pay": [{
        "id": "pay_1", "version": "2026-01-11", "spec": "https://pay.example/spec", "schema": "https://pay.example/schema",
        "instrument_schemas": ["https://pay.example/instrument"], "config": {"merchant": "m"}
      }]
    }
  },
  "id": "chk_1", "status": "ready_for_complete", "currency": "EUR",
  "line_items": [{
    "id": "li_1", "item": {"id": "lamp", "title": "Lamp", "price": 2000}, "quantity": 2,
    "totals": [{"type": "subtotal", "amount": 4000}, {"type": "items_discount", "amount": -400}, {"type": "total", "amount": 3600}]
  }],
  "buyer": {"email": "ada@example.com", "consent": {"marketing": false}},
  "totals": [
    {"type": "subtotal", "amount": 4000}, {"type": "items_discount", "amount": -400, "display_text": "10% off"},
    {"type": "fulfillment", "amount": 500}, {"type": "gift_wrap", "amount": 100, "display_text": "Gift wrap"},
    {"type": "goodwill", "amount": -200, "display_text": "For your patience"}, {"type": "total", "amount": 4000}
  ],
  "discounts": {"codes": ["TEN"], "applied": [{"code": "TEN", "title": "10% off", "amount": 400}]},
  "fulfillment": {"methods": [{
    "id": "m_1", "type": "shipping", "line_item_ids": ["li_1"],
    "destinations": [{"id": "d_1", "street_address": "1 Road", "address_locality": "Town", "address_country": "DE", "postal_code": "1"}],
    "selected_destination_id": "d_1",
    "groups": [{
      "id": "g_1", "line_item_ids": ["li_1"], "selected_option_id": "o_1",
      "options": [{"id": "o_1", "title": "Post", "totals": [{"type": "subtotal", "amount": 500}, {"type": "total", "amount": 500}]}]
    }]
  }]},
  "payment": {"instruments": [{
    "id": "i_1", "handler_id": "pay_1", "type": "card", "selected": true, "display": {"brand": "Visa", "last_digits": "1234"}
  }]},
  "messages": [
    {"type": "error", "code": "item_unavailable", "content": "Gone for good.", "severity": "unrecoverable"},
    {"type": "warning", "code": "age", "content": "Adults only.", "presentation": "disclosure"}
  ],
  "links": [{"type": "terms_of_service", "url": "https://shop.example/terms"}],
  "expires_at": "2026-11-30T18:00:00Z", "continue_url": "https://shop.example/continue/chk_1",
  "order": {"id": "o_9", "label": "#9", "permalink_url": "https://shop.example/orders/o_9"}
}`

const order = `{
  "ucp": {"version": "2026-04-08", "status": "success", "capabilities": {"dev.ucp.shopping.order": [{"version": "2026-04-08"}]}},
  "id": "o_9", "label": "#9", "checkout_id": "chk_1", "permalink_url": "https://shop.example/orders/o_9", "currency": "EUR",
  "line_items": [
    {"id": "li_1", "item": {"id": "lamp", "title": "Lamp", "price": 2000}, "quantity": {"original": 2, "total": 2, "fulfilled": 1},
     "totals": [{"type": "subtotal", "amount": 4000}, {"type": "total", "amount": 4000}], "status": "partial"},
    {"id": "li_2", "item": {"id": "bulb", "title": "Bulb", "price": 200}, "quantity": {"original": 1, "total": 0, "fulfilled": 0},
     "totals": [{"type": "subtotal", "amount": 0}, {"type": "total", "amount": 0}], "status": "removed"}
  ],
  "fulfillment": {
    "expectations": [{"id": "e_1", "line_items": [{"id": "li_1", "quantity": 2}], "method_type": "shipping", "destination": {"address_country": "DE"}}],
    "events": [{"id": "v_1", "occurred_at": "2026-11-30T12:00:00Z", "type": "shipped", "line_items": [{"id": "li_1", "quantity": 1}]}]
  },
  "adjustments": [{
    "id": "a_1", "type": "refund", "occurred_at": "2026-11-30T13:00:00Z", "status": "completed",
    "line_items": [{"id": "li_2", "quantity": -1}], "totals": [{"type": "total", "amount": -200}]
  }],
  "totals": [{"type": "subtotal", "amount": 4000}, {"type": "discount", "amount": -400}, {"type": "total", "amount": 3600}]
}`

// request is a create in the model.
const request = `{
  "line_items": [{"item": {"id": "lamp"}, "quantity": 2}],
  "buyer": {"email": "ada@example.com", "consent": {"marketing": false}},
  "context": {"address_country": "DE", "currency": "EUR"},
  "signals": {"dev.ucp.buyer_ip": "192.0.2.1"}, "attribution": {"utm_source": "here"},
  "discounts": {"codes": ["TEN"]},
  "fulfillment": {"methods": [{"type": "shipping", "destinations": [{"id": "d_1", "address_country": "DE"}]}]}
}`

// complete is a complete in the model.
const complete = `{
  "payment": {"instruments": [
    {"id": "i_0", "handler_id": "pay_1", "type": "card", "credential": {"type": "token", "token": "t0"}},
    {"id": "i_1", "handler_id": "pay_1", "type": "card", "selected": true,
     "display": {"brand": "Visa", "last_digits": "1234", "expiry_year": 2030, "description": "Her card", "card_art": "https://pay.example/art"},
     "credential": {"type": "token", "token": "t1"}, "billing_address": {"address_country": "DE"}}
  ]},
  "signals": {"dev.ucp.buyer_ip": "192.0.2.1"}
}`

// checkoutSchemas are the schema of a checkout and those of its extensions, where a release has them.
func checkoutSchemas(release wire.Release) []string {
	extension := "#/$defs/checkout"
	if release == wire.April2026 {
		extension = "#/$defs/dev.ucp.shopping.checkout"
	}
	return []string{
		"schemas/shopping/checkout.json", "schemas/shopping/discount.json" + extension,
		"schemas/shopping/fulfillment.json" + extension, "schemas/shopping/buyer_consent.json" + extension,
	}
}

func TestWhatIsAnsweredIsValid(t *testing.T) {
	for _, release := range wire.Releases() {
		valid := schemas(t, release, schematest.Response)
		t.Run(string(release), func(t *testing.T) {
			for _, operation := range []wire.Operation{wire.CreateCheckout, wire.GetCheckout, wire.CancelCheckout} {
				status, body, err := release.EncodeResponse(wire.Exchange{Operation: operation}, 201, decode(t, checkout))
				require.NoError(t, err)
				require.Equal(t, 201, status)
				for _, schema := range checkoutSchemas(release) {
					valid.Check(t, schema, plain(t, body))
				}
			}
			_, body, err := release.EncodeResponse(wire.Exchange{Operation: wire.GetOrder}, 200, decode(t, order))
			require.NoError(t, err)
			valid.Check(t, "schemas/shopping/order.json", plain(t, body))
		})
	}
}

func TestWhatIsAskedIsValid(t *testing.T) {
	for _, release := range wire.Releases() {
		t.Run(string(release), func(t *testing.T) {
			for operation, direction := range map[wire.Operation]string{wire.CreateCheckout: "create", wire.UpdateCheckout: "update"} {
				model := decode(t, request)
				if operation == wire.UpdateCheckout {
					model["line_items"].([]any)[0].(wire.Object)["id"] = "li_1"
					model["fulfillment"] = decode(t, `{"methods": [{"id": "m_1", "line_item_ids": ["li_1"], "selected_destination_id": "d_1",
					  "groups": [{"id": "g_1", "selected_option_id": "o_1"}]}]}`)
				}
				body, err := release.EncodeRequest(wire.Exchange{Operation: operation, Checkout: "chk_1", Currency: "EUR"}, model)
				require.NoError(t, err)
				if release == wire.January11 { // The one thing that is said beyond the schema, since the Python server needs it.
					item := body["line_items"].([]any)[0].(wire.Object)["item"].(wire.Object)
					require.Equal(t, "lamp", item["title"])
					delete(item, "title")
				}
				valid := schemas(t, release, direction)
				for _, schema := range checkoutSchemas(release) {
					valid.Check(t, schema, plain(t, body))
				}
			}
			body, err := release.EncodeRequest(wire.Exchange{Operation: wire.CompleteCheckout, Checkout: "chk_1"}, decode(t, complete))
			require.NoError(t, err)
			schema := "schemas/shopping/checkout.json"
			if release == wire.January11 {
				schema = "schemas/shopping/payment_data.json"
			}
			valid := schemas(t, release, "complete")
			valid.Check(t, schema, plain(t, body))
		})
	}
}

// What each release makes of the same request, to the letter: small differences decide whether a server takes it.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		name    string
		release wire.Release
		x       wire.Exchange
		model   string
		want    string
	}{
		{
			name: "create: currency, payment and titles in 2026-01-11", release: wire.January11,
			x:     wire.Exchange{Operation: wire.CreateCheckout, Currency: "USD"},
			model: `{"line_items":[{"item":{"id":"lamp"},"quantity":1}],"context":{"currency":"EUR"},"signals":{"dev.ucp.buyer_ip":"x"}}`,
			want:  `{"line_items":[{"item":{"id":"lamp","title":"lamp"},"quantity":1}],"currency":"EUR","payment":{}}`,
		},
		{
			name: "create: no currency, context stays in 2026-01-23", release: wire.January23,
			x:     wire.Exchange{Operation: wire.CreateCheckout, Currency: "USD"},
			model: `{"line_items":[{"item":{"id":"lamp"},"quantity":1}],"context":{"address_country":"DE"},"signals":{"dev.ucp.buyer_ip":"x"}}`,
			want:  `{"line_items":[{"item":{"id":"lamp"},"quantity":1}],"context":{"address_country":"DE"}}`,
		},
		{
			name: "create: signals and attribution in 2026-04-08", release: wire.April2026,
			x:     wire.Exchange{Operation: wire.CreateCheckout},
			model: `{"line_items":[],"signals":{"dev.ucp.buyer_ip":"x"},"attribution":{"a":"b"},"totals":[],"id":"chk_1","discounts":{"codes":["A"],"applied":[]}}`,
			want:  `{"line_items":[],"signals":{"dev.ucp.buyer_ip":"x"},"attribution":{"a":"b"},"discounts":{"codes":["A"]}}`,
		},
		{
			name: "update: the id is said again until 2026-01-23", release: wire.January23,
			x:     wire.Exchange{Operation: wire.UpdateCheckout, Checkout: "chk_1"},
			model: `{"line_items":[]}`, want: `{"id":"chk_1","line_items":[]}`,
		},
		{
			name: "update: and in 2026-01-11 the currency too", release: wire.January11,
			x:     wire.Exchange{Operation: wire.UpdateCheckout, Checkout: "chk_1", Currency: "USD"},
			model: `{"line_items":[]}`, want: `{"id":"chk_1","line_items":[],"currency":"USD","payment":{}}`,
		},
		{
			name: "update: not in 2026-04-08", release: wire.April2026,
			x:     wire.Exchange{Operation: wire.UpdateCheckout, Checkout: "chk_1", Currency: "USD"},
			model: `{"line_items":[]}`, want: `{"line_items":[]}`,
		},
		{
			name: "complete: payment_data with a flat card in 2026-01-11", release: wire.January11,
			x: wire.Exchange{Operation: wire.CompleteCheckout}, model: complete,
			want: `{"payment_data":{"id":"i_1","handler_id":"pay_1","type":"card","brand":"Visa","last_digits":"1234","expiry_year":2030,
			  "rich_text_description":"Her card","rich_card_art":"https://pay.example/art",
			  "credential":{"type":"token","token":"t1"},"billing_address":{"address_country":"DE"}},
			  "risk_signals":{"dev.ucp.buyer_ip":"192.0.2.1"}}`,
		},
		{
			name: "complete: risk_signals are there, if empty, in 2026-01-11", release: wire.January11,
			x:     wire.Exchange{Operation: wire.CompleteCheckout},
			model: `{"payment":{"instruments":[{"id":"i"}]},"ap2":{"checkout_mandate":"a..b"}}`,
			want:  `{"payment_data":{"id":"i"},"risk_signals":{},"ap2":{"checkout_mandate":"a..b"}}`,
		},
		{
			name: "complete: signals are risk_signals in 2026-01-23", release: wire.January23,
			x:     wire.Exchange{Operation: wire.CompleteCheckout},
			model: `{"payment":{"instruments":[{"id":"i","selected":true}]},"signals":{"dev.ucp.buyer_ip":"x"}}`,
			want:  `{"payment":{"instruments":[{"id":"i","selected":true}]},"risk_signals":{"dev.ucp.buyer_ip":"x"}}`,
		},
		{
			name: "complete: of the buyer only the consent in 2026-04-08", release: wire.April2026,
			x:     wire.Exchange{Operation: wire.CompleteCheckout},
			model: `{"payment":{},"buyer":{"email":"a@example.com","consent":{"marketing":true}},"signals":{"dev.ucp.buyer_ip":"x"}}`,
			want:  `{"payment":{},"buyer":{"consent":{"marketing":true}},"signals":{"dev.ucp.buyer_ip":"x"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.release.EncodeRequest(test.x, decode(t, test.model))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(decode(t, test.want), got))
		})
	}
}

// What one side asks for is what the other side reads, in every release.
func TestRequestsArrive(t *testing.T) {
	for _, release := range wire.Releases() {
		for operation, model := range map[wire.Operation]string{
			wire.CreateCheckout: request, wire.UpdateCheckout: request, wire.CompleteCheckout: complete,
		} {
			x := wire.Exchange{Operation: operation, Checkout: "chk_1", Currency: "EUR"}
			want := decode(t, model)
			body, err := release.EncodeRequest(x, want)
			require.NoError(t, err)
			got, err := release.DecodeRequest(x, body)
			require.NoError(t, err)
			switch { // What a release cannot say.
			case release == wire.January11:
				if operation == wire.CompleteCheckout {
					want["payment"].(wire.Object)["instruments"] = want["payment"].(wire.Object)["instruments"].([]any)[1:]
					break
				}
				want["line_items"].([]any)[0].(wire.Object)["item"].(wire.Object)["title"] = "lamp"
				want["context"] = wire.Object{"currency": "EUR"}
				fallthrough
			case release == wire.January23 && operation != wire.CompleteCheckout:
				delete(want, "signals")
				delete(want, "attribution")
				if operation == wire.UpdateCheckout {
					want["id"] = "chk_1"
				}
			}
			require.Empty(t, cmp.Diff(want, got), "%s %s", release, operation)
		}
	}
}

// What one side answers is what the other side reads: the amounts, the payment, the order and whatever else a decision
// is made by.
func TestResponsesArrive(t *testing.T) {
	for _, release := range wire.Releases() {
		x := wire.Exchange{Operation: wire.GetCheckout, Currency: "EUR"}
		want := decode(t, checkout)
		status, body, err := release.EncodeResponse(x, 200, want)
		require.NoError(t, err)
		status, got, err := release.DecodeResponse(x, status, body)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		want["ucp"].(wire.Object)["version"] = string(release)
		if release != wire.April2026 {
			totals := want["totals"].([]any)
			totals[3].(wire.Object)["type"], totals[4].(wire.Object)["type"] = "fee", "discount"
			want["messages"].([]any)[0].(wire.Object)["severity"] = "requires_buyer_input"
		}
		if release == wire.January11 {
			handler := want["ucp"].(wire.Object)["payment_handlers"].(wire.Object)["example.pay"].([]any)[0].(wire.Object)
			handler["config_schema"] = handler["schema"]
			delete(handler, "schema")
		}
		require.Empty(t, cmp.Diff(want, got), release)
		require.NoError(t, wire.CheckTotals(got["totals"].([]any)))

		x.Operation = wire.GetOrder
		want = decode(t, order)
		_, body, err = release.EncodeResponse(x, 200, want)
		require.NoError(t, err)
		_, got, err = release.DecodeResponse(x, 200, body)
		require.NoError(t, err)
		want["ucp"].(wire.Object)["version"] = string(release)
		if release != wire.April2026 {
			delete(want, "label")
			for _, line := range want["line_items"].([]any) {
				delete(line.(wire.Object)["quantity"].(wire.Object), "original")
			}
			want["line_items"].([]any)[1].(wire.Object)["status"] = "fulfilled"
		}
		require.Empty(t, cmp.Diff(want, got), release)
	}
}

// Everything that the public servers sent decodes, and is a checkout or an order of the model or says why not.
func TestRecordedAnswersDecode(t *testing.T) {
	valid := schemas(t, wire.April2026, schematest.Response)
	count := map[string]int{}
	for name, exchanges := range schematest.Recordings(t, corpus(t)) {
		for i, e := range exchanges {
			operation, ok := operationOf(e.Request.Method, pathOf(e))
			body, err := wire.Decode(e.Response.Body)
			if !ok || err != nil {
				continue
			}
			x := wire.Exchange{Operation: operation, Currency: "USD"}
			status, got, err := wire.January11.DecodeResponse(x, e.Response.Status, body)
			require.NoError(t, err)
			at := fmt.Sprintf("%s, exchange %d: %s", name, i, encoded(t, got))
			switch {
			case status >= 400:
				require.NotEmpty(t, got["code"], at)
				require.NotEmpty(t, got["content"], at)
				count["protocol errors"]++
			case got["ucp"].(wire.Object)["status"] == "error":
				require.NotEmpty(t, got["messages"], at)
				count["business outcomes"]++
			case operation == wire.GetOrder:
				delete(got, "payment")
				valid.Check(t, "schemas/shopping/order.json", plain(t, got))
				count["orders"]++
			default:
				require.Positive(t, e.Response.Status)
				if len(got["line_items"].([]any)) == 0 || negative(e) {
					continue // No goods, or fewer than none: no schema has a place for what was sent.
				}
				valid.Check(t, "schemas/shopping/checkout.json", plain(t, got))
				require.NoError(t, wire.CheckTotals(got["totals"].([]any)), at)
				count["checkouts"]++
			}
		}
	}
	t.Logf("%v", count)
	for _, kind := range []string{"protocol errors", "business outcomes", "orders", "checkouts"} {
		require.Positive(t, count[kind], kind)
	}
}

func pathOf(r schematest.Recorded) string {
	path := r.Request.Path + r.Request.URL
	if i := strings.Index(path, "://"); i >= 0 {
		_, path, _ = strings.Cut(path[i+3:], "/")
	}
	return "/" + strings.TrimLeft(path, "/")
}

func negative(r schematest.Recorded) bool {
	return strings.Contains(string(r.Response.Body), `"quantity": 0`)
}

func operationOf(method, path string) (wire.Operation, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "orders" && method == "GET":
		return wire.GetOrder, true
	case parts[0] != "checkout-sessions":
		return "", false
	case len(parts) == 3 && parts[2] == "complete":
		return wire.CompleteCheckout, true
	case len(parts) == 3 && parts[2] == "cancel":
		return wire.CancelCheckout, true
	case len(parts) == 2 && method == "PUT":
		return wire.UpdateCheckout, true
	case len(parts) == 2 && method == "GET":
		return wire.GetCheckout, true
	case len(parts) == 1 && method == "POST":
		return wire.CreateCheckout, true
	}
	return "", false
}
