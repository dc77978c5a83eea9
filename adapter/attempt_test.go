package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		buyer := agent(t, rules, "Buyer", l)

		p := buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		select {
		case <-p.Done():
			t.Error("resolved before the window closed")
		default:
		}
		waiting, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := p.Outcome(waiting)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, adapter.ErrUnknown, "the promise is as good as before")

		outcome, err := p.Outcome(t.Context())
		require.NoError(t, err)
		<-p.Done()
		require.NoError(t, p.Err(waiting), "once resolved the context does not matter")
		require.Equal(t, "RFQ", outcome.Instance.Action)
		require.Equal(t, p.ID(), outcome.Instance.Attempt)
		require.NotEmpty(t, p.ID())

		p = buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": "1", "item": "date"})
		outcome, err = p.Outcome(t.Context())
		require.ErrorIs(t, err, enactment.AlreadyHappened)
		rejection, ok := errors.AsType[*adapter.Rejection](err)
		require.True(t, ok)
		require.Same(t, rejection, outcome.Rejection)
		require.Zero(t, outcome.Instance)
		require.Equal(t, uint64(1), outcome.Sequence)
	})
}

func TestAttemptOptions(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	l := local(t, rules)
	buyer := agent(t, rules, "Buyer", l)
	first := accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"},
		adapter.WithAttemptID("a1"), adapter.WithPartyOf("Seller", "s1"), adapter.WithPartyOf("Auditor", "a"))
	require.Equal(t, "a1", first.Instance.Attempt)
	require.Equal(t, map[string]string{"Seller": "s1", "Auditor": "a"}, first.Instance.Parties)

	again := accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"},
		adapter.WithAttemptID("a1"), adapter.WithPartyOf("Seller", "s1"), adapter.WithPartyOf("Auditor", "a"))
	require.Equal(t, first, again)
	require.ErrorIs(t, buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": "2"}, adapter.WithAttemptID("a1")).Err(t.Context()),
		enactment.Malformed)

	other := agent(t, rules, "Seller", l, adapter.WithParty("s2"))
	require.ErrorIs(t, other.Attempt(t.Context(), "Stop", adapter.Values{"ID": "1"}).Err(t.Context()), enactment.WrongParty)
}

func TestRepeatedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, notes)
		l := local(t, rules, syncserver.WithRetention(time.Hour))
		buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
		accepted(t, buyer, "Ask", adapter.Values{"ID": "1"})
		values := adapter.Values{"ID": "1", "NID": 1, "text": "hello"}
		id, made := adapter.WithAttemptID("n1"), adapter.WithAttemptTime(time.Now())
		first := accepted(t, seller, "Note", values, id, made)
		time.Sleep(30 * time.Minute)
		require.Equal(t, first, accepted(t, seller, "Note", values, id, made))
		time.Sleep(24 * time.Hour)
		values["NID"] = 2 // so that nothing else stands against it
		require.ErrorIs(t, seller.Attempt(t.Context(), "Note", values, id, made).Err(t.Context()), enactment.Expired)
	})
}

func TestAttemptOfWhatIsNoValue(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	buyer := agent(t, rules, "Buyer", scripted(rules)) // which would panic if it were asked
	for name, value := range map[string]any{
		"no JSON": json.RawMessage(`{"secret"`), "a number that is none": math.NaN(), "a channel": make(chan int),
		"not UTF-8": "secret\xff", "no value at all": enactment.Value{},
	} {
		t.Run(name, func(t *testing.T) {
			p := buyer.Attempt(t.Context(), "RFQ", adapter.Values{"ID": "1", "item": value})
			outcome, err := p.Outcome(t.Context())
			require.ErrorIs(t, err, enactment.Malformed)
			require.Equal(t, "item", outcome.Rejection.Attribute)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestBind(t *testing.T) {
	type bind struct {
		attribute string
		value     any
	}
	tests := []struct {
		name  string
		binds []bind
		codes []enactment.Code // empty where the bind is fine
		// then is the outcome of the attempt, empty for acceptance.
		then enactment.Code
	}{
		{name: "what is open", binds: []bind{{"address", "here"}}, codes: []enactment.Code{""}},
		{
			name: "any JSON", binds: []bind{{"address", map[string]any{"street": []int{1}}}},
			codes: []enactment.Code{""},
		},
		{
			name: "again", binds: []bind{{"address", "there"}, {"address", json.RawMessage(`"here"`)}},
			codes: []enactment.Code{"", ""},
		},
		{
			name:  "what is known, to the same",
			binds: []bind{{"price", 5.0}, {"ID", "1"}, {"address", "here"}}, codes: []enactment.Code{"", "", ""},
		},
		{name: "nothing", then: enactment.Missing},
		{
			name: "what is known, to another", binds: []bind{{"price", 6}, {"address", "here"}},
			codes: []enactment.Code{enactment.BoundDifferently, ""}, then: enactment.BoundDifferently,
		},
		{
			name: "what the action does not carry", binds: []bind{{"address", "here"}, {"report", "good"}},
			codes: []enactment.Code{"", enactment.Malformed}, then: enactment.Malformed,
		},
		{
			name: "the action's own name", binds: []bind{{"Accept", true}},
			codes: []enactment.Code{enactment.Malformed}, then: enactment.Malformed,
		},
		{
			name: "what is no JSON", binds: []bind{{"address", json.RawMessage("{")}},
			codes: []enactment.Code{enactment.Malformed}, then: enactment.Malformed,
		},
		{
			name: "the first error counts, and stays", binds: []bind{{"price", 6}, {"report", "good"}, {"price", 5}, {"address", "x"}},
			codes: []enactment.Code{enactment.BoundDifferently, enactment.Malformed, "", ""}, then: enactment.BoundDifferently,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := played.Rules(t, played.Purchase)
			l := local(t, rules)
			buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
			accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
			accepted(t, seller, "Quote", adapter.Values{"ID": "1", "price": 5})
			offered := make(chan *adapter.FeasibleAction, 1)
			buyer.OnEnabled("Accept", func(_ context.Context, f *adapter.FeasibleAction) error {
				offered <- f
				return nil
			})
			run(t, buyer)
			f := <-offered
			for i, b := range test.binds {
				err := f.Bind(b.attribute, b.value)
				if test.codes[i] == "" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, test.codes[i])
				}
			}
			err := f.Attempt(t.Context()).Err(t.Context())
			if test.then == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.then)
			}
		})
	}
}

func TestBindKey(t *testing.T) {
	rules := played.Rules(t, notes)
	l := local(t, rules)
	buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
	offered := make(chan *adapter.FeasibleAction, 1)
	seller.OnEnabled("Note", func(_ context.Context, f *adapter.FeasibleAction) error {
		offered <- f
		return nil
	})
	run(t, seller)
	accepted(t, buyer, "Ask", adapter.Values{"ID": "1"})
	f := <-offered
	require.ErrorIs(t, f.Bind("NID", []int{1}), enactment.Malformed)
	require.ErrorIs(t, f.Bind("NID", nil), enactment.Malformed)
	require.NoError(t, f.Bind("NID", 1))
	require.NoError(t, f.Bind("text", nil))
	require.ErrorIs(t, f.Attempt(t.Context()).Err(t.Context()), enactment.Malformed)
	require.Len(t, l.History(played.KeyOf("1")), 1, "nothing was submitted")
}

// TestUnknownIsSubmittedAgain: the same attempt, at growing intervals, until there is an answer.
func TestUnknownIsSubmittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		var seen []enactment.Attempt
		var after []time.Duration
		began := time.Now()
		s.answer = func(_ context.Context, a enactment.Attempt) (enactment.Outcome, error) {
			seen = append(seen, a)
			after = append(after, time.Since(began))
			if len(seen) < 6 {
				return enactment.Outcome{}, errors.New("lost touch")
			}
			return enactment.Outcome{Sequence: 1}, nil
		}
		var book logBook
		buyer := agent(t, rules, "Buyer", s, book.option(), adapter.WithBackoff(time.Second, 4*time.Second))
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "a secret item"})
		require.Len(t, seen, 6)
		for i, longest := range []time.Duration{1, 2, 4, 4, 4} {
			require.Equal(t, seen[0], seen[i+1], "it is the same attempt")
			wait := after[i+1] - after[i]
			require.LessOrEqual(t, wait, longest*time.Second)
			require.GreaterOrEqual(t, wait, longest*time.Second/2)
		}
		require.Contains(t, book.String(), "lost touch")
		require.Contains(t, book.String(), seen[0].ID)
		require.NotContains(t, book.String(), "secret")
	})
}

func TestUnknown(t *testing.T) {
	lost := errors.New("lost touch")
	tests := []struct {
		name   string
		answer func(ctx context.Context) error
		wraps  []error
	}{
		{
			"the context ends while the executor is busy",
			func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			},
			[]error{adapter.ErrUnknown, context.DeadlineExceeded},
		},
		{"the context ends between two submissions", func(context.Context) error { return lost }, []error{adapter.ErrUnknown, lost}},
		{"the executor is closed", func(context.Context) error { return adapter.ErrClosed }, []error{adapter.ErrUnknown, adapter.ErrClosed}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := played.Rules(t, played.Purchase)
				s := scripted(rules)
				s.answer = func(ctx context.Context, _ enactment.Attempt) (enactment.Outcome, error) {
					return enactment.Outcome{}, test.answer(ctx)
				}
				buyer := agent(t, rules, "Buyer", s)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				p := buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
				outcome, err := p.Outcome(t.Context())
				for _, wrapped := range test.wraps {
					require.ErrorIs(t, err, wrapped)
				}
				require.Zero(t, outcome)
			})
		})
	}

	t.Run("nothing is unknown of what was not submitted", func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		buyer := agent(t, rules, "Buyer", scripted(rules)) // which would panic if it were asked
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(lost)
		err := buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": "1"}).Err(t.Context())
		require.ErrorIs(t, err, lost)
		require.NotErrorIs(t, err, adapter.ErrUnknown)
	})
}
