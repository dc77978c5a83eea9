package approval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/internal/conformance"
)

func open(t *testing.T, dir string) *approval.FileStore {
	t.Helper()
	s, err := approval.OpenFileStore(dir, approval.FileOptions{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	conformance.Run(t, open(t, dir), open(t, dir))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, file := range files {
		about, err := file.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), about.Mode(), file.Name())
		require.False(t, strings.HasPrefix(file.Name(), ".tmp-"))
	}
}

func TestFileStoreMachine(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, b := open(t, dir), open(t, dir)
		runs := 0
		prefix := func() string { runs++; return fmt.Sprint(runs, "-") }
		// Embedded, since rapid asks a *testing.T for its deadline, which a bubble does not have.
		conformance.Machine(struct{ testing.TB }{t}, a, b, prefix, time.Sleep)
	})
}

// TestWaitUntilItExpires also holds that a wait looks at the file at most once a second.
func TestWaitUntilItExpires(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, b := open(t, dir), open(t, dir)
		request := conformance.Request("r")
		request.Expires = time.Now().Add(90 * time.Second)
		_, err := a.Ask(t.Context(), request)
		require.NoError(t, err)
		decision, err := b.Wait(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, approval.Expired, decision.State)
		require.True(t, time.Now().Equal(request.Expires), "not later, and not earlier")

		// A grant ends with the question, and says who gave it.
		request.Expires = time.Now().Add(time.Minute)
		_, err = a.Ask(t.Context(), request)
		require.NoError(t, err)
		require.NoError(t, b.Decide(t.Context(), "r", approval.Verdict{Granted: true, Digest: request.Digest, By: "ada"}))
		time.Sleep(time.Minute)
		entry, err := a.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, approval.Expired, entry.Decision.State)
		require.Equal(t, "ada", entry.Decision.By)
	})
}

func TestOldQuestionsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		for _, id := range []string{"expired", "denied", "open"} {
			request := conformance.Request(id)
			if id != "expired" {
				request.Expires = time.Time{}
			}
			_, err := s.Ask(t.Context(), request)
			require.NoError(t, err)
		}
		require.NoError(t, s.Decide(t.Context(), "denied", approval.Verdict{Digest: conformance.Digest(1), By: "ada"}))
		time.Sleep(approval.DefaultKeep + 2*time.Hour)
		_, err := s.Ask(t.Context(), conformance.Request("new"))
		require.NoError(t, err)
		entries, err := s.List(t.Context())
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Equal(t, "open", entries[0].Request.ID)
	})
}

// TestDamage is what a process that died, or somebody with an editor, leaves behind.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := s.Ask(t.Context(), conformance.Request("good"))
	require.NoError(t, err)
	_, err = s.Ask(t.Context(), conformance.Request("bad"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), `"bad"`) {
			require.NoError(t, os.WriteFile(file, text[:len(text)/2], 0o600))
		}
	}
	left := filepath.Join(dir, ".tmp-123")
	require.NoError(t, os.WriteFile(left, []byte("{"), 0o600))
	s = open(t, dir)
	require.NoFileExists(t, left)
	entries, err := s.List(t.Context())
	require.ErrorContains(t, err, "is damaged")
	require.Len(t, entries, 1)
	require.Equal(t, "good", entries[0].Request.ID)
	_, err = s.Ask(t.Context(), conformance.Request("bad"))
	require.ErrorContains(t, err, "is damaged", "what was decided is unknown: no call may leave")
	require.ErrorContains(t, s.Decide(t.Context(), "bad", approval.Verdict{Granted: true, Digest: conformance.Digest(1), By: "ada"}), "is damaged")

	// A file under the name of another is none.
	text, err := os.ReadFile(filesOf(t, dir, `"good"`))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, strings.Repeat("0", 64)+".json"), text, 0o600))
	entries, err = s.List(t.Context())
	require.Error(t, err)
	require.Len(t, entries, 1)
}

func filesOf(t *testing.T, dir, with string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), with) {
			return file
		}
	}
	t.Fatal("no such file")
	return ""
}
