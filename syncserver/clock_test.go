package syncserver_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// jumping is a clock that jumps.
type jumping struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *jumping) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// jump puts the clock so far before the true time, or behind it if that is negative.
func (c *jumping) jump(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

// TestClockJumps puts the clock of a server that runs forward and back, by more than answers are kept. No attempt gets
// two answers, and none that was refused is accepted later.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 2 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{})
			var clock jumping
			server := serve(t, s, rules, syncserver.ServerConfig{Window: window}.WithClock(clock.now))
			e := client(t, connect(t, s), rules)
			made := func(as enactment.Identity, action, id string, values ...any) enactment.Attempt {
				a := Attempt(as, action, id, values...)
				a.At = time.Now()
				return a
			}
			ordered := made(Buyer, "RFQ", "1", "item", "fig")
			early := made(Buyer, "Accept", "1", "address", "here")
			Accepted(t, e, ordered)
			require.Equal(t, enactment.Missing, Refused(t, e, early))
			Accepted(t, e, made(Seller, "Quote", "1", "price", 5)) // from now on it would be accepted

			for _, ahead := range []time.Duration{-time.Hour, 0, 25 * time.Hour, 0, 400 * 24 * time.Hour, time.Hour, 0} {
				clock.jump(ahead)
				if ahead < 0 {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					_, err := e.Attempt(ctx, early)
					cancel()
					require.ErrorIs(t, err, context.DeadlineExceeded, "its time has not come")
					continue
				}
				require.Equal(t, enactment.Missing, Refused(t, e, early), "%v", ahead)
				require.Equal(t, uint64(1), Accepted(t, e, ordered).Sequence, "%v", ahead)
			}

			// What is attempted while the clock is wrong is refused for that, and stays so. (In batch finalisation the time
			// of an arrival is that of NATS.)
			clock.jump(25 * time.Hour)
			late, another := made(Seller, "Stop", "1"), made(Seller, "Stop", "1")
			another.ID = "another"
			want := []string{"expired at 2", "accepted at 3"}
			if window > 0 {
				want = []string{"accepted at 3", "already_happened at 3"}
			}
			require.Equal(t, want[0], answerTo(t, e, late))
			clock.jump(0)
			require.Equal(t, want[0], answerTo(t, e, late))
			require.Equal(t, want[1], answerTo(t, e, another))

			// Another server, whose clock was right all the time, says the same.
			require.NoError(t, server.Close(t.Context()))
			serve(t, s, rules, syncserver.ServerConfig{Window: window})
			require.Equal(t, enactment.Missing, Refused(t, e, early))
			require.Equal(t, want[0], answerTo(t, e, late))
			require.Equal(t, want[1], answerTo(t, e, another))
			require.Equal(t, uint64(1), Accepted(t, e, ordered).Sequence)
		})
	}
}

// answerTo is what an attempt is answered, in a word.
func answerTo(t *testing.T, e adapter.Executor, a enactment.Attempt) string {
	t.Helper()
	outcome, err := e.Attempt(t.Context(), a)
	require.NoError(t, err)
	return answerOf(outcome)
}

// TestClocksJumpInStorm has the clocks of three servers jump about during a storm, less than what makes an attempt expire,
// and checks every history. A server whose clock is behind sends attempts away until another takes them or its clock is
// right again.
func TestClocksJumpInStorm(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{})
			clocks := make([]jumping, 3)
			for i := range clocks {
				serve(t, s, rules, syncserver.ServerConfig{Window: window}.WithClock(clocks[i].now))
			}
			var executors []adapter.Executor
			for range 6 {
				executors = append(executors, client(t, connect(t, s), rules))
			}
			storm{executors: executors, batch: window > 0, meanwhile: func(s *storming) {
				for range 12 {
					for i := range clocks {
						jumps := []time.Duration{-48 * time.Hour, -2 * time.Minute, -30 * time.Second, 0, time.Minute, 23 * time.Hour}
						clocks[i].jump(jumps[rand.IntN(len(jumps))])
					}
					clocks[rand.IntN(len(clocks))].jump(0) // somebody must do the work
					s.wait(30)
				}
				for i := range clocks {
					clocks[i].jump(0)
				}
			}}.run(t)
		})
	}
}
