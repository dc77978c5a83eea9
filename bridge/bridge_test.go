package bridge_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/enactment"
)

func TestAnswersAnObservation(t *testing.T) {
	s := newStage(t)
	s.start()
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":9007199254740993.10,"beds":["broken","left"]}`))
	s.hotel.on("PUT /reservations/n1", reply(200, `{}`))
	s.ask()
	o := s.expect("Booked")
	assert.Equal(t, "9007199254740993.10", s.value(o, "price"), "every digit is kept")

	got := s.hotel.requests()
	require.Len(t, got, 2, "one observation, one attempt, several exchanges")
	assert.Equal(t, `{"room":"double","rooms":[1,"$.50"]}`, got[0].body, "a null that is optional is left out")
	assert.Equal(t, `{"bed":"left"}`, got[1].body)
	for _, r := range got {
		id, err := uuid.Parse(r.key)
		require.NoError(t, err)
		assert.Equal(t, uuid.Version(4), id.Version())
	}
	assert.NotEqual(t, got[0].key, got[1].key, "each exchange has a key of its own")

	calls := s.called()
	require.Len(t, calls, 2)
	assert.Equal(t, string(bridge.Known), calls[0].Outcome)
	assert.Equal(t, "reserve", calls[0].Step)
	assert.Equal(t, 201, calls[0].Status)
	assert.NotEmpty(t, calls[0].KeyHash)
	assert.NotContains(t, quoted(calls), got[0].key, "an idempotency key is as good as a ticket")
	assert.Equal(t, key, calls[0].Enactment)

	kept, err := s.bridge.Kept(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, enactment.Values{"number": enactment.MustValue("n1")}, kept)
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		reply http.HandlerFunc
		why   string
		more  []string
	}{
		{"in JSON", reply(409, `{"error":"no room"}`), `{"status":409,"words":"no room"}`, nil},
		{"in text", reply(400, "no room"), `{"status":400,"words":"no room"}`, nil},
		{"without words", reply(404, ""), `{"status":404}`, nil},
		{
			"a hook that finds nothing", reply(201, `{"number":"n1","price":1,"beds":["broken"]}`), `"no bed is whole"`,
			[]string{"DELETE /reservations/n1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.start()
			s.hotel.on(reserve, test.reply)
			s.hotel.on("DELETE /reservations/n1", reply(200, ""))
			s.ask()
			assert.JSONEq(t, test.why, s.value(s.expect("Full"), "why"))
			assert.Equal(t, append([]string{reserve}, test.more...), s.hotel.lines())
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	s := newStage(t)
	s.start()
	s.hotel.on(reserve, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	s.ask()
	assert.Contains(t, s.value(s.expect("Full"), "why"), `"status":307`)
	assert.Equal(t, []string{reserve}, s.hotel.lines())
}

func TestLostResponses(t *testing.T) {
	huge := reply(201, `{"number":"n1","price":1,"rest":"`+strings.Repeat("x", 5<<20)+`"}`)
	tests := map[string]http.HandlerFunc{
		"the connection breaks":               drop,
		"the connection breaks in the middle": half,
		"a body that is too large":            huge,
		"a status that proves nothing":        reply(503, `{}`),
		"no JSON":                             reply(201, `OK`),
		"JSON that lacks what is needed":      reply(201, `{"price":1}`),
		"JSON with more than JSON":            reply(201, `{"number":"n1","price":1} and more`),
	}
	for name, lost := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.start()
			s.hotel.on(reserve, lost, reply(201, `{"number":"n1","price":1}`))
			s.ask()
			s.expect("Booked")
			got := s.hotel.requests()
			require.Len(t, got, 2)
			assert.Equal(t, got[0].key, got[1].key, "the same key")
			assert.Equal(t, got[0].body, got[1].body, "the same bytes")
			assert.NotEqual(t, got[0].call, got[1].call, "another call")
			assert.Equal(t, string(bridge.Unknown), s.called()[0].Outcome)
			assert.NotEmpty(t, s.called()[0].Detail)
			assert.Equal(t, 2, s.called()[1].Attempt)
		})
	}
}

func TestStatusQueryDecides(t *testing.T) {
	tests := []struct {
		name  string
		pay   []http.HandlerFunc
		state []http.HandlerFunc
		want  string
		lines []string
	}{
		{
			"done",
			[]http.HandlerFunc{drop},
			[]http.HandlerFunc{reply(200, `{"receipt":"q1"}`)},
			"Paid",
			[]string{pay, state},
		},
		{
			"at work",
			[]http.HandlerFunc{reply(202, "")},
			[]http.HandlerFunc{reply(200, `{"state":"paying"}`), reply(500, ""), reply(200, `{"receipt":"q1"}`)},
			"Paid",
			[]string{pay, state, state, state},
		},
		{
			"not done",
			[]http.HandlerFunc{drop, reply(402, `{"error":"no money"}`)},
			[]http.HandlerFunc{reply(200, `{"state":"open"}`)},
			"Failed",
			[]string{pay, state, pay, state},
		},
		{
			"inconclusive",
			[]http.HandlerFunc{reply(500, ""), reply(200, `{"receipt":"q2"}`)},
			[]http.HandlerFunc{reply(404, "")},
			"Paid",
			[]string{pay, state, state, pay},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.start()
			s.booked()
			s.hotel.on(pay, test.pay...)
			s.hotel.on(state, test.state...)
			s.pay()
			s.expect(test.want)
			assert.Equal(t, append([]string{reserve}, test.lines...), s.hotel.lines())
			var keys []string
			for _, r := range s.hotel.requests() {
				if r.line == pay {
					keys = append(keys, r.key)
				} else if r.line == state {
					assert.Empty(t, r.key, "a query has no key")
				}
			}
			for _, k := range keys {
				assert.Equal(t, keys[0], k)
			}
		})
	}
}

func TestUnknownIsNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStageAt(t, newHotelInMemory(t))
		s.start(impatient)
		s.booked()
		s.hotel.on(pay, drop)
		s.hotel.on(state, reply(500, ""))
		s.pay()
		u := receive(s, s.unknown)
		assert.Equal(t, "Pay", u.Action)
		assert.Equal(t, "pay", u.Step)
		assert.NotEmpty(t, u.Key)
		assert.Equal(t, []string{"Ask", "Booked", "Pay"}, s.happened())
		assert.Contains(t, s.told(nil), "outcome of a call unknown")

		// What follows has to wait.
		s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
		assert.Equal(t, "Pay", receive(s, s.unknown).Action)
		waiting := receive(s, s.unknown)
		assert.Equal(t, "Withdraw", waiting.Action)
		assert.Contains(t, waiting.Detail, "before it is unknown")
		assert.NotContains(t, s.hotel.lines(), "DELETE /reservations/n1")

		// It is settled when somebody asks.
		s.hotel.on(state, reply(200, `{"receipt":"q1"}`))
		s.hotel.on("DELETE /reservations/n1", reply(200, ""))
		require.NoError(t, s.bridge.Settle(t.Context(), key))
		s.expect("Paid")
		assert.Equal(t, []string{"Ask", "Booked", "Pay", "Withdraw", "Paid"}, s.happened())
		assert.NotContains(t, s.hotel.lines(), "DELETE /reservations/n1", "it was paid before")
		require.ErrorIs(t, s.bridge.Settle(t.Context(), "{\"rid\":\"r2\"}"), bridge.ErrNotHeld)
	})
}

func TestNothingIsSentAgainUnlessThatIsDeclaredSafe(t *testing.T) {
	s := newStage(t)
	s.start()
	s.booked()
	s.hotel.on("DELETE /reservations/n1", drop)
	s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
	assert.Equal(t, "Withdraw", receive(s, s.unknown).Action)
	assert.Equal(t, []string{reserve, "DELETE /reservations/n1"}, s.hotel.lines())
}

func TestWhatDidNotLeaveIsSentAgain(t *testing.T) {
	s := newStage(t)
	s.start(func(o *bridge.Options) { o.BaseURL = "http://127.0.0.1:1" }) // Nobody listens there.
	s.ask()
	u := receive(s, s.unknown)
	assert.Contains(t, u.Detail, "sent 0 times")
	calls := s.called()
	require.Len(t, calls, hasty.Sends)
	for _, c := range calls {
		assert.Equal(t, 1, c.Attempt)
		assert.Contains(t, c.Detail, "not sent")
	}
}

func TestDivergence(t *testing.T) {
	t.Run("what the mapping says", func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.booked()
		s.hotel.on("DELETE /reservations/n1", reply(410, ""))
		s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
		d := receive(s, s.diverged)
		assert.Equal(t, "the hotel knows nothing of it", d.Detail)
		assert.Nil(t, d.Attempt)
	})
	t.Run("what the protocol refuses", func(t *testing.T) {
		s := newStage(t)
		journal := &bridge.MemoryJournal{}
		stop := s.start(with(journal))
		s.booked()
		// Somebody who plays the hotel too withdraws while the payment is under way.
		other, err := adapter.New(s.rules, "Hotel", s.exec)
		require.NoError(t, err)
		s.hotel.on(pay, func(w http.ResponseWriter, r *http.Request) {
			s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
			assert.NoError(t, other.Attempt(t.Context(), "Withdrawn", adapter.Values{"rid": "r1"}).Err(t.Context()))
			reply(200, `{"receipt":"q1"}`)(w, r)
		})
		s.hotel.on("DELETE /reservations/n1", reply(410, ""))
		s.pay()
		d := receive(s, s.diverged)
		assert.Equal(t, "Paid", d.Attempt.Action)
		assert.Equal(t, enactment.Excluded, d.Rejection.Code)
		assert.Contains(t, s.told(nil), "have diverged")
		stop()
		entries, err := journal.Load(t.Context(), key)
		require.NoError(t, err)
		var kinds []bridge.EntryKind
		for _, e := range entries {
			kinds = append(kinds, e.Kind)
		}
		assert.Contains(t, kinds, bridge.EntryDiverged, "it is written down")
	})
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	s := newStage(t)
	for name, options := range map[string]bridge.Options{
		"setting": {BaseURL: "http://hotel.example"},
		"URL":     {BaseURL: "hotel.example", Settings: map[string]any{"house": "x"}},
		"JSON":    {BaseURL: "http://hotel.example", Settings: map[string]any{"house": func() {}}},
	} {
		_, err := bridge.New(s.rules, s.exec, s.mapping, options)
		require.Error(t, err, name)
	}
	_, err := bridge.New(s.rules, s.exec, nil, bridge.Options{})
	require.Error(t, err)
}
