package syncserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

// players are the identities of the random test. Two parties contend for the seller's part.
var players = []enactment.Identity{
	played.Buyer, {Role: "Seller", Party: "s1"}, {Role: "Seller", Party: "s2"}, played.Auditor,
}

// agent is one feed of an identity and what the test knows of it.
type agent struct {
	feed adapter.Feed
	// folded has the sequences delivered of each enactment since it became this feed's.
	folded map[enactment.Key][]uint64
}

// crowd are the feeds of one identity.
type crowd struct {
	identity enactment.Identity
	agents   []*agent
	stored   map[enactment.Key]uint64
	handled  map[enactment.Key][]uint64 // each sequence once
	crashed  map[enactment.Key]bool     // a feed with the enactment closed without storing what it had handled
	revoked  map[enactment.Key]bool
}

// world runs random steps against a Local and checks each delivery.
type world struct {
	t      *rapid.T
	rules  *enactment.Rules
	local  *syncserver.Local
	crowds []*crowd
	count  int
	answer chan error
	open   int
}

// TestRandomAgents: whatever agents attempt, in whatever windows, and however feeds come and go, each enactment is one
// feed's at a time; each feed gets the whole history in order; what was not stored is delivered again, what was is not;
// and in the end everybody has seen exactly what the log shows them.
func TestRandomAgents(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	synctest.Test(t, func(t *testing.T) {
		// Embedded, since rapid asks a *testing.T for its deadline, which a bubble does not have.
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) {
			w := &world{t: t, rules: rules, answer: make(chan error, 1000)}
			var options []syncserver.Option
			if rapid.Bool().Draw(t, "batch") {
				options = append(options, syncserver.WithBatch(time.Second, rapid.IntRange(0, 4).Draw(t, "count")))
			}
			w.local = syncserver.NewLocal(rules, options...)
			defer w.local.Close()
			for _, as := range players {
				w.crowds = append(w.crowds, &crowd{
					identity: as, stored: make(map[enactment.Key]uint64), handled: make(map[enactment.Key][]uint64),
					crashed: make(map[enactment.Key]bool), revoked: make(map[enactment.Key]bool),
				})
			}
			t.Repeat(map[string]func(*rapid.T){
				"attempt": w.attempt,
				"pass": func(*rapid.T) {
					time.Sleep(time.Second)
					synctest.Wait() // Until windows that end now are judged.
				},
				"join":    func(t *rapid.T) { w.join(rapid.SampledFrom(w.crowds).Draw(t, "as")) },
				"receive": w.receive,
				"close":   w.close,
			})
			w.finish()
		})
	})
}

func (w *world) attempt(t *rapid.T) {
	type move struct {
		as     enactment.Identity
		action string
		values []any
	}
	m := rapid.SampledFrom([]move{
		{players[0], "RFQ", []any{"item", "fig"}},
		{players[0], "Accept", []any{"price", 1, "address", "here"}},
		{players[0], "Accept", []any{"price", 5, "address", "here"}},
		{players[0], "Reject", nil},
		{players[0], "Urge", nil},
		{players[1], "Quote", []any{"price", 5}},
		{players[2], "Quote", []any{"price", 6}},
		{players[1], "Stop", nil},
		{players[2], "Stop", nil},
		{players[3], "File", []any{"report", "good"}},
	}).Draw(t, "move")
	a := played.Attempt(m.as, m.action, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "id"), m.values...)
	if rapid.Bool().Draw(t, "new") {
		w.count++
		a.ID = fmt.Sprint(w.count)
	}
	w.open++
	go func() {
		_, err := w.local.Attempt(context.Background(), a)
		w.answer <- err
	}()
	synctest.Wait()
}

func (w *world) join(c *crowd) {
	if len(c.agents) == 3 {
		return
	}
	feed, err := w.local.Join(context.Background(), c.identity)
	require.NoError(w.t, err)
	c.agents = append(c.agents, &agent{feed: feed, folded: make(map[enactment.Key][]uint64)})
}

func (w *world) receive(t *rapid.T) {
	c := rapid.SampledFrom(w.crowds).Draw(t, "as")
	if len(c.agents) > 0 {
		w.receiveOne(c, rapid.SampledFrom(c.agents).Draw(t, "agent"), rapid.Bool().Draw(t, "store"))
	}
}

// receiveOne receives one delivery and checks it; false if there is none.
func (w *world) receiveOne(c *crowd, a *agent, store bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	d, err := a.feed.Receive(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	require.NoError(w.t, err)
	require.False(w.t, c.revoked[d.Key], "%s gets %s after it was revoked", c.identity, d.Key)
	if d.Revoked {
		require.Contains(w.t, a.folded, d.Key, "only who has an enactment can lose it")
		delete(a.folded, d.Key)
		c.revoked[d.Key] = true
		return true
	}
	require.True(w.t, sees(w.rules, w.local, c.identity, d.Key), "another party has the part in %s", d.Key)
	for _, other := range c.agents {
		if other != a {
			require.NotContains(w.t, other.folded, d.Key, "an enactment is one feed's at a time")
		}
	}
	// Each feed gets the projected history from its beginning, without gaps.
	want := w.visible(c.identity, d.Key)
	n := len(a.folded[d.Key])
	require.Greater(w.t, len(want), n)
	require.Empty(w.t, cmp.Diff(told(want[n]), told(d.Finalisation)))
	require.Equal(w.t, n+1 < len(want), d.More)
	sequence := d.Finalisation.Sequence
	a.folded[d.Key] = append(a.folded[d.Key], sequence)
	require.Equal(w.t, sequence <= c.stored[d.Key], d.Handled)
	if d.Handled {
		return true
	}
	if slices.Contains(c.handled[d.Key], sequence) {
		require.True(w.t, c.crashed[d.Key], "handled twice although nobody crashed")
	} else {
		c.handled[d.Key] = append(c.handled[d.Key], sequence)
	}
	if store {
		w.store(c, a, d.Key, sequence)
	}
	return true
}

func (w *world) store(c *crowd, a *agent, key enactment.Key, sequence uint64) {
	err := a.feed.Store(context.Background(), key, sequence)
	if err != nil { // another party has the part, and the feed is about to learn it
		require.ErrorIs(w.t, err, adapter.ErrRevoked)
		return
	}
	c.stored[key] = max(c.stored[key], sequence)
}

// close ends a feed, in order or by a crash.
func (w *world) close(t *rapid.T) {
	c := rapid.SampledFrom(w.crowds).Draw(t, "as")
	if len(c.agents) == 0 {
		return
	}
	at := rapid.IntRange(0, len(c.agents)-1).Draw(t, "agent")
	a := c.agents[at]
	crash := rapid.Bool().Draw(t, "crash")
	for key, folded := range a.folded {
		last := folded[len(folded)-1]
		if !crash {
			w.store(c, a, key, last)
		} else if last > c.stored[key] {
			c.crashed[key] = true
		}
	}
	require.NoError(w.t, a.feed.Close())
	c.agents = slices.Delete(c.agents, at, at+1)
}

// finish lets everything be decided and received, and compares.
func (w *world) finish() {
	time.Sleep(time.Second)
	for range w.open {
		require.NoError(w.t, <-w.answer)
	}
	for _, c := range w.crowds {
		w.join(c)
		for received := true; received; {
			received = false
			for _, a := range c.agents {
				received = w.receiveOne(c, a, true) || received
			}
		}
		for key := range w.local.Enactments() {
			var want []uint64
			for _, f := range w.visible(c.identity, key) {
				want = append(want, f.Sequence)
			}
			if sees(w.rules, w.local, c.identity, key) {
				require.Equal(w.t, want, c.handled[key], "%s in %s", c.identity, key)
			}
		}
		for _, a := range c.agents {
			require.NoError(w.t, a.feed.Close())
		}
	}
	for key := range w.local.Enactments() {
		happened := make(map[string]int)
		for _, f := range w.local.History(key) {
			for _, i := range f.Instances {
				happened[i.Action]++
			}
		}
		for action, times := range happened {
			require.Equal(w.t, 1, times, "%s", action)
		}
		require.Less(w.t, happened["Accept"]+happened["Reject"], 2, "they exclude each other")
	}
}

// visible is what the role of an identity sees of a log.
func (w *world) visible(as enactment.Identity, key enactment.Key) []enactment.Finalisation {
	var seen []enactment.Finalisation
	for _, f := range w.local.History(key) {
		projected := enactment.Finalisation{Sequence: f.Sequence, Completed: f.Completed}
		for _, i := range f.Instances {
			if p, ok := w.rules.Project(as.Role, i); ok {
				projected.Instances = append(projected.Instances, p)
			}
		}
		if f.Completed || len(projected.Instances) > 0 {
			seen = append(seen, projected)
		}
	}
	return seen
}

// sees folds the log to know who has which part.
func sees(rules *enactment.Rules, l *syncserver.Local, as enactment.Identity, key enactment.Key) bool {
	s := rules.NewState(key)
	for _, f := range l.History(key) {
		s.Apply(f)
	}
	return s.Sees(as)
}

// told is a finalisation in comparable form.
func told(f enactment.Finalisation) []string {
	lines := []string{fmt.Sprint(f.Sequence, f.Completed)}
	for _, i := range f.Instances {
		line := i.Action + " " + i.Party + " " + i.Attempt
		for name, value := range i.Values() {
			line += " " + name + "=" + value.String()
		}
		lines = append(lines, line)
	}
	return lines
}
