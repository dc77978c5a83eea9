package policy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// nats starts a NATS server, and gives what connects to it anew each time, as other processes do.
func nats(t *testing.T) (connect func() *policy.SharedBuckets, stop func()) {
	t.Helper()
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	stop = sync.OnceFunc(server.Shutdown)
	t.Cleanup(stop)
	return func() *policy.SharedBuckets {
		connection, err := server.Connect()
		require.NoError(t, err)
		t.Cleanup(connection.Close)
		store, err := natskv.Open(t.Context(), connection, natskv.Config{Bucket: "limits", Life: 24 * time.Hour})
		require.NoError(t, err)
		return policy.NewSharedBuckets(store, 24*time.Hour)
	}, stop
}

// TestSharedLimit: however many processes take at once, no more than the limit get something.
func TestSharedLimit(t *testing.T) {
	connect, stop := nats(t)
	limit := acc.RateLimit{Count: 20, Window: time.Hour}
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		b := connect()
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
	b := connect()
	_, ok, err := b.Take(t.Context(), "op\x00ben", limit, 0)
	require.NoError(t, err)
	assert.True(t, ok, "another bucket")

	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, ok, err = b.Take(ctx, "op\x00ben", limit, 0)
	require.Error(t, err, "who cannot be counted is not admitted")
	require.False(t, ok)
}

// TestSharedLikeLocalBuckets: what is shared counts as what is not.
func TestSharedLikeLocalBuckets(t *testing.T) {
	shared, local := policy.NewSharedBuckets(keyvalue.NewMemory(0), 24*time.Hour), policy.NewLocalBuckets(0)
	for i, limit := range []acc.RateLimit{
		{Count: 1, Window: time.Hour}, {Count: 3, Window: 24 * time.Hour}, {Count: 7, Window: time.Minute}, {Count: 1 << 62, Window: time.Second},
	} {
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

func TestSharedBucketsFailClosed(t *testing.T) {
	store := keyvalue.NewMemory(0)
	b := policy.NewSharedBuckets(store, 24*time.Hour)
	_, ok, err := b.Take(t.Context(), "x", acc.RateLimit{Count: 1, Window: 48 * time.Hour}, 0)
	require.ErrorContains(t, err, "longer than")
	require.False(t, ok)
	limit := acc.RateLimit{Count: 1, Window: time.Hour}
	_, _, err = b.Take(t.Context(), "x", limit, 0)
	require.NoError(t, err)
	for entry, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		_, err = store.Put(t.Context(), entry.Name, []byte("never"), entry.Revision)
		require.NoError(t, err)
	}
	_, ok, err = b.Take(t.Context(), "x", limit, 0)
	require.ErrorContains(t, err, "never written")
	require.False(t, ok)

	p, err := policy.New(contracts(t, limited), policy.Options{Default: per(acc.PerSubject, policy.Local{}), Buckets: brokenBuckets{}})
	require.NoError(t, err)
	o, err := p.Operation("a")
	require.NoError(t, err)
	_, err = o.Admit(t.Context(), policy.Principal{}, false)
	var over *policy.LimitedError
	require.ErrorAs(t, err, &over)
	require.ErrorIs(t, err, errNobodyKnows)
}

var errNobodyKnows = errors.New("nobody knows")

type brokenBuckets struct{}

func (brokenBuckets) Take(context.Context, string, acc.RateLimit, time.Duration) (time.Duration, bool, error) {
	return 0, false, errNobodyKnows
}
