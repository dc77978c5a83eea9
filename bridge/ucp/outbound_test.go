package ucp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

func onBothShops(t *testing.T, test func(t *testing.T, s *shop)) {
	for _, python := range []bool{false, true} {
		t.Run(map[bool]string{false: "node", true: "python"}[python], func(t *testing.T) { test(t, newShop(t, python)) })
	}
}

func TestOutboundBuys(t *testing.T) {
	austin := doc{
		"street_address": "9 New Rd", "address_locality": "Austin", "address_region": "TX",
		"postal_code": "73301", "address_country": "US",
	}
	tests := []struct {
		name         string
		fulfillment  any
		total        int64
		node, python []string // the steps after create
	}{
		{"nothing to deliver", nil, 3000, nil, nil},
		{"to where the shop knows, cheapest", doc{}, 3500, []string{"place", "choose"}, []string{"offer", "place", "choose"}},
		{"an option by title", doc{"option": doc{"title": "express shipping (us)"}}, 4500, []string{"place", "choose"}, []string{"offer", "place", "choose"}},
		{"an option by id", doc{"option": doc{"id": "exp-ship-us"}}, 4500, []string{"place", "choose"}, []string{"offer", "place", "choose"}},
		{"to a new address", doc{"destination": austin}, 3500, []string{"place", "choose"}, []string{"place", "choose"}},
		{"what the wire says", doc{"methods": []any{doc{"type": "shipping", "destinations": []any{austin}}}}, 3500, []string{"place", "choose"}, []string{"place", "choose"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			onBothShops(t, func(t *testing.T, s *shop) {
				m := openMarket(t, s.server.URL)
				created := m.created(test.fulfillment)
				assert.Equal(t, test.total, total(t, created))
				assert.Equal(t, `"chk_1"`, text(t, created, "id"))
				assert.Equal(t, `"USD"`, text(t, created, "currency"))
				m.complete(created, card("google_pay", "anything"))
				completed := m.expect("Completed")
				assert.JSONEq(t, `{"id":"ord_1","permalink_url":"http://shop.example/orders/ord_1"}`, text(t, completed, "order"))

				want := append([]string{"create"}, test.node...)
				if s.python {
					want = append([]string{"create"}, test.python...)
				}
				var steps []string
				for _, c := range m.called() {
					if c.Kind == audit.ApprovalDecided {
						assert.Equal(t, "granted", c.Outcome)
						assert.Equal(t, "checkout_complete", c.Operation)
						continue
					}
					assert.Equal(t, audit.FirstCall, c.Kind)
					assert.Equal(t, string(bridge.Known), c.Outcome)
					steps = append(steps, c.Step)
				}
				assert.Equal(t, append(want, "verify", "pay"), steps)
				for _, a := range s.requests() {
					assert.Equal(t, `profile="https://platform.invalid/profile.json"`, a.header.Get("UCP-Agent"))
					assert.NotEmpty(t, a.header.Get("Request-Id"))
					assert.NotEmpty(t, a.header.Get("Request-Signature"))
					assert.Equal(t, a.line == "GET", a.header.Get("Idempotency-Key") == "")
				}
			})
		})
	}
}

// A shop may take everything at once.
func TestOutboundSendsNoUpdateThatIsNotNeeded(t *testing.T) {
	s := newShop(t, true)
	s.inject = func(a asked) http.HandlerFunc {
		if a.line != "POST" {
			return nil
		}
		return func(w http.ResponseWriter, _ *http.Request) {
			write(w, 201, doc{
				"id": "chk_9", "status": "ready_for_complete", "line_items": items("pot_ceramic"), "currency": "EUR", "totals": []any{},
				"fulfillment": doc{"methods": []any{doc{
					"id": "m", "type": "shipping", "selected_destination_id": "d", "destinations": []any{doc{"id": "d"}},
					"groups": []any{doc{"id": "g", "selected_option_id": "o", "options": []any{doc{"id": "o", "title": "O", "total": 1}}}},
				}}},
			})
		}
	}
	m := openMarket(t, s.server.URL)
	created := m.created(doc{})
	assert.Equal(t, `"EUR"`, text(t, created, "currency"))
	assert.Equal(t, []string{"POST"}, s.lines())
}

func TestOutboundAsksForChoices(t *testing.T) {
	s := newShop(t, true)
	m := openMarket(t, s.server.URL, func(o *ucp.OutboundOptions) {
		o.Choices.Destination = func(_ context.Context, offered []model.Destination) (string, error) {
			assert.Equal(t, "Springfield", offered[0].AddressLocality)
			return offered[0].ID, nil
		}
		o.Choices.Option = func(_ context.Context, offered []model.Option) (string, error) {
			assert.Contains(t, offered[0].Totals, ucp.Total{Type: "total", Amount: 1500})
			return "exp-ship-us", nil
		}
	})
	assert.Equal(t, int64(4500), total(t, m.created(doc{})))
}

func TestOutboundRefused(t *testing.T) {
	tests := []struct {
		name  string
		lines []any
		buyer any
		wish  any
		want  string
	}{
		{"out of stock", items("gardenias"), nil, nil, `{"status":400,"code":"out_of_stock","message":"Insufficient stock for item gardenias"}`},
		{"unknown product", items("wumpus"), nil, nil, `{"status":400,"code":"invalid_request","message":"Product wumpus not found"}`},
		{"no such option", items("pot_ceramic"), doc{"email": "john.doe@example.com"}, doc{"option": doc{"title": "Balloon"}}, `{"code":"fulfillment_option_unavailable","message":"the shop does not offer the option Balloon"}`},
		{"no such destination", items("pot_ceramic"), doc{"email": "john.doe@example.com"}, doc{"destination_id": "moon"}, `{"code":"destination_unknown","message":"the shop has no destination moon"}`},
		{"no destination", items("pot_ceramic"), nil, doc{}, `{"code":"destination_required","message":"the shop has no destination for the buyer, and none was given"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := openMarket(t, newShop(t, true).server.URL)
			m.attempt("Create", adapter.Values{"line_items": test.lines, "buyer": test.buyer, "fulfillment": test.wish})
			assert.JSONEq(t, test.want, plainly(t, m.expect("Refused"), "reason"))
		})
	}
	t.Run("a wish that is none", func(t *testing.T) {
		m := openMarket(t, newShop(t, true).server.URL)
		m.create(doc{"option": "fastest"})
		assert.Contains(t, text(t, m.expect("Refused"), "reason"), "fulfillment_invalid")
	})
}

// respond takes the shop's place for one kind of request.
func respond(s *shop, line string, status int, body any) {
	s.inject = func(a asked) http.HandlerFunc {
		if a.line != line {
			return nil
		}
		return func(w http.ResponseWriter, _ *http.Request) { write(w, status, body) }
	}
}

func TestOutboundReadsRefusalsOfTheSpec(t *testing.T) {
	message := []any{doc{"type": "error", "code": "out_of_stock", "content": "Sold out.", "severity": "recoverable"}}
	checkout := func(status string, more doc) doc {
		c := doc{"id": "chk_1", "status": status, "line_items": []any{}, "currency": "USD", "totals": []any{}}
		for name, value := range more {
			c[name] = value
		}
		return c
	}
	tests := []struct {
		name   string
		status int
		body   doc
		want   string
	}{
		{"messages", 400, doc{"status": "requires_escalation", "messages": message}, `"out_of_stock"`},
		{"no resource", 200, doc{"ucp": doc{"status": "error"}, "messages": message}, `"Sold out."`},
		{"a fault in the checkout", 201, checkout("incomplete", doc{"messages": message}), `"code":"out_of_stock"`},
		{"escalation", 201, checkout("requires_escalation", doc{"continue_url": "https://shop.example/x"}), `"https://shop.example/x"`},
		{"a checkout that is over", 201, checkout("canceled", nil), `"state":"canceled"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newShop(t, true)
			respond(s, "POST", test.status, test.body)
			m := openMarket(t, s.server.URL)
			m.create(nil)
			assert.Contains(t, text(t, m.expect("Refused"), "reason"), test.want)
		})
	}
}

func TestOutboundDeclined(t *testing.T) {
	tests := []struct {
		name    string
		payment any
		want    string
	}{
		{"no money", card("mock_payment_handler", "fail_token"), `{"status":402,"code":"insufficient_funds","message":"Payment Failed: Insufficient Funds (Mock)"}`},
		{"fraud", card("mock_payment_handler", "fraud_token"), `{"status":403,"code":"fraud_detected","message":"Payment Failed: Fraud Detected (Mock)"}`},
		{"a token that the shop quotes", card("mock_payment_handler", "tok_4711"), `{"status":402,"code":"unknown_token","message":"Unknown mock token: [secret]"}`},
		{"no payment", nil, `{"code":"payment_invalid","message":"the payment is no object"}`},
		{"no brand", doc{"handler_id": "google_pay", "token": "x"}, `{"code":"payment_invalid","message":"the payment has no brand"}`},
		{"no credential", doc{"handler_id": "google_pay", "brand": "Visa", "last_digits": "1"}, `{"code":"payment_invalid","message":"the payment has no credential"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := openMarket(t, newShop(t, true).server.URL)
			m.complete(m.created(nil), test.payment)
			got := m.expect("Declined")
			if test.name == "no brand" { // whichever is looked at first
				assert.Contains(t, text(t, got, "decline"), "payment_invalid")
				return
			}
			assert.JSONEq(t, test.want, plainly(t, got, "decline"))
		})
	}
}

// A 200 is no success unless it says that the checkout is completed.
func TestOutboundDeclinedWithSuccess(t *testing.T) {
	for _, status := range []string{"incomplete", "ready_for_complete", "requires_escalation", "canceled"} {
		t.Run(status, func(t *testing.T) {
			s := newShop(t, true)
			m := openMarket(t, s.server.URL)
			created := m.created(nil)
			s.set(func(s *shop) {
				respond(s, "POST complete", 200, doc{"id": "chk_1", "status": status, "messages": []any{doc{"code": "payment_declined", "content": "No."}}})
			})
			m.complete(created, card("google_pay", "x"))
			declined := text(t, m.expect("Declined"), "decline")
			assert.Contains(t, declined, `"code":"payment_declined"`)
			assert.Contains(t, declined, `"state":"`+status+`"`)
		})
	}
}

func TestOutboundDoesNotPayAnotherSum(t *testing.T) {
	s := newShop(t, true)
	m := openMarket(t, s.server.URL)
	created := m.created(nil)
	s.checkout(func(c doc) { c["totals"] = []any{doc{"type": "total", "amount": 9999}} })
	m.complete(created, card("google_pay", "x"))
	assert.Contains(t, text(t, m.expect("Declined"), "decline"), "totals_changed")
	assert.Empty(t, s.of("POST complete"))
}

func once(line string) func(a asked) bool {
	lost := false
	return func(a asked) bool {
		if a.line != line || lost {
			return false
		}
		lost = true
		return true
	}
}

func TestOutboundLosesResponses(t *testing.T) {
	for line, lines := range map[string][]string{
		"POST":          {"POST", "POST", "PUT", "PUT", "GET", "POST complete"},
		"PUT":           {"POST", "PUT", "GET", "PUT", "PUT", "GET", "POST complete"},
		"POST complete": {"POST", "PUT", "PUT", "GET", "POST complete", "GET"},
	} {
		t.Run(line, func(t *testing.T) {
			s := newShop(t, false)
			s.lose = once(line)
			m := openMarket(t, s.server.URL)
			m.complete(m.created(doc{}), card("google_pay", "x"))
			m.expect("Completed")
			assert.Equal(t, lines, s.lines())
			assert.Equal(t, 1, s.made, "one checkout")
			assert.Equal(t, 1, s.orders, "one order")
			sent := s.of(line)
			for _, a := range sent {
				if line == "PUT" && !bytes.Equal(a.body, sent[0].body) {
					continue // another step
				}
				assert.Equal(t, sent[0].header.Get("Idempotency-Key"), a.header.Get("Idempotency-Key"))
				assert.Equal(t, sent[0].body, a.body)
			}
		})
	}
}

func TestOutboundWaitsForTheOrder(t *testing.T) {
	s := newShop(t, true)
	m := openMarket(t, s.server.URL)
	created := m.created(nil)
	asks := 0
	s.set(func(s *shop) {
		s.inject = func(a asked) http.HandlerFunc {
			c := doc{"id": "chk_1", "status": "complete_in_progress"}
			switch {
			case a.line == "POST complete":
			case a.line == "GET" && len(s.of("POST complete")) > 0:
				if asks++; asks == 5 {
					c["status"], c["order_id"] = "completed", "ord_7"
				}
			default:
				return nil
			}
			return func(w http.ResponseWriter, _ *http.Request) { write(w, 200, c) }
		}
	})
	m.complete(created, card("google_pay", "x"))
	assert.JSONEq(t, `{"id":"ord_7"}`, text(t, m.expect("Completed"), "order"))
	assert.Len(t, s.of("POST complete"), 1)
}

// A shop that knows idempotency keys only may answer for another checkout.
func TestOutboundChecksWhichCheckoutIsAnswered(t *testing.T) {
	s := newShop(t, true)
	m := openMarket(t, s.server.URL)
	created := m.created(nil)
	s.set(func(s *shop) {
		first := true
		s.inject = func(a asked) http.HandlerFunc {
			if a.line != "POST complete" || !first {
				return nil
			}
			first = false
			return func(w http.ResponseWriter, _ *http.Request) {
				write(w, 200, doc{"id": "chk_other", "status": "completed", "order_id": "ord_other"})
			}
		}
	})
	m.complete(created, card("google_pay", "x"))
	assert.JSONEq(t, `{"id":"ord_1","permalink_url":"http://shop.example/orders/ord_1"}`, text(t, m.expect("Completed"), "order"))
}

func TestOutboundCompleteMeetsAConflict(t *testing.T) {
	t.Run("out of stock", func(t *testing.T) {
		s := newShop(t, true)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		s.set(func(s *shop) {
			respond(s, "POST complete", 409, doc{"detail": "Item is out of stock", "code": "OUT_OF_STOCK"})
		})
		m.complete(created, card("google_pay", "x"))
		assert.JSONEq(t, `{"status":409,"code":"out_of_stock","message":"Item is out of stock"}`, plainly(t, m.expect("Declined"), "decline"))
	})
	t.Run("canceled meanwhile", func(t *testing.T) {
		s := newShop(t, false)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		s.set(func(s *shop) {
			s.inject = func(a asked) http.HandlerFunc {
				if a.line == "POST complete" {
					s.checkout(func(c doc) { c["status"] = "canceled" })
				}
				return nil
			}
		})
		m.complete(created, card("google_pay", "x"))
		assert.Contains(t, text(t, m.expect("Declined"), "decline"), `"state":"canceled"`)
	})
	t.Run("the first request is still at work", func(t *testing.T) {
		s := newShop(t, true)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		tries := 0
		s.set(func(s *shop) {
			s.inject = func(a asked) http.HandlerFunc {
				switch {
				case a.line == "POST complete":
					if tries++; tries == 1 {
						return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
					}
					return func(w http.ResponseWriter, _ *http.Request) { write(w, 409, doc{"detail": "busy"}) }
				case a.line == "GET" && tries >= 2 && len(s.of("GET")) > 8:
					return func(w http.ResponseWriter, _ *http.Request) {
						write(w, 200, doc{"id": "chk_1", "status": "completed", "order": doc{"id": "ord_1"}})
					}
				}
				return nil
			}
		})
		m.complete(created, card("google_pay", "x"))
		assert.JSONEq(t, `{"id":"ord_1"}`, text(t, m.expect("Completed"), "order"), "a conflict with oneself is no refusal")
	})
}

func TestOutboundUnknown(t *testing.T) {
	s := newShop(t, true)
	s.inject = func(a asked) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Internal Server Error", 500) }
	}
	m := openMarket(t, s.server.URL)
	m.create(nil)
	select {
	case u := <-m.unknown:
		assert.Equal(t, "create", u.Step)
	case o := <-m.observed:
		t.Fatalf("answered with %v", o)
	}
	assert.Empty(t, m.observed)
	s.set(func(s *shop) { s.inject = nil })
	require.NoError(t, m.outbound.Settle(t.Context(), `{"cid":"c1"}`))
	m.expect("Created")
}

func TestOutboundCancels(t *testing.T) {
	onBothShops(t, func(t *testing.T, s *shop) {
		m := openMarket(t, s.server.URL)
		m.cancel(m.created(nil))
		m.expect("Cancelled")
		assert.Empty(t, s.of("POST cancel")[0].body)
	})
	t.Run("what is canceled already", func(t *testing.T) {
		s := newShop(t, false)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		s.checkout(func(c doc) { c["status"] = "canceled" })
		m.cancel(created)
		m.expect("Cancelled")
	})
	t.Run("with a lost response", func(t *testing.T) {
		s := newShop(t, true)
		s.lose = once("POST cancel")
		m := openMarket(t, s.server.URL)
		m.cancel(m.created(nil))
		m.expect("Cancelled")
		assert.Len(t, s.of("POST cancel"), 1)
	})
	t.Run("what is completed already", func(t *testing.T) {
		s := newShop(t, true)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		s.checkout(func(c doc) { c["status"] = "completed" })
		m.cancel(created)
		d := <-m.diverged
		assert.Contains(t, d.Detail, "has completed")
		assert.Empty(t, m.observed)
	})
	t.Run("what the shop will not cancel", func(t *testing.T) {
		s := newShop(t, true)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		s.set(func(s *shop) { respond(s, "POST cancel", 403, doc{"detail": "no"}) })
		m.cancel(created)
		assert.Contains(t, (<-m.diverged).Detail, "will not cancel")
	})
	t.Run("after a decline", func(t *testing.T) {
		s := newShop(t, true)
		settled := make(chan string, 10)
		m := openMarket(t, s.server.URL, func(o *ucp.OutboundOptions) {
			o.Audit = audit.All(o.Audit, audit.SinkFunc(func(_ context.Context, r audit.Record) error {
				if r.Step == "cancel" {
					settled <- r.Outcome
				}
				return nil
			}))
		})
		created := m.created(nil)
		m.complete(created, card("mock_payment_handler", "fail_token"))
		m.expect("Declined")
		m.cancel(created)
		assert.Equal(t, "known", receive(m, settled))
		assert.Empty(t, m.diverged, "the shop lets go of the checkout, and nobody is alarmed")
	})
}

func TestOutboundKeepsSecrets(t *testing.T) {
	const token = "tok_very_secret_4711"
	s := newShop(t, true)
	s.lose = once("POST complete")
	m := openMarket(t, s.server.URL)
	m.complete(m.created(nil), card("mock_payment_handler", token))
	declined := m.expect("Declined")
	assert.NotContains(t, text(t, declined, "decline"), token)
	assert.Contains(t, string(s.of("POST complete")[0].body), token)
	assert.NotContains(t, m.told(), token)
	assert.Contains(t, m.told(), "[secret]")
}

func TestNewOutboundReportsFaultsOfAMapping(t *testing.T) {
	m := openMarket(t, newShop(t, true).server.URL)
	_, err := ucp.NewOutbound(m.rules, m.exec, m.outbound.Business(), ucp.OutboundOptions{
		Mapping: []byte("protocol: SimpleUCP\nrole: Business\nactions: {Creat: [{step: s, answers: [{nothing: x}]}]}\n"), MappingName: "mine.yaml",
	})
	var faults bridge.Faults
	require.True(t, errors.As(err, &faults))
	assert.Contains(t, fmt.Sprint(err), `mine.yaml:3:11: SimpleUCP has no action "Creat"`)
}
