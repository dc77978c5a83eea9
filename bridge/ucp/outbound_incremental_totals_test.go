package ucp_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// TestIncrementalTotals: totals that do not add up are never offered, so nothing pays them; the platform is told, and may
// hand off. The same for goods and a currency that nobody asked for.
func TestIncrementalTotals(t *testing.T) {
	totals := func(totals ...any) func(doc) {
		return func(checkout doc) {
			needsEmail(checkout)
			checkout["totals"] = totals
		}
	}
	entry := func(kind string, amount any) doc { return doc{"type": kind, "amount": amount} }
	for name, test := range map[string]struct {
		state func(doc)
		code  string
	}{
		"wrong sum":         {totals(entry("subtotal", 2000), entry("total", 1999)), ucp.CodeTotalsMismatch},
		"positive discount": {totals(entry("subtotal", 2000), entry("discount", 100), entry("total", 1900)), ucp.CodeTotalsMismatch},
		"no totals":         {func(checkout doc) { needsEmail(checkout); delete(checkout, "totals") }, ucp.CodeTotalsMismatch},
		"nameless":          {totals(entry("subtotal", 2000), entry("wrapping", 100), entry("total", 2100)), ucp.CodeTotalsMismatch},
		"other goods":       {func(checkout doc) { needsEmail(checkout); checkout["line_items"].([]any)[0].(doc)["quantity"] = 3 }, ucp.CodeContentsDiffer},
		"other currency":    {func(checkout doc) { needsEmail(checkout); checkout["currency"] = "EUR" }, ucp.CodeCurrencyDiffers},
		"odd status":        {func(checkout doc) { needsEmail(checkout); checkout["status"] = "paid_with_thanks" }, ucp.CodeStatusUnknown},
		"no reason":         {func(checkout doc) { needsEmail(checkout); checkout["status"] = "requires_escalation" }, ucp.CodeEscalation},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			shop.state = test.state
			m := openApril(t, shop, func(o *ucp.OutboundOptions) { o.Currency = "USD" })
			messages := messagesOf(t, m.opens(ada, "NeedsInput"))
			require.Len(t, messages, 1)
			require.Equal(t, test.code, messages[0].Code)
			require.Equal(t, ucp.SeverityBuyerReview, messages[0].Severity)
			err := m.platform.Attempt(t.Context(), "Complete", adapter.Values{"cid": cid, "rev": 1, "cause": "x", "credential": paying}).Err(t.Context())
			require.ErrorAs(t, err, new(*adapter.Rejection))
			require.Equal(t, []string{"POST "}, shop.lines(), "nothing is paid")
			require.Empty(t, m.diverged)
		})
	}
}

// TestIncrementalTotalsWrittenOtherwise: a shop that writes whole numbers as fractions or with exponents is bought from.
func TestIncrementalTotalsWrittenOtherwise(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = func(checkout doc) {
		needsEmail(checkout)
		checkout["line_items"].([]any)[0].(doc)["quantity"] = json.Number("2.0")
		checkout["totals"] = []any{
			doc{"type": "subtotal", "amount": json.Number("2000.0")},
			doc{"type": "discount", "amount": json.Number("-5e2")},
			doc{"type": "total", "amount": json.Number("15e2")},
		}
	}
	m := openApril(t, shop)
	require.Equal(t, int64(1500), total(t, m.opens(ada, "Offered")))
	m.pays(1)
	m.expect("Completed")
	require.Empty(t, m.diverged)
}

// TestIncrementalTotalsChanged: what was offered is not what the shop wants by now, so it is not paid but offered anew.
func TestIncrementalTotalsChanged(t *testing.T) {
	shop := newAprilShop(t)
	m := openApril(t, shop)
	m.opens(ada, "Offered")
	shop.at(func(checkout doc) {
		checkout["totals"] = []any{doc{"type": "subtotal", "amount": 2000}, doc{"type": "fee", "amount": 1}, doc{"type": "total", "amount": 2001}}
	})
	m.pays(1)
	require.Contains(t, text(t, m.expect("Declined"), "notice"), "totals_changed")
	require.Equal(t, int64(2001), total(t, m.expect("Offered")))
	require.Zero(t, shop.count("POST /chk_1/complete"))
}

// TestIncrementalOrderForAnotherSum: there is an order, for another sum than was agreed to. It is told that it was placed, and
// that it is not what was agreed to, whichever of the two is more.
func TestIncrementalOrderForAnotherSum(t *testing.T) {
	for _, sum := range []int{1999, 2001} {
		shop := newAprilShop(t)
		shop.pay = func(checkout doc) doc {
			checkout["status"] = "completed"
			checkout["totals"] = []any{doc{"type": "subtotal", "amount": sum}, doc{"type": "total", "amount": sum}}
			return nil
		}
		diverged := make(chan bridge.Divergence, 1)
		m := openApril(t, shop, func(o *ucp.OutboundOptions) { o.OnDiverged = func(d bridge.Divergence) { diverged <- d } })
		m.opens(ada, "Offered")
		m.pays(1)
		m.expect("Completed")
		select {
		case d := <-diverged:
			require.Contains(t, d.Detail, "something else than was agreed to", sum)
		case <-time.After(time.Minute):
			require.Fail(t, "nobody was told", sum)
		}
	}
}

// TestReviewAgreesWithTheGuard: what the review lets pass as an offer the guard of the protocol does too, so that a shop's
// totals never make a divergence.
func TestReviewAgreesWithTheGuard(t *testing.T) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	hook := ucp.Hooks(ucp.Choices{})["review"]
	rapid.Check(t, func(t *rapid.T) {
		totals := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any {
			entry := map[string]any{}
			if kind := rapid.SampledFrom([]string{"subtotal", "subtotal", "total", "discount", "tax", "gift", ""}).Draw(t, "kind"); kind != "" {
				entry["type"] = kind
			}
			amounts := []any{0, 5, -5, 10, 1, json.Number("1.5"), json.Number("1e1"), json.Number("9007199254740991"), json.Number("9007199254740992"), nil, "5"}
			entry["amount"] = rapid.SampledFrom(amounts).Draw(t, "amount")
			if rapid.Bool().Draw(t, "named") {
				entry["display_text"] = rapid.SampledFrom([]any{"Gift", nil}).Draw(t, "name")
			}
			if lines := rapid.SampledFrom([]any{false, false, nil, []any{}, []any{map[string]any{"amount": 5}}, "5"}).Draw(t, "lines"); lines != false {
				entry["lines"] = lines
			}
			return entry
		}), 0, 4).Draw(t, "totals")
		checkout, err := decodedWithNumbers(map[string]any{"status": "ready_for_complete", "currency": "USD", "totals": totals})
		require.NoError(t, err)
		reviewed, err := hook(t.Context(), map[string]any{"checkout": checkout})
		require.NoError(t, err)
		offered := len(reviewed.(map[string]any)["messages"].([]any)) == 0
		state := rules.NewState(`{"cid":"c"}`)
		values := func(more map[string]any) enactment.Values {
			all := enactment.Values{"cid": enactment.MustValue("c")}
			for name, value := range more {
				all[name] = enactment.MustValue(value)
			}
			return all
		}
		created, _ := enactment.Judge(state, enactment.Attempt{ID: "1", Identity: enactment.Identity{Role: "Platform"}, Action: "Create", Values: values(map[string]any{
			"rev": 0, "profile": "p", "line_items": nil, "buyer": nil, "fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil,
		})})
		state.Apply(created)
		_, outcomes := enactment.Judge(state, enactment.Attempt{ID: "2", Identity: enactment.Identity{Role: "Business"}, Action: "Offered", Values: values(map[string]any{
			"rev": 1, "id": "i", "checkout": nil, "messages": nil, "currency": "USD", "totals": totals,
		})})
		if offered {
			require.NoError(t, outcomes[0].Err(), "%v", totals)
		} else {
			require.ErrorIs(t, outcomes[0].Err(), enactment.GuardRefused, "%v", totals)
		}
	})
}

func decodedWithNumbers(value any) (decoded any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoded, decoder.Decode(&decoded)
}
