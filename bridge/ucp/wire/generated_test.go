package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

func maybe(t *rapid.T, in wire.Object, name string, value func() any) {
	if rapid.Bool().Draw(t, "has "+name) {
		in[name] = value()
	}
}

// drawnTotals are totals of the model that add up.
func drawnTotals(t *rapid.T) []any {
	sum := rapid.Int64Range(0, 1e9).Draw(t, "subtotal")
	totals := []any{wire.Object{"type": "subtotal", "amount": sum}}
	for _, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"discount", "items_discount", "tax", "fee", "fulfillment", "gift", "goodwill"}), 0, 4).Draw(t, "kinds") {
		n := rapid.Int64Range(1, 1e5).Draw(t, "amount")
		if kind == "discount" || kind == "items_discount" || kind == "goodwill" {
			n = -min(n, sum)
		}
		if n == 0 {
			continue
		}
		sum += n
		entry := wire.Object{"type": kind, "amount": n, "display_text": kind}
		if n > 1 && rapid.Bool().Draw(t, "lines") {
			entry["lines"] = []any{wire.Object{"display_text": "a", "amount": n - 1}, wire.Object{"display_text": "b", "amount": int64(1)}}
		}
		totals = append(totals, entry)
	}
	return append(totals, wire.Object{"type": "total", "amount": sum})
}

// lineTotals are those of a line, which has no more than goods and what is taken off.
func lineTotals(t *rapid.T) []any {
	n := rapid.Int64Range(0, 1e6).Draw(t, "line")
	return []any{wire.Object{"type": "subtotal", "amount": n}, wire.Object{"type": "total", "amount": n}}
}

func drawnCheckout(t *rapid.T) wire.Object {
	status := rapid.SampledFrom([]string{"incomplete", "requires_escalation", "ready_for_complete", "complete_in_progress", "completed", "canceled"}).Draw(t, "status")
	out := wire.Object{
		"ucp": wire.Object{
			"version": "2026-04-08", "status": "success",
			"capabilities": wire.Object{"dev.ucp.shopping.checkout": []any{wire.Object{"version": "2026-04-08"}}},
			"payment_handlers": wire.Object{"example.pay": []any{wire.Object{
				"id": "pay_1", "version": "2026-04-08", "spec": "https://pay.example/spec", "schema": "https://pay.example/schema",
				"config": wire.Object{}, "available_instruments": []any{wire.Object{"type": "card"}},
			}}},
		},
		"id": "chk_1", "status": status, "currency": "EUR", "totals": drawnTotals(t), "links": []any{},
	}
	lines := []any{}
	for i := range rapid.IntRange(1, 3).Draw(t, "lines") {
		lines = append(lines, wire.Object{
			"id": fmt.Sprint("li_", i), "item": wire.Object{"id": "lamp", "title": "Lamp", "price": rapid.Int64Range(0, 1e6).Draw(t, "price")},
			"quantity": rapid.Int64Range(1, 9).Draw(t, "quantity"), "totals": lineTotals(t),
		})
	}
	out["line_items"] = lines
	maybe(t, out, "expires_at", func() any { return "2026-11-30T18:00:00Z" })
	maybe(t, out, "continue_url", func() any { return "https://shop.example/c" })
	maybe(t, out, "context", func() any { return wire.Object{"address_country": "DE", "currency": "EUR"} })
	maybe(t, out, "attribution", func() any { return wire.Object{"utm_source": "here"} })
	maybe(t, out, "signals", func() any { return wire.Object{"dev.ucp.buyer_ip": "192.0.2.1"} })
	maybe(t, out, "buyer", func() any {
		return wire.Object{"email": "ada@example.com", "consent": wire.Object{"marketing": rapid.Bool().Draw(t, "marketing")}}
	})
	maybe(t, out, "discounts", func() any {
		return wire.Object{"codes": []any{"TEN"}, "applied": []any{wire.Object{"code": "TEN", "title": "Ten", "amount": int64(10), "automatic": false}}}
	})
	maybe(t, out, "fulfillment", func() any {
		return wire.Object{"methods": []any{wire.Object{
			"id": "m", "type": rapid.SampledFrom([]string{"shipping", "pickup"}).Draw(t, "method"), "line_item_ids": []any{"li_0"},
			"groups": []any{wire.Object{"id": "g", "line_item_ids": []any{"li_0"}, "options": []any{
				wire.Object{"id": "o", "title": "Post", "totals": lineTotals(t)},
			}}},
		}}}
	})
	maybe(t, out, "payment", func() any {
		return wire.Object{"instruments": []any{wire.Object{
			"id": "i", "handler_id": "pay_1", "type": "card", "selected": true, "display": wire.Object{"brand": "Visa", "last_digits": "1234"},
		}}}
	})
	maybe(t, out, "messages", func() any {
		return []any{
			wire.Object{"type": "error", "code": "out_of_stock", "content": "Gone.", "path": "$.line_items[0]", "severity": rapid.SampledFrom([]string{
				"recoverable", "requires_buyer_input", "requires_buyer_review", "unrecoverable",
			}).Draw(t, "severity")},
			wire.Object{"type": "warning", "code": "age", "content": "Adults only.", "presentation": rapid.SampledFrom([]string{"notice", "disclosure"}).Draw(t, "presentation")},
			wire.Object{"type": "info", "content": "Thank you."},
		}
	})
	if status == "completed" {
		out["order"] = wire.Object{"id": "o_1", "permalink_url": "https://shop.example/o_1"}
	}
	return out
}

func drawnOrder(t *rapid.T) wire.Object {
	quantity := func(least int64) int64 { return rapid.Int64Range(least, 9).Draw(t, "quantity") }
	lines := []any{}
	for i := range rapid.IntRange(1, 3).Draw(t, "lines") {
		line := wire.Object{
			"id": fmt.Sprint("li_", i), "item": wire.Object{"id": "lamp", "title": "Lamp", "price": int64(100)}, "totals": lineTotals(t),
			"quantity": wire.Object{"total": quantity(0), "fulfilled": quantity(0)},
			"status":   rapid.SampledFrom([]string{"processing", "partial", "fulfilled", "removed"}).Draw(t, "status"),
		}
		maybe(t, line["quantity"].(wire.Object), "original", func() any { return quantity(1) })
		lines = append(lines, line)
	}
	out := wire.Object{
		"ucp": wire.Object{"version": "2026-04-08", "capabilities": wire.Object{"dev.ucp.shopping.order": []any{wire.Object{"version": "2026-04-08"}}}},
		"id":  "o_1", "checkout_id": "chk_1", "permalink_url": "https://shop.example/o_1", "currency": "EUR", "line_items": lines,
		"totals": drawnTotals(t), "fulfillment": wire.Object{},
	}
	maybe(t, out["fulfillment"].(wire.Object), "events", func() any {
		return []any{wire.Object{"id": "e", "occurred_at": "2026-11-30T12:00:00Z", "type": "shipped", "line_items": []any{wire.Object{"id": "li_0", "quantity": quantity(1)}}}}
	})
	maybe(t, out, "adjustments", func() any {
		adjustment := wire.Object{
			"id": "a", "type": rapid.SampledFrom([]string{"refund", "return", "exchange", "price_adjustment"}).Draw(t, "adjustment"),
			"occurred_at": "2026-11-30T12:00:00Z", "status": "completed",
		}
		maybe(t, adjustment, "line_items", func() any { return []any{wire.Object{"id": "li_0", "quantity": -quantity(1)}} })
		maybe(t, adjustment, "totals", func() any {
			return []any{wire.Object{"type": "total", "amount": int64(-90)}}
		})
		return []any{adjustment}
	})
	maybe(t, out, "label", func() any { return "#1" })
	return out
}

// Whatever is in the model is in every release what that release's schemas ask for, and what comes back adds up to the
// same.
func TestWhateverIsAnsweredIsValid(t *testing.T) {
	valid := map[wire.Release]schematest.Schemas{}
	for _, release := range wire.Releases() {
		valid[release] = schemas(t, release, schematest.Response)
	}
	rapid.Check(t, func(drawing *rapid.T) {
		checkout, order := drawnCheckout(drawing), drawnOrder(drawing)
		release := rapid.SampledFrom(wire.Releases()).Draw(drawing, "release")
		x := wire.Exchange{Operation: wire.GetCheckout, Currency: "EUR"}
		_, body, err := release.EncodeResponse(x, 200, checkout)
		require.NoError(drawing, err)
		for _, schema := range checkoutSchemas(release) {
			valid[release].Check(t, schema, plain(t, body))
		}
		body = decode(t, string(plain(t, body)))
		_, got, err := release.DecodeResponse(x, 200, body)
		require.NoError(drawing, err)
		require.NoError(drawing, wire.CheckTotals(got["totals"].([]any)))
		require.Equal(drawing, checkout["status"], got["status"])

		x.Operation = wire.GetOrder
		_, body, err = release.EncodeResponse(x, 200, order)
		require.NoError(drawing, err)
		valid[release].Check(t, "schemas/shopping/order.json", plain(t, body))
		_, got, err = release.DecodeResponse(x, 200, decode(t, string(plain(t, body))))
		require.NoError(drawing, err)
		valid[wire.April2026].Check(t, "schemas/shopping/order.json", plain(t, got))
	})
}
