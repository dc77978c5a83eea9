package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

func TestCheckTotals(t *testing.T) {
	for _, test := range []struct{ name, totals, want string }{
		{"sums up", `[{"type":"subtotal","amount":10},{"type":"discount","amount":-3},{"type":"total","amount":7}]`, ""},
		{"several of a kind", `[{"type":"subtotal","amount":10},{"type":"tax","amount":1},{"type":"tax","amount":2},{"type":"total","amount":13}]`, ""},
		{"a kind of the shop's own", `[{"type":"subtotal","amount":10},{"type":"gift","amount":-1,"display_text":"Gift"},{"type":"total","amount":9}]`, ""},
		{"a kind without a name", `[{"type":"subtotal","amount":10},{"type":"gift","amount":-1},{"type":"total","amount":9}]`, "gift has no display_text"},
		{"no lines at all", `[{"type":"subtotal","amount":10},{"type":"tax","amount":3,"lines":[]},{"type":"total","amount":13}]`, "lines of tax sum up to 0"},
		{"lines sum up", `[{"type":"subtotal","amount":10},{"type":"tax","amount":3,"lines":[{"amount":1},{"amount":2}]},{"type":"total","amount":13}]`, ""},
		{"nothing to pay", `[{"type":"subtotal","amount":0},{"type":"total","amount":0}]`, ""},
		{"less than is charged", `[{"type":"subtotal","amount":10},{"type":"total","amount":11}]`, "sum up to 10, the total is 11"},
		{"a discount of nothing", `[{"type":"subtotal","amount":10},{"type":"discount","amount":0},{"type":"total","amount":10}]`, "lowers the total"},
		{"wrong sum", `[{"type":"subtotal","amount":10},{"type":"total","amount":9}]`, "sum up to 10, the total is 9"},
		{"lines do not", `[{"type":"subtotal","amount":10},{"type":"tax","amount":3,"lines":[{"amount":1}]},{"type":"total","amount":13}]`, "lines of tax sum up to 1"},
		{"no total", `[{"type":"subtotal","amount":10}]`, "0 entries of type total"},
		{"two subtotals", `[{"type":"subtotal","amount":1},{"type":"subtotal","amount":1},{"type":"total","amount":2}]`, "2 entries of type subtotal"},
		{"none at all", `[]`, "0 entries of type subtotal"},
		{"positive discount", `[{"type":"subtotal","amount":10},{"type":"discount","amount":3},{"type":"total","amount":13}]`, "lowers the total"},
		{"negative tax", `[{"type":"subtotal","amount":10},{"type":"tax","amount":-3},{"type":"total","amount":7}]`, "is a charge"},
		{"a fraction", `[{"type":"subtotal","amount":1.5},{"type":"total","amount":1.5}]`, "whole number"},
		{"text", `[{"type":"subtotal","amount":"1"},{"type":"total","amount":1}]`, "whole number"},
		{"too large", `[{"type":"subtotal","amount":9007199254740992},{"type":"total","amount":9007199254740992}]`, "2^53-1"},
		{"too large together", `[{"type":"subtotal","amount":9007199254740991},{"type":"fee","amount":1},{"type":"total","amount":0}]`, "the sum is larger"},
		{"no type", `[{"amount":1}]`, "has no type"},
		{"no object", `[7]`, "has no type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			totals, _ := decode(t, `{"totals":`+test.totals+`}`)["totals"].([]any)
			err := wire.CheckTotals(totals)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			var wrong *wire.TotalsError
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A number is what it is worth, however it is written: to JSON Schema 3500.0 and 35e2 are integers. None is rounded.
func TestAmountsHoweverTheyAreWritten(t *testing.T) {
	for written, want := range map[string]string{
		"3500": "3500", "3500.0": "3500", "35e2": "3500", "35E+2": "3500", "350000e-2": "3500", "0.35e4": "3500",
		"0": "0", "-0": "0", "-0.0": "0", "0e400": "0", "0e-400": "0",
		"9007199254740991.0": "9007199254740991", "9007199254740991e0": "9007199254740991",
		// What is none, or more than an amount may be, is not made one.
		"9007199254740992.0": "", "9007199254740993.0": "", "9007199254740992": "", "1e400": "", "-1e400": "", "1e-400": "",
		"9223372036854775808.0": "", "3500.5": "", "3500.0000000000000001": "", "1e99999999999999999999": "",
	} {
		for _, release := range []wire.Release{wire.January11, wire.January23, wire.April2026} {
			said := decode(t, `{"id":"c","line_items":[{"id":"l","quantity":2.0}],"totals":[{"type":"subtotal","amount":`+written+`},
			  {"type":"total","amount":`+written+`,"lines":[{"amount":`+written+`}]}]}`)
			_, model, err := release.DecodeResponse(wire.Exchange{Operation: wire.GetCheckout}, 200, said)
			require.NoError(t, err)
			totals := model["totals"].([]any)
			err = wire.CheckTotals(totals)
			if want == "" {
				require.ErrorAs(t, err, new(*wire.TotalsError), "%s in %s", written, release)
				continue
			}
			require.NoError(t, err, "%s in %s", written, release)
			require.Equal(t, json.Number(want), totals[1].(wire.Object)["amount"], "%s in %s", written, release)
			require.Equal(t, json.Number("2"), model["line_items"].([]any)[0].(wire.Object)["quantity"])
		}
	}
	order, err := wire.April2026.DecodeOrder(wire.Exchange{}, decode(t, `{"id":"o","line_items":[],"totals":[{"type":"total","amount":1e2}]}`))
	require.NoError(t, err)
	require.Equal(t, json.Number("100"), order["totals"].([]any)[0].(wire.Object)["amount"])
}

// Totals that add up still do after a way through any release.
func TestTotalsSurviveEveryRelease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum int64
		totals := []any{}
		add := func(kind string, n int64) {
			sum += n
			totals = append(totals, wire.Object{"type": kind, "amount": n, "display_text": kind})
		}
		add("subtotal", rapid.Int64Range(0, 1e9).Draw(t, "subtotal"))
		for range rapid.IntRange(0, 5).Draw(t, "entries") {
			kind := rapid.SampledFrom([]string{"discount", "items_discount", "tax", "fee", "fulfillment", "gift", "rounding"}).Draw(t, "kind")
			n := rapid.Int64Range(1, 1e6).Draw(t, "amount")
			switch kind {
			case "discount", "items_discount":
				n = -n
			case "gift", "rounding":
				n *= rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign")
			}
			add(kind, n)
		}
		totals = append(totals, wire.Object{"type": "total", "amount": sum})
		if sum < 0 {
			t.Skip("a shop does not pay its buyers")
		}
		release := rapid.SampledFrom(wire.Releases()).Draw(t, "release")
		x := wire.Exchange{Operation: wire.GetCheckout}
		_, body, err := release.EncodeResponse(x, 200, wire.Object{"id": "c", "totals": totals})
		require.NoError(t, err)
		text, err := wire.Encode(body)
		require.NoError(t, err)
		body, err = wire.Decode(text)
		require.NoError(t, err)
		_, got, err := release.DecodeResponse(x, 200, body)
		require.NoError(t, err)
		require.NoError(t, wire.CheckTotals(got["totals"].([]any)))
	})
}
