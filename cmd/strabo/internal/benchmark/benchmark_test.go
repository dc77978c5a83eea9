package benchmark_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/benchmark"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

func purchase(t testing.TB) *enactment.Rules {
	t.Helper()
	rules, err := protocols.Load("purchase")
	require.NoError(t, err)
	return rules
}

func TestPercentilesAreThoseOfTheDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(t, "durations")
		var l benchmark.Latencies
		for _, d := range durations {
			l.Count(time.Duration(d))
		}
		slices.Sort(durations)
		require.Equal(t, durations[len(durations)-1], int64(l.Slowest()))
		require.Equal(t, l.Slowest(), l.Percentile(100))
		for _, percent := range []float64{1, 50, 95, 99} {
			at := 0
			for float64(at+1) < percent/100*float64(len(durations)) {
				at++
			}
			require.InDelta(t, durations[at], int64(l.Percentile(percent)), float64(durations[at])/64+1)
		}
	})
	var none benchmark.Latencies
	require.Zero(t, none.Percentile(50))
}

func TestPlayMakesAsManyAttemptsAsSaid(t *testing.T) {
	for _, rivals := range []int{1, 3} {
		executor := syncserver.NewLocal(purchase(t))
		defer executor.Close()
		p := &benchmark.Player{Rules: purchase(t), Executor: executor, Run: "r", AtOnce: 4, Rivals: rivals, Most: 1000}
		require.NoError(t, p.Play(t.Context()))
		require.EqualValues(t, 1000, p.Decided())
		refused := 0
		for code, count := range p.Refused() {
			require.Equal(t, enactment.AlreadyHappened, code)
			refused += count
		}
		happened := 0
		for key := range executor.Enactments() {
			happened += len(executor.History(key))
		}
		require.Equal(t, 1000, happened+refused)
		if rivals == 1 {
			require.Zero(t, refused)
		} else {
			require.InDelta(t, 667, refused, 10)
		}
	}
}

type failing struct{ adapter.Executor }

var errFailing = errors.New("failing")

func (failing) Attempt(context.Context, enactment.Attempt) (enactment.Outcome, error) {
	return enactment.Outcome{}, errFailing
}

func TestPlayEndsWithItsContextOrAFailure(t *testing.T) {
	p := &benchmark.Player{Rules: purchase(t), Executor: failing{}, Run: "r", AtOnce: 4, Rivals: 2, Most: 1000}
	require.ErrorIs(t, p.Play(t.Context()), errFailing)

	executor := syncserver.NewLocal(purchase(t))
	defer executor.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p = &benchmark.Player{Rules: purchase(t), Executor: executor, Run: "r", AtOnce: 4, Rivals: 1, Most: 1 << 40}
	ended := make(chan error, 1)
	go func() { ended <- p.Play(ctx) }()
	require.Eventually(t, func() bool { return p.Decided() > 0 }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}
