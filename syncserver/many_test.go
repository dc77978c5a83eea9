package syncserver_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
	wires "github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// manyEnactments is how many enactments TestManyEnactments has. STRABO_TEST_ENACTMENTS says another number, such as
// 1000000, which takes some minutes and prints what docs/operations.md says of it.
const manyEnactments = 500

// TestManyEnactments has a log of many enactments, begins to serve it, and has agents of two identities see all of them.
// What the process then holds does not grow with their number, but for what NATS itself holds.
func TestManyEnactments(t *testing.T) {
	count := manyEnactments
	if text := os.Getenv("STRABO_TEST_ENACTMENTS"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	rules := Rules(t, Purchase)
	dir := t.TempDir()
	s := store(t, embedded.Options{StoreDir: dir})
	server, err := syncserver.NewServer(t.Context(), connect(t, s), rules, syncserver.ServerConfig{Logger: quiet()})
	require.NoError(t, err)
	require.NoError(t, server.Close(t.Context()))
	began := time.Now()
	fillLog(t, connect(t, s), rules, count)
	t.Logf("%d enactments written in %v", count, time.Since(began))
	s.Shutdown()
	before := heap()

	began = time.Now()
	s = store(t, embedded.Options{StoreDir: dir})
	t.Logf("NATS started in %v", time.Since(began))
	const cache = 512
	server = serve(t, s, rules, syncserver.ServerConfig{Cache: cache})
	e := server.Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	Accepted(t, e, Attempt(Buyer, "RFQ", "another", "item", "fig"))
	t.Logf("first attempt answered after %v", time.Since(began))
	report(t, "after the start", before, count)

	for _, role := range []string{"Buyer", "Seller"} {
		began, used := time.Now(), spent(t)
		o := untilAllSeen(t, rules, e, role, count)
		t.Logf("%s was told of all in %v, with %v of the processor for each", role, time.Since(began), (spent(t)-used)/time.Duration(count))
		report(t, "after "+role+" has seen all", before, count)
		require.LessOrEqual(t, server.Remembered(), 2*cache/8)
		o()

		// The next agent of the identity has all of it delivered once more, as history.
		began, used = time.Now(), spent(t)
		feed := Join(t, e, enactment.Identity{Role: role})
		for seen := make(map[enactment.Key]bool, count); len(seen) < count; {
			d, err := feed.Receive(t.Context())
			require.NoError(t, err)
			require.False(t, d.Revoked)
			if d.Finalisation.Completed {
				require.True(t, d.Handled)
				require.False(t, seen[d.Key], "twice")
				seen[d.Key] = true
			}
		}
		t.Logf("the next %s has caught up in %v, with %v of the processor for each", role, time.Since(began), (spent(t)-used)/time.Duration(count))
		require.LessOrEqual(t, server.Remembered(), 2*cache/8)
	}

	archive, err := syncserver.NewArchive(t.Context(), connect(t, s), rules, "", nil)
	require.NoError(t, err)
	began = time.Now()
	var backup size
	lines, err := archive.Backup(t.Context(), &backup, false)
	require.NoError(t, err)
	t.Logf("backup of %d messages in %d MiB in %v", lines, backup>>20, time.Since(began))
	require.Equal(t, 3*count+1+2*count+2, lines, "the log, and a position for each role")
	began = time.Now()
	all, err := archive.Enactments(t.Context())
	require.NoError(t, err)
	require.Len(t, all, count+1)
	t.Logf("enactments listed in %v", time.Since(began))
	report(t, "after the backup", before, count)
}

// fillLog writes a log as a server writes it: enactments that are complete and in which nothing is left to be done.
func fillLog(t *testing.T, conn *nats.Conn, rules *enactment.Rules, count int) {
	t.Helper()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(4096))
	require.NoError(t, err)
	subjects, err := wires.NewSubjects(syncserver.SystemName(rules))
	require.NoError(t, err)
	codec := wires.Codec{Rules: rules}
	for n := range count {
		id := fmt.Sprintf("purchase-%08d", n)
		var state *enactment.State
		seats := map[string]string{}
		for _, a := range []enactment.Attempt{Attempt(Buyer, "RFQ", id, "item", "fig"), Attempt(Seller, "Stop", id), Attempt(Buyer, "Reject", id)} {
			key, _ := rules.KeyOf(a)
			if state == nil {
				state = rules.NewState(key)
			}
			f, outcomes := enactment.Judge(state, a)
			require.NoError(t, outcomes[0].Err())
			state.Apply(f)
			seats[a.Role] = a.Party
			entry := wires.Entry{
				Hash: rules.Hash(), Key: key, Finalisation: f, Digests: []wires.Digest{a.Digest()}, Seats: seats, At: time.Now(),
			}
			_, err := js.PublishAsync(subjects.Log(key), codec.AppendEntry(nil, &entry), jetstream.WithStallWait(time.Minute))
			require.NoError(t, err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(10 * time.Minute):
		require.Fail(t, "the log is not written")
	}
}

// untilAllSeen runs an agent until it was told that so many enactments are complete.
func untilAllSeen(t *testing.T, rules *enactment.Rules, e adapter.Executor, role string, count int) (stop func()) {
	t.Helper()
	agent, err := adapter.New(rules, role, e, adapter.WithLogger(quiet()))
	require.NoError(t, err)
	completed := make(chan struct{}, 1024)
	agent.OnCompletion(func(context.Context, adapter.Enactment) error {
		completed <- struct{}{}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	for range count {
		<-completed
	}
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// size counts what is written.
type size int

func (s *size) Write(text []byte) (int, error) {
	*s += size(len(text))
	return len(text), nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func report(t *testing.T, when string, before uint64, count int) {
	t.Helper()
	now := heap()
	resident := "unknown"
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				resident = strings.TrimSpace(rest)
			}
		}
	}
	grown := int64(now) - int64(before)
	t.Logf("%s: heap %d MiB, %d bytes an enactment, resident %s", when, now>>20, grown/int64(count), resident)
}
