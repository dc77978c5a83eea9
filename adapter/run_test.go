package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
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

func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name    string
		prepare func(*script)
		cancel  bool
		want    []error
	}{
		{name: "to join", prepare: func(s *script) { s.joining = broken }, want: []error{broken}},
		{name: "not, when it is stopped while it joins", prepare: func(s *script) { s.joining = broken }, cancel: true},
		{name: "to receive", prepare: func(s *script) { s.failure = broken; close(s.deliveries) }, want: []error{broken}},
		{name: "to close", prepare: func(s *script) { s.closing = broken }, cancel: true, want: []error{broken}},
		{
			name:    "to receive and to close",
			prepare: func(s *script) { s.failure, s.closing = adapter.ErrClosed, broken; close(s.deliveries) },
			want:    []error{adapter.ErrClosed, broken},
		},
		{name: "not, when it is stopped", prepare: func(*script) {}, cancel: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := played.Rules(t, played.Purchase)
			s := scripted(rules)
			test.prepare(s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancel {
				cancel()
			}
			err := agent(t, rules, "Buyer", s).Run(ctx)
			if test.want == nil {
				require.NoError(t, err)
			}
			for _, want := range test.want {
				require.ErrorIs(t, err, want)
			}
			require.Equal(t, s.joining == nil, s.closed)
		})
	}
}

func TestFailedHandlers(t *testing.T) {
	refused := errors.New("refused")
	tests := []struct {
		name  string
		fail  func() error
		is    error
		stack bool
		says  string
	}{
		{"an error", func() error { return refused }, refused, false, "refused"},
		{
			"a refusal", func() error { return &adapter.Rejection{Code: enactment.Excluded, Detail: "refused"} },
			enactment.Excluded, false, "level=WARN",
		},
		{"a panic", func() error { panic("at the disco") }, adapter.ErrPanic, true, "at the disco"},
		{"a panic with an error", func() error { panic(refused) }, refused, true, "refused"},
		{"a panic with a value", func() error { panic([]string{"a secret"}) }, adapter.ErrPanic, true, "[]string"},
		{"the end of the goroutine", func() error { runtime.Goexit(); return nil }, adapter.ErrGoexit, false, "ended its goroutine"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := played.Rules(t, played.Purchase)
				s := scripted(rules)
				var book logBook
				buyer := agent(t, rules, "Buyer", s, book.option(), adapter.WithConcurrency(1))
				var d diary
				d.observed(buyer, "Quote")
				buyer.OnObservation("RFQ", func(context.Context, adapter.Observation) error { return test.fail() })
				buyer.OnEnabled("Accept", func(context.Context, *adapter.FeasibleAction) error { return test.fail() })
				buyer.OnCompletion(func(context.Context, adapter.Enactment) error { return test.fail() })
				d.offered(buyer, "Accept", "Reject")
				buyer.OnError(func(_ context.Context, e adapter.HandlerError) {
					require.ErrorIs(t, e, test.is)
					require.Equal(t, test.stack, e.Stack != nil)
					if test.stack {
						require.Contains(t, string(e.Stack), "TestFailedHandlers")
					}
					d.note("failed %s %s %s %d", e.Step, e.Action, e.Enactment, e.Sequence)
				})
				run(t, buyer)
				first := s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "a secret"}))
				first.Finalisation.Completed = true
				s.deliveries <- first
				s.deliveries <- s.delivery(t, "1", 2, s.instance(t, "Seller", "Quote", "1", adapter.Values{"item": "a secret", "price": 5}))
				lines := strings.Join(d.settled(), "\n")
				require.Contains(t, lines, `failed observation RFQ {"ID":"1"} 1`)
				require.Contains(t, lines, `see Quote by Seller in {"ID":"1"} at 2`, "the enactment goes on")
				require.Contains(t, lines, `failed offer Accept {"ID":"1"} 2`)
				require.Contains(t, lines, `offer Reject(ID="1"; )`)
				if test.is != adapter.ErrGoexit {
					require.Contains(t, lines, `failed completion  {"ID":"1"} 1`)
					require.Equal(t, []string{`"1" 1`, `"1" 2`}, s.positions())
				}
				require.Contains(t, book.String(), test.says)
				require.NotContains(t, book.String(), "secret")
			})
		})
	}
}

func TestFailingOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		s.storing = errors.New("disk full")
		var book logBook
		buyer := agent(t, rules, "Buyer", s, book.option())
		var d diary
		d.observed(buyer, "RFQ")
		buyer.OnError(func(context.Context, adapter.HandlerError) { panic("and again") })
		buyer.OnError(func(_ context.Context, e adapter.HandlerError) { d.note("%v", e) })
		run(t, buyer)
		s.deliveries <- s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
		require.Equal(t, []string{
			`see RFQ by Buyer in {"ID":"1"} at 1`, `adapter: position in {"ID":"1"} at 1: disk full`,
		}, d.settled())
		require.Contains(t, book.String(), "and again")
	})
}

// TestDeadlock: with room for one enactment and one delivery, a handler may attempt and wait, in any enactment.
func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		for _, options := range [][]syncserver.Option{nil, {syncserver.WithBatch(time.Second, 0)}} {
			l := local(t, rules, options...)
			buyer := agent(t, rules, "Buyer", l, adapter.WithConcurrency(1), adapter.WithQueue(1))
			var d diary
			buyer.OnObservation("RFQ", func(ctx context.Context, o adapter.Observation) error {
				if o.Enactment.Key() == played.KeyOf("1") {
					d.note("start 2: %v", buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": "2", "item": "fig"}).Err(ctx))
				}
				return nil
			})
			buyer.OnEnabled("Reject", func(ctx context.Context, f *adapter.FeasibleAction) error {
				d.note("reject %s: %v", f.Enactment, f.Attempt(ctx).Err(ctx))
				return nil
			})
			stop := run(t, buyer)
			accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
			time.Sleep(time.Minute)
			require.ElementsMatch(t, []string{
				"start 2: <nil>", `reject {"ID":"1"}: <nil>`, `reject {"ID":"2"}: <nil>`,
			}, d.settled())
			stop()
		}
	})
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

// TestPositionThatCannotBeStored: Run ends nevertheless, after a while.
func TestPositionThatCannotBeStored(t *testing.T) {
	for _, when := range []string{"stopped while it is stored", "stopped before"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := played.Rules(t, played.Purchase)
				s := scripted(rules)
				s.stuck = true
				buyer := agent(t, rules, "Buyer", s)
				var d diary
				buyer.OnObservation("RFQ", func(ctx context.Context, _ adapter.Observation) error {
					if when == "stopped before" {
						<-ctx.Done()
						time.Sleep(time.Hour)
					}
					return nil
				})
				buyer.OnError(func(_ context.Context, e adapter.HandlerError) { d.note("%s", e.Step) })
				stop := run(t, buyer)
				s.deliveries <- s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
				synctest.Wait()
				stop()
				require.Equal(t, []string{"position"}, d.read())
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
