package audit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/audit"
)

// TestMain lets the test run itself as a process that appends to a file until it is killed, or as often as it is told.
func TestMain(m *testing.M) {
	if name := os.Getenv("AUDIT_TEST_FILE"); name != "" {
		if err := appendTo(name, os.Getenv("AUDIT_TEST_WRITER"), os.Getenv("AUDIT_TEST_COUNT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// appendTo appends numbered records, and prints the number of each that was acknowledged.
func appendTo(name, writer, count string) error {
	most, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	file, err := audit.OpenFile(name, audit.FileOptions{MaxSize: 20_000, NoSync: true})
	if err != nil {
		return err
	}
	for i := 1; i <= most; i++ {
		r := whole()
		r.Subject, r.Attempt = writer, i
		if err := file.Record(context.Background(), r); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
	return file.Close()
}

// readAll gives all records, and the lines that are damaged.
func readAll(t *testing.T, name string) (records []audit.Record, damaged []*audit.DamagedError) {
	t.Helper()
	for r, err := range audit.ReadFile(t.Context(), name, audit.Filter{}, false) {
		var damage *audit.DamagedError
		if errors.As(err, &damage) {
			damaged = append(damaged, damage)
			continue
		}
		require.NoError(t, err)
		records = append(records, r)
	}
	return records, damaged
}

func TestFileKeepsAndRotates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	file, err := audit.OpenFile(name, audit.FileOptions{MaxSize: 2000})
	require.NoError(t, err)
	for i := range 20 {
		r := whole()
		r.Attempt = i + 1
		require.NoError(t, file.Record(t.Context(), r))
	}
	require.NoError(t, file.Close())
	require.NoError(t, file.Close())
	require.ErrorIs(t, file.Record(t.Context(), whole()), audit.ErrClosed)
	records, damaged := readAll(t, name)
	require.Empty(t, damaged)
	require.Len(t, records, 20)
	for i, r := range records {
		require.Equal(t, i+1, r.Attempt)
	}
	files, err := filepath.Glob(name + ".2*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 4)
	for _, file := range append(files, name) {
		about, err := os.Stat(file)
		require.NoError(t, err)
		require.LessOrEqual(t, about.Size(), int64(2000))
		require.Equal(t, os.FileMode(0o600), about.Mode())
	}

	file, err = audit.OpenFile(name, audit.FileOptions{MaxSize: 2000, Keep: 2})
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, file.Record(t.Context(), whole()))
	}
	require.NoError(t, file.Close())
	files, err = filepath.Glob(name + ".2*")
	require.NoError(t, err)
	require.Len(t, files, 2, "the oldest are removed")
}

func TestTornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	line, err := audit.Encode(whole())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(append(line, '\n'), `{"at":"2026-`...), 0o600))
	records, damaged := readAll(t, name)
	require.Len(t, records, 1)
	require.Empty(t, damaged, "it may be being written")
	file, err := audit.OpenFile(name, audit.FileOptions{})
	require.NoError(t, err)
	require.NoError(t, file.Record(t.Context(), whole()))
	require.NoError(t, file.Close())
	records, damaged = readAll(t, name)
	require.Len(t, records, 2)
	require.Len(t, damaged, 1)
	require.Equal(t, 2, damaged[0].Line)

	// What is longer than any line is skipped, without being held in memory.
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	text = append(text, strings.Repeat("x", 9<<20)+"\n"+string(line)+"\n"...)
	require.NoError(t, os.WriteFile(name, text, 0o600))
	records, damaged = readAll(t, name)
	require.Len(t, records, 3)
	require.ErrorContains(t, damaged[1], "longer than any")

	for _, err := range audit.ReadFile(t.Context(), name+".missing", audit.Filter{}, false) {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// TestProcessesShareAFile lets processes append at once, one of which is killed: what was acknowledged is there, each
// record whole and those of one process in order.
func TestProcessesShareAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	const writers, count = 3, 150
	acknowledged := make([]int, writers)
	failures := make([]error, writers)
	var group sync.WaitGroup
	for writer := range writers {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), "AUDIT_TEST_FILE="+name, "AUDIT_TEST_WRITER="+strconv.Itoa(writer), "AUDIT_TEST_COUNT="+strconv.Itoa(count))
		out, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		group.Go(func() {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				acknowledged[writer]++
				if writer == 0 && acknowledged[writer] == count/3 {
					failures[writer] = command.Process.Kill()
				}
			}
			err := command.Wait()
			if writer == 0 {
				err = nil // It was killed.
			}
			failures[writer] = errors.Join(failures[writer], err, lines.Err())
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(failures...))
	records, _ := readAll(t, name)
	found := make([]int, writers)
	for _, r := range records {
		writer, err := strconv.Atoi(r.Subject)
		require.NoError(t, err)
		found[writer]++
		require.Equal(t, found[writer], r.Attempt)
	}
	require.Equal(t, count, found[1])
	require.Equal(t, count, found[2])
	require.GreaterOrEqual(t, found[0], acknowledged[0])
	files, err := filepath.Glob(name + ".2*")
	require.NoError(t, err)
	require.NotEmpty(t, files, "it was renamed while others wrote")
}

func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	given := make(chan audit.Record)
	var failure error
	go func() {
		defer close(given)
		for r, err := range audit.ReadFile(ctx, name, audit.Filter{Kinds: []audit.Kind{audit.Retry}}, true) {
			if failure = err; err == nil {
				given <- r
			}
		}
	}()
	file, err := audit.OpenFile(name, audit.FileOptions{MaxSize: 1500, NoSync: true})
	require.NoError(t, err)
	for i := range 12 { // over several files
		r := whole()
		if r.Attempt = i; i%2 == 0 {
			r.Kind = audit.Retry
		}
		require.NoError(t, file.Record(t.Context(), r))
		if i%2 == 0 {
			require.Equal(t, i, (<-given).Attempt)
		}
	}
	require.NoError(t, file.Close())
	cancel()
	_, more := <-given
	require.False(t, more)
	require.ErrorIs(t, failure, context.Canceled)
}

func BenchmarkFile(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%t", sync), func(b *testing.B) {
			file, err := audit.OpenFile(filepath.Join(b.TempDir(), "audit.jsonl"), audit.FileOptions{NoSync: !sync})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, file.Record(b.Context(), whole()))
			}
			require.NoError(b, file.Close())
		})
	}
}
