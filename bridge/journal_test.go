package bridge_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
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
		journal = openJournal(t, name)
		got, err = journal.Load(t.Context(), key)
		require.NoError(t, err)
		require.NoError(t, journal.Close())
		require.Len(t, got, 2)
		require.Equal(t, "three", got[1].Step)
	}
}

func TestFileJournalIsOpenedOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	journal := openJournal(t, name)
	require.NoError(t, journal.Append(t.Context(), entry("Ask", "one")))
	_, err := bridge.OpenFileJournal(name)
	require.ErrorIs(t, err, bridge.ErrJournalInUse)
	require.NoError(t, journal.Append(t.Context(), entry("Ask", "two")), "the one that has it keeps it")
	require.NoError(t, journal.Close())
	got, err := openJournal(t, name).Load(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, got, 2, "nothing is lost")
}

const journalOfParent = "STRABO_TEST_JOURNAL_OF_PARENT"

// child runs TestFileJournalInAChild in a process of its own, which says "open" or why not, and lives until its standard
// input is closed or it is killed.
func child(t *testing.T, name string) (said string, process *exec.Cmd) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFileJournalInAChild$")
	process.Env = append(os.Environ(), journalOfParent+"="+name)
	input, err := process.StdinPipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = input.Close() })
	output, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	said, err = bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return said, process
}

func TestFileJournalInAChild(t *testing.T) {
	name := os.Getenv(journalOfParent)
	if name == "" {
		t.Skip("skipped: this is what the child process of TestFileJournalIsOpenedByOneProcess does")
	}
	journal, err := bridge.OpenFileJournal(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	require.NoError(t, journal.Append(t.Context(), entry("Ask", "child")))
	fmt.Println("open")
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
}

func TestFileJournalIsOpenedByOneProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	journal := openJournal(t, name)
	said, process := child(t, name)
	require.Contains(t, said, bridge.ErrJournalInUse.Error())
	require.NoError(t, process.Wait())
	require.NoError(t, journal.Close())

	said, process = child(t, name)
	require.Equal(t, "open\n", said)
	_, err := bridge.OpenFileJournal(name)
	require.ErrorIs(t, err, bridge.ErrJournalInUse)
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	got, err := openJournal(t, name).Load(t.Context(), key)
	require.NoError(t, err, "the lock ends with its process")
	require.Len(t, got, 1)
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
