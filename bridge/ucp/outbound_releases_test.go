package ucp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// spoken is a release and a transport.
type spoken struct {
	release   wire.Release
	transport negotiation.Transport
}

// everywhere runs a test at a shop that speaks each release over each transport. The shop thinks in the model; what goes
// over the wire is that of the release.
func everywhere(t *testing.T, test func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, in spoken)) {
	for _, release := range wire.Releases() {
		for _, transport := range []negotiation.Transport{negotiation.REST, negotiation.MCP} {
			t.Run(fmt.Sprintf("%s over %s", release, transport), func(t *testing.T) {
				shop := newAprilShop(t)
				front := httptest.NewServer(shop.in(release, transport))
				t.Cleanup(front.Close)
				open := func(change ...func(*ucp.OutboundOptions)) *market {
					t.Helper()
					return openIncremental(t, func(m *market, _ *http.Client) {
						m.business = &ucp.Business{Endpoint: front.URL, Release: release, Transport: transport}
					}, change...)
				}
				test(t, shop, open, spoken{release, transport})
			})
		}
	}
}

// in gives the shop as it is on the wire in a release.
func (s *aprilShop) in(release wire.Release, transport negotiation.Transport) http.Handler {
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation, id, ok := wire.OperationOf(r.Method, r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		x := wire.Exchange{Operation: operation, Checkout: id, Currency: "USD"}
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			var said wire.Object
			if said, err = wire.Decode(body); err == nil {
				if said, err = release.DecodeRequest(x, said); err == nil {
					body, err = json.Marshal(said)
				}
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked := httptest.NewRequest(r.Method, r.URL.Path, bytes.NewReader(body))
		asked.Header = r.Header
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, asked)
		model, err := wire.Decode(answer.Body.Bytes())
		if err != nil {
			panic(err)
		}
		status, model, err := release.EncodeResponse(x, answer.Code, model)
		if err != nil {
			panic(err)
		}
		write(w, status, model)
	})
	if transport == negotiation.MCP {
		return mcp.NewHandler(rest, release, "lamps", "1", nil)
	}
	return rest
}

// TestEveryReleaseRecoverable: in every release, over every transport, what can be mended is mended, and paid.
func TestEveryReleaseRecoverable(t *testing.T) {
	everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, _ spoken) {
		m := open()
		needs := m.opens(nil, "NeedsInput")
		require.Equal(t, []message{{"error", "missing", "$.buyer.email", ucp.SeverityRecoverable, "An email is needed.", ""}}, messagesOf(t, needs))
		m.updates(1, ada)
		require.Equal(t, int64(2000), total(t, m.expect("Offered")))
		m.pays(2)
		require.Contains(t, text(t, m.expect("Completed"), "order"), "ord_1")
		m.attempt("Receipt", adapter.Values{})
		require.Equal(t, []string{"POST ", "PUT /chk_1", "GET /chk_1", "POST /chk_1/complete"}, shop.lines())
		require.Equal(t, []string{"Create 0", "NeedsInput 1", "Update 1", "Offered 2", "Complete 2", "Completed 2", "Receipt"}, m.happened())
		require.NotContains(t, m.told(), "tok_secret_4711")
	})
}

// TestEveryReleaseEscalates: what needs the buyer is handed off, whether something is missing or only their word, and what
// they do at the shop is seen.
func TestEveryReleaseEscalates(t *testing.T) {
	for _, severity := range []string{ucp.SeverityBuyerInput, ucp.SeverityBuyerReview, ucp.SeverityFinal} {
		t.Run(severity, func(t *testing.T) {
			everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, in spoken) {
				shop.state = func(checkout doc) {
					checkout["status"] = "requires_escalation"
					checkout["messages"] = []any{problem("look", "$", severity, "Look here.")}
				}
				m := open()
				needs := m.opens(ada, "NeedsInput")
				said := severity
				if severity == ucp.SeverityFinal && in.release != wire.April2026 {
					said = ucp.SeverityBuyerInput // What is newer than the release becomes what is closest to it.
				}
				require.Equal(t, said, messagesOf(t, needs)[0].Severity)
				require.Contains(t, text(t, needs, "checkout"), "https://shop.example/c/chk_1")
				err := m.platform.Attempt(t.Context(), "Complete", adapter.Values{"cid": cid, "rev": 1, "cause": "x", "credential": paying}).Err(t.Context())
				require.ErrorAs(t, err, new(*adapter.Rejection), "nobody pays what needs the buyer")
				m.handsOff(1)
				require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 2 }, time.Minute, time.Millisecond)
				if severity == ucp.SeverityBuyerReview { // The buyer changes something first.
					shop.at(needsEmail)
					m.expect("Withdrawn")
					m.expect("Offered")
					m.pays(2)
					m.expect("Completed")
				} else {
					shop.at(func(checkout doc) { checkout["status"] = "completed" })
					require.Contains(t, text(t, m.expect("BuyerCompleted"), "order"), "ord_1")
					require.Zero(t, shop.count("POST /chk_1/complete"))
				}
				require.Equal(t, 1, shop.placed())
			})
		})
	}
}

const noSuchLamp = `{"ucp":{"version":"2026-04-08","status":"error"},"messages":[{"type":"error","code":"item_unavailable","content":"No such lamp.","severity":"unrecoverable"}],"continue_url":"https://shop.example/"}`

// TestEveryReleaseRefuses: a checkout that the shop does not open is refused in its words.
func TestEveryReleaseRefuses(t *testing.T) {
	everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, _ spoken) {
		shop.script["POST "] = []http.HandlerFunc{answering(200, noSuchLamp)}
		m := open()
		reason := text(t, m.opens(ada, "Refused"), "reason")
		require.Contains(t, reason, "No such lamp.")
		require.Contains(t, reason, "https://shop.example/")
		require.Equal(t, []string{"POST "}, shop.lines())
	})
}

// TestEveryReleaseRejects: an update that the shop does not take over is rejected in its words, with what is left.
func TestEveryReleaseRejects(t *testing.T) {
	everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, _ spoken) {
		shop.script["PUT /chk_1"] = []http.HandlerFunc{answering(200, noSuchLamp)}
		m := open()
		m.opens(ada, "Offered")
		m.updates(1, ada)
		require.Contains(t, text(t, m.expect("Rejected"), "notice"), "No such lamp.")
		m.expect("Offered")
	})
}

// TestEveryReleaseWaits: a payment that is in progress is looked at with pauses that grow to a bound, and nothing is sent
// meanwhile; one that is declined then may be paid otherwise.
func TestEveryReleaseWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, _ spoken) {
		shop.pay = func(checkout doc) doc {
			checkout["status"] = "complete_in_progress"
			return nil
		}
		m := open()
		m.opens(ada, "Offered")
		m.pays(1)
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 3 }, time.Minute, time.Millisecond)
		shop.at(func(checkout doc) {
			checkout["status"], checkout["messages"] = "ready_for_complete", []any{problem("payment_failed", "$.payment", "recoverable", "No money.")}
		})
		require.Contains(t, text(t, m.expect("Declined"), "notice"), "No money.")
		m.expect("Offered")
		m.pays(2)
		looks := shop.count("GET /chk_1")
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= looks+2 }, time.Minute, time.Millisecond)
		shop.at(func(checkout doc) { checkout["status"] = "completed" })
		m.expect("Completed")
		require.Equal(t, 2, shop.count("POST /chk_1/complete"))
		require.Equal(t, 1, shop.placed())
	})
}

// TestEveryReleaseAddsUp: a bill that does not add up is not offered in any release, whatever the sign of its discounts
// there, and one that does is paid with the sum that was offered.
func TestEveryReleaseAddsUp(t *testing.T) {
	everywhere(t, func(t *testing.T, shop *aprilShop, open func(...func(*ucp.OutboundOptions)) *market, in spoken) {
		sum := 1900
		shop.state = func(checkout doc) {
			needsEmail(checkout)
			checkout["totals"] = []any{
				doc{"type": "subtotal", "amount": 2000}, doc{"type": "discount", "amount": -100}, doc{"type": "total", "amount": sum},
			}
		}
		m := open()
		offered := m.opens(ada, "Offered")
		require.JSONEq(t, `[{"type":"subtotal","amount":2000},{"type":"discount","amount":-100},{"type":"total","amount":1900}]`, text(t, offered, "totals"), in)
		shop.mu.Lock()
		sum = 2100
		shop.mu.Unlock()
		m.updates(1, ada)
		needs := m.expect("NeedsInput")
		require.Equal(t, ucp.CodeTotalsMismatch, messagesOf(t, needs)[0].Code)
		require.Equal(t, ucp.SeverityBuyerReview, messagesOf(t, needs)[0].Severity)
		m.handsOff(2)
		require.Eventually(t, func() bool { return shop.count("GET /chk_1") >= 1 }, time.Minute, time.Millisecond)
		require.Zero(t, shop.count("POST /chk_1/complete"))
	})
}

// TestHandlersOfACheckout: what the shop says of payment handlers with a checkout holds for it: what they do not take is
// declined, and not tried.
func TestHandlersOfACheckout(t *testing.T) {
	handler := func(available ...any) doc {
		of := doc{"id": "cards", "version": "2026-04-08"}
		if available != nil {
			of["available_instruments"] = available
		}
		return doc{"com.example.cards": []any{of}}
	}
	card := func(brands ...any) doc { return doc{"type": "card", "constraints": doc{"brands": brands}} }
	for name, test := range map[string]struct {
		handlers doc
		taken    bool
	}{
		"nothing said":       {doc{}, true},
		"listed":             {handler(), true},
		"of the type":        {handler(doc{"type": "card"}), true},
		"of the brand":       {handler(doc{"type": "bank"}, card("mastercard", "visa")), true},
		"of another brand":   {handler(card("mastercard")), false},
		"of another type":    {handler(doc{"type": "bank"}), false},
		"by another handler": {doc{"com.example.bank": []any{doc{"id": "bank"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			shop.state = func(checkout doc) {
				needsEmail(checkout)
				checkout["ucp"] = doc{"version": "2026-04-08", "status": "success", "capabilities": doc{}, "payment_handlers": test.handlers}
			}
			m := openApril(t, shop)
			m.opens(ada, "Offered")
			m.pays(1)
			if test.taken {
				m.expect("Completed")
				return
			}
			notice := text(t, m.expect("Declined"), "notice")
			require.Contains(t, notice, ucp.CodeNotTaken)
			require.Contains(t, notice, "by this handler")
			m.expect("Offered")
			require.Zero(t, shop.count("POST /chk_1/complete"))
		})
	}
}

// TestHandlersAfterADecline: what a shop says after a payment has the words of the payment cut out, and is understood all
// the same: the next payment is tried.
func TestHandlersAfterADecline(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = func(checkout doc) {
		needsEmail(checkout)
		checkout["ucp"] = doc{"version": "2026-04-08", "status": "success", "capabilities": doc{}, "payment_handlers": doc{"com.example.cards": []any{doc{
			"id": "cards", "available_instruments": []any{doc{"type": "card", "constraints": doc{"brands": []any{"Visa"}}}},
		}}}}
	}
	paid := shop.pay
	shop.pay = func(checkout doc) doc {
		checkout["messages"] = []any{problem("payment_failed", "$.payment", "recoverable", "No money on it.")}
		return nil
	}
	m := openApril(t, shop)
	m.opens(ada, "Offered")
	m.pays(1)
	require.Contains(t, text(t, m.expect("Declined"), "notice"), "No money on it.")
	require.Contains(t, text(t, m.expect("Offered"), "checkout"), bridge.SecretMark)
	shop.mu.Lock()
	shop.pay = paid
	shop.mu.Unlock()
	m.pays(2)
	m.expect("Completed")
}

// TestResumedPaymentIsNotDeclined: a payment that may have left is not declined by the bridge's own rules when it is taken
// up again, whatever the settings are by then: what became of it is unknown.
func TestResumedPaymentIsNotDeclined(t *testing.T) {
	shop := newAprilShop(t)
	shop.state = func(checkout doc) {
		needsEmail(checkout)
		checkout["ucp"] = doc{"version": "2026-04-08", "status": "success", "capabilities": doc{}, "payment_handlers": doc{"com.example.bank": []any{doc{"id": "bank"}}}}
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	shop.script["POST /chk_1/complete"] = []http.HandlerFunc{func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
		panic(http.ErrAbortHandler)
	}}
	front := httptest.NewServer(shop.in(wire.January11, negotiation.REST))
	t.Cleanup(front.Close)
	m := openIncremental(t, func(m *market, _ *http.Client) {
		m.business = &ucp.Business{Endpoint: front.URL, Release: wire.January11}
	})
	m.opens(ada, "Offered")
	m.pays(1)
	receive(m, arrived)
	m.stop()
	m.business.Release, m.options.Patience.Deadline = wire.January23, time.Second
	m.start()
	select {
	case u := <-m.unknown:
		require.Equal(t, "Complete", u.Action)
	case o := <-m.observed:
		require.Fail(t, "nobody can know that", "%v", o)
	}
	m.never("Declined", "Completed")
}

// TestReleasesFor: who has no profile to show speaks the release that asks for none, if the shop does.
func TestReleasesFor(t *testing.T) {
	require.Equal(t, wire.January11, ucp.ReleasesFor("")[0])
	require.Equal(t, wire.Newest, ucp.ReleasesFor("https://platform.example/{release}")[0])
	require.ElementsMatch(t, wire.Releases(), ucp.ReleasesFor(""))
}
