package ucp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// strange is the create of a shop that answers with a checkout of its own making.
func strange(s *shop, change doc) {
	c := doc{
		"id": "chk_1", "status": "ready_for_complete", "line_items": items("pot_ceramic"), "currency": "USD",
		"totals": []any{doc{"type": "total", "amount": 3000}},
	}
	for name, value := range change {
		c[name] = value
	}
	respond(s, "POST", 201, c)
}

// What a shop says it has done is never told as its having done nothing.
func TestOutboundDivergesFromAShopThatIsAheadOfIt(t *testing.T) {
	for name, done := range map[string]doc{
		"completed":        {"status": "completed", "order": doc{"id": "ord_9", "permalink_url": "http://shop.example/9"}},
		"flat":             {"status": "completed", "order_id": "ord_9"},
		"an order alone":   {"order": doc{"id": "ord_9"}},
		"in progress":      {"status": "complete_in_progress"},
		"without an order": {"status": "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, true)
			strange(s, done)
			m := openMarket(t, s.server.URL)
			m.create(nil)
			d := <-m.diverged
			assert.Equal(t, "create", d.Step)
			if name != "in progress" && name != "without an order" {
				assert.Contains(t, d.Detail, "ord_9")
				assert.Contains(t, d.Facts["checkout"].String(), "ord_9")
				assert.Contains(t, m.told(), "ord_9")
			}
			assert.Empty(t, m.observed, "nobody says that there is no order")
		})
	}
	t.Run("by an update", func(t *testing.T) {
		s := newShop(t, true)
		respond(s, "PUT", 200, doc{"id": "chk_1", "status": "completed", "line_items": []any{}, "order_id": "ord_9"})
		m := openMarket(t, s.server.URL)
		m.create(doc{})
		assert.Contains(t, (<-m.diverged).Detail, "ord_9")
		assert.Empty(t, m.observed)
	})
	t.Run("found after a lost update", func(t *testing.T) {
		s := newShop(t, true)
		s.inject = func(a asked) http.HandlerFunc {
			switch a.line {
			case "PUT":
				return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
			case "GET":
				return func(w http.ResponseWriter, _ *http.Request) {
					write(w, 200, doc{"id": "chk_1", "status": "completed", "order": doc{"id": "ord_9"}})
				}
			}
			return nil
		}
		m := openMarket(t, s.server.URL)
		m.create(doc{})
		assert.Contains(t, (<-m.diverged).Detail, "ord_9")
		assert.Empty(t, m.observed)
	})
}

func TestOutboundRefusesWhatWasNotAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		change doc
		want   string
	}{
		"another item":     {doc{"line_items": items("gold")}, `0 of \"pot_ceramic\" instead of 2`},
		"another quantity": {doc{"line_items": []any{doc{"item": doc{"id": "pot_ceramic"}, "quantity": 99}}}, `99 of \"pot_ceramic\" instead of 2`},
		"no quantity":      {doc{"line_items": []any{doc{"item": doc{"id": "pot_ceramic"}}}}, "an unclear number"},
		"more":             {doc{"line_items": append(items("pot_ceramic"), items("gift")...)}, `2 of \"gift\" instead of 0`},
		"nothing":          {doc{"line_items": []any{}}, "contents_differ"},
		"another currency": {doc{"currency": "KWD"}, "currency_differs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, true)
			s.checkouts["chk_1"] = doc{"id": "chk_1", "status": "ready_for_complete"}
			strange(s, test.change)
			m := openMarket(t, s.server.URL, func(o *ucp.OutboundOptions) { o.Currency = "USD" })
			m.create(nil)
			reason := text(t, m.expect("Refused"), "reason")
			assert.Contains(t, reason, test.want)
			assert.NotContains(t, reason, "left_open")
			assert.Equal(t, []string{"POST", "POST cancel"}, s.lines(), "the shop is told")
		})
	}
	t.Run("spread over lines", func(t *testing.T) {
		s := newShop(t, true)
		one := doc{"item": doc{"id": "pot_ceramic"}, "quantity": 1}
		strange(s, doc{"line_items": []any{one, one}})
		m := openMarket(t, s.server.URL)
		m.created(nil)
	})
	t.Run("and says what stays open", func(t *testing.T) {
		s := newShop(t, true)
		strange(s, doc{"line_items": items("gold")})
		m := openMarket(t, s.server.URL)
		m.create(nil)
		assert.Contains(t, text(t, m.expect("Refused"), "reason"), `"left_open":"chk_1"`)
		assert.Empty(t, m.unknown)
	})
}

func TestOutboundRefusesIDsThatAreNoSegment(t *testing.T) {
	for _, id := range []any{"..", ".", "a/b", "a?b", "a#b", "a b", "%2e%2e", "c/../\x1b[31m?x#y", strings.Repeat("a", 1025), 12} {
		t.Run(fmt.Sprintf("%.20v", id), func(t *testing.T) {
			s := newShop(t, true)
			strange(s, doc{"id": id})
			m := openMarket(t, s.server.URL)
			m.create(nil)
			assert.Contains(t, text(t, m.expect("Refused"), "reason"), "checkout_id_invalid")
			assert.Equal(t, []string{"POST"}, s.lines())
		})
	}
	t.Run("empty", func(t *testing.T) {
		s := newShop(t, true)
		strange(s, doc{"id": ""})
		m := openMarket(t, s.server.URL)
		m.create(nil)
		assert.Contains(t, text(t, m.expect("Refused"), "reason"), "checkout_id_invalid")
	})
}

func TestOutboundRefusesWhatCannotBeSent(t *testing.T) {
	for name, lines := range map[string]any{
		"no array":    "pot_ceramic",
		"no quantity": []any{doc{"item": doc{"id": "x"}}},
		"null":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, true)
			m := openMarket(t, s.server.URL)
			m.attempt("Create", adapter.Values{"line_items": lines, "buyer": nil, "fulfillment": nil})
			assert.Contains(t, text(t, m.expect("Refused"), "reason"), "request_invalid")
			assert.Empty(t, s.requests())
			assert.Empty(t, m.unknown)
		})
	}
}

// A gateway's no to a payment that is sent again is no answer to the payment.
func TestOutboundDoesNotTakeARefusedResendForADecline(t *testing.T) {
	for _, status := range []int{302, 401, 403, 404, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShopInMemory(t, true)
				client := s.server.Client()
				m := openMarketOf(t, "simple-ucp", func(m *market, _ *http.Client) {
					var err error
					m.business, err = ucp.Discover(t.Context(), client, s.server.URL)
					require.NoError(t, err)
				}, []string{"Created", "Refused", "Completed", "Declined", "Cancelled"}, func(o *ucp.OutboundOptions) { o.Client = client })
				created := m.created(nil)
				tries := 0
				s.set(func(s *shop) {
					s.inject = func(a asked) http.HandlerFunc {
						if a.line != "POST complete" {
							return nil
						}
						if tries++; tries == 1 {
							return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
						}
						return func(w http.ResponseWriter, _ *http.Request) { write(w, status, doc{"detail": "rate limited"}) }
					}
				})
				m.impatient()
				m.complete(created, card("google_pay", "x"))
				u := m.unsettled(func(u bridge.Unsettled) bool { return u.Said != nil })
				assert.Equal(t, "pay", u.Step)
				assert.Contains(t, u.Said.Response, "rate limited", "who has to find out is told")
				assert.NotContains(t, u.Detail+m.told(), "rate limited", "and what is sensitive is not written down")
				assert.Empty(t, m.observed)
			})
		})
	}
}

func TestOutboundCutsShortTokensOut(t *testing.T) {
	for _, token := range []string{"12345", "x y", "abc", "q"} {
		t.Run(token, func(t *testing.T) {
			s := newShop(t, true)
			m := openMarket(t, s.server.URL)
			created := m.created(nil)
			s.set(func(s *shop) {
				s.inject = func(a asked) http.HandlerFunc {
					if a.line != "POST complete" {
						return nil
					}
					return func(w http.ResponseWriter, _ *http.Request) { write(w, 402, doc{"detail": string(a.body)}) }
				}
			})
			m.complete(created, doc{
				"handler_id": "pay", "brand": "Visa", "last_digits": "0000", "credential": doc{"type": "token", "token": token},
			})
			declined := text(t, m.expect("Declined"), "decline")
			everything := declined + m.told()
			assert.NotRegexp(t, `token\W+`+token, everything)
			var said struct{ Message string }
			require.NoError(t, json.Unmarshal([]byte(declined), &said))
			assert.Contains(t, said.Message, `"credential":{"token":"[secret]"`)
			assert.NotContains(t, said.Message, `[secret]":`)
		})
	}
}

func TestDiscoverHoldsAShopToItsScheme(t *testing.T) {
	endpoint := ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":{"endpoint":%q}}},`+
			`"capabilities":[{"name":"dev.ucp.shopping.checkout","version":"2026-01-11"}]}}`, endpoint)
	}))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	for name, test := range map[string]struct{ endpoint, elsewhere, err string }{
		"the same":      {server.URL + "/ucp/", "", ""},
		"relative":      {"/ucp", "", ""},
		"another host":  {"https://other.example:444/x", "other.example:444", ""},
		"http":          {"http://shop.example", "", "on https"},
		"credentials":   {"https://u:secretpw@shop.example", "", "credentials"},
		"a query":       {"https://shop.example/?a=b", "", "query"},
		"a fragment":    {"https://shop.example/#a", "", "fragment"},
		"another thing": {"file:///etc/passwd", "", "no http"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint = test.endpoint
			b, err := ucp.Discover(t.Context(), server.Client(), server.URL)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.NotContains(t, err.Error(), "secretpw")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.elsewhere, b.Elsewhere())
		})
	}
	endpoint = "http://shop.example"
	_, err := ucp.Discover(t.Context(), server.Client(), server.URL)
	require.ErrorIs(t, err, ucp.ErrUnsafeEndpoint)
	for _, tail := range []string{"?a=b", "#a", "?", "/x?a#b"} {
		_, err := ucp.Discover(t.Context(), server.Client(), server.URL+tail)
		require.ErrorContains(t, err, "a query or a fragment")
	}
}
