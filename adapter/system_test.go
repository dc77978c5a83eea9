package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

// trade makes a buyer that starts enactments and accepts what is quoted, and a seller that quotes.
func trade(t testing.TB, rules *enactment.Rules, l adapter.Executor, completed func()) (buyer, seller *adapter.Adapter) {
	t.Helper()
	buyer, seller = agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
	seller.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("price", 5)
		return f.Attempt(ctx).Err(ctx)
	})
	buyer.OnEnabled("Accept", func(ctx context.Context, f *adapter.FeasibleAction) error {
		if _, quoted := f.Known["price"]; !quoted {
			return nil
		}
		f.Bind("address", "here")
		return f.Attempt(ctx).Err(ctx)
	})
	buyer.OnCompletion(func(context.Context, adapter.Enactment) error {
		completed()
		return nil
	})
	return buyer, seller
}

func TestTenThousandEnactments(t *testing.T) {
	enactments := 10_000
	if testing.Short() {
		enactments = 500
	}
	rules := played.Rules(t, played.Purchase)
	l := local(t, rules)
	var completed sync.WaitGroup
	completed.Add(enactments)
	buyer, seller := trade(t, rules, l, completed.Done)
	fail := func(_ context.Context, e adapter.HandlerError) { t.Error(e) }
	buyer.OnError(fail)
	seller.OnError(fail)
	run(t, buyer)
	run(t, seller)
	promises := make([]*adapter.Promise, enactments)
	for n := range promises {
		promises[n] = buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": fmt.Sprint(n), "item": "fig"})
	}
	for _, p := range promises {
		require.NoError(t, p.Err(t.Context()))
	}
	completed.Wait()
	for n := range enactments {
		require.Len(t, l.History(played.KeyOf(fmt.Sprint(n))), 3)
	}
}

// TestCancelledInTheMiddle: whatever runs when the contexts end, everything comes to an end, and another pair of agents
// finishes the work.
func TestCancelledInTheMiddle(t *testing.T) {
	const enactments = 200
	rules := played.Rules(t, played.Purchase)
	for _, mode := range []struct {
		name    string
		options []syncserver.Option
	}{{"immediate", nil}, {"batch", []syncserver.Option{syncserver.WithBatch(time.Millisecond, 0)}}} {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := local(t, rules, mode.options...)
				var completed atomic.Int32
				half := make(chan struct{})
				buyer, seller := trade(t, rules, l, func() {
					if completed.Add(1) == enactments/2 {
						close(half)
					}
				})
				stopBuyer, stopSeller := run(t, buyer), run(t, seller)
				var promises []*adapter.Promise
				for n := range enactments {
					promises = append(promises, buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": fmt.Sprint(n), "item": "fig"}))
				}
				<-half
				stopSeller()
				stopBuyer()
				for _, p := range promises {
					require.NoError(t, p.Err(t.Context()), "the context of these has not ended")
				}

				buyer, seller = trade(t, rules, l, func() { completed.Add(1) })
				run(t, buyer)
				run(t, seller)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.GreaterOrEqual(t, int(completed.Load()), enactments)
				for n := range enactments {
					history := l.History(played.KeyOf(fmt.Sprint(n)))
					require.Len(t, history, 3)
					require.True(t, history[2].Completed)
				}
			})
		})
	}
}

// TestPartiesOfOneRole: each sees its own enactments and not the other's.
func TestPartiesOfOneRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase, enactment.WithParties("Buyer", "b1", "b2"))
		l := local(t, rules)
		var d diary
		buyers := make(map[string]*adapter.Adapter)
		for _, party := range []string{"b1", "b2"} {
			buyers[party] = agent(t, rules, "Buyer", l, adapter.WithParty(party))
			for _, action := range []string{"RFQ", "Quote"} {
				buyers[party].OnObservation(action, func(_ context.Context, o adapter.Observation) error {
					d.note("%s sees %s", party, o)
					return nil
				})
			}
		}
		seller := agent(t, rules, "Seller", l)
		for _, a := range []*adapter.Adapter{buyers["b1"], buyers["b2"], seller} {
			run(t, a)
		}
		accepted(t, buyers["b1"], "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		require.Equal(t, []string{`b1 sees RFQ by Buyer/b1 in {"ID":"1"} at 1`}, d.settled())
		accepted(t, buyers["b2"], "RFQ", adapter.Values{"ID": "2", "item": "fig"})
		require.Equal(t, []string{`b2 sees RFQ by Buyer/b2 in {"ID":"2"} at 1`}, d.settled())
		accepted(t, seller, "Quote", adapter.Values{"ID": "1", "price": 5})
		require.Equal(t, []string{`b1 sees Quote by Seller in {"ID":"1"} at 2`}, d.settled())
		for f := range buyers["b2"].Enabled(t.Context()) {
			require.Equal(t, played.KeyOf("2"), f.Enactment.Key())
		}
		err := buyers["b2"].Attempt(t.Context(), "Reject", adapter.Values{"ID": "1"}).Err(t.Context())
		require.ErrorIs(t, err, enactment.WrongParty)
	})
}

// TestContendedPart: while a role is open its parties are all offered the work; whoever acts first has it.
func TestContendedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		buyer := agent(t, rules, "Buyer", l)
		var d diary
		var sellers []*adapter.Adapter
		for _, party := range []string{"s1", "s2"} {
			seller := agent(t, rules, "Seller", l, adapter.WithParty(party))
			d.observed(seller, "Quote")
			sellers = append(sellers, seller)
			run(t, seller)
		}
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		synctest.Wait()
		holds := func(a *adapter.Adapter) int {
			return len(slices.Collect(a.Enabled(t.Context())))
		}
		require.Equal(t, 2, holds(sellers[0]))
		require.Equal(t, 2, holds(sellers[1]))
		accepted(t, sellers[1], "Quote", adapter.Values{"ID": "1", "price": 5})
		require.Equal(t, []string{`see Quote by Seller/s2 in {"ID":"1"} at 2`}, d.settled())
		require.Zero(t, holds(sellers[0]), "it was revoked")
		require.Equal(t, 1, holds(sellers[1]))
	})
}

// TestRandomAgents: several adapters of one identity come and go, in order or in the middle of a handler. No enactment
// is handled by two at a time, each in order, everything at least once, and exactly once where nobody was interrupted.
func TestRandomAgents(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	synctest.Test(t, func(t *testing.T) {
		// Embedded, since rapid asks a *testing.T for its deadline, which a bubble does not have.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			var options []syncserver.Option
			if rapid.Bool().Draw(rt, "batch") {
				options = append(options, syncserver.WithBatch(time.Second, rapid.IntRange(0, 3).Draw(rt, "count")))
			}
			l := syncserver.NewLocal(rules, options...)
			defer l.Close()
			w := &handling{
				busy: make(map[enactment.Key]bool), last: make(map[enactment.Key]uint64),
				times: make(map[string]int), interrupted: make(map[enactment.Key]bool),
			}
			buyer := agent(rt, rules, "Buyer", l)
			auditor := agent(rt, rules, "Auditor", l)
			var stops []func()
			started := 0
			rt.Repeat(map[string]func(*rapid.T){
				"start": func(rt *rapid.T) {
					started++
					buyer.Attempt(context.Background(), "RFQ", adapter.Values{"ID": fmt.Sprint(started), "item": "fig"})
				},
				"act": func(rt *rapid.T) {
					id := fmt.Sprint(rapid.IntRange(1, started+1).Draw(rt, "id"))
					action := rapid.SampledFrom([]string{"Urge", "Accept", "Reject"}).Draw(rt, "action")
					values := adapter.Values{"ID": id}
					if action == "Accept" {
						values["address"] = "here"
						values["price"] = rapid.IntRange(4, 5).Draw(rt, "price")
					}
					buyer.Attempt(context.Background(), action, values)
				},
				"audit": func(rt *rapid.T) {
					id := fmt.Sprint(rapid.IntRange(1, started+1).Draw(rt, "id"))
					auditor.Attempt(context.Background(), "File", adapter.Values{"ID": id, "report": "good"})
				},
				"pass": func(rt *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 2000).Draw(rt, "ms")) * time.Millisecond)
				},
				"join": func(rt *rapid.T) {
					if len(stops) < 3 {
						stops = append(stops, w.seller(rt, rules, l, rapid.IntRange(1, 3).Draw(rt, "concurrency")))
					}
				},
				"stop": func(rt *rapid.T) {
					if len(stops) > 0 {
						stops[0]()
						stops = stops[1:]
					}
				},
			})
			stops = append(stops, w.seller(rt, rules, l, 2))
			time.Sleep(time.Minute) // enough for all that takes time
			synctest.Wait()
			for _, stop := range stops {
				stop()
			}
			w.check(rt, rules, l)
		})
	})
}

// handling is what the sellers of TestRandomAgents did.
type handling struct {
	mu          sync.Mutex
	busy        map[enactment.Key]bool
	last        map[enactment.Key]uint64
	times       map[string]int
	interrupted map[enactment.Key]bool
	faults      []string
}

func (w *handling) fault(format string, arguments ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, arguments...))
}

// hold is called when a handler begins; the result is to be called when it ends.
func (w *handling) hold(key enactment.Key, sequence uint64) (release func(interrupted bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[key] {
		w.fault("%s is handled twice at a time", key)
	}
	if sequence < w.last[key] && !w.interrupted[key] {
		w.fault("%s goes back from %d to %d", key, w.last[key], sequence)
	}
	w.busy[key] = true
	w.last[key] = sequence
	return func(interrupted bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy[key] = false
		w.interrupted[key] = w.interrupted[key] || interrupted
	}
}

// seller starts an adapter whose handlers take their time, and gives up when it is stopped.
func (w *handling) seller(t tester, rules *enactment.Rules, l adapter.Executor, concurrency int) (stop func()) {
	seller := agent(t, rules, "Seller", l, adapter.WithConcurrency(concurrency), adapter.WithQueue(2))
	for _, action := range []string{"RFQ", "Quote", "Accept", "Reject", "Urge", "Stop", "File"} {
		seller.OnObservation(action, func(ctx context.Context, o adapter.Observation) error {
			release := w.hold(o.Enactment.Key(), o.Sequence)
			// An odd time, so that no handler ends at the very moment at which the adapter is stopped.
			select {
			case <-time.After(100*time.Millisecond + time.Nanosecond):
				w.mu.Lock()
				w.times[fmt.Sprintf("%s %d %s", o.Enactment.Key(), o.Sequence, o.Action)]++
				w.mu.Unlock()
				release(false)
				return nil
			case <-ctx.Done():
				release(true)
				return ctx.Err()
			}
		})
	}
	for _, action := range []string{"Quote", "Stop"} {
		seller.OnEnabled(action, func(ctx context.Context, f *adapter.FeasibleAction) error {
			release := w.hold(f.Enactment.Key(), f.Enactment.Sequence())
			if f.Action == "Quote" {
				f.Bind("price", 5)
			}
			err := f.Attempt(ctx).Err(ctx)
			release(false)
			if err != nil && ctx.Err() == nil && !errors.Is(err, enactment.Dominated) && !errors.Is(err, enactment.AlreadyHappened) {
				return err
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- seller.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func (w *handling) check(t *rapid.T, rules *enactment.Rules, l *syncserver.Local) {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.faults)
	for key := range l.Enactments() {
		happened := make(map[string]bool)
		for _, f := range l.History(key) {
			for _, i := range f.Instances {
				happened[i.Action] = true
				if sees, _ := rules.Sight("Seller", i.Action); !sees {
					continue
				}
				times := w.times[fmt.Sprintf("%s %d %s", key, f.Sequence, i.Action)]
				require.GreaterOrEqual(t, times, 1, "%s at %d of %s was never handled", i.Action, f.Sequence, key)
				if !w.interrupted[key] {
					require.Equal(t, 1, times, "%s at %d of %s was handled again", i.Action, f.Sequence, key)
				}
			}
		}
		require.True(t, happened["Stop"], "what stays enabled is done in the end")
		require.False(t, happened["Accept"] && happened["Reject"], "they exclude each other")
	}
}
