package bridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/enactment"
)

func entry(instance, step string) bridge.Entry {
	return bridge.Entry{
		Kind: bridge.EntryKnown, Enactment: key, Instance: instance, Step: step, Key: "k", Digest: "d", Status: 201,
		Bound:   enactment.Values{"n": enactment.MustValue(map[string]any{"big": "<&>"})},
		Attempt: &bridge.Answer{ID: "a", Action: "Booked", Values: enactment.Values{"price": enactment.MustValue(1)}},
	}
}

func TestFileJournalKeepsWhatWasAppended(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	journal := openJournal(t, name)
	want := []bridge.Entry{entry("Ask", "one"), entry("Ask", "two")}
	for _, e := range want {
		require.NoError(t, journal.Append(t.Context(), e))
	}
	require.NoError(t, journal.Close())
	require.ErrorIs(t, journal.Append(t.Context(), want[0]), bridge.ErrJournalClosed)

	info, err := os.Stat(name)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	got, err := openJournal(t, name).Load(t.Context(), key)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, got, cmp.Comparer(enactment.Value.Equal)))
}

// A process may die at any byte of a line.
func TestFileJournalToleratesATornLastLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	journal := openJournal(t, name)
	require.NoError(t, journal.Append(t.Context(), entry("Ask", "one")))
	first, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, journal.Append(t.Context(), entry("Ask", "two")))
	require.NoError(t, journal.Close())
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for torn := len(first); torn < len(whole); torn++ {
		require.NoError(t, os.WriteFile(name, whole[:torn], 0o600))
		journal := openJournal(t, name)
		got, err := journal.Load(t.Context(), key)
		require.NoError(t, err)
		require.Len(t, got, 1, "torn at %d", torn)
		require.NoError(t, journal.Append(t.Context(), entry("Ask", "three")))
		require.NoError(t, journal.Close())
		got, err = openJournal(t, name).Load(t.Context(), key)
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "three", got[1].Step)
	}
}

func TestFileJournalReportsDamage(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":  "{\n" + `{"kind":"known"}` + "\n",
		"no entry": "{}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "journal")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, err := bridge.OpenFileJournal(file)
			var corrupt *bridge.CorruptError
			require.ErrorAs(t, err, &corrupt)
			assert.Equal(t, 1, corrupt.Line)
		})
	}
	_, err := bridge.OpenFileJournal(filepath.Join(t.TempDir(), "no", "folder"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
