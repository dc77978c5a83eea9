package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/syncserver"
)

// Many enactments go on at once, and within each there is one request at a time, whoever else asks for it.
func TestOneRequestAtATimeInAnEnactment(t *testing.T) {
	const enactments = 20
	for name, options := range map[string][]syncserver.Option{
		"immediate": nil,
		"batch":     {syncserver.WithBatch(time.Millisecond, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, options...)
			var mu sync.Mutex
			busy := make(map[string]int)
			enter := func(number string, by int) {
				mu.Lock()
				defer mu.Unlock()
				busy[number] += by
				assert.LessOrEqual(t, busy[number], 1, number)
			}
			for i := range enactments {
				number := fmt.Sprintf("n%d", i)
				s.hotel.on("POST /reservations/"+number+"/payment", func(w http.ResponseWriter, r *http.Request) {
					enter(number, 1)
					defer enter(number, -1)
					reply(500, "")(w, r)
				}, func(w http.ResponseWriter, r *http.Request) {
					enter(number, 1)
					defer enter(number, -1)
					reply(200, `{"receipt":"q"}`)(w, r)
				})
				s.hotel.on("GET /reservations/"+number, reply(200, `{"state":"open"}`))
			}
			s.hotel.on(reserve, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				n := busy["made"]
				busy["made"]++
				mu.Unlock()
				reply(201, fmt.Sprintf(`{"number":"n%d","price":1}`, n))(w, r)
			})
			s.start()
			for i := range enactments {
				s.attempt("Ask", adapter.Values{"rid": fmt.Sprintf("r%d", i), "room": "double", "guest": "me"})
			}
			var booked []adapter.Observation
			for range enactments {
				booked = append(booked, s.expect("Booked"))
			}
			var asking sync.WaitGroup
			for _, o := range booked {
				number, _ := o.Value("number")
				rid, _ := o.Value("rid")
				s.attempt("Pay", adapter.Values{"rid": rid, "number": number, "card": token})
				asking.Go(func() {
					err := s.bridge.Settle(t.Context(), o.Enactment.Key())
					if err != nil {
						assert.ErrorIs(t, err, bridge.ErrNotHeld)
					}
				})
			}
			for range enactments {
				s.expect("Paid")
			}
			asking.Wait()
			assert.Empty(t, s.diverged)
			assert.Empty(t, s.unknown)
			for line, count := range counted(s.hotel.lines()) {
				if strings.HasSuffix(line, "/payment") {
					assert.Equal(t, 2, count, line)
				}
			}
		})
	}
}

func counted(lines []string) map[string]int {
	counts := make(map[string]int)
	for _, line := range lines {
		counts[line]++
	}
	return counts
}

// scripted is a caller without a network, so that time can be a fake.
type scripted func(ctx context.Context, r bridge.Request) (bridge.Response, error)

func (c scripted) Call(ctx context.Context, r bridge.Request) (bridge.Response, error) {
	return c(ctx, r)
}

func TestPausesGrowUpToTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := bookingRules(t)
		exec := syncserver.NewLocal(rules)
		defer exec.Close()
		var at []time.Duration
		begun := time.Now()
		unknown := make(chan bridge.Unsettled, 1)
		b, err := bridge.New(rules, exec, bookingMapping(t, rules), bridge.Options{
			BaseURL: "http://hotel.example", Settings: map[string]any{"house": "x"},
			Caller: scripted(func(_ context.Context, r bridge.Request) (bridge.Response, error) {
				at = append(at, time.Since(begun))
				if r.Query {
					return bridge.Response{Status: 200, Body: []byte(`{"state":"paying"}`)}, nil
				}
				if r.Step == "reserve" {
					return bridge.Response{Status: 201, Body: []byte(`{"number":"n1","price":1}`)}, nil
				}
				return bridge.Response{}, context.DeadlineExceeded
			}),
			OnUnknown: func(u bridge.Unsettled) { unknown <- u },
			Patience:  bridge.Patience{First: time.Second, Longest: 4 * time.Second, Deadline: 16 * time.Second},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		guest, err := adapter.New(rules, "Guest", exec)
		require.NoError(t, err)
		attempt := func(action string, values adapter.Values) {
			require.NoError(t, guest.Attempt(ctx, action, values).Err(ctx))
			synctest.Wait()
		}
		attempt("Ask", adapter.Values{"rid": "r1", "room": 1, "guest": nil})
		attempt("Pay", adapter.Values{"rid": "r1", "number": "n1", "card": token})
		u := <-unknown
		assert.Equal(t, "pay", u.Step)
		require.Greater(t, len(at), 6, "it says that it is at work, so it is asked, and only that")
		bound := time.Second
		for i := 2; i < len(at); i++ {
			assert.LessOrEqual(t, at[i]-at[i-1], bound, "each pause is drawn below a bound that doubles")
			bound = min(2*bound, 4*time.Second)
		}
		assert.Equal(t, 16*time.Second, time.Since(begun))
		cancel()
		require.NoError(t, <-done)
	})
}

// A request that certainly did not leave is made anew when somebody asks, even if it must not be sent twice.
func TestWhatDidNotLeaveIsMadeAnew(t *testing.T) {
	s := newStage(t)
	away := true
	var keys []string
	s.hotel.on("DELETE /reservations/n1", reply(200, ""))
	s.start(func(o *bridge.Options) {
		caller := o.Caller
		o.Caller = scripted(func(ctx context.Context, r bridge.Request) (bridge.Response, error) {
			if r.Method == http.MethodDelete {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				if away {
					return bridge.Response{}, &bridge.NotSentError{Err: context.DeadlineExceeded}
				}
			}
			return caller.Call(ctx, r)
		})
	})
	s.booked()
	s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
	receive(s, s.unknown)
	require.Len(t, keys, 1, "by itself nothing is sent again that is not idempotent, even if it has not left")
	away = false
	require.NoError(t, s.bridge.Settle(t.Context(), key))
	s.expect("Withdrawn")
}

func TestTimeoutIsUnknown(t *testing.T) {
	s := newStage(t)
	stall, arrived := stalled(t)
	s.hotel.on(reserve, stall, reply(201, `{"number":"n1","price":1}`))
	s.start(func(o *bridge.Options) {
		short, patient := bridge.NewHTTPCaller(s.hotel.server.Client(), 500*time.Millisecond, 0), o.Caller
		o.Caller = scripted(func(ctx context.Context, r bridge.Request) (bridge.Response, error) {
			if len(arrived) == 0 { // The first one, until it has come to the hotel.
				return short.Call(ctx, r)
			}
			return patient.Call(ctx, r)
		})
	})
	s.ask()
	s.expect("Booked")
	calls := s.called()
	last := calls[len(calls)-2]
	assert.Equal(t, string(bridge.Unknown), last.Outcome)
	assert.Contains(t, last.Detail, "deadline exceeded")
}

// A remote party may repeat in one answer what it was told in another request.
func TestSecretsOfEarlierActionsAreCutOut(t *testing.T) {
	s := newStage(t)
	journal := &bridge.MemoryJournal{}
	s.start(with(journal))
	s.booked()
	s.hotel.on(pay, reply(402, `{"error":"no"}`))
	s.hotel.on("DELETE /reservations/n1", reply(410, `{"card":"`+token+`"}`))
	s.pay()
	s.expect("Failed")
	s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
	receive(s, s.diverged)
	assert.NotContains(t, s.told(nil), token)
	assert.Contains(t, s.told(nil), `{\"card\":\"[secret]\"}`)
}
