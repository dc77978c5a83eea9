package shop_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// customer is a platform that buys at our shop, over HTTP, and hears what becomes of its orders.
type customer struct {
	t        *testing.T
	web      *httptest.Server
	business *ucp.Business
	rules    *enactment.Rules
	exec     *syncserver.Local
	platform *adapter.Adapter
	store    keyvalue.Store
	journal  bridge.MemoryJournal
	look     time.Duration
	diverged chan bridge.Divergence
	changed  chan adapter.Observation
	ended    chan adapter.Observation
	stop     func() // ends the bridge

	hearing sync.RWMutex // held, shared, while a webhook is handled: what it says is observed before it is kept
	mu      sync.Mutex
	orders  *ucp.Orders // nil while nobody hears
	heard   []heardHook
}

// heardHook is a webhook as it came, and what it was answered with.
type heardHook struct {
	request *http.Request
	body    []byte
	status  int
}

// ServeHTTP hears a webhook, and keeps it.
func (c *customer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.hearing.RLock()
	defer c.hearing.RUnlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c.mu.Lock()
	orders := c.orders
	c.mu.Unlock()
	kept := httptest.NewRecorder()
	if orders == nil {
		kept.WriteHeader(http.StatusServiceUnavailable)
	} else {
		r.Body = io.NopCloser(bytes.NewReader(body))
		orders.ServeHTTP(kept, r)
	}
	c.mu.Lock()
	c.heard = append(c.heard, heardHook{r.Clone(context.Background()), body, kept.Code})
	c.mu.Unlock()
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes())
}

// last is the last webhook that came, when all that came are answered.
func (c *customer) last() heardHook {
	c.hearing.Lock()
	defer c.hearing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NotEmpty(c.t, c.heard)
	return c.heard[len(c.heard)-1]
}

// repeat has a webhook come again, changed, and gives the status.
func (c *customer) repeat(h heardHook, change func(r *http.Request, body []byte) []byte) int {
	c.t.Helper()
	r := h.request.Clone(c.t.Context())
	body := bytes.Clone(h.body)
	if change != nil {
		body = change(r, body)
	}
	r.URL.Scheme, r.URL.Host, r.RequestURI = "http", h.request.Host, ""
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response, err := c.web.Client().Do(r)
	require.NoError(c.t, err)
	require.NoError(c.t, response.Body.Close())
	return response.StatusCode
}

func (c *customer) fetcher() *profiles.Fetcher {
	g, err := guard.New(guard.Options{AllowLoopback: true})
	require.NoError(c.t, err)
	c.t.Cleanup(g.CloseIdleConnections)
	fetcher, err := profiles.New(profiles.Options{Source: g})
	require.NoError(c.t, err)
	return fetcher
}

// start starts the bridge to the shop, also again after it was stopped.
func (c *customer) start() {
	c.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	orders, err := ucp.NewOrders(ucp.OrdersOptions{Store: c.store, Key: c.fetcher().Key, Look: c.look, Logger: logger})
	require.NoError(c.t, err)
	outbound, err := ucp.NewOutbound(c.rules, c.exec, c.business, ucp.OutboundOptions{
		Journal: &c.journal, Profile: c.web.URL + "/{release}", Orders: orders, Logger: logger, Approvals: policy.StandingGrant{By: "ada"},
		Principal: func(context.Context, enactment.Key, enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: "test", Subject: "ada"}, nil
		},
		OnDiverged: func(d bridge.Divergence) { c.diverged <- d },
	})
	require.NoError(c.t, err)
	c.mu.Lock()
	c.orders = orders
	c.mu.Unlock()
	c.stop = c.background(outbound.Run)
}

func (c *customer) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(c.t, <-ended)
	})
	c.t.Cleanup(stop)
	return stop
}

// lampShop is our shop, served over HTTP in all releases, and told apart by the keys that it signs with.
type lampShop struct {
	*stall
	web *httptest.Server
}

// newLampShop opens it. It publishes all the keys, and signs with the first.
func newLampShop(t *testing.T, look configure, keys ...*signature.Signer) *lampShop {
	t.Helper()
	g, err := guard.New(guard.Options{AllowLoopback: true})
	require.NoError(t, err)
	t.Cleanup(g.CloseIdleConnections)
	web := httptest.NewUnstartedServer(nil)
	s := &lampShop{web: web}
	url := "http://" + web.Listener.Addr().String()
	s.stall = newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) {
		o.Client, o.ProfileURL = g.Client(), url+"/.well-known/ucp"
		if len(keys) > 0 {
			o.Signer = keys[0]
		}
	}, look)
	fetcher, err := profiles.New(profiles.Options{Source: g})
	require.NoError(t, err)
	options := ucp.ReleasesOptions{Platforms: fetcher, Name: "lamps", Version: "1"}
	for _, signer := range keys {
		key, err := signer.Public()
		require.NoError(t, err)
		options.Keys = append(options.Keys, key)
	}
	web.Config.Handler, err = ucp.Releases(s.inbound, options)
	require.NoError(t, err)
	web.Start()
	t.Cleanup(func() {
		web.Close()
		s.stop()
	})
	return s
}

// signsWith has another process of the shop tell platforms, which signs with another key.
func (s *lampShop) signsWith(t *testing.T, signer *signature.Signer) {
	t.Helper()
	options := s.options
	options.Signer = signer
	next, err := ucp.NewInbound(s.rules, s.local, options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- next.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	s.inbound = next
}

func (s *lampShop) ship(t *testing.T, order string) {
	t.Helper()
	require.Equal(t, 200, s.ask(t, "POST", "/testing/simulate-shipping/"+order, "", "Simulation-Secret", secret).status)
}

func unchanged(*shop.Options, *ucp.InboundOptions) {}

func generate(t testing.TB, id string) *signature.Signer {
	signer, err := signature.Generate(id)
	require.NoError(t, err)
	return signer
}

// newCustomer opens a platform for a shop, in a release.
func newCustomer(t *testing.T, s *lampShop, release wire.Release, transport negotiation.Transport, look time.Duration) *customer {
	t.Helper()
	c := &customer{
		t: t, store: keyvalue.NewMemory(0), look: look,
		diverged: make(chan bridge.Divergence, 10), changed: make(chan adapter.Observation, 100), ended: make(chan adapter.Observation, 10),
	}
	mux := http.NewServeMux()
	c.web = httptest.NewServer(mux)
	t.Cleanup(c.web.Close)
	mux.Handle("POST /orders", c)
	for _, release := range wire.Releases() {
		p, err := ucp.PlatformProfile(release, c.web.URL+"/orders")
		require.NoError(t, err)
		handler, err := ucp.ProfileHandler(p)
		require.NoError(t, err)
		mux.Handle("/"+string(release), handler)
	}
	var err error
	c.business, err = ucp.Discover(t.Context(), nil, s.web.URL, release)
	require.NoError(t, err)
	require.Equal(t, release, c.business.Release)
	if transport == negotiation.MCP {
		c.business.Transport, c.business.Endpoint = transport, c.business.Profile.Endpoint("dev.ucp.shopping", transport)
	}
	c.rules, err = protocols.Load("ucp-incremental", enactment.WithParties("Platform", "web"), enactment.WithParties("Business", "bridge"))
	require.NoError(t, err)
	c.exec = syncserver.NewLocal(c.rules)
	t.Cleanup(c.exec.Close)
	c.platform, err = adapter.New(c.rules, "Platform", c.exec)
	require.NoError(t, err)
	c.platform.OnObservation("Offered", func(ctx context.Context, o adapter.Observation) error {
		cid, _ := o.Value("cid")
		rev, _ := o.Value("rev")
		return c.platform.Attempt(ctx, "Complete", adapter.Values{"cid": cid, "rev": rev, "cause": "yes", "credential": json.RawMessage(withCard)}).Err(ctx)
	})
	for _, action := range []string{"Refused", "Declined", "NeedsInput", "Completed"} {
		c.platform.OnObservation(action, func(_ context.Context, o adapter.Observation) error { c.ended <- o; return nil })
	}
	c.platform.OnObservation("OrderChanged", func(ctx context.Context, o adapter.Observation) error {
		cid, _ := o.Value("cid")
		rev, _ := o.Value("rev")
		if err := c.platform.Attempt(ctx, "Noted", adapter.Values{"cid": cid, "rev": rev}).Err(ctx); err != nil {
			return err
		}
		c.changed <- o
		return nil
	})
	c.background(c.platform.Run)
	c.start()
	return c
}

// withCard is a payment that can be said in every release.
const withCard = `{"payment": {"instruments": [{"id": "i", "handler_id": "mock_payment_handler", "type": "card", "selected": true,
  "display": {"brand": "Visa", "last_digits": "4242"}, "credential": {"type": "token", "token": "success_token"}}]}}`

// buys buys a lamp and gives the order's id.
func (c *customer) buys() string {
	c.t.Helper()
	var wish struct {
		LineItems   any `json:"line_items"`
		Fulfillment any `json:"fulfillment"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(ready), &wish))
	require.NoError(c.t, c.platform.Attempt(c.t.Context(), "Create", adapter.Values{
		"cid": rand.Text(), "rev": 0, "profile": c.web.URL, "line_items": wish.LineItems, "fulfillment": wish.Fulfillment,
		"buyer": map[string]any{"email": "ada@example.com"}, "discounts": nil, "instruments": nil, "context": map[string]any{"currency": "EUR"},
	}).Err(c.t.Context()))
	o := c.next(c.ended)
	require.Equal(c.t, "Completed", o.Action, "%s", whole(o))
	var order struct{ ID string }
	value, _ := o.Value("order")
	require.NoError(c.t, value.Decode(&order))
	return order.ID
}

func whole(o adapter.Observation) string {
	text := o.Action
	for name, value := range o.Values() {
		text += fmt.Sprintf(" %s=%s", name, value)
	}
	return text
}

func (c *customer) next(from chan adapter.Observation) adapter.Observation {
	c.t.Helper()
	select {
	case o := <-from:
		return o
	case <-time.After(patience):
		require.FailNow(c.t, "nothing is observed", "%v", c.statuses())
		panic("unreachable")
	}
}

func (c *customer) statuses() (all []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.heard {
		all = append(all, h.status)
	}
	return all
}

// hears waits for the next change and gives its revision and the events of the order.
func (c *customer) hears(order string) (rev string, events []string) {
	c.t.Helper()
	o := c.next(c.changed)
	var said struct {
		ID          string
		UCP         any `json:"ucp"`
		Currency    string
		Fulfillment struct{ Events []struct{ Type string } }
	}
	value, _ := o.Value("notice")
	require.NoError(c.t, value.Decode(&said))
	require.Equal(c.t, order, said.ID)
	require.Equal(c.t, "EUR", said.Currency)
	require.Nil(c.t, said.UCP, "what is about the message is not the order")
	for _, event := range said.Fulfillment.Events {
		events = append(events, event.Type)
	}
	revision, _ := o.Value("rev")
	return revision.String(), events
}

// quiet tells that nothing has changed.
func (c *customer) quiet() {
	c.t.Helper()
	require.Eventually(c.t, func() bool { // What was recorded is crossed out afterwards.
		for range c.store.List(c.t.Context(), "told.") {
			return false
		}
		return true
	}, patience, time.Millisecond, "something is still to be recorded")
	if len(c.changed) > 0 {
		require.Fail(c.t, "something has changed", whole(<-c.changed))
	}
	require.Empty(c.t, c.diverged)
}

// TestWhatBecomesOfAnOrder: the shop tells, signed as the release has it, and the platform's engine has it once, through
// repetitions, forgeries, a change of the shop's key and a restart of the bridge.
func TestWhatBecomesOfAnOrder(t *testing.T) {
	for _, release := range wire.Releases() {
		t.Run(string(release), func(t *testing.T) {
			first, second := generate(t, "shop-1"), generate(t, "shop-2")
			s := newLampShop(t, unchanged, first, second)
			c := newCustomer(t, s, release, negotiation.REST, -1)
			order := c.buys()
			rev, events := c.hears(order)
			require.Equal(t, "2", rev)
			require.Empty(t, events)
			placed := c.last()
			s.ship(t, order)
			rev, events = c.hears(order)
			require.Equal(t, "3", rev)
			require.Equal(t, []string{"shipped"}, events)
			shipped := c.last()
			require.Equal(t, 200, shipped.status)

			require.Equal(t, 200, c.repeat(shipped, nil), "again")
			require.Equal(t, 200, c.repeat(placed, nil), "out of order, and again")
			tamper := func(_ *http.Request, body []byte) []byte {
				return bytes.Replace(body, []byte(`"shipped"`), []byte(`"deliver"`), 1)
			}
			require.Contains(t, []int{400, 401}, c.repeat(shipped, tamper), "another body")
			unsigned := func(r *http.Request, body []byte) []byte {
				for _, name := range []string{"Signature", "Signature-Input", "Request-Signature"} {
					r.Header.Del(name)
				}
				return body
			}
			require.Equal(t, 401, c.repeat(shipped, unsigned))
			renamed := func(r *http.Request, body []byte) []byte {
				r.Header.Set("Webhook-Id", "another")
				return body
			}
			if release == wire.April2026 {
				require.Equal(t, 401, c.repeat(shipped, renamed), "the id is signed")
			} else {
				require.Equal(t, 200, c.repeat(shipped, renamed), "the id is in the body, or the body itself")
			}
			rogue := generate(t, "shop-1")
			forged := func(r *http.Request, body []byte) []byte {
				body = bytes.Replace(body, []byte(`"shipped"`), []byte(`"delivered"`), 1)
				if release == wire.April2026 {
					require.NoError(t, rogue.SignRequest(r, body))
				} else {
					text, err := rogue.Detached(body)
					require.NoError(t, err)
					r.Header.Set("Request-Signature", text)
				}
				return body
			}
			require.Equal(t, 401, c.repeat(shipped, forged))
			large := func(_ *http.Request, body []byte) []byte { return append(body, strings.Repeat(" ", 1<<20)...) }
			require.Equal(t, 413, c.repeat(shipped, large))
			c.quiet()

			c.stop() // The bridge is away, and comes back with what it has in the store.
			s.signsWith(t, second)
			s.ship(t, order)
			require.Eventually(t, func() bool { l := c.last(); return l.status == 200 && !bytes.Equal(l.body, shipped.body) }, patience, time.Millisecond)
			require.Empty(t, c.changed, "acknowledged when it was written down; nobody is there to state it")
			c.start()
			rev, events = c.hears(order)
			require.Equal(t, "4", rev)
			require.Equal(t, []string{"shipped", "shipped"}, events)
			require.Equal(t, 200, c.repeat(shipped, nil), "known from before the restart")
			require.Equal(t, 200, c.repeat(c.last(), nil))
			c.quiet()
		})
	}
}

// TestWhatNoWebhookTold is found by asking, over either transport.
func TestWhatNoWebhookTold(t *testing.T) {
	for _, test := range []struct {
		release   wire.Release
		transport negotiation.Transport
	}{{wire.January11, negotiation.REST}, {wire.January23, negotiation.MCP}, {wire.April2026, negotiation.REST}, {wire.April2026, negotiation.MCP}} {
		t.Run(fmt.Sprint(test.release, " ", test.transport), func(t *testing.T) {
			s := newLampShop(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Client = nil }, generate(t, "shop-1"))
			c := newCustomer(t, s, test.release, test.transport, 10*time.Millisecond)
			order := c.buys()
			rev, events := c.hears(order)
			require.Equal(t, "2", rev)
			require.Empty(t, events)
			s.ship(t, order)
			rev, events = c.hears(order)
			require.Equal(t, "3", rev)
			require.Equal(t, []string{"shipped"}, events)
		})
	}
}

// TestUnsignedWebhooks: of a shop that has no keys, as the public servers, what a webhook says is not believed, but the
// order is looked at.
func TestUnsignedWebhooks(t *testing.T) {
	s := newLampShop(t, unchanged)
	c := newCustomer(t, s, wire.January11, negotiation.REST, -1)
	order := c.buys()
	_, events := c.hears(order)
	require.Empty(t, events)
	placed := c.last()
	lie := func(_ *http.Request, body []byte) []byte {
		return bytes.Replace(body, []byte(`"events":[]`), []byte(`"events":[{"id":"e","type":"delivered","occurred_at":"2026-11-30T12:00:00Z","line_items":[]}]`), 1)
	}
	require.NotEqual(t, placed.body, lie(nil, placed.body))
	require.Equal(t, 200, c.repeat(placed, lie))
	s.ship(t, order)
	_, events = c.hears(order)
	require.Equal(t, []string{"shipped"}, events, "nothing was delivered")
}

// TestAnOrderOfNobody: what a shop tells of another order than was placed, or of a checkout without one, is raised.
func TestAnOrderOfNobody(t *testing.T) {
	key := generate(t, "shop-1")
	s := newLampShop(t, unchanged, key)
	c := newCustomer(t, s, wire.January23, negotiation.REST, -1)
	order := c.buys()
	c.hears(order)
	another := func(r *http.Request, body []byte) []byte {
		body = bytes.ReplaceAll(body, []byte(order), []byte("another"))
		text, err := key.Detached(body)
		require.NoError(t, err)
		r.Header.Set("Request-Signature", text)
		return body
	}
	renamed := func(r *http.Request, body []byte) []byte {
		return another(r, bytes.Replace(body, []byte(`"event_id":"`), []byte(`"event_id":"x`), 1))
	}
	require.Equal(t, 200, c.repeat(c.last(), renamed))
	select {
	case d := <-c.diverged:
		require.Contains(t, d.Detail, "another order than the checkout has become: another")
	case <-time.After(patience):
		require.Fail(t, "nobody was told")
	}
	elsewhere := func(r *http.Request, body []byte) []byte {
		return another(r, bytes.Replace(body, []byte(`"checkout_id":"`), []byte(`"checkout_id":"x`), 1))
	}
	require.Equal(t, 403, c.repeat(c.last(), elsewhere), "nobody here has opened that checkout")
}
