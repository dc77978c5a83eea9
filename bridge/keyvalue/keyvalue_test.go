package keyvalue_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// stores are all that there are, to be held against the same tests.
func stores(t *testing.T) map[string]keyvalue.Store {
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	nats, err := natskv.Open(t.Context(), conn, natskv.Config{Bucket: "test"})
	require.NoError(t, err)
	again, err := natskv.Open(t.Context(), conn, natskv.Config{Bucket: "test"})
	require.NoError(t, err)
	_, err = again.Put(t.Context(), "other.a", []byte("x"), 0)
	require.NoError(t, err)
	return map[string]keyvalue.Store{"memory": keyvalue.NewMemory(0), "nats": nats}
}

func TestStore(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			_, err := store.Get(ctx, "stock.pen")
			require.ErrorIs(t, err, keyvalue.ErrNone)
			_, err = store.Put(ctx, "stock.pen", []byte("1"), 7)
			require.ErrorIs(t, err, keyvalue.ErrConflict)
			first, err := store.Put(ctx, "stock.pen", []byte("1"), 0)
			require.NoError(t, err)
			_, err = store.Put(ctx, "stock.pen", []byte("2"), 0)
			require.ErrorIs(t, err, keyvalue.ErrConflict)
			second, err := store.Put(ctx, "stock.pen", []byte("2"), first)
			require.NoError(t, err)
			require.Greater(t, second, first)
			_, err = store.Put(ctx, "stock.pen", []byte("3"), first)
			require.ErrorIs(t, err, keyvalue.ErrConflict)
			entry, err := store.Get(ctx, "stock.pen")
			require.NoError(t, err)
			require.Equal(t, "2", string(entry.Value))
			require.Equal(t, second, entry.Revision)
			require.WithinDuration(t, time.Now(), entry.At, time.Minute)

			_, err = store.Put(ctx, "stock.ink", nil, 0)
			require.NoError(t, err)
			_, err = store.Put(ctx, "stocks.no", nil, 0)
			require.NoError(t, err)
			require.ErrorIs(t, store.Delete(ctx, "stock.pen", first), keyvalue.ErrConflict)
			require.ElementsMatch(t, []string{"stock.ink", "stock.pen"}, names(t, store, "stock."))
			require.NoError(t, store.Delete(ctx, "stock.pen", second))
			require.ErrorIs(t, store.Delete(ctx, "stock.pen", second), keyvalue.ErrConflict)
			require.Equal(t, []string{"stock.ink"}, names(t, store, "stock."))
			require.Empty(t, names(t, store, "nothing."))
			_, err = store.Put(ctx, "stock.pen", []byte("4"), second)
			require.ErrorIs(t, err, keyvalue.ErrConflict, "it was deleted")
			_, err = store.Put(ctx, "stock.pen", []byte("4"), 0)
			require.NoError(t, err)
		})
	}
}

func names(t *testing.T, store keyvalue.Store, prefix string) []string {
	var all []string
	for entry, err := range store.List(t.Context(), prefix) {
		require.NoError(t, err)
		all = append(all, entry.Name)
	}
	return all
}

// TestChangeLosesNothing has many count at the same time.
func TestChangeLosesNothing(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var counting sync.WaitGroup
			for range 8 {
				counting.Go(func() {
					for range 10 {
						count(t, store)
					}
				})
			}
			counting.Wait()
			entry, err := store.Get(t.Context(), "count")
			require.NoError(t, err)
			require.Equal(t, "80", string(entry.Value))
		})
	}
}

func count(t *testing.T, store keyvalue.Store) {
	err := keyvalue.Change(t.Context(), store, "count", func(value []byte) ([]byte, error) {
		n := 0
		if value != nil {
			var err error
			if n, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		}
		return []byte(strconv.Itoa(n + 1)), nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestChangeGivesUp(t *testing.T) {
	store := keyvalue.NewMemory(0)
	failure := fmt.Errorf("no")
	require.ErrorIs(t, keyvalue.Change(t.Context(), store, "a", func([]byte) ([]byte, error) { return nil, failure }), failure)
	require.NoError(t, keyvalue.Change(t.Context(), store, "a", func([]byte) ([]byte, error) { return nil, nil }))
	_, err := store.Get(t.Context(), "a")
	require.ErrorIs(t, err, keyvalue.ErrNone)

	ctx, cancel := context.WithCancel(t.Context())
	err = keyvalue.Change(ctx, store, "a", func([]byte) ([]byte, error) {
		cancel()
		_, err := store.Put(context.Background(), "a", nil, revisionOf(store))
		return []byte("x"), err
	})
	require.ErrorIs(t, err, context.Canceled)
}

func revisionOf(store keyvalue.Store) uint64 {
	entry, err := store.Get(context.Background(), "a")
	if err != nil {
		return 0
	}
	return entry.Revision
}

func TestMemoryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := keyvalue.NewMemory(time.Hour)
		_, err := store.Put(t.Context(), "k.a", []byte("x"), 0)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		_, err = store.Get(t.Context(), "k.a")
		require.ErrorIs(t, err, keyvalue.ErrNone)
		require.Empty(t, names(t, store, "k."))
		_, err = store.Put(t.Context(), "k.b", nil, 0)
		require.NoError(t, err)
		_, err = store.Put(t.Context(), "k.a", nil, 0)
		require.NoError(t, err)
	})
}
