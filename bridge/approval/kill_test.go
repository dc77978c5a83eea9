package approval_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/internal/conformance"
	"github.com/strabo-engine/strabo/internal/testspeed"
)

// TestMain lets the test run itself as a process that asks and decides until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("APPROVAL_TEST_DIR"); dir != "" {
		fmt.Fprintln(os.Stderr, decideAll(dir))
		os.Exit(1)
	}
	testspeed.Raise()
	os.Exit(m.Run())
}

// decideAll asks and decides one question after the other, and prints each change that was acknowledged.
func decideAll(dir string) error {
	s, err := approval.OpenFileStore(dir, approval.FileOptions{NoSync: true})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprint("q", i)
		if _, err := s.Ask(context.Background(), conformance.Request(id)); err != nil {
			return err
		}
		fmt.Println("asked", id)
		if err := s.Decide(context.Background(), id, approval.Verdict{Granted: i%2 == 0, Digest: conformance.Digest(1), By: "ada"}); err != nil {
			return err
		}
		fmt.Println("decided", id)
	}
}

// TestKilledStore kills a process in the middle: what it was told is stored is there, nothing is damaged, and the lock is
// free.
func TestKilledStore(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		dir := fmt.Sprintf("%s/%d", dir, round)
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), "APPROVAL_TEST_DIR="+dir)
		out, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		last := make(map[string]string)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			what, id, _ := strings.Cut(lines.Text(), " ")
			if last[id] = what; len(last) == 20+7*round {
				require.NoError(t, command.Process.Kill())
			}
		}
		require.Error(t, command.Wait(), "it was killed")
		require.NoError(t, lines.Err())
		s := open(t, dir)
		entries, err := s.List(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(entries), len(last))
		for id, what := range last {
			entry, err := s.Get(t.Context(), id)
			require.NoError(t, err)
			if what == "decided" {
				require.NotEqual(t, approval.Pending, entry.Decision.State)
				require.Equal(t, "ada", entry.Decision.By)
			}
		}
		_, err = s.Ask(t.Context(), conformance.Request("after"))
		require.NoError(t, err)
	}
}
