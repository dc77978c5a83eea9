package syncserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// TestPowerCut measures what a power cut loses at each level of durability: it cuts STRABO_TEST_POWER_CUTS times, at a
// random moment within STRABO_TEST_POWER_SECONDS. The server's files are on an ext4 of their own, which is shut down
// under it, so that from one moment to the next nothing more reaches the device: what the kernel holds and has not
// written is lost, as it would be without power. (What a device itself holds back after it said that it had written is
// not; there is none here that does.)
//
// Whatever is lost, the server must start again, and what is there must be legal and have no gaps. With fsync nothing
// that was acknowledged may be missing.
func TestPowerCut(t *testing.T) {
	cuts := often(t, "STRABO_TEST_POWER_CUTS", 0)
	switch {
	case cuts == 0:
		t.Skip("STRABO_TEST_POWER_CUTS does not say how often")
	case os.Geteuid() != 0:
		t.Skip("only root can mount a file system to cut off")
	}
	seconds := often(t, "STRABO_TEST_POWER_SECONDS", 60)
	for _, level := range []string{"none", "ack", "fsync"} {
		for n := range cuts {
			t.Run(fmt.Sprintf("%s %d", level, n), func(t *testing.T) {
				t.Parallel()
				after := time.Second + rand.N(time.Duration(seconds)*time.Second)
				cutPower(t, level, time.Duration(n%2)*5*time.Millisecond, after)
			})
		}
	}
}

// acknowledged is an attempt that was accepted.
type acknowledged struct {
	id       string
	enacted  enactment.Key
	sequence uint64
	began    time.Time
	at       time.Time
}

func cutPower(t *testing.T, level string, window, after time.Duration) {
	dir := filepath.Join(t.TempDir(), "disk")
	image := dir + ".img"
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 1<<30))
	run(t, "mkfs.ext4", "-q", "-F", image)
	run(t, "mount", "-o", "loop", image, dir)
	mounted := true
	t.Cleanup(func() {
		if mounted {
			run(t, "umount", dir)
		}
	})
	c := &child{config: childConfig{
		Store: filepath.Join(dir, "store"), Listen: "127.0.0.1:0", Window: window, Lease: time.Second,
		Memory: level == "none", Sync: level == "fsync",
	}}
	c.start(t)
	running := true
	t.Cleanup(func() {
		if running {
			c.kill(t)
		}
	})
	rules := played.Rules(t, played.Purchase)
	began := time.Now()
	told, cut := storeUntilCut(t, c.url, rules, after, func() { shutFileSystem(t, dir) })
	c.kill(t)
	running = false
	run(t, "umount", dir)
	mounted = false
	run(t, "mount", "-o", "loop", image, dir) // which replays the journal
	mounted = true
	c.start(t)
	running = true

	conn, err := nats.Connect(c.url)
	require.NoError(t, err)
	defer conn.Close()
	archive, err := syncserver.NewArchive(t.Context(), conn, rules, "", nil)
	require.NoError(t, err)
	_, err = archive.Verify(t.Context(), "", func(f syncserver.Fault) { t.Errorf("%v", f) })
	require.NoError(t, err)
	there := make(map[string]enactment.Record)
	require.NoError(t, archive.Records(t.Context(), "", func(r enactment.Record) bool {
		if r.Kind == enactment.Happened {
			there[r.Attempt] = r
		}
		return true
	}))
	var lost []acknowledged
	var latest time.Time // when the latest of those that are there was begun
	first := cut
	for _, a := range told {
		r, ok := there[a.id]
		if !ok {
			lost = append(lost, a)
			if a.at.Before(first) {
				first = a.at
			}
			continue
		}
		require.Equal(t, a.sequence, r.Sequence)
		require.Equal(t, a.enacted, r.Enactment)
		if a.began.After(latest) {
			latest = a.began
		}
	}
	for _, a := range lost {
		require.False(t, a.at.Before(latest), "%s is lost, though what was attempted after it was answered is there", a.id)
	}
	if level == "fsync" {
		require.Empty(t, lost)
	}
	client, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Logger: quiet()})
	require.NoError(t, err)
	defer client.Close()
	conformance.Accepted(t, client, played.Attempt(played.Buyer, "RFQ", "afterwards", "item", "fig"))
	finalisation := "immediate"
	if window > 0 {
		finalisation = "batch"
	}
	t.Logf("| %s | %s | %.1f s | %d | %d | %.1f s |", level, finalisation, cut.Sub(began).Seconds(), len(told), len(lost), cut.Sub(first).Seconds())
}

// storeUntilCut attempts until the power is cut, and gives what was acknowledged by then.
func storeUntilCut(
	t *testing.T, url string, rules *enactment.Rules, after time.Duration, cutOff func(),
) (told []acknowledged, cut time.Time) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var agents sync.WaitGroup
	for agent := range 4 {
		conn, err := nats.Connect(url)
		require.NoError(t, err)
		defer conn.Close()
		e, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Logger: quiet()})
		require.NoError(t, err)
		defer e.Close()
		agents.Go(func() {
			pace := time.NewTicker(100 * time.Millisecond)
			defer pace.Stop()
			for n := 0; ; n++ {
				id := fmt.Sprint(agent, "-", n)
				for sequence, a := range []enactment.Attempt{
					played.Attempt(played.Buyer, "RFQ", id, "item", "fig"),
					played.Attempt(played.Seller, "Quote", id, "price", 5),
					played.Attempt(played.Buyer, "Accept", id, "address", "here"),
				} {
					began := time.Now()
					outcome, err := e.Attempt(ctx, a)
					if err != nil {
						return // the power is off
					}
					if outcome.Rejection != nil {
						t.Errorf("%s: %s", a.ID, outcome.Rejection)
						return
					}
					mu.Lock()
					told = append(told, acknowledged{a.ID, played.KeyOf(id), uint64(sequence + 1), began, time.Now()})
					mu.Unlock()
				}
				select {
				case <-pace.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	time.Sleep(after)
	mu.Lock()
	known := len(told)
	mu.Unlock()
	cut = time.Now()
	cutOff()
	stop()
	agents.Wait()
	require.NotZero(t, known)
	return told[:known], cut
}

// shutFileSystem has a file system write nothing more, neither data nor its journal.
func shutFileSystem(t *testing.T, dir string) {
	t.Helper()
	const (
		shutdown     = 0x8004587d // FS_IOC_SHUTDOWN
		withoutFlush = 2
	)
	f, err := os.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.NoError(t, unix.IoctlSetPointerInt(int(f.Fd()), shutdown, withoutFlush))
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	said, err := exec.Command(name, arguments...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, arguments, said)
}
