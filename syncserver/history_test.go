package syncserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// What follows checks histories without the engine's help: what an agent may do in a purchase is written down here once
// more, by hand.

// happened is what has happened in a purchase as the checker knows it.
type happened struct {
	done  map[string]bool
	price string // empty while it is not bound
}

func (h happened) clone() happened {
	next := happened{done: map[string]bool{}, price: h.price}
	for action := range h.done {
		next.done[action] = true
	}
	return next
}

// move is one of the attempts that the agents make.
type move struct {
	as     enactment.Identity
	action string
	price  string // that it binds or repeats
	values []any
}

var moves = []move{
	{conformance.Buyer, "RFQ", "", []any{"item", "fig"}},
	{conformance.Seller, "Quote", "5", []any{"price", 5}},
	{conformance.Buyer, "Accept", "1", []any{"price", 1, "address", "here"}},
	{conformance.Buyer, "Accept", "", []any{"address", "here"}},
	{conformance.Buyer, "Reject", "", nil},
	{conformance.Seller, "Stop", "", nil},
	{conformance.Buyer, "Urge", "", nil},
}

// may tells whether the move is legal.
func (h happened) may(m move) bool {
	if h.done[m.action] || m.action != "RFQ" && !h.done["RFQ"] {
		return false
	}
	if m.price != "" && h.price != "" && m.price != h.price {
		return false
	}
	switch m.action {
	case "Accept":
		return !h.done["Reject"] && (m.price != "" || h.price != "")
	case "Reject":
		return !h.done["Accept"]
	case "Urge":
		return !h.done["Stop"]
	}
	return true
}

func (h happened) add(m move) happened {
	next := h.clone()
	next.done[m.action] = true
	if m.price != "" {
		next.price = m.price
	}
	return next
}

// beside tells whether two moves that are both legal may happen in one window, the first having authority or not.
func beside(a, b move) bool {
	pair := func(x, y string) bool { return a.action == x && b.action == y || a.action == y && b.action == x }
	return a.action != b.action && !pair("Accept", "Reject") && !(a.price != "" && b.price != "" && a.price != b.price)
}

// call is one attempt as whoever made it saw it.
type call struct {
	enactment string
	move      move
	id        string
	began     time.Time
	ended     time.Time
	outcome   enactment.Outcome
}

// logged is one finalisation as an observer that sees everything saw it.
type logged struct {
	sequence uint64
	moves    []move
	ids      []string
}

// check checks the calls and the log of one enactment: the log is legal; what was accepted is there, once, in an order
// that agrees with the times of the calls; and what was refused could not be at its place, which agrees with the times too.
func check(t *testing.T, calls []call, log []logged) {
	t.Helper()
	states := []happened{{done: map[string]bool{}}}
	place := map[string]uint64{}
	for n, f := range log {
		require.Equal(t, uint64(n+1), f.sequence)
		before := states[len(states)-1]
		after := before
		for i, m := range f.moves {
			require.True(t, before.may(m), "%s is not legal at %d", m.action, f.sequence)
			for _, other := range f.moves[:i] {
				require.True(t, beside(m, other), "%s and %s in one window at %d", m.action, other.action, f.sequence)
			}
			_, twice := place[f.ids[i]]
			require.False(t, twice, "%s is there twice", f.ids[i])
			place[f.ids[i]] = f.sequence
			after = after.add(m)
		}
		states = append(states, after)
	}
	accepted := 0
	for _, c := range calls {
		at, there := place[c.id]
		require.LessOrEqual(t, c.outcome.Sequence, uint64(len(log)))
		if c.outcome.Rejection == nil {
			accepted++
			require.True(t, there, "%s was acknowledged and is not there", c.id)
			require.Equal(t, at, c.outcome.Sequence)
			continue
		}
		require.False(t, there, "%s was refused and is there", c.id)
		require.True(t, refusable(states, log, c), "%s of %s was refused (%s) at %d, where it is legal",
			c.id, c.move.action, c.outcome.Rejection, c.outcome.Sequence)
	}
	require.Equal(t, len(place), accepted, "nothing happened that nobody was told of")
	for _, a := range calls {
		for _, b := range calls {
			if a.ended.Before(b.began) {
				require.LessOrEqual(t, a.outcome.Sequence, b.outcome.Sequence, "%s ended before %s began", a.id, b.id)
			}
		}
	}
}

// refusable tells whether the move was rightly refused: because it is illegal in the state that it was judged against,
// or because of what happened in its window.
func refusable(states []happened, log []logged, c call) bool {
	at := c.outcome.Sequence
	if !states[at].may(c.move) {
		return true
	}
	if at == 0 {
		return false
	}
	return !states[at-1].may(c.move) || slices.ContainsFunc(log[at-1].moves, func(m move) bool { return !beside(c.move, m) })
}

// storm has agents attempt moves in racing enactments, and checks all of them. Each agent has an executor of its own.
// meanwhile runs beside it.
func storm(t *testing.T, executors []adapter.Executor, enactments int, meanwhile func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	calls := make(map[string][]call)
	prefix := fmt.Sprint(time.Now().UnixNano())
	var agents sync.WaitGroup
	for n, e := range executors {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		agents.Go(func() {
			// Each agent goes through the enactments in about the same order, so that they meet.
			for id := range enactments {
				for i := range 4 {
					m := moves[random.IntN(len(moves))]
					if i == 0 && random.IntN(2) == 0 {
						m = moves[0]
					}
					c := call{enactment: fmt.Sprintf("%s-%d", prefix, id), move: m}
					a := conformance.Attempt(m.as, m.action, c.enactment, m.values...)
					a.ID = fmt.Sprintf("%s-%d-%d-%d", prefix, n, id, i)
					a.At = time.Now()
					c.id, c.began = m.as.String()+a.ID, time.Now()
					var err error
					for c.outcome, err = e.Attempt(ctx, a); err != nil && ctx.Err() == nil; {
						c.outcome, err = e.Attempt(ctx, a)
					}
					c.ended = time.Now()
					if err != nil {
						t.Errorf("attempt %s of %s: %v", a.ID, m.action, err)
						return
					}
					mu.Lock()
					calls[c.enactment] = append(calls[c.enactment], c)
					mu.Unlock()
				}
			}
		})
	}
	if meanwhile != nil {
		meanwhile()
	}
	agents.Wait()
	require.False(t, t.Failed())

	// The buyer sees every action, and all values that the checker asks for.
	logs := make(map[string][]logged)
	want := 0
	for _, of := range calls {
		latest := uint64(0)
		for _, c := range of {
			latest = max(latest, c.outcome.Sequence)
		}
		want += int(latest)
	}
	feed, err := executors[0].Join(ctx, conformance.Buyer)
	require.NoError(t, err)
	defer func() { require.NoError(t, feed.Close()) }()
	for got := 0; got < want; {
		d, err := feed.Receive(ctx)
		require.NoError(t, err, "after %d of %d", got, want)
		var id string
		require.NoError(t, d.Key.Values()["ID"].Decode(&id))
		if calls[id] == nil {
			continue
		}
		got++
		f := logged{sequence: d.Finalisation.Sequence}
		for _, i := range d.Finalisation.Instances {
			m := move{as: enactment.Identity{Role: i.Role}, action: i.Action}
			if price, ok := i.Value("price"); ok {
				m.price = price.String()
			}
			f.moves, f.ids = append(f.moves, m), append(f.ids, m.as.String()+i.Attempt)
		}
		logs[id] = append(logs[id], f)
	}
	for id, of := range calls {
		check(t, of, logs[id])
	}
}
