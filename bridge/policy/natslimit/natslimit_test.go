package natslimit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/policy/natslimit"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// server starts a NATS server, and gives what connects to it anew each time, as other processes do.
func server(t *testing.T) (connect func() jetstream.JetStream, stop func()) {
	t.Helper()
	s, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	stop = sync.OnceFunc(func() { s.Shutdown() })
	t.Cleanup(stop)
	return func() jetstream.JetStream {
		connection, err := s.Connect()
		require.NoError(t, err)
		t.Cleanup(connection.Close)
		js, err := jetstream.New(connection)
		require.NoError(t, err)
		return js
	}, stop
}

func open(t *testing.T, js jetstream.JetStream) *natslimit.Buckets {
	t.Helper()
	b, err := natslimit.Open(t.Context(), js, "limits", natslimit.Options{})
	require.NoError(t, err)
	return b
}

// TestAllTogether: however many processes take at once, no more than the limit get something.
func TestAllTogether(t *testing.T) {
	connect, _ := server(t)
	limit := acc.RateLimit{Count: 20, Window: time.Hour}
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		b := open(t, connect())
		for range 4 {
			all.Go(func() {
				for range 5 {
					_, ok, err := b.Take(t.Context(), "op\x00ada", limit, 0)
					assert.NoError(t, err)
					if ok {
						admitted.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	assert.EqualValues(t, 20, admitted.Load())
	_, ok, err := open(t, connect()).Take(t.Context(), "op\x00ben", limit, 0)
	require.NoError(t, err)
	assert.True(t, ok, "another bucket")
}

// TestLikeLocalBuckets: what is shared counts as what is not.
func TestLikeLocalBuckets(t *testing.T) {
	connect, _ := server(t)
	shared, local := open(t, connect()), policy.NewLocalBuckets(0)
	for i, limit := range []acc.RateLimit{{Count: 1, Window: time.Hour}, {Count: 3, Window: 24 * time.Hour}, {Count: 7, Window: time.Minute}, {Count: 1 << 62, Window: time.Second}} {
		for call := range 10 {
			name := fmt.Sprint(i)
			wait, ok, err := shared.Take(t.Context(), name, limit, 30*time.Minute)
			require.NoError(t, err)
			want, admitted, err := local.Take(t.Context(), name, limit, 30*time.Minute)
			require.NoError(t, err)
			require.Equal(t, admitted, ok, "%s, call %d", limit, call)
			require.InDelta(t, want.Seconds(), wait.Seconds(), 5, "%s, call %d", limit, call)
		}
	}
}

func TestWhatCannotBeCountedIsNotAdmitted(t *testing.T) {
	connect, stop := server(t)
	js := connect()
	b := open(t, js)
	_, ok, err := b.Take(t.Context(), "x", acc.RateLimit{Count: 1, Window: 48 * time.Hour}, 0)
	require.ErrorContains(t, err, "longer than")
	require.False(t, ok)
	limit := acc.RateLimit{Count: 1, Window: time.Hour}
	store, err := js.KeyValue(t.Context(), "limits")
	require.NoError(t, err)
	_, _, err = b.Take(t.Context(), "x", limit, 0)
	require.NoError(t, err)
	keys, err := store.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	_, err = store.Put(t.Context(), keys[0], []byte("never"))
	require.NoError(t, err)
	_, ok, err = b.Take(t.Context(), "x", limit, 0)
	require.ErrorContains(t, err, "not what was written")
	require.False(t, ok)

	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, ok, err = b.Take(ctx, "y", limit, 0)
	require.Error(t, err)
	require.False(t, ok)
}
