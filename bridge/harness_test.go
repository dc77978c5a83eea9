package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/memorynet"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(shopProcess) != "":
		os.Exit(runHostileShop())
	case os.Getenv(bridgeProcess) != "":
		os.Exit(runKilledBridge())
	}
	testspeed.Raise()
	leak.Main(m, func() { stopShop() })
}

// token is a secret that must turn up nowhere but on the wire.
const token = "tok-4711-super-secret"

func bookingRules(t testing.TB) *enactment.Rules {
	t.Helper()
	text, err := os.ReadFile("testdata/booking.lsh")
	require.NoError(t, err)
	protocol, diagnostics := langshaw.Parse(text)
	require.False(t, diagnostics.HasErrors(), diagnostics.Error())
	rules, err := enactment.Compile(protocol, enactment.WithSecrets("card"))
	require.NoError(t, err)
	return rules
}

// firstBed is the hook of the mapping.
func firstBed(_ context.Context, input any) (any, error) {
	beds, _ := input.([]any)
	for _, bed := range beds {
		if bed != "broken" {
			return bed, nil
		}
	}
	return nil, &bridge.NoChoice{Reason: "no bed is whole"}
}

func bookingMapping(t testing.TB, rules *enactment.Rules) *bridge.Mapping {
	t.Helper()
	text, err := os.ReadFile("testdata/booking.yaml")
	require.NoError(t, err)
	mapping, err := bridge.Load("booking.yaml", text, rules, map[string]bridge.Hook{"bed": firstBed})
	require.NoError(t, err)
	return mapping
}

// seen is a request as the hotel has got it.
type seen struct {
	line, key, call string
	body            string
}

// hotel is a REST service with a script: what it answers to each request, by method and path.
type hotel struct {
	t      *testing.T
	server *httptest.Server
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil where it is on the network
	mu     sync.Mutex
	script map[string][]http.HandlerFunc
	got    []seen
}

func newHotel(t *testing.T) *hotel {
	h := &hotel{t: t, script: make(map[string][]http.HandlerFunc)}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	return h
}

// newHotelInMemory makes a hotel for a bubble of synctest.
func newHotelInMemory(t *testing.T) *hotel {
	h := &hotel{t: t, script: make(map[string][]http.HandlerFunc)}
	listener := memorynet.Listen()
	h.dial = listener.Dial
	h.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
	h.server.Start()
	t.Cleanup(h.server.Close)
	return h
}

// on says what is answered to the next requests of a kind, one each; the last is answered from then on.
func (h *hotel) on(line string, answers ...http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.script[line] = answers
}

func (h *hotel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	line := r.Method + " " + r.URL.EscapedPath()
	h.mu.Lock()
	h.got = append(h.got, seen{line, r.Header.Get("Idempotency-Key"), r.Header.Get("X-Call"), string(body)})
	answers := h.script[line]
	if len(answers) > 1 {
		h.script[line] = answers[1:]
	}
	h.mu.Unlock()
	if len(answers) == 0 {
		http.Error(w, "not in the script", http.StatusTeapot)
		return
	}
	answers[0](w, r)
}

func (h *hotel) requests() []seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]seen(nil), h.got...)
}

func (h *hotel) lines() []string {
	var lines []string
	for _, s := range h.requests() {
		lines = append(lines, s.line)
	}
	return lines
}

func reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if json.Valid([]byte(body)) {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// drop closes the connection without an answer.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// half closes the connection in the middle of the answer.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"number": "n1", `)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// stage has an executor, a guest to play with and everything that the bridge has said.
type stage struct {
	t        *testing.T
	rules    *enactment.Rules
	mapping  *bridge.Mapping
	exec     *syncserver.Local
	hotel    *hotel
	guest    *adapter.Adapter
	observed chan adapter.Observation
	unknown  chan bridge.Unsettled
	diverged chan bridge.Divergence
	bridge   *bridge.Bridge
	key      enactment.Key // what is looked at

	mu    sync.Mutex
	calls []audit.Record
	logs  bytes.Buffer
}

func newStage(t *testing.T, options ...syncserver.Option) *stage {
	return newStageAt(t, newHotel(t), options...)
}

func newStageAt(t *testing.T, h *hotel, options ...syncserver.Option) *stage {
	s := &stage{
		t: t, rules: bookingRules(t), hotel: h, key: key,
		observed: make(chan adapter.Observation, 100),
		unknown:  make(chan bridge.Unsettled, 100),
		diverged: make(chan bridge.Divergence, 100),
	}
	s.mapping = bookingMapping(t, s.rules)
	s.exec = syncserver.NewLocal(s.rules, options...)
	t.Cleanup(s.exec.Close)
	var err error
	s.guest, err = adapter.New(s.rules, "Guest", s.exec, adapter.WithLogger(s.logger()))
	require.NoError(t, err)
	for _, action := range []string{"Booked", "Full", "Paid", "Failed", "Withdrawn"} {
		s.guest.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			s.observed <- o
			return nil
		})
	}
	s.background(s.guest.Run)
	return s
}

// play has another protocol played instead, and listens to what a role of it observes.
func (s *stage) play(rules *enactment.Rules, mapping, role string, actions ...string) *stage {
	s.t.Helper()
	text, err := os.ReadFile(mapping)
	require.NoError(s.t, err)
	s.rules, s.key = rules, `{"eid":"e1"}`
	s.mapping, err = bridge.Load(mapping, text, rules, nil)
	require.NoError(s.t, err)
	s.exec = syncserver.NewLocal(rules)
	s.t.Cleanup(s.exec.Close)
	s.guest, err = adapter.New(rules, role, s.exec, adapter.WithLogger(s.logger()))
	require.NoError(s.t, err)
	for _, action := range actions {
		s.guest.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			s.observed <- o
			return nil
		})
	}
	s.background(s.guest.Run)
	return s
}

// Record takes in the audit.
func (s *stage) Record(_ context.Context, r audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
	return nil
}

// Write takes in what is logged.
func (s *stage) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs.Write(text)
}

func (s *stage) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// background runs something until the test ends or stop is called, which waits for it.
func (s *stage) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(s.t, <-done)
	})
	s.t.Cleanup(stop)
	return stop
}

var hasty = bridge.Patience{First: time.Millisecond, Longest: 2 * time.Millisecond, Sends: 3, Asks: 2}

// impatient is for steps that stay unknown: they are asked about, now and then, until the deadline. See unsettled. Tests with
// processes of their own wait for it in parallel, others in a bubble of synctest.
func impatient(o *bridge.Options) {
	o.Patience.Longest = 50 * time.Millisecond
	o.Patience.Deadline = time.Second
}

// unsettled waits until the bridge says that nobody knows what became of a request. Where the machine was so slow that an
// impatient bridge had no time for all that it is to do before, it takes that up again.
func (s *stage) unsettled(enough func(bridge.Unsettled) bool) bridge.Unsettled {
	s.t.Helper()
	for {
		u := receive(s, s.unknown)
		if enough(u) {
			return u
		}
		require.NoError(s.t, s.bridge.Settle(s.t.Context(), u.Enactment))
	}
}

// sent tells that the request may have left.
func sent(u bridge.Unsettled) bool { return !u.Unsent }

// brief is the timeout of calls that are not answered, in a contract: long enough that their request leaves before, on a
// busy machine too.
const brief = "timeout_ms: 500"

// lenient is a policy without contracts, whose breaker and budget are not in the way.
func lenient(t testing.TB) *policy.Policy {
	t.Helper()
	p, err := policy.New(nil, policy.Options{
		Default: policy.Local{BudgetReserve: 1 << 20}, Breaker: policy.BreakerOptions{Failures: 1 << 20},
	})
	require.NoError(t, err)
	return p
}

// start starts a bridge; the options may be changed first.
func (s *stage) start(change ...func(*bridge.Options)) (stop func()) {
	s.t.Helper()
	transport := &http.Transport{DialContext: s.hotel.dial}
	s.t.Cleanup(transport.CloseIdleConnections)
	options := bridge.Options{
		BaseURL:    s.hotel.server.URL + "/",
		Settings:   map[string]any{"house": "grand / hotel"},
		Caller:     bridge.NewHTTPCaller(&http.Client{Transport: transport}, 0, 0),
		Patience:   hasty,
		Policy:     lenient(s.t),
		Audit:      s,
		OnUnknown:  func(u bridge.Unsettled) { s.unknown <- u },
		OnDiverged: func(d bridge.Divergence) { s.diverged <- d },
		Logger:     s.logger(),
	}
	for _, change := range change {
		change(&options)
	}
	var err error
	s.bridge, err = bridge.New(s.rules, s.exec, s.mapping, options)
	require.NoError(s.t, err)
	return s.background(s.bridge.Run)
}

func with(journal bridge.Journal) func(*bridge.Options) {
	return func(o *bridge.Options) { o.Journal = journal }
}

func (s *stage) attempt(action string, values adapter.Values) {
	s.t.Helper()
	require.NoError(s.t, s.guest.Attempt(s.t.Context(), action, values).Err(s.t.Context()))
}

func (s *stage) ask() {
	s.t.Helper()
	s.attempt("Ask", adapter.Values{"rid": "r1", "room": "double", "guest": nil})
}

// booked goes as far as a booking.
func (s *stage) booked() {
	s.t.Helper()
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":9007199254740993}`))
	s.ask()
	s.expect("Booked")
}

func (s *stage) pay() {
	s.t.Helper()
	s.attempt("Pay", adapter.Values{"rid": "r1", "number": "n1", "card": map[string]any{"token": token, "cvc": "zq9"}})
}

const (
	reserve = "POST /houses/grand%20%2F%20hotel/reservations"
	pay     = "POST /reservations/n1/payment"
	state   = "GET /reservations/n1"
)

// expect waits for what the guest observes next.
func (s *stage) expect(action string) adapter.Observation {
	s.t.Helper()
	o := receive(s, s.observed)
	require.Equal(s.t, action, o.Action)
	return o
}

func (s *stage) value(o adapter.Observation, name string) string {
	s.t.Helper()
	value, ok := o.Value(name)
	require.True(s.t, ok, name)
	return value.String()
}

func receive[T any](s *stage, from <-chan T) T {
	s.t.Helper()
	select {
	case received := <-from:
		return received
	case <-s.t.Context().Done():
	case <-time.After(time.Minute):
		s.t.Fatalf("nothing came; calls: %+v", s.called())
	}
	panic("unreachable")
}

func (s *stage) called() []audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]audit.Record(nil), s.calls...)
}

// happened lists what has happened in the enactment.
func (s *stage) happened() []string {
	var actions []string
	for _, f := range s.exec.History(s.key) {
		for _, i := range f.Instances {
			actions = append(actions, i.Action)
		}
	}
	return actions
}

const key = enactment.Key(`{"rid":"r1"}`)

// told is everything that the bridge has said to anybody but the hotel.
func (s *stage) told(journal []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, err := json.Marshal(s.calls)
	require.NoError(s.t, err)
	return strings.Join([]string{string(calls), s.logs.String(), string(journal)}, "\n")
}

// quoted gives the JSON text of a value.
func quoted(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
