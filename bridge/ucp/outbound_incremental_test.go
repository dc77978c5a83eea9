package ucp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

func TestIncrementalMappingIsSound(t *testing.T) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	text, err := protocols.Files.ReadFile("ucp-incremental.outbound.yaml")
	require.NoError(t, err)
	mapping, err := bridge.Load("ucp-incremental.outbound.yaml", text, rules, ucp.Hooks(ucp.Choices{}))
	require.NoError(t, err)
	require.Equal(t, []string{"Create", "Update", "Complete", "HandOff", "Cancel"}, mapping.Actions())
}

// openApril opens a market for UCPIncremental at a shop of 2026-04-08.
func openApril(t *testing.T, shop *aprilShop, change ...func(*ucp.OutboundOptions)) *market {
	t.Helper()
	return openIncremental(t, func(m *market, _ *http.Client) {
		m.business = &ucp.Business{Endpoint: shop.server.URL, Release: wire.April2026}
	}, change...)
}

// openIncremental opens a market for UCPIncremental at a shop that is found.
func openIncremental(t *testing.T, find func(*market, *http.Client), change ...func(*ucp.OutboundOptions)) *market {
	t.Helper()
	actions := []string{
		"Offered", "NeedsInput", "Refused", "Rejected", "Withdrawn", "Completed", "Declined", "BuyerCompleted", "Cancelled", "Expired",
	}
	quick := func(o *ucp.OutboundOptions) { o.Patience.LongestLook = 5 * time.Millisecond }
	return openMarketOf(t, "ucp-incremental", find, actions, append([]func(*ucp.OutboundOptions){quick}, change...)...)
}

var (
	ada      = doc{"email": "ada@example.com"}
	twoLamps = []any{doc{"item": doc{"id": "lamp"}, "quantity": 2}}
	paying   = doc{"payment": doc{"instruments": []any{doc{
		"id": "i1", "handler_id": "cards", "type": "card", "display": doc{"brand": "Visa", "last_digits": "4242"}, "credential": doc{"type": "token", "token": "tok_secret_4711"},
	}}}}
)

// opens creates a checkout and gives what the shop says of it.
func (m *market) opens(buyer any, action string) adapter.Observation {
	m.t.Helper()
	m.attempt("Create", opening(buyer))
	return m.expect(action)
}

// opening is what a Create of two lamps binds.
func opening(buyer any) adapter.Values {
	return adapter.Values{
		"rev": 0, "profile": "https://platform.example/p", "line_items": twoLamps, "buyer": buyer,
		"fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil,
	}
}

func (m *market) updates(rev int, buyer any) {
	m.t.Helper()
	m.attempt("Update", adapter.Values{
		"rev": rev, "cause": "more is known", "line_items": twoLamps, "buyer": buyer,
		"fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil,
	})
}

func (m *market) pays(rev int) {
	m.t.Helper()
	m.attempt("Complete", adapter.Values{"rev": rev, "cause": "the sum is right", "credential": paying})
}

func (m *market) handsOff(rev int) {
	m.t.Helper()
	m.attempt("HandOff", adapter.Values{"rev": rev})
}

// happened lists what has happened, in order, and the revision of each that has one.
func (m *market) happened() []string {
	var all []string
	for _, f := range m.exec.History(enactment.Key(`{"cid":"c1"}`)) {
		for _, i := range f.Instances {
			line := i.Action
			if rev, ok := i.Value("rev"); ok {
				line += " " + rev.String()
			}
			all = append(all, line)
		}
	}
	return all
}

func (m *market) never(actions ...string) {
	m.t.Helper()
	for _, line := range m.happened() {
		require.NotContains(m.t, actions, strings.Fields(line)[0])
	}
}

type message struct{ Type, Code, Path, Severity, Content, Presentation string }

func messagesOf(t *testing.T, o adapter.Observation) []message {
	t.Helper()
	var messages []message
	require.NoError(t, json.Unmarshal([]byte(text(t, o, "messages")), &messages))
	return messages
}

// TestIncrementalRecoverable: what can be recovered from is offered to the platform with its path, which updates, and it is
// evaluated anew; then it is paid, and nothing that pays is told to anybody but the shop.
func TestIncrementalRecoverable(t *testing.T) {
	shop := newAprilShop(t)
	m := openApril(t, shop)
	needs := m.opens(nil, "NeedsInput")
	require.Equal(t, []message{{"error", "missing", "$.buyer.email", "recoverable", "An email is needed.", ""}}, messagesOf(t, needs))
	m.updates(1, ada)
	require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
	m.pays(2)
	require.JSONEq(t, `{"id":"ord_1","permalink_url":"https://shop.example/o/1"}`, text(t, m.expect("Completed"), "order"))
	require.Equal(t, []string{"POST ", "PUT /chk_1", "GET /chk_1", "POST /chk_1/complete"}, shop.lines())
	keys := make(map[string]bool)
	for _, r := range shop.requests() {
		require.Equal(t, r.line[:3] == "GET", r.key == "", r.line)
		require.False(t, r.key != "" && keys[r.key], "every request has a key of its own")
		keys[r.key] = true
		require.Equal(t, `profile="`+ucp.DefaultProfile+`"`, r.agent)
	}
	require.JSONEq(t, `{"payment":{"instruments":[{"id":"i1","handler_id":"cards","type":"card","selected":true,"display":{"brand":"Visa","last_digits":"4242"},"credential":{"type":"token","token":"tok_secret_4711"}}]}}`, shop.requests()[3].body)
	require.NotContains(t, m.told(), "tok_secret_4711")
	require.Empty(t, m.diverged)
}

// TestIncrementalRejected: an update that is not taken over is rejected, and what is left is stated anew.
func TestIncrementalRejected(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"an outcome":        answering(200, `{"ucp":{"version":"2026-04-08","status":"error"},"messages":[{"type":"error","code":"out_of_stock","content":"No lamps.","severity":"recoverable"}]}`),
		"an older status":   answering(400, `{"ucp":{"status":"error"},"messages":[{"type":"error","code":"out_of_stock","content":"No lamps.","severity":"recoverable"}]}`),
		"a protocol error":  answering(422, `{"code":"out_of_stock","content":"No lamps."}`),
		"a conflict of two": answering(409, `{"code":"out_of_stock","content":"No lamps."}`),
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			m := openApril(t, shop)
			m.opens(ada, "Offered")
			shop.script["PUT /chk_1"] = []http.HandlerFunc{refuse}
			m.updates(1, ada)
			require.Contains(t, text(t, m.expect("Rejected"), "notice"), "No lamps.")
			require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
			m.pays(2)
			m.expect("Completed")
		})
	}
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func dropping(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestIncrementalDeclined: a payment that is declined is told, and then the next revision, which another payment may pay.
func TestIncrementalDeclined(t *testing.T) {
	declined := problem("payment_failed", "$.payment", "recoverable", "No money on it.")
	for name, decline := range map[string]func(shop *aprilShop){
		"with the checkout": func(shop *aprilShop) {
			shop.pay = func(checkout doc) doc {
				checkout["messages"] = []any{declined}
				return nil
			}
		},
		"without": func(shop *aprilShop) {
			shop.pay = func(doc) doc { return doc{"ucp": doc{"status": "error"}, "messages": []any{declined}} }
		},
		"by status": func(shop *aprilShop) {
			shop.script["POST /chk_1/complete"] = []http.HandlerFunc{
				answering(402, `{"ucp":{"status":"error"},"messages":[{"type":"error","code":"payment_failed","severity":"recoverable","content":"No money on it."}]}`),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			m := openApril(t, shop)
			m.opens(ada, "Offered")
			paid := shop.pay
			shop.mu.Lock()
			decline(shop)
			shop.mu.Unlock()
			m.pays(1)
			require.Contains(t, text(t, m.expect("Declined"), "notice"), "No money on it.")
			require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
			shop.mu.Lock()
			shop.pay = paid
			shop.mu.Unlock()
			m.pays(2)
			m.expect("Completed")
			keys := make(map[string]bool)
			for _, r := range shop.requests() {
				if r.line == "POST /chk_1/complete" {
					require.False(t, keys[r.key], "a new attempt has a new key")
					keys[r.key] = true
				}
			}
			require.Equal(t, 1, shop.placed())
		})
	}
}

// TestReviewOfADeclinedPayment: another payment may be made only where the shop says that the checkout is ready for one.
func TestReviewOfADeclinedPayment(t *testing.T) {
	review := ucp.Hooks(ucp.Choices{})["review"]
	for _, after := range []string{"declined", "nothing"} {
		for _, status := range []string{"ready_for_complete", "incomplete", "requires_escalation", "complete_in_progress", "completed", "canceled", ""} {
			got, err := review(t.Context(), map[string]any{"after": after, "checkout": map[string]any{"status": status}})
			require.NoError(t, err)
			require.Equal(t, after == "declined" && status == "ready_for_complete", got.(map[string]any)["declined"], "%s, %s", after, status)
		}
	}
}

// TestIncrementalInProgress: a payment that is in progress is looked at, and nothing else is sent, until it is over.
func TestIncrementalInProgress(t *testing.T) {
	working := func(shop *aprilShop) {
		shop.pay = func(checkout doc) doc {
			checkout["status"] = "complete_in_progress"
			return nil
		}
	}
	start := func(t *testing.T, change ...func(*ucp.OutboundOptions)) (*aprilShop, *market) {
		shop := newAprilShop(t)
		working(shop)
		m := openApril(t, shop, change...)
		m.opens(ada, "Offered")
		m.pays(1)
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 5 }, time.Minute, time.Millisecond)
		return shop, m
	}
	t.Run("completed", func(t *testing.T) {
		shop, m := start(t)
		// Nobody can change or pay it meanwhile: the protocol refuses.
		for _, action := range []string{"Update", "Complete"} {
			values := adapter.Values{"cid": cid, "rev": 1, "cause": "y", "credential": paying}
			if action == "Update" {
				values = adapter.Values{"cid": cid, "rev": 1, "cause": "y", "line_items": twoLamps, "buyer": ada, "fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil}
			}
			require.ErrorAs(t, m.platform.Attempt(t.Context(), action, values).Err(t.Context()), new(*adapter.Rejection))
		}
		shop.at(func(checkout doc) { checkout["status"] = "completed" })
		m.expect("Completed")
		require.Equal(t, 1, shop.count("POST /chk_1/complete"))
		require.Zero(t, shop.count("PUT /chk_1"))
	})
	t.Run("declined", func(t *testing.T) {
		shop, m := start(t)
		shop.at(func(checkout doc) {
			checkout["status"], checkout["messages"] = "ready_for_complete", []any{problem("payment_failed", "$.payment", "recoverable", "No money.")}
		})
		require.Contains(t, text(t, m.expect("Declined"), "notice"), "No money.")
		require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
		require.Equal(t, 1, shop.count("POST /chk_1/complete"))
	})
	t.Run("escalated", func(t *testing.T) {
		shop, m := start(t)
		shop.at(escalates)
		m.expect("Declined")
		require.Equal(t, "sign_in", messagesOf(t, m.expect("NeedsInput"))[0].Code)
	})
	t.Run("expires", func(t *testing.T) {
		shop, m := start(t)
		shop.at(func(checkout doc) { checkout["expires_at"] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339) })
		// A time before the one that was known does not count; only a new payment would know it.
		looks := shop.count("GET /chk_1")
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= looks+3 }, time.Minute, time.Millisecond)
		require.Empty(t, m.unknown)
	})
	t.Run("expired", func(t *testing.T) {
		shop := newAprilShop(t)
		working(shop)
		m := openApril(t, shop)
		m.opens(ada, "Offered")
		shop.at(func(checkout doc) { checkout["expires_at"] = time.Now().Add(time.Second).UTC().Format(time.RFC3339) })
		m.pays(1)
		u := <-m.unknown
		require.Equal(t, "Complete", u.Action)
		m.never("Completed", "Declined", "Expired")
		require.Equal(t, 1, shop.count("POST /chk_1/complete"))
	})
	t.Run("canceled when nothing else is left", func(t *testing.T) {
		shop, m := start(t)
		m.attempt("Cancel", adapter.Values{"seen": nil})
		looks := shop.count("GET /chk_1")
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= looks+4 }, time.Minute, time.Millisecond)
		require.Zero(t, shop.count("POST /chk_1/cancel"), "nothing is canceled that is being completed")
		shop.at(needsEmail)
		m.expectAll("Declined", "Cancelled")
		lines := shop.lines()
		at := slices.Index(lines, "POST /chk_1/cancel")
		require.Positive(t, at)
		require.Contains(t, lines[:at], "GET /chk_1", "after a fresh look")
	})
}

// expectAll waits for actions in any order; others may come between.
func (m *market) expectAll(actions ...string) {
	m.t.Helper()
	for len(actions) > 0 {
		o := receive(m, m.observed)
		actions = slices.DeleteFunc(actions, func(a string) bool { return a == o.Action })
	}
}

// TestIncrementalLostComplete: a payment whose answer is lost is asked about first; only if that says nothing the identical
// request is sent again under the same key.
func TestIncrementalLostComplete(t *testing.T) {
	t.Run("executed", func(t *testing.T) {
		shop := newAprilShop(t)
		m := openApril(t, shop)
		m.opens(ada, "Offered")
		shop.mu.Lock()
		shop.after = func(line string) {
			if line == "POST /chk_1/complete" {
				panic(http.ErrAbortHandler)
			}
		}
		shop.mu.Unlock()
		m.pays(1)
		m.expect("Completed")
		require.Equal(t, []string{"POST ", "GET /chk_1", "POST /chk_1/complete", "GET /chk_1"}, shop.lines())
	})
	t.Run("not executed", func(t *testing.T) {
		shop := newAprilShop(t)
		m := openApril(t, shop)
		m.opens(ada, "Offered")
		shop.mu.Lock()
		shop.script["POST /chk_1/complete"] = []http.HandlerFunc{dropping}
		shop.mu.Unlock()
		m.pays(1)
		m.expect("Completed")
		var sent []aprilRequest
		for i, r := range shop.requests() {
			if r.line == "POST /chk_1/complete" {
				sent = append(sent, r)
				require.Contains(t, []string{"GET /chk_1"}, shop.lines()[i-1], "after asking")
			}
		}
		require.Len(t, sent, 2)
		require.Equal(t, sent[0], sent[1])
		require.NotEmpty(t, sent[0].key)
		require.Equal(t, 1, shop.placed())
	})
}

// TestIncrementalCancel: canceled is only what the shop says to be canceled.
func TestIncrementalCancel(t *testing.T) {
	t.Run("canceled", func(t *testing.T) {
		shop := newAprilShop(t)
		m := openApril(t, shop)
		m.opens(ada, "Offered")
		m.attempt("Cancel", adapter.Values{"seen": nil})
		m.expect("Cancelled")
		require.Equal(t, []string{"POST ", "GET /chk_1", "POST /chk_1/cancel"}, shop.lines())
	})
	t.Run("not canceled", func(t *testing.T) {
		shop := newAprilShop(t)
		m := openApril(t, shop)
		m.opens(ada, "Offered")
		shop.mu.Lock()
		shop.script["POST /chk_1/cancel"] = []http.HandlerFunc{answering(200, `{"ucp":{"status":"error"},"messages":[{"type":"error","code":"no","content":"No.","severity":"recoverable"}]}`)}
		shop.mu.Unlock()
		m.attempt("Cancel", adapter.Values{"seen": nil})
		require.Contains(t, (<-m.diverged).Detail, "will not cancel")
		m.never("Cancelled")
	})
}

// TestIncrementalUpdateWhileTheBuyerPays: an update that meets the buyer's own payment at the shop is rejected, nothing else
// is sent until that is over, and then the order is the buyer's.
func TestIncrementalUpdateWhileTheBuyerPays(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = escalates
	m := openApril(t, shop)
	m.opens(ada, "NeedsInput")
	m.handsOff(1)
	shop.at(func(checkout doc) { checkout["status"] = "complete_in_progress" })
	m.updates(1, ada)
	m.expect("Rejected")
	looks := shop.count("GET /chk_1")
	require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= looks+4 }, time.Minute, time.Millisecond)
	shop.at(func(checkout doc) { checkout["status"] = "completed" })
	m.expect("BuyerCompleted")
	require.Equal(t, 1, shop.count("PUT /chk_1"))
	require.Zero(t, shop.count("POST /chk_1/complete"))
}

// TestIncrementalCancelAfterTheBuyer: a cancellation that comes after the buyer's order finds it, and cancels nothing.
func TestIncrementalCancelAfterTheBuyer(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = escalates
	m := openApril(t, shop, func(o *ucp.OutboundOptions) { o.Patience.First = time.Hour })
	m.opens(ada, "NeedsInput")
	m.handsOff(1)
	require.Eventually(t, func() bool { return shop.count("GET /chk_1") == 1 }, time.Minute, time.Millisecond)
	shop.at(func(checkout doc) { checkout["status"] = "completed" })
	m.attempt("Cancel", adapter.Values{"seen": nil})
	m.expect("BuyerCompleted")
	require.Zero(t, shop.count("POST /chk_1/cancel"))
	m.never("Cancelled")
}

// TestIncrementalLostUpdate: an update whose answer is lost is asked about, and sent again under its key.
func TestIncrementalLostUpdate(t *testing.T) {
	shop := newAprilShop(t)
	m := openApril(t, shop)
	m.opens(nil, "NeedsInput")
	shop.mu.Lock()
	shop.after = func(line string) {
		if line == "PUT /chk_1" && shop.count(line) == 1 {
			panic(http.ErrAbortHandler)
		}
	}
	shop.mu.Unlock()
	m.updates(1, ada)
	require.Equal(t, "2", text(t, m.expect("Offered"), "rev"))
	requests := shop.requests()
	require.Equal(t, []string{"POST ", "PUT /chk_1", "GET /chk_1", "PUT /chk_1"}, shop.lines())
	require.Equal(t, requests[1], requests[3])
}

// TestIncrementalForeignOrder: an order that neither we have paid nor a buyer whom we have sent is told to nobody as theirs.
func TestIncrementalForeignOrder(t *testing.T) {
	shop := newAprilShop(t)
	m := openApril(t, shop)
	m.opens(ada, "Offered")
	shop.at(func(checkout doc) { checkout["status"] = "completed" })
	m.pays(1)
	require.Contains(t, (<-m.diverged).Detail, "ord_1")
	require.Contains(t, m.happened(), "Declined 1")
	require.Zero(t, shop.count("POST /chk_1/complete"))
	m.never("BuyerCompleted", "Completed")
}

// TestIncrementalWatchSurvivesARestart: the order that the buyer places while the bridge is down is seen afterwards.
func TestIncrementalWatchSurvivesARestart(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = escalates
	m := openApril(t, shop)
	m.opens(ada, "NeedsInput")
	m.handsOff(1)
	require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 2 }, time.Minute, time.Millisecond)
	m.stop()
	shop.at(func(checkout doc) { checkout["status"] = "completed" })
	m.start()
	m.expect("BuyerCompleted")
}

// TestReviewEndsWhatNeverEnds: a checkout that was stated anew too often is not gone on with.
func TestReviewEndsWhatNeverEnds(t *testing.T) {
	review := ucp.Hooks(ucp.Choices{})["review"]
	for answers, code := range map[string]string{"0": "", "99": "", "100": ucp.CodeRevisionsExceeded, "101": ucp.CodeRevisionsExceeded} {
		got, err := review(t.Context(), map[string]any{
			"answers": json.Number(answers),
			"checkout": map[string]any{"status": "ready_for_complete", "totals": []any{
				map[string]any{"type": "subtotal", "amount": json.Number("5")}, map[string]any{"type": "total", "amount": json.Number("5")},
			}},
		})
		require.NoError(t, err)
		messages := got.(map[string]any)["messages"].([]any)
		if code == "" {
			require.Empty(t, messages, answers)
			continue
		}
		require.Len(t, messages, 1)
		require.Equal(t, code, messages[0].(map[string]any)["code"])
		require.Equal(t, ucp.SeverityFinal, messages[0].(map[string]any)["severity"])
	}
}
