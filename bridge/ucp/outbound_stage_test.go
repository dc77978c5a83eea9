package ucp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	leak.Main(m)
}

// market has a platform to play with and an outbound bridge to a shop.
type market struct {
	t        *testing.T
	rules    *enactment.Rules
	exec     *syncserver.Local
	platform *adapter.Adapter
	outbound *ucp.Outbound
	observed chan adapter.Observation
	unknown  chan bridge.Unsettled
	diverged chan bridge.Divergence
	business *ucp.Business
	options  ucp.OutboundOptions
	journal  *bridge.MemoryJournal
	stop     func() // stops the bridge

	mu    sync.Mutex
	calls []audit.Record
	logs  bytes.Buffer
}

func (m *market) Write(text []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logs.Write(text)
}

// openMarket opens a market for SimpleUCP at a shop that is discovered.
func openMarket(t *testing.T, url string, change ...func(*ucp.OutboundOptions)) *market {
	t.Helper()
	discover := func(m *market, client *http.Client) {
		var err error
		m.business, err = ucp.Discover(t.Context(), client, url)
		require.NoError(t, err)
	}
	return openMarketOf(t, "simple-ucp", discover, []string{"Created", "Refused", "Completed", "Declined", "Cancelled"}, change...)
}

// openMarketOf opens a market for a protocol, whose platform observes some actions.
func openMarketOf(
	t *testing.T, protocol string, find func(*market, *http.Client), actions []string, change ...func(*ucp.OutboundOptions),
) *market {
	t.Helper()
	m := &market{
		t: t, journal: &bridge.MemoryJournal{},
		observed: make(chan adapter.Observation, 100),
		unknown:  make(chan bridge.Unsettled, 100),
		diverged: make(chan bridge.Divergence, 100),
	}
	logger := slog.New(slog.NewJSONHandler(m, &slog.HandlerOptions{Level: slog.LevelDebug}))

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	find(m, client)
	if m.rules == nil {
		var err error
		m.rules, err = m.business.Rules(protocol)
		require.NoError(t, err)
	}
	m.exec = syncserver.NewLocal(m.rules)
	t.Cleanup(m.exec.Close)
	m.options = ucp.OutboundOptions{
		Client: client, Journal: m.journal, Logger: logger,
		Audit: audit.SinkFunc(func(_ context.Context, r audit.Record) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.calls = append(m.calls, r)
			return nil
		}),
		Principal: func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: "john"}, nil
		},
		Approvals:  policy.StandingGrant{By: "john"},
		OnUnknown:  func(u bridge.Unsettled) { m.unknown <- u },
		OnDiverged: func(d bridge.Divergence) { m.diverged <- d },
		Patience:   bridge.Patience{First: time.Millisecond, Longest: 2 * time.Millisecond},
	}
	for _, change := range change {
		change(&m.options)
	}
	var err error
	m.platform, err = adapter.New(m.rules, "Platform", m.exec, adapter.WithLogger(logger))
	require.NoError(t, err)
	for _, action := range actions {
		m.platform.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			m.observed <- o
			return nil
		})
	}
	m.start()
	m.background(m.platform.Run)
	return m
}

// start starts a bridge, also after the one before was stopped.
func (m *market) start() {
	m.t.Helper()
	var err error
	m.outbound, err = ucp.NewOutbound(m.rules, m.exec, m.business, m.options)
	require.NoError(m.t, err)
	m.stop = m.background(m.outbound.Run)
}

// impatient has the bridge be another, which asks for a second alone what became of a request that it may not send again.
func (m *market) impatient() {
	m.t.Helper()
	m.stop()
	m.options.Patience.Deadline = time.Second
	m.start()
}

// unsettled waits until the bridge says that nobody knows what became of a request. Where the machine was so slow that the
// bridge had no time for all that it is to do before, it takes that up again.
func (m *market) unsettled(enough func(bridge.Unsettled) bool) bridge.Unsettled {
	m.t.Helper()
	for {
		u := <-m.unknown
		if enough(u) {
			return u
		}
		require.NoError(m.t, m.outbound.Settle(m.t.Context(), u.Enactment))
	}
}

// background runs something until the test ends or stop is called, which waits for it.
func (m *market) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(m.t, <-done)
	})
	m.t.Cleanup(stop)
	return stop
}

const cid = "c1"

func (m *market) attempt(action string, values adapter.Values) {
	m.t.Helper()
	values["cid"] = cid
	require.NoError(m.t, m.platform.Attempt(m.t.Context(), action, values).Err(m.t.Context()))
}

func items(id string) []any { return []any{doc{"item": doc{"id": id}, "quantity": 2}} }

func (m *market) create(fulfillment any) {
	m.t.Helper()
	m.attempt("Create", adapter.Values{
		"line_items": items("pot_ceramic"), "buyer": doc{"email": "john.doe@example.com"}, "fulfillment": fulfillment,
	})
}

// created goes as far as a checkout and gives the values of Created.
func (m *market) created(fulfillment any) adapter.Observation {
	m.t.Helper()
	m.create(fulfillment)
	return m.expect("Created")
}

func (m *market) complete(created adapter.Observation, payment any) {
	m.t.Helper()
	id, _ := created.Value("id")
	totals, _ := created.Value("totals")
	m.attempt("Complete", adapter.Values{"id": id, "totals": totals, "payment": payment})
}

func (m *market) cancel(created adapter.Observation) {
	m.t.Helper()
	id, _ := created.Value("id")
	m.attempt("Cancel", adapter.Values{"id": id})
}

func card(handler, token string) doc {
	return doc{"handler_id": handler, "token": token, "brand": "Visa", "last_digits": "1234"}
}

func (m *market) expect(action string) adapter.Observation {
	m.t.Helper()
	o := receive(m, m.observed)
	require.Equal(m.t, action, o.Action, "%v", o)
	return o
}

func text(t *testing.T, o adapter.Observation, name string) string {
	t.Helper()
	value, ok := o.Value(name)
	require.True(t, ok, name)
	return value.String()
}

// plainly is text without the messages of the shop, of which the first says what the rest says.
func plainly(t *testing.T, o adapter.Observation, name string) string {
	t.Helper()
	var said map[string]any
	require.NoError(t, json.Unmarshal([]byte(text(t, o, name)), &said))
	delete(said, "messages")
	encoded, err := json.Marshal(said)
	require.NoError(t, err)
	return string(encoded)
}

func total(t *testing.T, o adapter.Observation) int64 {
	t.Helper()
	var totals []ucp.Total
	value, ok := o.Value("totals")
	require.True(t, ok)
	require.NoError(t, value.Decode(&totals))
	for _, line := range totals {
		if line.Type == "total" {
			return line.Amount
		}
	}
	t.Fatalf("no total in %s", value)
	return 0
}

func receive[T any](m *market, from <-chan T) T {
	m.t.Helper()
	select {
	case received := <-from:
		return received
	case u := <-m.unknown:
		m.t.Fatalf("unknown: %+v", u)
	case d := <-m.diverged:
		m.t.Fatalf("diverged: %+v", d)
	case <-time.After(time.Minute):
		m.t.Fatalf("nothing came; calls: %+v", m.called())
	}
	panic("unreachable")
}

func (m *market) called() []audit.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]audit.Record(nil), m.calls...)
}

// told is everything that the bridge has said to anybody but the shop.
func (m *market) told() string {
	entries, err := m.journal.Load(m.t.Context(), enactment.Key(`{"cid":"c1"}`))
	require.NoError(m.t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := json.Marshal([]any{m.calls, entries, m.logs.String()})
	require.NoError(m.t, err)
	return string(all)
}
