package syncserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// childConfig is what a child process is told by its environment.
type childConfig struct {
	// Does says what the process is: a server if empty, else a shop or one that attempts.
	Does string `json:"does"`
	// URL is where a process finds NATS. A server without it has one inside.
	URL string `json:"url"`
	// Attempt is the argument of played.Attempt, for one that attempts.
	Attempt childAttempt `json:"attempt"`

	Store  string        `json:"store"`
	Listen string        `json:"listen"`
	Window time.Duration `json:"window"`
	Lease  time.Duration `json:"lease"`
	Memory bool          `json:"memory"`
	Sync   bool          `json:"sync"`
}

const childVariable = "STRABO_TEST_CHILD"

func runChild(text string) error {
	var c childConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	switch c.Does {
	case doesShop:
		return runShop(c)
	case doesAttempt:
		return runAttempt(c)
	default:
		return runServer(c)
	}
}

// runServer is a server in a process of its own: it prints where it listens, and serves until it is killed.
func runServer(c childConfig) error {
	url := c.URL
	if url == "" {
		s, err := embedded.Start(embedded.Options{StoreDir: c.Store, Listen: c.Listen, SyncAlways: c.Sync})
		if err != nil {
			return err
		}
		defer s.Shutdown()
		url = s.URL()
	}
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	rules, err := compile(played.Purchase)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := syncserver.NewServer(ctx, conn, rules, syncserver.ServerConfig{
		Window: c.Window, Lease: c.Lease, Memory: c.Memory, Logger: quiet(),
	})
	if err != nil {
		return err
	}
	fmt.Println(url)
	<-ctx.Done()
	return server.Close(context.Background())
}

// child is a process that runs runServer.
type child struct {
	config childConfig
	cmd    *exec.Cmd
	url    string
}

func (c *child) start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(c.config)
	require.NoError(t, err)
	executable, err := os.Executable()
	require.NoError(t, err)
	c.cmd = exec.Command(executable)
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	c.url = line[:len(line)-1]
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // it was killed
}

// halt stops the process where it is, for a while.
func (c *child) halt(t *testing.T, pause time.Duration) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(pause)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGCONT))
}

// often is a number that the environment may say, so that the same test is small every day and large by hand.
func often(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestKilledServers kills the process that holds server and store in the middle of a storm of attempts, again and again:
// STRABO_TEST_KILLS times. Every acknowledged attempt must be there, nothing twice, and every attempt must end with the
// truth.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := played.Rules(t, played.Purchase)
			c := &child{config: childConfig{
				Store: t.TempDir(), Listen: "127.0.0.1:0", Window: window, Lease: 300 * time.Millisecond,
			}}
			c.start(t)
			t.Cleanup(func() { c.kill(t) })
			// The next one takes its place, at another port: that of before may be somebody else's by then.
			place := newWire(t, strings.TrimPrefix(c.url, "nats://"))
			var executors []adapter.Executor
			for range 8 {
				conn, err := nats.Connect(place.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond), nats.ReconnectJitter(0, 0))
				require.NoError(t, err)
				t.Cleanup(conn.Close)
				e, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{
					Try: 300 * time.Millisecond, LongestWait: 50 * time.Millisecond, Logger: quiet(),
				})
				require.NoError(t, err)
				t.Cleanup(e.Close)
				executors = append(executors, e)
			}
			storm{executors: executors, batch: window > 0, meanwhile: func(s *storming) {
				for range often(t, "STRABO_TEST_KILLS", 3) {
					s.wait(10 + rand.IntN(100))
					c.kill(t)
					c.start(t)
					place.lead(strings.TrimPrefix(c.url, "nats://"))
				}
				s.wait(10)
			}}.run(t)
		})
	}
}

// TestRacingServers has two servers and eight agents race in STRABO_TEST_RACES enactments, and checks every history.
func TestRacingServers(t *testing.T) {
	t.Parallel()
	enactments := often(t, "STRABO_TEST_RACES", 50)
	if testing.Short() {
		enactments = 20
	}
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 2 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := played.Rules(t, played.Purchase)
			s := store(t, embedded.Options{})
			for range 2 {
				serve(t, s, rules, syncserver.ServerConfig{Window: window})
			}
			var executors []adapter.Executor
			for range 8 {
				executors = append(executors, client(t, connect(t, s), rules))
			}
			storm{executors: executors, batch: window > 0, enactments: enactments}.run(t)
		})
	}
}

// TestHaltedServers halts one of two servers, each a process, for longer than a lease, again and again in the middle of
// a storm. In batch finalisation the other takes its partitions, and for a moment there are two sequencers, one of which
// has a window from before that it still wants decided. It can do no harm.
func TestHaltedServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes, and waits for leases")
	}
	const lease = 100 * time.Millisecond
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := played.Rules(t, played.Purchase)
			s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
			servers := make([]child, 2)
			for i := range servers {
				servers[i].config = childConfig{URL: s.URL(), Window: window, Lease: lease}
				servers[i].start(t)
				t.Cleanup(func() { servers[i].kill(t) })
			}
			var executors []adapter.Executor
			for range 6 {
				e, err := syncserver.NewClient(connect(t, s), rules, syncserver.ClientConfig{Try: lease, LongestWait: lease, Logger: quiet()})
				require.NoError(t, err)
				t.Cleanup(e.Close)
				executors = append(executors, e)
			}
			storm{executors: executors, batch: window > 0, meanwhile: func(s *storming) {
				for n := range often(t, "STRABO_TEST_HALTS", 4) {
					s.wait(rand.IntN(40))
					servers[n%2].halt(t, lease+rand.N(lease))
				}
				s.wait(10)
			}}.run(t)
		})
	}
}
