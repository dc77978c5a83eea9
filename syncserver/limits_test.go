package syncserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// TestSlowAgent has a feed that is not received from while much happens: nothing piles up beyond its buffer, nobody else
// waits, and in the end it gets all of it.
func TestSlowAgent(t *testing.T) {
	const many = 400
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{})
	slow, err := syncserver.NewClient(connect(t, s), rules, syncserver.ClientConfig{Buffer: 8, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(slow.Close)
	feed := Join(t, slow, Seller)
	e := client(t, connect(t, s), rules)
	for n := range many {
		Accepted(t, e, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
	}
	seen := make(map[enactment.Key]bool)
	for range many {
		d, err := feed.Receive(t.Context())
		require.NoError(t, err)
		seen[d.Key] = true
	}
	require.Len(t, seen, many)
}

// TestFullStore fills the store: whoever attempts is told, nothing that was answered is lost, and when there is room again
// it goes on.
func TestFullStore(t *testing.T) {
	dir := t.TempDir()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{StoreDir: dir, MaxStore: 1 << 20})
	serve(t, s, rules, syncserver.ServerConfig{})
	e, err := syncserver.NewClient(connect(t, s), rules, syncserver.ClientConfig{Logger: quiet()})
	require.NoError(t, err)
	large := strings.Repeat("fig ", 10_000)
	answered := make(map[string]enactment.Outcome)
	var last enactment.Attempt
	for n := 0; ; n++ {
		require.Less(t, n, 1000, "it is never full")
		id := fmt.Sprint(n)
		last = Attempt(Buyer, "RFQ", id, "item", large)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		outcome, err := e.Attempt(ctx, last)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			break
		}
		answered[id] = outcome
	}
	require.NotEmpty(t, answered)
	e.Close()
	s.Shutdown()

	s = store(t, embedded.Options{StoreDir: dir})
	serve(t, s, rules, syncserver.ServerConfig{})
	again := client(t, connect(t, s), rules)
	for id, outcome := range answered {
		require.Equal(t, outcome.Sequence, Accepted(t, again, Attempt(Buyer, "RFQ", id, "item", large)).Sequence)
	}
	Accepted(t, again, last)
	require.Equal(t, enactment.AlreadyHappened, Refused(t, again, func() enactment.Attempt {
		last.ID = "another"
		return last
	}()))
}
