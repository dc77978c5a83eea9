package wire_test

import (
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
