package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/filelock"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestOneHolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, name), open(t, name)
	require.NoError(t, filelock.Try(first))
	require.ErrorIs(t, filelock.Try(second), filelock.ErrHeld)
	require.NoError(t, filelock.Unlock(first))
	require.NoError(t, filelock.Try(second))
	require.ErrorIs(t, filelock.Try(first), filelock.ErrHeld)
	require.NoError(t, second.Close())
	require.NoError(t, filelock.Try(first), "closing gives it back")
	require.NoError(t, filelock.SyncFolder(filepath.Dir(name)))
}

func TestLockWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, name), open(t, name)
	require.NoError(t, filelock.Try(first))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- filelock.Lock(ctx, second) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		go func() { done <- filelock.Lock(t.Context(), second) }()
		synctest.Wait()
		require.NoError(t, filelock.Unlock(first))
		require.NoError(t, <-done)
	})
	require.ErrorIs(t, filelock.Try(first), filelock.ErrHeld)
}
