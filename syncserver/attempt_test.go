package syncserver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestImmediate(t *testing.T) {
	tests := []struct {
		name    string
		before  []enactment.Attempt
		attempt enactment.Attempt
		want    enactment.Code
		at      uint64
	}{
		{name: "the first starts the enactment", attempt: played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"), at: 1},
		{
			name:    "the next follows",
			before:  []enactment.Attempt{played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")},
			attempt: played.Attempt(played.Seller, "Quote", "1", "price", 5), at: 2,
		},
		{
			name:    "another enactment has a log of its own",
			before:  []enactment.Attempt{played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")},
			attempt: played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"), at: 1,
		},
		{
			name:    "a refusal tells the state it was judged against",
			before:  []enactment.Attempt{played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"), played.Attempt(played.Buyer, "Reject", "1")},
			attempt: played.Attempt(played.Buyer, "Accept", "1", "price", 5, "address", "here"), want: enactment.Excluded, at: 2,
		},
		{name: "a start that is refused", attempt: played.Attempt(played.Seller, "Stop", "1"), want: enactment.NotEnabled},
		{name: "no such action", attempt: played.Attempt(played.Seller, "Ship", "1"), want: enactment.UnknownAction},
		{
			name:    "no enactment is named",
			attempt: enactment.Attempt{ID: "a", Identity: played.Buyer, Action: "RFQ"}, want: enactment.Malformed,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := local(t)
			for _, a := range test.before {
				accepted(t, l, a)
			}
			outcome, err := l.Attempt(context.Background(), test.attempt)
			require.NoError(t, err)
			require.Equal(t, test.at, outcome.Sequence)
			if test.want == "" {
				require.NoError(t, outcome.Err())
				require.Equal(t, test.attempt.ID, outcome.Instance.Attempt)
				return
			}
			require.ErrorIs(t, outcome.Err(), test.want)
		})
	}
}

func TestRefusedStartLeavesNothing(t *testing.T) {
	l := local(t)
	_, err := l.Attempt(context.Background(), played.Attempt(played.Seller, "Stop", "1"))
	require.NoError(t, err)
	for key := range l.Enactments() {
		t.Errorf("there is an enactment %s", key)
	}
	require.Empty(t, l.History(played.KeyOf("1")))
	require.Zero(t, l.LogCount())
}

func TestBatchClosesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, syncserver.WithBatch(time.Second, 0))
		began := time.Now()
		codes := together(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"), played.Attempt(played.Buyer, "RFQ", "2", "item", "date"))
		require.Equal(t, []enactment.Code{"", ""}, codes, "each enactment has a window of its own")
		require.Equal(t, time.Second, time.Since(began))

		// The next window opens with the next attempt, not when the last one closed.
		time.Sleep(1500 * time.Millisecond)
		began = time.Now()
		accepted(t, l, played.Attempt(played.Seller, "Quote", "1", "price", 5))
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestBatchClosesByCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, syncserver.WithBatch(time.Hour, 2))
		began := time.Now()
		codes := together(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"), played.Attempt(played.Buyer, "Reject", "1"))
		require.Zero(t, time.Since(began))
		require.Equal(t, []enactment.Code{"", enactment.NotEnabled}, codes, "both are judged against the state before")
		// The timer of the window that was closed by count must not close the next one.
		time.Sleep(30 * time.Minute)
		began = time.Now()
		accepted(t, l, played.Attempt(played.Seller, "Quote", "1", "price", 5))
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestBatchJudgesTogether(t *testing.T) {
	tests := []struct {
		name     string
		attempts []enactment.Attempt
		codes    []enactment.Code
		log      []string
	}{
		{
			name: "higher authority dominates",
			attempts: []enactment.Attempt{
				played.Attempt(played.Buyer, "Accept", "1", "price", 1, "address", "here"), played.Attempt(played.Seller, "Quote", "1", "price", 5),
			},
			codes: []enactment.Code{enactment.Dominated, ""},
			log:   []string{"happened 1 RFQ", "happened 2 Quote"},
		},
		{
			name:     "a nogo between roles stops neither in one window",
			attempts: []enactment.Attempt{played.Attempt(played.Seller, "Stop", "1"), played.Attempt(played.Buyer, "Urge", "1")},
			codes:    []enactment.Code{"", ""},
			log:      []string{"happened 1 RFQ", "happened 2 Stop", "happened 2 Urge"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := local(t, syncserver.WithBatch(time.Second, 2))
				accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
				require.Equal(t, test.codes, together(t, l, test.attempts...))
				var got []string
				for _, f := range l.History(played.KeyOf("1")) {
					var line []string
					for _, i := range f.Instances {
						line = append(line, fmt.Sprintf("happened %d %s", f.Sequence, i.Action))
					}
					if len(line) == 2 && line[0] > line[1] { // arrival in one window has no order here
						line[0], line[1] = line[1], line[0]
					}
					got = append(got, line...)
				}
				require.Empty(t, cmp.Diff(test.log, got))
			})
		})
	}
}

func TestNogoHoldsAcrossWindows(t *testing.T) {
	l := local(t)
	accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	accepted(t, l, played.Attempt(played.Seller, "Stop", "1"))
	outcome, err := l.Attempt(context.Background(), played.Attempt(played.Buyer, "Urge", "1"))
	require.NoError(t, err)
	require.ErrorIs(t, outcome.Err(), enactment.Blocked)
}

func TestCopiesGetTheFirstAnswer(t *testing.T) {
	quote := played.Attempt(played.Seller, "Quote", "1", "price", 5)
	other := played.Attempt(played.Seller, "Quote", "1", "price", 6)
	elsewhere := played.Attempt(played.Seller, "Quote", "2", "price", 5)
	elsewhere.ID = quote.ID
	stranger := played.Attempt(played.Buyer, "RFQ", "3", "item", "fig")
	stranger.ID = quote.ID

	synctest.Test(t, func(t *testing.T) {
		for _, mode := range []struct {
			name    string
			options []syncserver.Option
		}{
			{"immediate", nil}, {"batch", []syncserver.Option{syncserver.WithBatch(time.Second, 0)}},
		} {
			l := syncserver.NewLocal(played.Rules(t, played.Purchase), mode.options...)
			accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
			accepted(t, l, played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"))

			codes := together(t, l, quote, quote, quote)
			require.Equal(t, []enactment.Code{"", "", ""}, codes, mode.name)
			first := accepted(t, l, quote)
			require.Equal(t, uint64(2), first.Sequence)
			require.Len(t, l.History(played.KeyOf("1")), 2, "it happened once")

			require.Equal(t, []enactment.Code{enactment.Malformed, enactment.Malformed}, together(t, l, other, elsewhere),
				"an id is unique for its identity, whatever the enactment")
			accepted(t, l, stranger) // of another identity

			refused := played.Attempt(played.Buyer, "RFQ", "1", "item", "date")
			refused.ID = "refused"
			require.Equal(t, []enactment.Code{enactment.AlreadyHappened}, together(t, l, refused))
			require.Equal(t, []enactment.Code{enactment.AlreadyHappened}, together(t, l, refused), "a refusal is an answer too")
			l.Close()
		}
	})
}

func TestCopyWithOtherContentAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, syncserver.WithBatch(time.Second, 0))
		first, second := played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"), played.Attempt(played.Buyer, "RFQ", "1", "item", "date")
		answers := make(chan enactment.Outcome, 2)
		for _, a := range []enactment.Attempt{first, second} {
			go func() {
				outcome, err := l.Attempt(context.Background(), a)
				require.NoError(t, err)
				answers <- outcome
			}()
			synctest.Wait() // so that they come in order
		}
		one, two := <-answers, <-answers
		if one.Rejection != nil {
			one, two = two, one
		}
		require.NoError(t, one.Err())
		require.ErrorIs(t, two.Err(), enactment.Malformed)
		item, _ := one.Instance.Value("item")
		require.Equal(t, `"fig"`, item.String())
	})
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, syncserver.WithRetention(time.Hour))
		rfq := played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")
		rfq.At = time.Now()
		accepted(t, l, rfq)
		time.Sleep(50 * time.Minute)
		accepted(t, l, rfq)
		time.Sleep(50 * time.Minute)

		outcome, err := l.Attempt(context.Background(), rfq)
		require.NoError(t, err)
		require.ErrorIs(t, outcome.Err(), enactment.AlreadyHappened, "it is no longer known for a copy, but cannot happen twice")

		late := played.Attempt(played.Buyer, "RFQ", "2", "item", "fig")
		late.At = rfq.At
		outcome, err = l.Attempt(context.Background(), late)
		require.NoError(t, err)
		require.ErrorIs(t, outcome.Err(), enactment.Expired)

		undated := played.Attempt(played.Buyer, "RFQ", "3", "item", "fig")
		accepted(t, l, undated)
	})
	require.Panics(t, func() { syncserver.WithRetention(0) })
}

func TestCancelledInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, syncserver.WithBatch(time.Second, 0))
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		rfq := played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")
		_, err := l.Attempt(ctx, rfq)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, l.History(played.KeyOf("1")))

		// It stays in the window, and whoever asks again gets the answer.
		outcome := accepted(t, l, rfq)
		require.Equal(t, uint64(1), outcome.Sequence)
		require.Len(t, l.History(played.KeyOf("1")), 1)

		cancel()
		_, err = l.Attempt(ctx, rfq)
		require.Error(t, err, "a context that has ended gets no answer")
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := syncserver.NewLocal(played.Rules(t, played.Purchase), syncserver.WithBatch(time.Hour, 0))
		feed, err := l.Join(context.Background(), played.Buyer)
		require.NoError(t, err)
		var done sync.WaitGroup
		rfq := played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")
		for range 2 { // the second is a copy
			done.Go(func() {
				_, err := l.Attempt(context.Background(), rfq)
				require.ErrorIs(t, err, adapter.ErrClosed)
			})
		}
		done.Go(func() {
			_, err := feed.Receive(context.Background())
			require.ErrorIs(t, err, adapter.ErrClosed)
		})
		synctest.Wait()
		l.Close()
		l.Close()
		done.Wait()

		_, err = l.Attempt(context.Background(), played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"))
		require.ErrorIs(t, err, adapter.ErrClosed)
		_, err = l.Join(context.Background(), played.Buyer)
		require.ErrorIs(t, err, adapter.ErrClosed)
		time.Sleep(2 * time.Hour)
		require.Empty(t, l.History(played.KeyOf("1")), "a window that was open is never decided")
	})
}

func TestEnactmentsInParallel(t *testing.T) {
	const enactments = 200
	l := local(t)
	var done sync.WaitGroup
	for n := range enactments {
		id := fmt.Sprint(n)
		done.Go(func() {
			accepted(t, l, played.Attempt(played.Buyer, "RFQ", id, "item", "fig"))
			// One of the two wins, whichever comes first.
			codes := together(t, l, played.Attempt(played.Buyer, "Reject", id), played.Attempt(played.Buyer, "Accept", id, "price", 1, "address", "here"))
			require.Contains(t, [][]enactment.Code{{"", enactment.Excluded}, {enactment.Excluded, ""}}, codes)
		})
	}
	done.Wait()
	count := 0
	for key := range l.Enactments() {
		count++
		history := l.History(key)
		require.Len(t, history, 2)
		require.True(t, history[1].Completed)
	}
	require.Equal(t, enactments, count)
}
