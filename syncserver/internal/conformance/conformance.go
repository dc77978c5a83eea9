// Package conformance holds the tests that every executor of this folder must pass, in whatever way it finalises. They are
// played with [played.Purchase]. Start reading at [Run].
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
)

// System makes a system for the rules of one test. Each call of the function that it returns gives an executor as
// another process would have it; it ends with the test.
type System func(t *testing.T, rules *enactment.Rules) (executor func() adapter.Executor)

// patience bounds what a test waits for.
const patience = time.Minute

// Run runs the tests against a system that finalises immediately, or in batches with windows that close by time.
func Run(t *testing.T, system System, batch bool) {
	t.Run("outcomes", func(t *testing.T) { outcomes(t, system) })
	t.Run("copies", func(t *testing.T) { copies(t, system) })
	t.Run("copies at the same time", func(t *testing.T) { copiesTogether(t, system) })
	t.Run("races", func(t *testing.T) { races(t, system) })
	t.Run("sight", func(t *testing.T) { sight(t, system) })
	t.Run("projection", func(t *testing.T) { projection(t, system) })
	t.Run("sharing", func(t *testing.T) { sharing(t, system) })
	t.Run("parties", func(t *testing.T) { parties(t, system) })
	t.Run("strangers", func(t *testing.T) { strangers(t, system) })
	t.Run("contexts", func(t *testing.T) { contexts(t, system) })
	t.Run("agents", func(t *testing.T) { agents(t, system) })
	if batch {
		t.Run("windows", func(t *testing.T) { windows(t, system) })
	}
}

// bounded is a context that ends before the patience of whoever runs the tests does.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Accepted attempts and demands acceptance.
func Accepted(t testing.TB, e adapter.Executor, a enactment.Attempt) enactment.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	outcome, err := e.Attempt(ctx, a)
	require.NoError(t, err)
	require.NoError(t, outcome.Err(), "%s", a.Action)
	return outcome
}

// Refused attempts and gives the code of the refusal.
func Refused(t testing.TB, e adapter.Executor, a enactment.Attempt) enactment.Code {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	outcome, err := e.Attempt(ctx, a)
	require.NoError(t, err)
	require.Error(t, outcome.Err(), "%s", a.Action)
	return outcome.Rejection.Code
}

// together attempts at the same time and gives the codes, empty for acceptance.
func together(t *testing.T, e adapter.Executor, attempts ...enactment.Attempt) []enactment.Code {
	t.Helper()
	ctx := bounded(t)
	codes := make([]enactment.Code, len(attempts))
	failures := make([]error, len(attempts))
	var done sync.WaitGroup
	for i, a := range attempts {
		done.Go(func() {
			var outcome enactment.Outcome
			outcome, failures[i] = e.Attempt(ctx, a)
			if outcome.Rejection != nil {
				codes[i] = outcome.Rejection.Code
			}
		})
	}
	done.Wait()
	require.NoError(t, errors.Join(failures...))
	return codes
}

// Join joins, and closes the feed with the test.
func Join(t testing.TB, e adapter.Executor, as enactment.Identity) adapter.Feed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	feed, err := e.Join(ctx, as)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, feed.Close()) })
	return feed
}

// Receive receives as many deliveries as said, in brief.
func Receive(t testing.TB, feed adapter.Feed, count int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var lines []string
	for range count {
		d, err := feed.Receive(ctx)
		require.NoError(t, err, "after %v", lines)
		lines = append(lines, Brief(d))
	}
	return lines
}

// Brief is a delivery in one line: enactment, sequence, actions and flags, but for More, which an executor need not know.
func Brief(d adapter.Delivery) string {
	line := fmt.Sprintf("%s %d", strings.Trim(d.Key.Values()["ID"].String(), `"`), d.Finalisation.Sequence)
	for _, instance := range d.Finalisation.Instances {
		line += " " + instance.Action
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{d.Finalisation.Completed, "completed"}, {d.Handled, "handled"}, {d.Revoked, "revoked"}} {
		if flag.set {
			line += " " + flag.name
		}
	}
	return line
}

func outcomes(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	e := executor()
	require.Equal(t, uint64(1), Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")).Sequence)
	quoted := Accepted(t, executor(), played.Attempt(played.Seller, "Quote", "1", "price", 5))
	require.Equal(t, uint64(2), quoted.Sequence)
	item, _ := quoted.Instance.Value("item")
	require.Equal(t, `"fig"`, item.String(), "what is bound is filled in")
	require.Equal(t, uint64(1), Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "2", "item", "fig")).Sequence)
	Accepted(t, e, played.Attempt(played.Buyer, "Reject", "1"))
	for _, test := range []struct {
		attempt enactment.Attempt
		want    enactment.Code
	}{
		{played.Attempt(played.Buyer, "Accept", "1", "address", "here"), enactment.Excluded},
		{played.Attempt(played.Seller, "Quote", "2", "price", 1, "item", "date"), enactment.BoundDifferently},
		{played.Attempt(played.Seller, "Stop", "3"), enactment.NotEnabled},
		{played.Attempt(played.Seller, "Ship", "1"), enactment.UnknownAction},
		{played.Attempt(played.Seller, "RFQ", "4", "item", "fig"), enactment.WrongRole},
		{enactment.Attempt{ID: "a", Identity: played.Buyer, Action: "RFQ"}, enactment.Malformed},
		{played.Attempt(played.Buyer, "RFQ", "5", "item", "fig", "colour", "red"), enactment.Malformed},
		{played.Attempt(played.Buyer, "RFQ", "6"), enactment.Missing},
	} {
		require.Equal(t, test.want, Refused(t, e, test.attempt), "%s", test.attempt.Action)
	}
}

func copies(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	e, other := executor(), executor()
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	early := played.Attempt(played.Buyer, "Accept", "1", "address", "here")
	require.Equal(t, enactment.Missing, Refused(t, e, early))
	quote := played.Attempt(played.Seller, "Quote", "1", "price", 5)
	first := Accepted(t, e, quote)
	require.Equal(t, first, Accepted(t, other, quote), "it happened once")
	require.Equal(t, enactment.Missing, Refused(t, other, early), "a refusal is an answer too, though by now it could be")
	changed := played.Attempt(played.Seller, "Quote", "1", "price", 6)
	require.Equal(t, enactment.Malformed, Refused(t, e, changed))
	elsewhere := played.Attempt(played.Seller, "Quote", "2", "price", 5)
	elsewhere.ID = quote.ID
	require.Contains(t, []enactment.Code{enactment.Malformed, enactment.NotEnabled}, Refused(t, e, elsewhere),
		"an id is unique for its identity; another server than the first need not know")
	stranger := played.Attempt(played.Buyer, "RFQ", "3", "item", "fig")
	stranger.ID = quote.ID
	Accepted(t, e, stranger)
}

func copiesTogether(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	rfq := played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")
	require.Equal(t, []enactment.Code{"", "", ""}, together(t, executor(), rfq, rfq, rfq))
	a, b := played.Attempt(played.Seller, "Quote", "1", "price", 5), played.Attempt(played.Seller, "Quote", "1", "price", 6)
	codes := together(t, executor(), a, b)
	require.ElementsMatch(t, []enactment.Code{"", enactment.Malformed}, codes)
}

func races(t *testing.T, system System) {
	const enactments = 30
	executor := system(t, played.Rules(t, played.Purchase))
	one, two := executor(), executor()
	ctx := bounded(t)
	var done sync.WaitGroup
	won := make([]int, enactments)
	for n := range enactments {
		id := fmt.Sprint(n)
		Accepted(t, one, played.Attempt(played.Buyer, "RFQ", id, "item", "fig"))
		results := make([]enactment.Outcome, 2)
		done.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { results[0], _ = one.Attempt(ctx, played.Attempt(played.Buyer, "Reject", id)) })
			both.Go(func() {
				results[1], _ = two.Attempt(ctx, played.Attempt(played.Buyer, "Accept", id, "price", 1, "address", "here"))
			})
			both.Wait()
			for _, o := range results {
				if o.Rejection == nil && o.Sequence > 0 {
					won[n]++
				}
			}
		})
	}
	done.Wait()
	require.Equal(t, slices.Repeat([]int{1}, enactments), won)
}

func sight(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	e := executor()
	feeds := map[string]adapter.Feed{}
	for _, as := range []enactment.Identity{played.Buyer, played.Seller, played.Auditor} {
		feeds[as.Role] = Join(t, executor(), as)
	}
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	Accepted(t, e, played.Attempt(played.Seller, "Stop", "1"))
	Accepted(t, e, played.Attempt(played.Seller, "Quote", "1", "price", 5))
	Accepted(t, e, played.Attempt(played.Buyer, "Accept", "1", "address", "here"))
	all := []string{"1 1 RFQ", "1 2 Stop", "1 3 Quote", "1 4 Accept completed"}
	for _, test := range []struct {
		as   enactment.Identity
		want []string
	}{{played.Buyer, all}, {played.Seller, all}, {played.Auditor, all[3:]}} {
		require.Equal(t, test.want, Receive(t, feeds[test.as.Role], len(test.want)))
		require.NoError(t, feeds[test.as.Role].Close())
		require.Equal(t, test.want, Receive(t, Join(t, executor(), test.as), len(test.want)), "history for who joins later")
	}
}

func projection(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	e := executor()
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	Accepted(t, e, played.Attempt(played.Buyer, "Accept", "1", "price", 5, "address", "here"))
	feed := Join(t, executor(), played.Seller)
	Receive(t, feed, 1)
	d, err := feed.Receive(bounded(t))
	require.NoError(t, err)
	instance := d.Finalisation.Instances[0]
	_, sees := instance.Value("address")
	require.False(t, sees, "the seller does not need the address")
	price, sees := instance.Value("price")
	require.True(t, sees)
	require.Equal(t, "5", price.String())
	require.Equal(t, played.Attempt(played.Buyer, "Accept", "1").ID, instance.Attempt)
}

func sharing(t *testing.T, system System) {
	executor := system(t, played.Rules(t, played.Purchase))
	e := executor()
	one := Join(t, executor(), played.Seller)
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	require.Equal(t, []string{"1 1 RFQ"}, Receive(t, one, 1))
	ctx := bounded(t)
	require.NoError(t, one.Store(ctx, played.KeyOf("1"), 1))
	require.ErrorIs(t, one.Store(ctx, played.KeyOf("unknown"), 1), adapter.ErrRevoked)

	// Both live: what is one's stays with it, and nothing is lost or doubled.
	two := Join(t, executor(), played.Seller)
	Accepted(t, e, played.Attempt(played.Seller, "Quote", "1", "price", 5))
	require.Equal(t, []string{"1 2 Quote"}, Receive(t, one, 1))
	const more = 20
	for n := range more {
		Accepted(t, e, played.Attempt(played.Buyer, "RFQ", fmt.Sprint("x", n), "item", "fig"))
	}
	got := make(chan string)
	receiving, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	for _, feed := range []adapter.Feed{one, two} {
		done.Go(func() {
			for {
				d, err := feed.Receive(receiving)
				if err != nil {
					return
				}
				select {
				case got <- Brief(d):
				case <-receiving.Done():
				}
			}
		})
	}
	seen := map[string]bool{}
	for range more {
		line := <-got
		require.False(t, seen[line], "%s was delivered twice", line)
		seen[line] = true
	}
	stop()
	done.Wait()

	// The other takes over what is not handled, history first.
	require.NoError(t, one.Close())
	_, err := one.Receive(ctx)
	require.ErrorIs(t, err, adapter.ErrClosed)
	require.ErrorIs(t, one.Store(ctx, played.KeyOf("1"), 2), adapter.ErrRevoked)
	var taken []string
	for len(taken) < 2 {
		d, err := two.Receive(ctx)
		require.NoError(t, err)
		if line := Brief(d); strings.HasPrefix(line, "1 ") {
			taken = append(taken, line)
		}
	}
	require.Equal(t, []string{"1 1 RFQ handled", "1 2 Quote"}, taken)
}

func parties(t *testing.T, system System) {
	b1, b2 := enactment.Identity{Role: "Buyer", Party: "b1"}, enactment.Identity{Role: "Buyer", Party: "b2"}
	s1, s2 := enactment.Identity{Role: "Seller", Party: "s1"}, enactment.Identity{Role: "Seller", Party: "s2"}
	executor := system(t, played.Rules(t, played.Purchase, enactment.WithParties("Buyer", "b1", "b2")))
	e := executor()
	feeds := make(map[enactment.Identity]adapter.Feed)
	for _, as := range []enactment.Identity{b1, b2, s1, s2} {
		feeds[as] = Join(t, executor(), as)
	}
	Accepted(t, e, played.Attempt(b1, "RFQ", "1", "item", "fig"))
	named := played.Attempt(b2, "RFQ", "2", "item", "fig")
	named.Parties = map[string]string{"Seller": "s2"}
	Accepted(t, e, named)
	// Who plays the seller in 1 is open, so both see it; the buyer is not.
	require.Equal(t, []string{"1 1 RFQ"}, Receive(t, feeds[s1], 1))
	require.ElementsMatch(t, []string{"1 1 RFQ", "2 1 RFQ"}, Receive(t, feeds[s2], 2))
	require.Equal(t, []string{"1 1 RFQ"}, Receive(t, feeds[b1], 1))
	require.Equal(t, []string{"2 1 RFQ"}, Receive(t, feeds[b2], 1))

	// Whoever acts first has the part, and the other loses sight of it.
	Accepted(t, e, played.Attempt(s1, "Quote", "1", "price", 5))
	require.Equal(t, []string{"1 2 Quote"}, Receive(t, feeds[s1], 1))
	require.Equal(t, []string{"1 0 revoked"}, Receive(t, feeds[s2], 1))
	require.ErrorIs(t, feeds[s2].Store(bounded(t), played.KeyOf("1"), 1), adapter.ErrRevoked)
	require.Equal(t, enactment.WrongParty, Refused(t, e, played.Attempt(s2, "Stop", "1")))

	// Who joins later learns the same.
	require.NoError(t, feeds[s2].Close())
	late := Join(t, executor(), s2)
	require.Equal(t, []string{"2 1 RFQ"}, Receive(t, late, 1))
	Accepted(t, e, played.Attempt(s1, "Stop", "1"))
	Accepted(t, e, played.Attempt(s2, "Stop", "2"))
	require.Equal(t, []string{"2 2 Stop"}, Receive(t, late, 1), "and nothing of 1")
	require.Equal(t, []string{"1 2 Quote", "1 3 Stop"}, Receive(t, feeds[b1], 2))
	require.Equal(t, []string{"2 2 Stop"}, Receive(t, feeds[b2], 1))
}

func strangers(t *testing.T, system System) {
	e := system(t, played.Rules(t, played.Purchase, enactment.WithParties("Buyer", "b1", "b2")))()
	_, err := e.Join(bounded(t), enactment.Identity{Role: "Buyer", Party: "b3"})
	require.Error(t, err, "it is not configured")
	_, err = e.Join(bounded(t), enactment.Identity{Role: "Banker"})
	require.Error(t, err, "there is no such role")
}

func contexts(t *testing.T, system System) {
	e := system(t, played.Rules(t, played.Purchase))()
	feed := Join(t, e, played.Buyer)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := feed.Receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = e.Attempt(ctx, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	require.ErrorIs(t, err, context.Canceled)
}

func windows(t *testing.T, system System) {
	e := system(t, played.Rules(t, played.Purchase))()
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	codes := together(t, e, played.Attempt(played.Buyer, "Accept", "1", "price", 1, "address", "here"), played.Attempt(played.Seller, "Quote", "1", "price", 5))
	require.Equal(t, []enactment.Code{enactment.Dominated, ""}, codes, "higher authority dominates")
	Accepted(t, e, played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"))
	codes = together(t, e, played.Attempt(played.Seller, "Stop", "2"), played.Attempt(played.Buyer, "Urge", "2"))
	require.Equal(t, []enactment.Code{"", ""}, codes, "a nogo between roles stops neither in one window")
}
