package syncserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// began lists what began behind a place.
func began(t *testing.T, at adapter.Lister, after string) (keys []enactment.Key, last string) {
	t.Helper()
	previous := time.Now().Add(-time.Hour)
	for b, err := range at.Began(t.Context(), after) {
		require.NoError(t, err)
		require.False(t, b.At.Before(previous), "in the order in which they began")
		keys, last, previous = append(keys, b.Key), b.Place, b.At
	}
	return keys, last
}

// TestBegan lists enactments in the order in which they began, from where a list has ended before.
func TestBegan(t *testing.T) {
	t.Parallel()
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(nats.Shutdown)
	rules, err := compileRequestReply()
	require.NoError(t, err)
	local := syncserver.NewLocal(rules)
	t.Cleanup(local.Close)
	attended := attend(t, nats, 0, nil)
	for name, executor := range map[string]interface {
		adapter.Lister
		adapter.Attendant
	}{"local": local, "attendance": attended} {
		t.Run(name, func(t *testing.T) {
			keys, place := began(t, executor, "")
			require.Empty(t, keys)
			require.Empty(t, place)
			request(t, executor, 1)
			request(t, executor, 2)
			refused, err := executor.Attempt(t.Context(), enactment.Attempt{
				ID: "early", Identity: desk, Action: "Reply", At: time.Now(),
				Values: enactment.Values{"ID": enactment.MustValue("9"), "answer": enactment.MustValue("no")},
			})
			require.NoError(t, err)
			require.Error(t, refused.Err())
			keys, place = began(t, executor, "")
			require.Equal(t, []enactment.Key{requestKey(1), requestKey(2)}, keys)
			keys, nothing := began(t, executor, place)
			require.Empty(t, keys)
			require.Empty(t, nothing)
			outcome, err := executor.Attempt(t.Context(), enactment.Attempt{
				ID: "reply", Identity: desk, Action: "Reply", At: time.Now(),
				Values: enactment.Values{"ID": enactment.MustValue("1"), "answer": enactment.MustValue("because")},
			})
			require.NoError(t, err)
			require.NoError(t, outcome.Err())
			request(t, executor, 3)
			keys, _ = began(t, executor, place)
			require.Equal(t, []enactment.Key{requestKey(3)}, keys)
			for _, elsewhere := range []string{"another log.2", "nonsense"} {
				keys, _ = began(t, executor, elsewhere)
				require.Len(t, keys, 3)
			}
			first := 0
			for range executor.Began(t.Context(), "") {
				first++
				break
			}
			require.Equal(t, 1, first)
			ended, end := context.WithCancel(t.Context())
			end()
			for _, err := range executor.Began(ended, "") {
				require.ErrorIs(t, err, context.Canceled)
			}
		})
	}

	// What was removed is not among them.
	require.Equal(t, []string{`{"ID":"1"} 2 `}, prune(t, archiveOf(t, connect(t, nats), rules, "attended"), syncserver.PruneConfig{}))
	keys, _ := began(t, attended, "")
	require.Equal(t, []enactment.Key{requestKey(2), requestKey(3)}, keys)
	attended.Attendance.Close()
	for _, err := range attended.Began(t.Context(), "") {
		require.ErrorIs(t, err, adapter.ErrClosed)
	}
}
