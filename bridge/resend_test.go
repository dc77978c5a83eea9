package bridge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/syncserver"
)

// What is refused the second time may have been done the first time.
func TestARefusalOfARequestSentAgainProvesNothing(t *testing.T) {
	for name, refusal := range map[string]http.HandlerFunc{
		"forbidden":  reply(403, `{"error":"rate limited by the gateway"}`),
		"redirected": reply(302, ""),
		"gone":       reply(404, `{"error":"no such reservation"}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStageAt(t, newHotelInMemory(t))
				s.start(impatient)
				s.booked()
				s.hotel.on(pay, drop, refusal)
				s.hotel.on(state, reply(200, `{"state":"open"}`))
				s.pay()
				u := s.unsettled(func(bridge.Unsettled) bool { return counted(s.hotel.lines())[pay] > 1 })
				assert.Equal(t, "pay", u.Step)
				assert.False(t, u.Unsent)
				require.NotNil(t, u.Last)
				if name == "forbidden" {
					assert.Contains(t, u.Detail, "status 403", "what it said last is told")
					assert.Contains(t, u.Detail, "rate limited by the gateway")
				}
				assert.Equal(t, []string{"Ask", "Booked", "Pay"}, s.happened())

				s.hotel.on(state, reply(200, `{"receipt":"q1"}`))
				require.NoError(t, s.bridge.Settle(t.Context(), key))
				s.expect("Paid")
			})
		})
	}
	t.Run("without a status query", func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.hotel.on(reserve, drop, reply(409, `{"error":"no room"}`))
		s.ask()
		assert.Equal(t, "reserve", receive(s, s.unknown).Step)
		assert.Equal(t, []string{reserve, reserve, reserve}, s.hotel.lines())
	})
}

func TestARequestThatCannotBeMadeIsAnswered(t *testing.T) {
	s := newStage(t)
	s.start()
	s.attempt("Ask", adapter.Values{"rid": "r1", "room": []any{"double"}, "guest": nil})
	assert.Contains(t, s.value(s.expect("Full"), "why"), "the request cannot be made")
	assert.Empty(t, s.hotel.requests())
	assert.Empty(t, s.unknown)
}

// Where the mapping has no answer, it is said that nothing was sent, and what follows does not wait.
func TestARequestThatCannotBeMadeWasNotSent(t *testing.T) {
	s := newStage(t)
	journal := &toldJournal{told: make(chan bridge.Entry, 100)}
	s.start(with(journal))
	s.hotel.on(reserve, reply(201, `{"number":"..","price":1}`))
	s.ask()
	s.expect("Booked")
	s.attempt("Pay", adapter.Values{"rid": "r1", "number": "..", "card": token})
	for receive(s, journal.told).Kind != bridge.EntryUnsent {
	}
	var notSent *bridge.NotSentError
	require.ErrorAs(t, s.bridge.Settle(t.Context(), key), &notSent)
	assert.ErrorContains(t, notSent, "no segment of a URL")
	assert.Equal(t, []string{reserve}, s.hotel.lines())
	assert.Empty(t, s.unknown)
	// The adapter logs what the handler returned once it has returned.
	assert.Eventually(t, func() bool { return strings.Contains(s.told(nil), "not sent") }, time.Minute, time.Millisecond)
}

// toldJournal tells of every entry.
type toldJournal struct {
	bridge.MemoryJournal
	told chan bridge.Entry
}

func (j *toldJournal) Append(ctx context.Context, entry bridge.Entry) error {
	err := j.MemoryJournal.Append(ctx, entry)
	j.told <- entry
	return err
}

func TestNothingDependsOnWhatIsLost(t *testing.T) {
	s := newStage(t)
	s.start()
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1,"beds":["broken"]}`))
	s.hotel.on("DELETE /reservations/n1", drop)
	s.ask()
	assert.JSONEq(t, `{"objection":"no bed is whole","left":"n1"}`, s.value(s.expect("Full"), "why"))
	assert.Empty(t, s.unknown)
}

func TestFactsOfADivergence(t *testing.T) {
	s := newStage(t)
	journal := &bridge.MemoryJournal{}
	s.start(with(journal))
	s.booked()
	s.hotel.on("DELETE /reservations/n1", reply(410, `{"error":"sold to Ann"}`))
	s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
	d := receive(s, s.diverged)
	assert.Equal(t, `"sold to Ann"`, d.Facts["words"].String())
	assert.Contains(t, d.Detail, "sold to Ann")
	entries, err := journal.Load(t.Context(), key)
	require.NoError(t, err)
	last := entries[len(entries)-1]
	assert.Equal(t, bridge.EntryDiverged, last.Kind)
	assert.Equal(t, `"sold to Ann"`, last.Facts["words"].String())
}

// OnUnknown is told before a caller's own deadline, of what was said last; a step that begins later is not sent.
func TestPatienceUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := bookingRules(t)
		exec := syncserver.NewLocal(rules)
		defer exec.Close()
		unknown := make(chan bridge.Unsettled, 1)
		queries := 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b, err := bridge.New(rules, exec, bookingMapping(t, rules), bridge.Options{
			BaseURL: "http://hotel.example", Settings: map[string]any{"house": "x"},
			Caller: scripted(func(ctx context.Context, r bridge.Request) (bridge.Response, error) {
				if !r.Query {
					return bridge.Response{Status: map[string]int{"reserve": 201, "pay": 202}[r.Step], Body: []byte(`{"number":"n1","price":1}`)}, nil
				}
				if queries++; queries == 1 {
					return bridge.Response{Status: 200, Body: []byte(`{"state":"paying"}`)}, nil
				}
				<-ctx.Done()
				return bridge.Response{}, ctx.Err()
			}),
			OnUnknown: func(u bridge.Unsettled) { unknown <- u },
			Patience:  bridge.Patience{Until: time.Now().Add(9 * time.Second)},
		})
		require.NoError(t, err)
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
		require.NoError(t, ctx.Err(), "in time")
		require.NotNil(t, u.Last)
		assert.Equal(t, 200, u.Last.Status)
		assert.JSONEq(t, `{"state":"paying"}`, u.Last.Response)
		assert.Contains(t, u.Detail, `the last answer was status 202`)
		assert.Contains(t, u.Detail, `asked last, it said status 200, {"state":"paying"}`)

		attempt("Ask", adapter.Values{"rid": "r2", "room": 1, "guest": nil})
		u = <-unknown
		assert.True(t, u.Unsent)
		assert.Nil(t, u.Last)
		assert.Contains(t, u.Detail, "no time left")
		cancel()
		require.NoError(t, <-done)
	})
}

func TestShortSecretsAreCutOutOfWhatQuotesThem(t *testing.T) {
	card := map[string]any{
		"brand": "Visa", "credential": map[string]any{"type": "wireless", "token": "12345"}, "holder": "x y", "pin": "7",
	}
	quotes := `{"pay":{"brand":"Visa","credential":{"token":"12345","type":"wireless"},"holder":"x y","pin":"7"}}`
	for name, test := range map[string]struct{ said, want string }{
		"JSON in text":   {`{"error":` + quoted(quotes) + `}`, `"{\"pay\":{\"brand\":\"[secret]\",\"credential\":{\"token\":\"[secret]\",\"type\":\"[secret]\"},\"holder\":\"[secret]\",\"pin\":\"[secret]\"}}"`},
		"after words":    {`{"error":` + quoted("bad: "+quotes+" 12345.") + `}`, `\"token\":\"[secret]\"`},
		"twice":          {`{"error":` + quoted(`{"got":`+quoted(quotes)+`}`) + `}`, `[secret]`},
		"a broken quote": {`{"error":` + quoted(quotes[:len(quotes)-2]) + `}`, `\"token\":\"[secret]\"`},
		"assigned":       {`{"error":"token=12345"}`, `"token=[secret]"`},
		"alone":          {`{"error":"12345"}`, `"[secret]"`},
		"no JSON":        {`token:12345;`, `"token:[secret];"`},
		"in an id":       {`{"error":"ord-12345"}`, `"ord-12345"`},
		"of its kind":    {`{"error":"That wireless kind of thing is not taken."}`, `"That wireless kind of thing is not taken."`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			journal := &bridge.MemoryJournal{}
			s.start(with(journal))
			s.booked()
			s.hotel.on(pay, reply(402, test.said))
			s.attempt("Pay", adapter.Values{"rid": "r1", "number": "n1", "card": card})
			reason := s.value(s.expect("Failed"), "reason")
			assert.Contains(t, reason, test.want)
			entries, err := journal.Load(t.Context(), key)
			require.NoError(t, err)
			everything := reason + s.told([]byte(quoted(entries)))
			if name != "in an id" {
				assert.NotContains(t, reason, "12345")
				assert.NotRegexp(t, `[^0-9a-zA-Z.]12345[^0-9a-zA-Z]`, everything)
				assert.NotContains(t, everything, "x y")
			}
			assert.NotContains(t, reason, `[secret]\":`, "names of members are no secrets")
		})
	}
}
