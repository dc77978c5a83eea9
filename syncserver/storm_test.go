package syncserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/internal/played"
)

// storm has agents attempt moves in racing enactments, all in the same two at a time, and checks the history of each.
type storm struct {
	// executors are those of the agents, one each.
	executors []adapter.Executor
	batch     bool
	// enactments is how many there are; 0 for as many as begin until meanwhile returns.
	enactments int
	// meanwhile runs beside the agents; it may be nil.
	meanwhile func(s *storming)
}

// Of the attempts of a storm, one in so many is submitted by two agents at once, and one in so many is given up by its
// agent before it is answered and submitted again by another when all is over.
const (
	perEnactment = 24
	oneInTwins   = 12
	oneInGivenUp = 24
)

// mostSilence is how long a storm may stand still before it fails. It is far longer than anything takes, also on a machine
// that has much else to do.
const mostSilence = 2 * time.Minute

// storming is a storm while it lasts.
type storming struct {
	storm
	t        *testing.T
	over     <-chan struct{} // closed when there is no point in going on
	prefix   string
	stop     chan struct{}
	taken    atomic.Int64  // attempts that agents have begun
	answered atomic.Int64  // and those that are answered
	progress chan struct{} // has a token when something was answered
	silence  *time.Timer   // ends the storm

	mu      sync.Mutex
	calls   map[string][]call
	givenUp []unanswered
}

type unanswered struct {
	call call
	from int // the agent
	last int // its number
}

func (s storm) run(t *testing.T) {
	t.Helper()
	still, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	ctx, cancel := context.WithCancel(still)
	defer cancel()
	if deadline, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-5*time.Second)) // which says more than a panic
		defer cancel()
	}
	r := &storming{
		storm: s, t: t, over: ctx.Done(), prefix: fmt.Sprint(time.Now().UnixNano()), stop: make(chan struct{}),
		progress: make(chan struct{}, 1), calls: make(map[string][]call),
	}
	r.silence = time.AfterFunc(mostSilence, func() {
		stop(fmt.Errorf("the storm stood still for %v: of %d attempts %d were answered", mostSilence, r.taken.Load(), r.answered.Load()))
	})
	defer r.silence.Stop()
	var agents sync.WaitGroup
	for n := range s.executors {
		agents.Go(func() { r.agent(ctx, n) })
	}
	if s.meanwhile != nil {
		s.meanwhile(r)
	}
	if s.enactments == 0 {
		close(r.stop)
	}
	agents.Wait()
	for _, u := range r.givenUp {
		if ctx.Err() != nil {
			break
		}
		r.submit(ctx, (u.from+1)%len(s.executors), u.last, &u.call, ctx)
	}
	require.False(t, t.Failed())
	logs := r.read(ctx)
	for id, calls := range r.calls {
		check(t, s.batch, calls, logs[id])
	}
	t.Logf("%d attempts in %d enactments", r.answered.Load(), len(r.calls))
}

// wait waits until so many more attempts were answered.
func (s *storming) wait(more int) {
	for until := s.answered.Load() + int64(more); s.answered.Load() < until; {
		select {
		case <-s.progress:
		case <-s.over:
			return
		}
	}
}

// agent attempts one move after the other.
func (s *storming) agent(ctx context.Context, n int) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for {
		number := int(s.taken.Add(1)) - 1
		if s.enactments > 0 && number >= s.enactments*perEnactment {
			return
		}
		select {
		case <-s.stop:
			return
		default:
		}
		m := moves[random.IntN(len(moves))]
		if number%(2*perEnactment) < len(s.executors) && random.IntN(2) == 0 {
			m = moves[0]
		}
		c := call{enactment: fmt.Sprintf("%s-%d", s.prefix, number/(2*perEnactment)*2+number%2), move: m, began: time.Now()}
		trying := ctx
		if random.IntN(oneInGivenUp) == 0 {
			short, cancel := context.WithTimeout(ctx, rand.N(2*time.Millisecond))
			defer cancel()
			trying = short
		}
		if random.IntN(oneInTwins) == 0 {
			s.twins(ctx, n, number, c)
		} else {
			s.submit(ctx, n, number, &c, trying)
		}
		if s.t.Failed() || ctx.Err() != nil {
			return
		}
	}
}

// attempt makes one attempt, whose id says its number, until it is answered or trying ends.
func (s *storming) attempt(n, number int, c *call, trying context.Context) error {
	a := played.Attempt(c.move.as, c.move.action, c.enactment, c.move.values...)
	a.ID = fmt.Sprint(s.prefix, "-", number)
	a.At = c.began
	c.id = c.move.as.Role + a.ID
	var err error
	for c.outcome, err = s.executors[n].Attempt(trying, a); err != nil && trying.Err() == nil; {
		c.outcome, err = s.executors[n].Attempt(trying, a)
	}
	c.ended = time.Now()
	return err
}

// submit attempts, and notes what came of it.
func (s *storming) submit(ctx context.Context, n, number int, c *call, trying context.Context) {
	err := s.attempt(n, number, c, trying)
	switch {
	case err == nil:
		s.note(*c)
	case ctx.Err() != nil:
		s.t.Errorf("attempt %s of %s: %v", c.id, c.move.action, err)
	default:
		s.mu.Lock()
		s.givenUp = append(s.givenUp, unanswered{*c, n, number})
		s.mu.Unlock()
	}
}

// twins has two agents submit the same attempt at once. Both must be told the same.
func (s *storming) twins(ctx context.Context, n, number int, c call) {
	other := c
	var both sync.WaitGroup
	var failures [2]error
	both.Go(func() { failures[0] = s.attempt(n, number, &c, ctx) })
	both.Go(func() { failures[1] = s.attempt((n+1)%len(s.executors), number, &other, ctx) })
	both.Wait()
	if failures[0] != nil || failures[1] != nil {
		s.t.Errorf("attempt %s of %s: %v, %v", c.id, c.move.action, failures[0], failures[1])
		return
	}
	if answerOf(c.outcome) != answerOf(other.outcome) {
		s.t.Errorf("attempt %s of %s: %s for one and %s for the other", c.id, c.move.action, answerOf(c.outcome), answerOf(other.outcome))
	}
	if other.ended.Before(c.ended) {
		c.ended = other.ended
	}
	s.note(c)
}

func (s *storming) note(c call) {
	s.mu.Lock()
	s.calls[c.enactment] = append(s.calls[c.enactment], c)
	s.mu.Unlock()
	s.answered.Add(1)
	s.silence.Reset(mostSilence)
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// read reads the logs as the buyer, who sees every action.
func (s *storming) read(ctx context.Context) map[string][]logged {
	t := s.t
	logs := make(map[string][]logged)
	want := 0
	for _, of := range s.calls {
		latest := uint64(0)
		for _, c := range of {
			latest = max(latest, c.outcome.Sequence)
		}
		want += int(latest)
	}
	feed, err := s.executors[0].Join(ctx, played.Buyer)
	require.NoError(t, err)
	defer func() { require.NoError(t, feed.Close()) }()
	for got := 0; got < want; {
		d, err := feed.Receive(ctx)
		require.NoError(t, err, "after %d of %d", got, want)
		s.silence.Reset(mostSilence)
		id := idOf(d.Key)
		if s.calls[id] == nil {
			continue // it is not of the storm
		}
		if d.Revoked { // the feed was too slow for its lease, and gets the enactment again
			got -= len(logs[id])
			delete(logs, id)
			continue
		}
		got++
		f := logged{sequence: d.Finalisation.Sequence}
		for _, i := range d.Finalisation.Instances {
			f.actions = append(f.actions, i.Action)
			f.ids = append(f.ids, i.Role+i.Attempt)
		}
		logs[id] = append(logs[id], f)
	}
	return logs
}
