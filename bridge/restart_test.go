package bridge_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/enactment"
)

func openJournal(t *testing.T, name string) *bridge.FileJournal {
	t.Helper()
	journal, err := bridge.OpenFileJournal(name)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, journal.Close()) })
	return journal
}

// stalled gives a handler that never answers, a channel that tells when a request has come, and what lets it go.
func stalled(t *testing.T) (handler http.HandlerFunc, arrived chan struct{}) {
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	t.Cleanup(func() { close(release) })
	return func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}, arrived
}

func TestRestartBetweenRequestAndAnswer(t *testing.T) {
	t.Run("of a request that can only be sent again", func(t *testing.T) {
		s := newStage(t)
		name := filepath.Join(t.TempDir(), "journal")
		journal := openJournal(t, name)
		stop := s.start(with(journal))
		stall, arrived := stalled(t)
		s.hotel.on(reserve, stall, reply(201, `{"number":"n1","price":1}`))
		s.ask()
		receive(s, arrived)
		stop()
		require.NoError(t, journal.Close())

		s.start(with(openJournal(t, name)))
		s.expect("Booked")
		got := s.hotel.requests()
		require.Len(t, got, 2)
		assert.Equal(t, got[0].key, got[1].key)
		assert.Equal(t, got[0].body, got[1].body)
	})
	t.Run("of a request that can be asked about", func(t *testing.T) {
		s := newStage(t)
		name := filepath.Join(t.TempDir(), "journal")
		journal := openJournal(t, name)
		stop := s.start(with(journal))
		s.booked()
		stall, arrived := stalled(t)
		s.hotel.on(pay, stall)
		s.hotel.on(state, reply(200, `{"receipt":"q1"}`))
		s.pay()
		receive(s, arrived)
		stop()
		require.NoError(t, journal.Close())

		s.start(with(openJournal(t, name)))
		s.expect("Paid")
		assert.Equal(t, []string{reserve, pay, state}, s.hotel.lines(), "it is asked first, and that suffices")
	})
	t.Run("of a request that cannot be sent again", func(t *testing.T) {
		s := newStage(t)
		journal := &bridge.MemoryJournal{}
		stop := s.start(with(journal))
		s.booked()
		stall, arrived := stalled(t)
		s.hotel.on("DELETE /reservations/n1", stall)
		s.attempt("Withdraw", adapter.Values{"rid": "r1", "number": "n1"})
		receive(s, arrived)
		stop()

		s.start(with(journal))
		assert.Equal(t, "Withdraw", receive(s, s.unknown).Action)
		assert.Len(t, s.hotel.requests(), 2)
	})
}

func TestRestartInTheMiddleOfTheSteps(t *testing.T) {
	s := newStage(t)
	name := filepath.Join(t.TempDir(), "journal")
	journal := openJournal(t, name)
	stop := s.start(with(journal))
	stall, arrived := stalled(t)
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1,"beds":["left","right"]}`))
	s.hotel.on("PUT /reservations/n1", stall)
	s.hotel.on(state, reply(200, `{"bed":"left"}`))
	s.ask()
	receive(s, arrived)
	stop()
	require.NoError(t, journal.Close())

	s.start(with(openJournal(t, name)))
	s.expect("Booked")
	assert.Equal(t, []string{reserve, "PUT /reservations/n1", state}, s.hotel.lines(),
		"what is settled is not done again, and what was chosen stays chosen")
}

func TestRestartBeforeTheAttemptIsAnswered(t *testing.T) {
	s := newStage(t)
	journal := &bridge.MemoryJournal{}
	deaf := &deafExecutor{Executor: s.exec, heard: make(chan struct{}, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1}`))
	b, err := bridge.New(s.rules, deaf, s.mapping, bridge.Options{
		BaseURL: s.hotel.server.URL, Settings: map[string]any{"house": "grand / hotel"}, Journal: journal, Logger: s.logger(),
		Caller: bridge.NewHTTPCaller(s.hotel.server.Client(), 0, 0),
	})
	require.NoError(t, err)
	stop := s.background(func(context.Context) error { return b.Run(ctx) })
	s.ask()
	receive(s, deaf.heard)
	cancel()
	stop()
	s.expect("Booked")

	s.start(with(journal))
	s.hotel.on(pay, reply(200, `{"receipt":"q1"}`))
	s.pay()
	s.expect("Paid")
	assert.Equal(t, []string{reserve, pay}, s.hotel.lines())
	assert.Equal(t, []string{"Ask", "Booked", "Pay", "Paid"}, s.happened())
	assert.Empty(t, s.diverged, "the same attempt gets its first answer again")
}

// deafExecutor decides attempts but never lets the attempter know.
type deafExecutor struct {
	adapter.Executor
	heard chan struct{}
}

func (e *deafExecutor) Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error) {
	if _, err := e.Executor.Attempt(ctx, attempt); err != nil {
		return enactment.Outcome{}, err
	}
	e.heard <- struct{}{}
	<-ctx.Done()
	return enactment.Outcome{}, ctx.Err()
}

func TestAnUnknownOutcomeIsTakenUpAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStageAt(t, newHotelInMemory(t))
		journal := &bridge.MemoryJournal{}
		stop := s.start(with(journal), impatient)
		s.booked()
		s.hotel.on(pay, drop)
		s.hotel.on(state, reply(500, ""))
		s.pay()
		receive(s, s.unknown)
		stop()

		s.hotel.on(state, reply(200, `{"receipt":"q1"}`))
		s.start(with(journal))
		s.expect("Paid")
	})
}

func TestARequestThatWouldChangeIsNotSent(t *testing.T) {
	s := newStage(t)
	journal := &bridge.MemoryJournal{}
	stop := s.start(with(journal))
	stall, arrived := stalled(t)
	s.hotel.on(reserve, stall)
	s.ask()
	receive(s, arrived)
	stop()

	s.start(with(journal), func(o *bridge.Options) { o.Settings = map[string]any{"house": "another"} })
	u := receive(s, s.unknown)
	require.ErrorIs(t, u.Err, bridge.ErrRequestChanged)
	assert.Len(t, s.hotel.requests(), 1, "neither under the old key nor under a new one")
}

func TestAnObservationThatIsHandledTwiceSendsNothing(t *testing.T) {
	s := newStage(t)
	journal := &bridge.MemoryJournal{}
	stop := s.start(with(journal))
	s.booked()
	stop()
	// A new party of the role without a stored position observes everything again.
	again := &forgetfulExecutor{s.exec}
	b, err := bridge.New(s.rules, again, s.mapping, bridge.Options{
		BaseURL: s.hotel.server.URL, Settings: map[string]any{"house": "grand / hotel"}, Journal: journal, Logger: s.logger(),
		Caller: bridge.NewHTTPCaller(s.hotel.server.Client(), 0, 0),
	})
	require.NoError(t, err)
	s.background(b.Run)
	s.hotel.on(pay, reply(200, `{"receipt":"q1"}`))
	s.pay()
	s.expect("Paid")
	assert.Equal(t, []string{reserve, pay}, s.hotel.lines())
}

// forgetfulExecutor delivers history as if it had never been handled.
type forgetfulExecutor struct{ adapter.Executor }

func (e *forgetfulExecutor) Join(ctx context.Context, identity enactment.Identity) (adapter.Feed, error) {
	feed, err := e.Executor.Join(ctx, identity)
	return &forgetfulFeed{feed}, err
}

type forgetfulFeed struct{ adapter.Feed }

func (f *forgetfulFeed) Receive(ctx context.Context) (adapter.Delivery, error) {
	delivery, err := f.Feed.Receive(ctx)
	delivery.Handled = false
	return delivery, err
}

func TestSecretsReachNobodyButTheRemoteParty(t *testing.T) {
	s := newStage(t)
	name := filepath.Join(t.TempDir(), "journal")
	s.start(with(openJournal(t, name)))
	s.booked()
	s.hotel.on(pay, drop, reply(402, `{"error":"the code zq9 of `+token+` is wrong","`+token+`":["`+token+`"]}`))
	s.hotel.on(state, reply(500, "cannot find "+token), reply(200, `{"state":"open","card":"`+token+`"}`))
	s.pay()
	o := s.expect("Failed")
	assert.JSONEq(t, `{"status":402,"words":"the code [secret] of [secret] is wrong"}`, s.value(o, "reason"))

	got := s.hotel.requests()
	assert.Contains(t, got[1].body, token, "the remote party gets it")
	written, err := os.ReadFile(name)
	require.NoError(t, err)
	told := s.told(written)
	assert.NotContains(t, told, token)
	assert.NotContains(t, told, "zq9")
	assert.Contains(t, told, `{\"card\":\"[secret]\",\"reference\":\"none\"}`)
	assert.Contains(t, string(written), got[1].key)
	assert.Equal(t, 2, strings.Count(string(written), `"open"`), "one exchange, however often it is sent")
}

// TestAJournalOfAnotherExecutor: where the journal has an answer and the enactment has not, nothing is answered, and that is
// said; where both have it nothing is.
func TestAJournalOfAnotherExecutor(t *testing.T) {
	const says = "the journal has an answer that the enactment has not"
	logged := func(s *stage) int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Count(s.logs.String(), says)
	}
	first, journal := newStage(t), &bridge.MemoryJournal{}
	stop := first.start(with(journal))
	first.booked()
	stop()
	stop = first.start(with(journal))
	first.hotel.on(pay, reply(200, `{"receipt":"q1"}`))
	first.pay()
	first.expect("Paid")
	stop()
	require.Zero(t, logged(first))

	other := newStage(t)
	other.start(with(journal))
	other.ask()
	require.Eventually(t, func() bool { return logged(other) == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, other.hotel.requests())
}
