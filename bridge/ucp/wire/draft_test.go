package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// The draft after 2026-04-08 has purposes with who decided, and destinations with a type.
func TestTheDraft(t *testing.T) {
	x := wire.Exchange{Operation: wire.UpdateCheckout, Checkout: "chk_1", Draft: true}
	model := decode(t, `{"line_items":[],"buyer":{"consent":{"marketing":true,"sale_of_data":false,"com.example.letters":true}},
	  "fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d"}]},{"type":"pickup","destinations":[{"id":"s"}]}]}}`)
	said, err := wire.April2026.EncodeRequest(x, model)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(decode(t, `{"line_items":[],"buyer":{"consent":{
	    "dev.ucp.consent.marketing":{"granted":true,"source":"platform"},
	    "dev.ucp.consent.sale_or_sharing":{"granted":false,"source":"platform"},
	    "com.example.letters":{"granted":true,"source":"platform"}}},
	  "fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d","type":"shipping_address"}]},{"type":"pickup","destinations":[{"id":"s"}]}]}}`), said))
	back, err := wire.April2026.DecodeRequest(x, said)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(model["buyer"], back["buyer"]))

	x.Draft = false
	said, err = wire.April2026.EncodeRequest(x, model)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(model, said), "2026-04-08 itself has neither")

	_, got, err := wire.April2026.DecodeResponse(x, 200, decode(t, `{"ucp":{"version":"2026-09-01"},"id":"chk_1","buyer":{"consent":{
	  "dev.ucp.consent.analytics":{"granted":true,"source":"business","description":"What you look at.","segments":{}},
	  "dev.ucp.consent.preferences":{"source":"business","description":"Not said."}}}}`))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(wire.Object{"consent": wire.Object{"analytics": true}}, got["buyer"]))
}

// The sign of an amount is not lost where the type of an older release says it alone, and an adjustment is told with
// what it comes to.
func TestSignsOfOlderReleases(t *testing.T) {
	x := wire.Exchange{Operation: wire.GetCheckout}
	for _, release := range []wire.Release{wire.January11, wire.January23} {
		_, said, err := release.EncodeResponse(x, 200, decode(t, `{"id":"c","totals":[{"type":"subtotal","amount":10},{"type":"tax","amount":-2},
		  {"type":"discount","amount":3},{"type":"total","amount":11}]}`))
		require.NoError(t, err)
		_, got, err := release.DecodeResponse(x, 200, said)
		require.NoError(t, err)
		require.NoError(t, wire.CheckTotals(got["totals"].([]any)))

		_, said, err = release.EncodeResponse(wire.Exchange{Operation: wire.GetOrder}, 200, decode(t, `{"id":"o","adjustments":[
		  {"id":"a","type":"refund","totals":[{"type":"goods","amount":-100},{"type":"postage","amount":-20}]}]}`))
		require.NoError(t, err)
		require.EqualValues(t, "120", said["adjustments"].([]any)[0].(wire.Object)["amount"])
	}
}

// Which way the money of an adjustment goes is said before 2026-04-08 by its type or by a minus. Where neither says it
// nothing is made up: an upward price adjustment is no refund. What comes back is what was there.
func TestAdjustmentsOfOlderReleases(t *testing.T) {
	for _, release := range []wire.Release{wire.January11, wire.January23} {
		for _, test := range []struct{ kind, amount, totals, kept string }{
			{"refund", "500", "-500", ""},
			{"return", "500", "-500", ""},
			{"credit", "500", "-500", ""},
			{"dispute", "500", "-500", ""},
			{"cancellation", "500", "-500", ""},
			{"refund", "-500", "-500", ""},
			{"exchange", "500", "500", ""},
			{"exchange", "-500", "-500", ""},
			{"price_adjustment", "-500", "-500", ""},
			{"price_adjustment", "500", "", "500"},
			{"gift_wrapping", "500", "", "500"},
			{"refund", "0", "0", ""},
		} {
			said := decode(t, fmt.Sprintf(`{"id":"o","adjustments":[{"id":"a","type":%q,"amount":%s,"line_items":[{"id":"l","quantity":2}]}]}`, test.kind, test.amount))
			got, err := release.DecodeOrder(wire.Exchange{}, said)
			require.NoError(t, err)
			adjustment := got["adjustments"].([]any)[0].(wire.Object)
			if test.totals == "" {
				require.Equal(t, json.Number(test.kept), adjustment["amount"], test)
				require.Nil(t, adjustment["totals"], test)
			} else {
				require.Equal(t, []any{wire.Object{"type": "total", "amount": json.Number(test.totals)}}, adjustment["totals"], test)
				require.Nil(t, adjustment["amount"], test)
			}
			quantity := adjustment["line_items"].([]any)[0].(wire.Object)["quantity"]
			require.Equal(t, test.kind == "exchange" || test.kind == "price_adjustment" || test.kind == "gift_wrapping", quantity == json.Number("2"), test)

			again, err := release.EncodeOrder(got)
			require.NoError(t, err)
			back, err := release.DecodeOrder(wire.Exchange{}, again)
			require.NoError(t, err)
			require.Equal(t, got["adjustments"], back["adjustments"], test)
		}
	}
}
