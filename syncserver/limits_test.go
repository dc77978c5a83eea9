package syncserver_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// TestSlowAgent has a feed that takes nothing while much happens: it is not received from, or its connection carries
// nothing. What it holds stays within its buffer, nobody else waits, NATS cuts nobody off, and in the end it gets all of
// it, once.
func TestSlowAgent(t *testing.T) {
	t.Parallel()
	const many, buffer = 400, 8
	for _, test := range []struct {
		name string
		cut  bool
	}{{"does not receive", false}, {"its connection is stuck", true}} {
		t.Run(test.name, func(t *testing.T) {
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
			serve(t, s, rules, syncserver.ServerConfig{})
			w := newWire(t, strings.TrimPrefix(s.URL(), "nats://"))
			conn, err := nats.Connect(w.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			slow, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Buffer: buffer, Logger: quiet()})
			require.NoError(t, err)
			t.Cleanup(slow.Close)
			feed := Join(t, slow, Seller)
			if test.cut {
				w.cut()
			}
			e := client(t, connect(t, s), rules)
			for n := range many {
				Accepted(t, e, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
			}
			require.LessOrEqual(t, syncserver.Queued(feed), buffer)
			w.heal(false)
			seen := make(map[enactment.Key]bool)
			for range many {
				d, err := feed.Receive(t.Context())
				require.NoError(t, err)
				require.False(t, d.Revoked)
				require.False(t, seen[d.Key], "twice")
				seen[d.Key] = true
				require.LessOrEqual(t, syncserver.Queued(feed), buffer)
			}
			require.Len(t, seen, many)
		})
	}
}

// TestFullStore fills the store, up to a limit that it was given and up to the end of a small disk. Whoever attempts is
// told that it is not decided, and the server is not ready; nothing that was answered is lost; and when there is room and
// the store was started again it goes on. (NATS writes to no stream again of which a write has failed.)
func TestFullStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		disk    bool
		window  time.Duration
		failure string
	}{
		{"limit", false, 0, "insufficient resources"},
		{"limit in batch", false, time.Millisecond, "unavailable"},
		{"disk", true, 0, "unavailable"},
		{"disk in batch", true, time.Millisecond, "unavailable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := embedded.Options{StoreDir: t.TempDir(), MaxStore: 1 << 20}
			enlarge := func() {}
			if test.disk {
				options.MaxStore = 1 << 30 // NATS would find that it may use less
				enlarge = smallDisk(t, options.StoreDir)
			}
			rules := Rules(t, Purchase)
			s := store(t, options)
			config := syncserver.ServerConfig{Window: test.window, Timeout: time.Second, Lease: time.Second}
			server := serve(t, s, rules, config)
			require.NoError(t, server.Ready(t.Context()))
			answered, failure := fill(t, client(t, connect(t, s), rules), server)
			require.ErrorContains(t, failure, test.failure)
			s.Shutdown()

			enlarge()
			options.MaxStore = 0
			s = store(t, options)
			server = serve(t, s, rules, config)
			stillThere(t, client(t, connect(t, s), rules), answered)
			require.NoError(t, server.Ready(t.Context()))
		})
	}
}

// smallDisk mounts a file system of 4 MiB on a directory, which becomes larger by the function that it gives. Tests that
// need it are skipped where none can be mounted.
func smallDisk(t *testing.T, dir string) (enlarge func()) {
	t.Helper()
	mount := func(options string) error {
		said, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "none", dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mount: %s: %w", said, err)
		}
		return nil
	}
	if err := mount("size=4m"); err != nil {
		t.Skipf("no small disk can be had here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
	return func() { require.NoError(t, mount("remount,size=64m")) }
}

// fill attempts until an attempt is not answered and the server is not ready. It gives what was answered, and why the last
// one was not.
func fill(t *testing.T, e adapter.Executor, server *syncserver.Server) (answered []enactment.Attempt, failure error) {
	t.Helper()
	large := strings.Repeat("fig ", 25_000)
	for n := 0; ; n++ {
		require.Less(t, n, 10_000, "it is never full")
		a := Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", large)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		outcome, err := e.Attempt(ctx, a)
		cancel()
		if err == nil {
			require.Equal(t, "accepted at 1", answerOf(outcome))
			answered = append(answered, a)
			continue
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		if unready := server.Ready(t.Context()); unready != nil { // else it was only slow
			require.ErrorContains(t, unready, "the last write failed")
			require.NotEmpty(t, answered)
			return answered, err
		}
	}
}

// stillThere demands that attempts get the answer that they got before, and that more are taken.
func stillThere(t *testing.T, e adapter.Executor, answered []enactment.Attempt) {
	t.Helper()
	for _, a := range answered {
		require.Equal(t, uint64(1), Accepted(t, e, a).Sequence)
		a.ID += " again"
		require.Equal(t, enactment.AlreadyHappened, Refused(t, e, a))
	}
	Accepted(t, e, Attempt(Buyer, "RFQ", "afterwards", "item", "fig"))
}
