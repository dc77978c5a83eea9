package adapter_test

import (
	"context"
	"errors"
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
