package ucp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestIncrementalHandOff: what needs the buyer is handed off with the continue_url, and the order that the buyer places at
// the shop is seen by looking. Nothing is sent there by us meanwhile.
func TestIncrementalHandOff(t *testing.T) {
	for _, severity := range []string{ucp.SeverityBuyerInput, ucp.SeverityBuyerReview} {
		t.Run(severity, func(t *testing.T) {
			shop := newAprilShop(t)
			shop.state = func(checkout doc) {
				checkout["status"] = "requires_escalation"
				checkout["messages"] = []any{problem("sign_in", "$", severity, "Sign in.")}
			}
			m := openApril(t, shop)
			needs := m.opens(ada, "NeedsInput")
			require.Equal(t, severity, messagesOf(t, needs)[0].Severity)
			require.Contains(t, text(t, needs, "checkout"), "https://shop.example/c/chk_1")
			m.handsOff(1)
			require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 3 }, time.Minute, time.Millisecond)
			shop.at(func(checkout doc) { checkout["status"] = "complete_in_progress" })
			looks := shop.count("GET /chk_1")
			require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= looks+2 }, time.Minute, time.Millisecond)
			shop.at(func(checkout doc) { checkout["status"] = "completed" })
			require.Contains(t, text(t, m.expect("BuyerCompleted"), "order"), "ord_1")
			err := m.platform.Attempt(t.Context(), "Complete", adapter.Values{"cid": cid, "rev": 1, "cause": "x", "credential": paying}).Err(t.Context())
			require.ErrorAs(t, err, new(*adapter.Rejection), "never a payment of ours after that")
			require.Zero(t, shop.count("POST /chk_1/complete"))
			require.Equal(t, []string{"Create 0", "NeedsInput 1", "HandOff 1", "BuyerCompleted"}, m.happened())
		})
	}
}

// TestIncrementalHandOffChanged: what the buyer changes at the shop takes the revision back, and is the next.
func TestIncrementalHandOffChanged(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = escalates
	m := openApril(t, shop)
	m.opens(ada, "NeedsInput")
	m.handsOff(1)
	require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 2 }, time.Minute, time.Millisecond)
	shop.at(needsEmail)
	require.Equal(t, "1", text(t, m.expect("Withdrawn"), "rev"))
	require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
}

func escalates(checkout doc) {
	checkout["status"] = "requires_escalation"
	checkout["messages"] = []any{problem("sign_in", "$", ucp.SeverityBuyerInput, "Sign in.")}
}

// TestIncrementalHandOffExpired: a hand-off ends with the checkout: when its time is over, when the shop has given it up, or
// has forgotten it.
func TestIncrementalHandOffExpired(t *testing.T) {
	for name, end := range map[string]func(shop *aprilShop){
		"canceled":  func(shop *aprilShop) { shop.at(func(checkout doc) { checkout["status"] = "canceled" }) },
		"forgotten": func(shop *aprilShop) { shop.mu.Lock(); shop.checkout = nil; shop.mu.Unlock() },
		"in time": func(shop *aprilShop) {
			shop.at(func(checkout doc) { checkout["expires_at"] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			shop.state = escalates
			m := openApril(t, shop)
			m.opens(ada, "NeedsInput")
			if name == "in time" {
				end(shop)
			}
			m.handsOff(1)
			require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 1 }, time.Minute, time.Millisecond)
			if name != "in time" {
				end(shop)
			}
			m.expect("Expired")
			require.Empty(t, m.diverged)
		})
	}
}

// TestIncrementalUnrecoverable: nothing can be done in this checkout, so it is refused; a new one may be opened.
func TestIncrementalUnrecoverable(t *testing.T) {
	shop := newAprilShop(t)
	shop.script["POST "] = []http.HandlerFunc{answering(200, `{"ucp":{"version":"2026-04-08","status":"error"},"messages":[{"type":"error","code":"item_unavailable","content":"No such lamp.","severity":"unrecoverable"}],"continue_url":"https://shop.example/"}`)}
	m := openApril(t, shop)
	reason := text(t, m.opens(ada, "Refused"), "reason")
	require.Contains(t, reason, "No such lamp.")
	require.Contains(t, reason, "unrecoverable")
	require.Contains(t, reason, "https://shop.example/")
	require.Equal(t, []string{"POST "}, shop.lines())
}

// TestIncrementalDisclosure: what has to be shown reaches the platform unchanged; a platform that does not show it cannot
// pay, but sends the buyer to the shop.
func TestIncrementalDisclosure(t *testing.T) {
	warns := func(checkout doc) {
		checkout["status"] = "ready_for_complete"
		checkout["messages"] = []any{doc{"type": "warning", "code": "prop65", "content": "Contains lead.", "presentation": "disclosure", "path": "$.line_items[0]"}}
	}
	t.Run("shown", func(t *testing.T) {
		shop := newAprilShop(t)
		shop.state = warns
		m := openApril(t, shop, func(o *ucp.OutboundOptions) { o.Discloses = true })
		require.Equal(t, []message{{"warning", "prop65", "$.line_items[0]", "", "Contains lead.", "disclosure"}}, messagesOf(t, m.opens(ada, "Offered")))
	})
	t.Run("not shown", func(t *testing.T) {
		shop := newAprilShop(t)
		shop.state = warns
		m := openApril(t, shop)
		messages := messagesOf(t, m.opens(ada, "NeedsInput"))
		require.Equal(t, "Contains lead.", messages[0].Content)
		require.Equal(t, ucp.CodeDisclosureNotShown, messages[1].Code)
		require.Equal(t, ucp.SeverityBuyerReview, messages[1].Severity)
		m.handsOff(1)
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 1 }, time.Minute, time.Millisecond)
		shop.at(func(checkout doc) { checkout["status"] = "completed" })
		m.expect("BuyerCompleted")
		require.Zero(t, shop.count("POST /chk_1/complete"))
	})
	t.Run("with a picture", func(t *testing.T) {
		shop := newAprilShop(t)
		shop.state = func(checkout doc) {
			warns(checkout)
			checkout["messages"].([]any)[0].(doc)["image_url"] = "https://shop.example/lead.svg"
		}
		m := openApril(t, shop, func(o *ucp.OutboundOptions) { o.Discloses = true })
		require.Equal(t, ucp.CodeDisclosureNotShown, messagesOf(t, m.opens(ada, "NeedsInput"))[1].Code)

		m = openApril(t, shop, func(o *ucp.OutboundOptions) { o.Discloses, o.ShowsImages = true, true })
		m.opens(ada, "Offered")
	})
}
