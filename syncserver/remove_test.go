package syncserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

func TestRemoveLeavesOtherSystems(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	for _, system := range []string{"one", "other"} {
		server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{
			System: system, Window: time.Millisecond, Logger: quiet(),
		})
		require.NoError(t, err)
		e := server.Client(syncserver.ClientConfig{Logger: quiet()})
		Accepted(t, e, Attempt(Buyer, "RFQ", "1", "item", "fig"))
		e.Close()
		require.NoError(t, server.Close(t.Context()))
	}
	require.NoError(t, syncserver.Remove(t.Context(), conn, "one"))
	require.NoError(t, syncserver.Remove(t.Context(), conn, "one"))
	_, err := syncserver.NewArchive(t.Context(), conn, rules, "one", nil)
	require.ErrorIs(t, err, syncserver.ErrNoSystem)
	archive, err := syncserver.NewArchive(t.Context(), conn, rules, "other", nil)
	require.NoError(t, err)
	all, err := archive.Enactments(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}
