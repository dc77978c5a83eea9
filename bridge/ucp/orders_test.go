package ucp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// kiosk is a shop without a network, in which time can be made: what it answers to a payment, and what it says of the order.
type kiosk struct {
	mu       sync.Mutex
	pays     chan struct{} // a payment waits for it, if it is there
	declines bool
	order    string // empty: there is no such resource
	restless bool   // the order is another whenever it is looked at
	looks    int
}

const (
	kioskURL      = "https://kiosk.example"
	kioskCheckout = `{"id":"chk_1","status":%q,"currency":"EUR","line_items":[{"id":"l","item":{"id":"lamp","title":"Lamp","price":5},"quantity":2,
	  "totals":[{"type":"subtotal","amount":10},{"type":"total","amount":10}]}],"totals":[{"type":"subtotal","amount":10},{"type":"total","amount":10}]%s}`
)

func (k *kiosk) Call(ctx context.Context, r bridge.Request) (bridge.Response, error) {
	say := func(status int, format string, arguments ...any) (bridge.Response, error) {
		return bridge.Response{Status: status, Header: http.Header{}, Body: fmt.Appendf(nil, format, arguments...)}, nil
	}
	switch {
	case strings.HasSuffix(r.URL, "/complete"):
		if k.pays != nil {
			select {
			case <-k.pays:
			case <-ctx.Done():
				return bridge.Response{}, ctx.Err()
			}
		}
		if k.declines {
			return say(200, `{"ucp":{"status":"error"},"messages":[{"type":"error","code":"payment_failed","content":"No.","severity":"unrecoverable"}]}`)
		}
		return say(200, kioskCheckout, "completed", `,"order":{"id":"o_1","permalink_url":"https://kiosk.example/o_1"}`)
	case strings.HasSuffix(r.URL, "/cancel"):
		return say(200, kioskCheckout, "canceled", "")
	case strings.HasSuffix(r.URL, "/orders/o_1"):
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.looks++; k.order == "" {
			return say(404, `{"detail":"no such thing"}`)
		}
		if k.restless {
			return say(200, `%s,"looked":%d}`, strings.TrimSuffix(k.order, "}"), k.looks)
		}
		return say(200, "%s", k.order)
	}
	return say(200, kioskCheckout, "ready_for_complete", "")
}

// stand is a platform that buys at the kiosk, and hears of its orders.
type stand struct {
	t        *testing.T
	shop     *kiosk
	key      *signature.Signer
	store    keyvalue.Store
	exec     *syncserver.Local
	platform *adapter.Adapter
	here     *ucp.Orders // where the bridge is
	changed  []string
	diverged []string
	stop     func()
}

func newStand(t *testing.T, shop *kiosk, look time.Duration) *stand {
	return newStandIn(t, wire.January23, shop, look)
}

func newStandIn(t *testing.T, release wire.Release, shop *kiosk, look time.Duration) *stand {
	s := &stand{t: t, shop: shop, store: keyvalue.NewMemory(0)}
	var err error
	s.key, err = signature.Generate("k")
	require.NoError(t, err)
	rules, err := protocols.Load("ucp-incremental", enactment.WithParties("Platform", "p"), enactment.WithParties("Business", "b"))
	require.NoError(t, err)
	s.exec = syncserver.NewLocal(rules)
	s.here = s.orders(look)
	outbound, err := ucp.NewOutbound(rules, s.exec, &ucp.Business{URL: kioskURL, Endpoint: kioskURL, Release: release}, ucp.OutboundOptions{
		Caller: shop, Orders: s.here, Approvals: policy.StandingGrant{By: "ada"}, Logger: slog.New(slog.DiscardHandler),
		Principal: func(context.Context, enactment.Key, enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: "p", Subject: "ada"}, nil
		},
		OnDiverged: func(d bridge.Divergence) { s.diverged = append(s.diverged, d.Detail) },
	})
	require.NoError(t, err)
	s.platform, err = adapter.New(rules, "Platform", s.exec)
	require.NoError(t, err)
	s.platform.OnObservation("OrderChanged", func(_ context.Context, o adapter.Observation) error {
		rev, _ := o.Value("rev")
		notice, _ := o.Value("notice")
		var said struct {
			Fulfillment struct{ Events []struct{ Type string } }
			Amount      any `json:"amount"`
		}
		require.NoError(t, notice.Decode(&said))
		line := rev.String()
		for _, e := range said.Fulfillment.Events {
			line += " " + e.Type
		}
		s.changed = append(s.changed, line)
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, outbound.Run(ctx)) })
	running.Go(func() { require.NoError(t, s.platform.Run(ctx)) })
	s.stop = func() { cancel(); running.Wait(); s.exec.Close() }
	return s
}

// orders is a process of the platform that hears webhooks.
func (s *stand) orders(look time.Duration) *ucp.Orders {
	o, err := ucp.NewOrders(ucp.OrdersOptions{
		Store: s.store, Look: look, Logger: slog.New(slog.DiscardHandler),
		Key: func(context.Context, string, string) (negotiation.Key, error) { return s.key.Public() },
	})
	require.NoError(s.t, err)
	return o
}

func (s *stand) attempt(action string, values adapter.Values) {
	values["cid"] = "c1"
	require.NoError(s.t, s.platform.Attempt(s.t.Context(), action, values).Err(s.t.Context()))
	synctest.Wait()
}

func (s *stand) opens() {
	s.attempt("Create", adapter.Values{
		"rev": 0, "profile": "https://p.example", "line_items": []any{doc{"item": doc{"id": "lamp"}, "quantity": 2}}, "buyer": nil,
		"fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil,
	})
}

func (s *stand) pays() {
	s.attempt("Complete", adapter.Values{"rev": 1, "cause": "yes", "credential": paying})
}

func orderOf(events ...string) string {
	said := []string{}
	for i, e := range events {
		said = append(said, fmt.Sprintf(`{"id":"e%d","type":%q,"occurred_at":"2026-11-30T12:00:00Z","line_items":[{"id":"l","quantity":2}]}`, i, e))
	}
	return `{"id":"o_1","checkout_id":"chk_1","permalink_url":"https://kiosk.example/o_1","currency":"EUR","line_items":[{"id":"l","item":{"id":"lamp","title":"Lamp","price":5},
	  "quantity":{"total":2,"fulfilled":0},"totals":[],"status":"processing"}],"fulfillment":{"events":[` + strings.Join(said, ",") + `]},"totals":[]`
}

// tells has a webhook come to one of the platform's processes.
func (s *stand) tells(to *ucp.Orders, id string, at time.Time, order string) int {
	body := fmt.Sprintf(`%s,"event_id":%q,"created_time":%q}`, order, id, at.UTC().Format(time.RFC3339))
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
	header, err := s.key.Detached([]byte(body))
	require.NoError(s.t, err)
	r.Header.Set("Request-Signature", header)
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	synctest.Wait()
	return w.Code
}

// TestUnsignedOrders: of a shop without a key the platform looks for itself what it was told, but since 2026-04-08 a webhook
// has to be signed.
func TestUnsignedOrders(t *testing.T) {
	for release, want := range map[wire.Release]int{wire.January23: http.StatusOK, wire.April2026: http.StatusUnauthorized} {
		synctest.Test(t, func(t *testing.T) {
			s := newStandIn(t, release, &kiosk{}, -1)
			defer s.stop()
			s.opens()
			s.pays()
			w := httptest.NewRecorder()
			s.here.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(orderOf("shipped")+"}")))
			synctest.Wait()
			require.Equal(t, want, w.Code, release)
			require.Empty(t, s.changed, "and that it has shipped, nobody has signed")
		})
	}
}

// TestOrdersBeforeTheOrder: what comes before it is known that there is an order waits, and as much of it as has room.
func TestOrdersBeforeTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, &kiosk{pays: make(chan struct{})}, -1)
		defer s.stop()
		now := time.Now()
		require.Equal(t, 403, s.tells(s.here, "early", now, orderOf()), "nobody has opened a checkout")
		s.opens()
		s.pays()
		for i := range 100 {
			require.Equal(t, 200, s.tells(s.here, fmt.Sprint("e", i), now.Add(time.Duration(i)*time.Second), orderOf(fmt.Sprint("event", i))))
		}
		require.Empty(t, s.changed)
		close(s.shop.pays)
		synctest.Wait()
		require.Len(t, s.changed, 64)
		require.Equal(t, "2 event36", s.changed[0])
		require.Equal(t, "65 event99", s.changed[63])
		require.Equal(t, 200, s.tells(s.here, "e50", now.Add(time.Hour), orderOf("again")), "known")
		require.Equal(t, 200, s.tells(s.here, "late", now, orderOf("late")), "outdated")
		require.Equal(t, 200, s.tells(s.here, "same", now.Add(time.Hour), orderOf("event99")), "nothing new")
		require.Len(t, s.changed, 64)
		require.Empty(t, s.diverged)
	})
}

// TestOrdersAtSeveralProcesses: any process of the platform may be told; the one that plays the shop states it.
func TestOrdersAtSeveralProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, &kiosk{}, -1)
		defer s.stop()
		s.opens()
		s.pays()
		there := s.orders(-1)
		require.Equal(t, 200, s.tells(there, "a", time.Now(), orderOf("shipped")))
		require.Equal(t, 200, s.tells(s.here, "a", time.Now(), orderOf("shipped")), "told again, elsewhere")
		require.Empty(t, s.changed)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"2 shipped"}, s.changed)
		require.Equal(t, 200, s.tells(s.here, "b", time.Now(), orderOf("shipped", "delivered")))
		require.Equal(t, []string{"2 shipped", "3 shipped delivered"}, s.changed)
	})
}

// TestOrdersOfNoOrder: a shop that tells of an order of a checkout that was declined and cancelled has diverged.
func TestOrdersOfNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, &kiosk{}, -1)
		defer s.stop()
		s.opens()
		s.attempt("Cancel", adapter.Values{"id": "chk_1"})
		require.Equal(t, 200, s.tells(s.here, "a", time.Now(), orderOf("shipped")))
		require.Empty(t, s.changed)
		require.Len(t, s.diverged, 1)
		require.Contains(t, s.diverged[0], "an order of a checkout that has become none: o_1")
	})
}

// TestLookingAtOrders: until all is delivered, and no longer; what a webhook tells that is older than what was seen has the
// order looked at, for the shop's clock may be wrong.
func TestLookingAtOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kiosk{order: orderOf() + "}"}
		s := newStand(t, k, time.Minute)
		defer s.stop()
		become := func(events ...string) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.order = orderOf(events...) + "}"
		}
		looks := func() int {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.looks
		}
		s.opens()
		s.pays()
		require.Equal(t, []string{"2"}, s.changed)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"2"}, s.changed, "nothing new")
		require.InDelta(t, 11, looks(), 2)
		become("shipped")
		require.Equal(t, 200, s.tells(s.here, "a", time.Now().Add(-30*time.Minute), orderOf("stale")))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"2", "3 shipped"}, s.changed)
		become("shipped", "delivered")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"2", "3 shipped", "4 shipped delivered"}, s.changed)
		before := looks()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Equal(t, before, looks(), "all is delivered")
		require.Equal(t, 200, s.tells(s.here, "b", time.Now(), orderOf("shipped", "delivered", "returned")), "still heard")
		require.Equal(t, "5 shipped delivered returned", s.changed[3])
	})
	synctest.Test(t, func(t *testing.T) {
		k := &kiosk{}
		s := newStand(t, k, time.Minute)
		defer s.stop()
		s.opens()
		s.pays()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 1, k.looks, "a shop that has no such thing is not asked again")
		require.Empty(t, s.changed)
	})
}

// TestRestlessOrders: a shop that says something else of an order whenever it is asked does not fill the log.
// It takes some seconds, so it runs where STRABO_TEST_KILLS asks for heavy tests.
func TestRestlessOrders(t *testing.T) {
	if os.Getenv("STRABO_TEST_KILLS") == "" {
		t.Skip("STRABO_TEST_KILLS is not set")
	}
	synctest.Test(t, func(t *testing.T) {
		k := &kiosk{order: orderOf() + "}", restless: true}
		s := newStand(t, k, time.Minute)
		defer s.stop()
		s.opens()
		s.pays()
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		require.Len(t, s.changed, 255, "revisions 2 to 256")
		require.InDelta(t, 256, k.looks, 10, "it is not asked any more")
		require.Equal(t, 200, s.tells(s.here, "a", time.Now(), orderOf("shipped")))
		require.Len(t, s.changed, 255)
	})
}
