package syncserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

func TestPending(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{Window: time.Hour, WindowCount: 2})
	conn := connect(t, s)
	archive, err := syncserver.NewArchive(t.Context(), conn, rules, "", nil)
	require.NoError(t, err)
	c := client(t, conn, rules)
	outcomes := make(chan enactment.Outcome, 1)
	go func() {
		outcome, err := c.Attempt(t.Context(), Attempt(Buyer, "RFQ", "1", "item", "fig"))
		if err == nil {
			outcomes <- outcome
		}
		close(outcomes)
	}()
	var pending []syncserver.PendingAttempt
	for len(pending) == 0 && t.Context().Err() == nil {
		pending, err = archive.Pending(t.Context(), KeyOf("1"))
		require.NoError(t, err)
	}
	require.Len(t, pending, 1)
	require.Equal(t, "RFQ", pending[0].Action)
	none, err := archive.Pending(t.Context(), KeyOf("2"))
	require.NoError(t, err)
	require.Empty(t, none)

	// A second one closes the window, and both are answered.
	other := Attempt(Buyer, "RFQ", "1", "item", "date")
	other.ID = "other"
	require.Equal(t, enactment.AlreadyHappened, Refused(t, client(t, connect(t, s), rules), other))
	outcome := <-outcomes
	require.NoError(t, outcome.Err())
	pending, err = archive.Pending(t.Context(), KeyOf("1"))
	require.NoError(t, err)
	require.Empty(t, pending)

	// In immediate finalisation there is nothing to wait for.
	serve(t, s, rules, syncserver.ServerConfig{System: "immediate"})
	archive, err = syncserver.NewArchive(t.Context(), conn, rules, "immediate", nil)
	require.NoError(t, err)
	pending, err = archive.Pending(t.Context(), KeyOf("1"))
	require.NoError(t, err)
	require.Empty(t, pending)
}
