package bridge_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// seatsRules are of a protocol of several revisions, for what one response may say several things of.
func seatsRules(t *testing.T) *enactment.Rules {
	t.Helper()
	text, err := os.ReadFile("testdata/seats.lsh")
	require.NoError(t, err)
	protocol, diagnostics := langshaw.Parse(text)
	require.False(t, diagnostics.HasErrors(), diagnostics.Error())
	rules, err := enactment.Compile(protocol)
	require.NoError(t, err)
	return rules
}

// newSeats is a stage where seats are sold, by a hall that takes its time.
func newSeats(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	return s.play(seatsRules(t), "testdata/seats.yaml", "Guest", "Shown", "Refused", "Sold", "Gone")
}

const (
	hold  = "POST /seats"
	seats = "GET /seats/s1"
	buy   = "POST /seats/s1/purchase"
)

var looking = func(o *bridge.Options) {
	o.Settings = nil
	o.Patience.LongestLook = 3 * time.Millisecond
}

func (s *stage) shown() {
	s.hotel.on(hold, reply(200, `{"id":"s1","state":"held","price":7}`))
	s.attempt("Hold", adapter.Values{"eid": "e1", "turn": 0, "seat": "A4"})
	o := s.expect("Shown")
	require.Equal(s.t, "1", s.value(o, "turn"))
	require.Equal(s.t, "7", s.value(o, "price"))
}

func (s *stage) buys(turn int) {
	s.attempt("Buy", adapter.Values{"eid": "e1", "turn": turn, "price": 7, "how": "card"})
}

// TestOneResponseSeveralAttempts has one answer mean two actions, one after the other, the second of the next turn.
func TestOneResponseSeveralAttempts(t *testing.T) {
	s := newSeats(t)
	s.start(looking)
	s.shown()
	s.hotel.on(buy, reply(402, `{"id":"s1","state":"held","price":8}`))
	s.buys(1)
	require.Equal(t, "1", s.value(s.expect("Refused"), "turn"))
	o := s.expect("Shown")
	require.Equal(t, "2", s.value(o, "turn"))
	require.Equal(t, "8", s.value(o, "price"))
	require.Empty(t, s.diverged)
}

// breaking is a journal that the process does not get beyond once an answer was accepted.
type breaking struct {
	bridge.Journal
	at string
}

func (j *breaking) Append(ctx context.Context, entry bridge.Entry) error {
	err := j.Journal.Append(ctx, entry)
	if entry.Kind == bridge.EntryAnswered && entry.Attempt.Action == j.at {
		<-ctx.Done()
	}
	return err
}

// TestSeveralAttemptsSurviveARestart breaks the bridge off between the two: the second is made by the next.
func TestSeveralAttemptsSurviveARestart(t *testing.T) {
	s := newSeats(t)
	journal := &breaking{Journal: &bridge.MemoryJournal{}, at: "Refused"}
	stop := s.start(looking, with(journal))
	s.shown()
	s.hotel.on(buy, reply(402, `{"id":"s1","state":"held","price":8}`))
	s.buys(1)
	s.expect("Refused")
	stop()
	s.start(looking, with(journal.Journal))
	require.Equal(t, "2", s.value(s.expect("Shown"), "turn"))
	require.Equal(t, []string{hold, buy}, s.hotel.lines(), "nothing is sent twice")
}

// TestWaitLooksAgain has the hall say that it is at work: it is looked at, not asked again to do it, however long that takes.
func TestWaitLooksAgain(t *testing.T) {
	s := newSeats(t)
	s.start(looking)
	s.shown()
	s.hotel.on(buy, reply(202, `{"id":"s1","state":"working"}`))
	working := reply(200, `{"id":"s1","state":"working"}`)
	s.hotel.on(seats, working, working, drop, reply(503, "later"), working, working, working, working, reply(200, `{"id":"s1","state":"sold","ticket":"t1"}`))
	s.buys(1)
	require.Equal(t, `"t1"`, s.value(s.expect("Sold"), "ticket"))
	require.Equal(t, 1, strings.Count(strings.Join(s.hotel.lines(), "\n"), buy))
	require.Equal(t, 9, strings.Count(strings.Join(s.hotel.lines(), "\n"), seats))
	require.Empty(t, s.unknown)
}

// TestWaitEndsInTime has nothing come in time: where the mapping says what that means, it is done, else it is unknown.
func TestWaitEndsInTime(t *testing.T) {
	past := `"until":"` + time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) + `"`
	t.Run("late", func(t *testing.T) {
		s := newSeats(t)
		s.start(looking)
		s.shown()
		s.hotel.on(seats, reply(200, `{"id":"s1","state":"held",`+past+`}`))
		s.attempt("Send", adapter.Values{"eid": "e1", "turn": 1, "price": 7})
		s.expect("Gone")
	})
	t.Run("unknown", func(t *testing.T) {
		s := newSeats(t)
		s.start(looking)
		s.shown()
		s.hotel.on(buy, reply(202, `{"id":"s1","state":"working"}`))
		s.hotel.on(seats, reply(200, `{"id":"s1","state":"working",`+past+`}`))
		s.buys(1)
		u := receive(s, s.unknown)
		require.Equal(t, "Buy", u.Action)
		require.Contains(t, u.Detail, "the time to wait is over")
		require.False(t, u.Unsent)
		require.NotContains(t, s.happened(), "Sold")
	})
	t.Run("patience", func(t *testing.T) {
		s := newSeats(t)
		journal := &bridge.MemoryJournal{}
		stop := s.start(looking, with(journal))
		s.shown()
		looked := make(chan struct{}, 1000)
		s.hotel.on(seats, func(w http.ResponseWriter, r *http.Request) {
			looked <- struct{}{}
			reply(200, `{"id":"s1","state":"held"}`)(w, r)
		})
		s.attempt("Send", adapter.Values{"eid": "e1", "turn": 1, "price": 7})
		receive(s, looked)
		receive(s, looked) // By now it is written down that it waits.
		stop()
		s.start(looking, with(journal), func(o *bridge.Options) { o.Patience.Until = time.Now() })
		u := receive(s, s.unknown)
		require.Contains(t, u.Detail, "no time left to wait")
		require.NotContains(t, s.happened(), "Gone")
	})
}

// TestWaitHoldsUpNobody has a guest change their mind while the hall waits for somebody.
func TestWaitHoldsUpNobody(t *testing.T) {
	s := newSeats(t)
	s.start(looking)
	s.shown()
	s.hotel.on(seats, reply(200, `{"id":"s1","state":"held","price":7}`))
	s.attempt("Send", adapter.Values{"eid": "e1", "turn": 1, "price": 7})
	s.hotel.on(buy, reply(200, `{"id":"s1","state":"sold","ticket":"t1"}`))
	s.buys(1)
	s.expect("Sold")
	require.Empty(t, s.diverged)
}

// TestWaitSurvivesARestart goes on looking after the process that began it is gone.
func TestWaitSurvivesARestart(t *testing.T) {
	s := newSeats(t)
	journal := &bridge.MemoryJournal{}
	stop := s.start(looking, with(journal))
	s.shown()
	looked := make(chan struct{}, 1000)
	s.hotel.on(seats, func(w http.ResponseWriter, r *http.Request) {
		looked <- struct{}{}
		reply(200, `{"id":"s1","state":"held","price":7}`)(w, r)
	})
	s.attempt("Send", adapter.Values{"eid": "e1", "turn": 1, "price": 7})
	receive(s, looked)
	receive(s, looked)
	stop()
	s.hotel.on(seats, reply(200, `{"id":"s1","state":"sold","ticket":"t2"}`))
	s.start(looking, with(journal))
	require.Equal(t, `"t2"`, s.value(s.expect("Sold"), "ticket"))
}

// TestYields has the protocol refuse what the hall says, since the guest was first: that is no divergence where the mapping
// says so.
func TestYields(t *testing.T) {
	s := newSeats(t)
	s.start(looking)
	s.shown()
	entered, leave := make(chan struct{}), make(chan struct{})
	s.hotel.on(seats, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		reply(200, `{"id":"s1","state":"held","price":9}`)(w, r)
	})
	s.attempt("Send", adapter.Values{"eid": "e1", "turn": 1, "price": 7})
	<-entered
	s.buys(1)
	s.hotel.on(buy, reply(200, `{"id":"s1","state":"sold","ticket":"t1"}`))
	s.hotel.on(seats, reply(200, `{"id":"s1","state":"sold","ticket":"t1"}`))
	close(leave)
	s.expect("Sold")
	require.Empty(t, s.diverged)
	require.NotContains(t, s.happened(), "Refused")
}
