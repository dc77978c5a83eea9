package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		buyer, seller, auditor := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l), agent(t, rules, "Auditor", l)
		var b, a diary
		b.observed(buyer, "RFQ", "Quote", "Stop", "Urge", "Accept")
		b.offered(buyer, "Accept", "Urge")
		a.observed(auditor, "Accept")
		a.offered(auditor, "File")
		for _, of := range []struct {
			*diary
			*adapter.Adapter
		}{{&b, buyer}, {&a, auditor}} {
			of.OnCompletion(func(_ context.Context, e adapter.Enactment) error {
				of.note("complete %s at %d: %v", e.Key(), e.Sequence(), e.Complete())
				return nil
			})
			run(t, of.Adapter)
		}
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		require.Equal(t, []string{
			`see RFQ by Buyer in {"ID":"1"} at 1`,
			`offer Accept(ID="1" item="fig"; price address)`, `offer Urge(ID="1"; )`,
		}, b.settled())

		// A nogo does not keep partners of one window from happening together.
		urge := buyer.Attempt(t.Context(), "Urge", adapter.Values{"ID": "1"})
		synctest.Wait()
		accepted(t, seller, "Stop", adapter.Values{"ID": "1"})
		require.NoError(t, urge.Err(t.Context()))
		require.Equal(t, []string{`see Urge by Buyer in {"ID":"1"} at 2`, `see Stop by Seller in {"ID":"1"} at 2`}, b.settled())
		require.Empty(t, a.settled(), "none of that is for the auditor")

		accepted(t, buyer, "Accept", adapter.Values{"ID": "1", "price": 1, "address": "here"})
		require.Equal(t, []string{`see Accept by Buyer in {"ID":"1"} at 3`, `complete {"ID":"1"} at 3: true`}, b.settled())
		require.Equal(t, []string{
			`see Accept by Buyer in {"ID":"1"} at 3`, `complete {"ID":"1"} at 3: true`, `offer File(ID="1"; report)`,
		}, a.settled())
	})
}

func TestEnactmentHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		buyer := agent(t, rules, "Buyer", l, adapter.WithParty("b1"))
		var e adapter.Enactment
		buyer.OnObservation("RFQ", func(_ context.Context, o adapter.Observation) error {
			e = o.Enactment
			item, ok := o.Value("item")
			require.True(t, ok)
			require.Equal(t, `"fig"`, item.String())
			return nil
		})
		run(t, buyer)
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		synctest.Wait()
		require.Equal(t, played.KeyOf("1"), e.Key())
		require.False(t, e.Complete())
		party, ok := e.Party("Buyer")
		require.True(t, ok)
		require.Equal(t, "b1", party)
		_, ok = e.Party("Seller")
		require.False(t, ok)

		accepted(t, buyer, "Reject", adapter.Values{"ID": "1"})
		synctest.Wait()
		require.True(t, e.Complete(), "it stays current")
		require.Equal(t, uint64(2), e.Sequence())
		var actions []string
		for i := range e.Instances() {
			actions = append(actions, i.Action)
		}
		require.Equal(t, []string{"RFQ", "Reject"}, actions)
		for range e.Instances() {
			break
		}
	})
}

func TestRunOnce(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	a := agent(t, rules, "Buyer", local(t, rules))
	run(t, a)()
	require.ErrorIs(t, a.Run(t.Context()), adapter.ErrAlreadyRun)
}

func TestKeptPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		buyer := agent(t, rules, "Buyer", l)
		kept := make(chan *adapter.Promise, 1)
		buyer.OnEnabled("Reject", func(ctx context.Context, f *adapter.FeasibleAction) error {
			kept <- f.Attempt(ctx) // and returns: the context must not end with it
			return nil
		})
		stop := run(t, buyer)
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		p := <-kept
		require.NoError(t, p.Err(t.Context()))

		accepted(t, buyer, "RFQ", adapter.Values{"ID": "2", "item": "fig"})
		p = <-kept
		stop()
		select {
		case <-p.Done():
		default:
			t.Error("Run must wait for what its handlers attempted")
		}
		require.ErrorIs(t, p.Err(t.Context()), adapter.ErrUnknown)
	})
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		buyer := agent(t, rules, "Buyer", s, adapter.WithConcurrency(2), adapter.WithQueue(4))
		var d diary
		release := make(chan struct{})
		buyer.OnObservation("RFQ", func(_ context.Context, o adapter.Observation) error {
			d.note("begin %s", o.Enactment)
			<-release
			d.note("end")
			return nil
		})
		d.observed(buyer, "Urge")
		run(t, buyer)
		deliver := func(d adapter.Delivery) bool {
			synctest.Wait()
			select {
			case s.deliveries <- d:
				return true
			default:
				return false
			}
		}
		rfq := func(id string) adapter.Delivery {
			return s.delivery(t, id, 1, s.instance(t, "Buyer", "RFQ", id, adapter.Values{"item": "fig"}))
		}
		require.True(t, deliver(rfq("1")))
		require.True(t, deliver(s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))))
		require.True(t, deliver(rfq("2")))
		require.True(t, deliver(rfq("3")))
		require.Equal(t, []string{`begin {"ID":"1"}`, `begin {"ID":"2"}`}, d.settled(), "two in parallel, each in order")
		require.False(t, deliver(rfq("4")), "a full queue takes no more")

		release <- struct{}{}
		lines := d.settled()
		require.Len(t, lines, 2)
		require.Equal(t, []string{"end", `begin {"ID":"3"}`}, lines, "turns are taken")
		require.True(t, deliver(rfq("4")))
		require.False(t, deliver(rfq("5")))
		close(release)
		require.Contains(t, d.settled(), `see Urge by Buyer in {"ID":"1"} at 2`)
		require.True(t, deliver(rfq("5")))
	})
}

func TestDeliveredTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		buyer := agent(t, rules, "Buyer", s)
		var d diary
		d.observed(buyer, "RFQ", "Urge")
		run(t, buyer)
		rfq := s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
		for range 2 {
			s.deliveries <- rfq
		}
		s.deliveries <- s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))
		s.deliveries <- rfq
		require.Equal(t, []string{`see RFQ by Buyer in {"ID":"1"} at 1`, `see Urge by Buyer in {"ID":"1"} at 2`}, d.settled())
	})
}

func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		s.answer = func(ctx context.Context, _ enactment.Attempt) (enactment.Outcome, error) {
			<-ctx.Done()
			return enactment.Outcome{}, ctx.Err()
		}
		buyer := agent(t, rules, "Buyer", s, adapter.WithQueue(3))
		var d diary
		busy := true
		buyer.OnObservation("RFQ", func(ctx context.Context, o adapter.Observation) error {
			d.note("begin %s", o)
			if busy {
				err := buyer.Attempt(ctx, "Urge", adapter.Values{"ID": "1"}).Err(ctx)
				d.note("end: %v, unknown: %v", context.Cause(ctx), errors.Is(err, adapter.ErrUnknown) || errors.Is(err, adapter.ErrRevoked))
				return ctx.Err()
			}
			return nil
		})
		d.observed(buyer, "Urge")
		buyer.OnError(func(_ context.Context, e adapter.HandlerError) { d.note("%v", e) })
		run(t, buyer)
		s.deliveries <- adapter.Delivery{Key: played.KeyOf("9"), Revoked: true} // of what it never had
		rfq := s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
		urge := s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))
		for range 5 {
			s.deliveries <- rfq
			s.deliveries <- urge
			require.Equal(t, []string{`begin RFQ by Buyer in {"ID":"1"} at 1`}, d.settled())
			s.deliveries <- adapter.Delivery{Key: played.KeyOf("1"), Revoked: true}
			require.Equal(t, []string{"end: adapter: enactment revoked, unknown: true"}, d.settled(),
				"what it waited for and what waited are dropped, and to be interrupted is no failure")
			require.Empty(t, s.positions())
		}
		for range buyer.Enabled(t.Context()) {
			t.Error("it holds nothing any more")
		}

		busy = false
		s.deliveries <- rfq
		s.deliveries <- urge
		require.Equal(t, []string{`begin RFQ by Buyer in {"ID":"1"} at 1`, `see Urge by Buyer in {"ID":"1"} at 2`}, d.settled(),
			"it may come back")
		require.Equal(t, []string{`"1" 1`, `"1" 2`}, s.positions())
	})
}

func TestStopped(t *testing.T) {
	tests := []struct {
		name   string
		answer func(ctx context.Context) error
		stored []string
		failed bool
	}{
		{"a handler that gives up is called again", func(ctx context.Context) error { return ctx.Err() }, nil, false},
		{"so is one that fails otherwise, and that is reported", func(context.Context) error { return errors.New("no") }, nil, true},
		{"one that succeeds is not", func(context.Context) error { return nil }, []string{`"1" 1`}, false},
		{"however long it takes", func(context.Context) error { time.Sleep(time.Hour); return nil }, []string{`"1" 1`}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := played.Rules(t, played.Purchase)
				s := scripted(rules)
				buyer := agent(t, rules, "Buyer", s)
				var d diary
				buyer.OnObservation("RFQ", func(ctx context.Context, _ adapter.Observation) error {
					<-ctx.Done()
					require.False(t, s.closed, "the feed is closed after the handlers")
					return test.answer(ctx)
				})
				failed := false
				buyer.OnError(func(context.Context, adapter.HandlerError) { failed = true })
				d.offered(buyer, "Accept")
				stop := run(t, buyer)
				s.deliveries <- s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
				s.deliveries <- s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))
				synctest.Wait()
				stop()
				require.True(t, s.closed)
				require.Equal(t, test.stored, s.positions())
				require.Equal(t, test.failed, failed)
				require.Empty(t, d.read(), "nothing more is begun")
			})
		})
	}
}

// TestHandledHistory: what another had handled is folded and not handled, and offers come after it.
func TestHandledHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		var d diary
		prepare := func(name string) *adapter.Adapter {
			buyer := agent(t, rules, "Buyer", l)
			for _, action := range []string{"RFQ", "Urge", "Quote"} {
				buyer.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
					d.note("%s sees %s", name, o.Action)
					return nil
				})
			}
			for _, action := range []string{"Urge", "Accept"} {
				buyer.OnEnabled(action, func(ctx context.Context, f *adapter.FeasibleAction) error {
					d.note("%s may %s", name, describe(f))
					if f.Action == "Urge" {
						return f.Attempt(ctx).Err(ctx)
					}
					return nil
				})
			}
			return buyer
		}
		first := prepare("one")
		stop := run(t, first)
		accepted(t, first, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		require.Equal(t, []string{
			"one sees RFQ", `one may Accept(ID="1" item="fig"; price address)`, `one may Urge(ID="1"; )`, "one sees Urge",
		}, d.settled())
		stop()
		accepted(t, agent(t, rules, "Seller", l), "Quote", adapter.Values{"ID": "1", "price": 5})
		run(t, prepare("two"))
		require.Equal(t, []string{"two sees Quote", `two may Accept(ID="1" item="fig" price=5; address)`}, d.settled())
	})
}

func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		buyer := agent(t, rules, "Buyer", l)
		var d diary
		d.observed(buyer, "RFQ")
		run(t, buyer)
		synctest.Wait()
		before := runtime.NumGoroutine()
		for n := range 100 {
			accepted(t, buyer, "RFQ", adapter.Values{"ID": fmt.Sprint(n), "item": "fig"})
		}
		require.Len(t, d.settled(), 100)
		// The process has goroutines of its own that come and go; a hundred of them would be the enactments'.
		require.Less(t, runtime.NumGoroutine(), before+50, "an idle enactment has no goroutine")
	})
}
