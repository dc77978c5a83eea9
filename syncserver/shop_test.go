package syncserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
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

// Processes that are agents tell on standard output what they do, one word and one enactment a line, and go on with
// what they ask leave for when the same line comes back on standard input. So a test knows where exactly they are when
// it kills them.
const (
	doesShop    = "shop"
	doesAttempt = "attempt"
)

// leave is what a process waits for.
type leave struct {
	mu    sync.Mutex
	given map[string]chan struct{}
}

func (l *leave) of(line string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given == nil {
		l.given = make(map[string]chan struct{})
	}
	if l.given[line] == nil {
		l.given[line] = make(chan struct{}, 16)
	}
	return l.given[line]
}

// read takes leave in until the input ends.
func (l *leave) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		l.of(lines.Text()) <- struct{}{}
	}
}

// ask tells what is to be done and waits for leave.
func (l *leave) ask(ctx context.Context, what, id string) error {
	line := what + " " + id
	fmt.Println(line)
	select {
	case <-l.of(line):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func idOf(key enactment.Key) string { return strings.Trim(key.Values()["ID"].String(), `"`) }

// runShop is a seller that charges for each order. It ends with its standard input.
func runShop(c childConfig) error {
	rules, err := compile(Purchase)
	if err != nil {
		return err
	}
	conn, err := nats.Connect(c.URL, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer conn.Close()
	executor, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Logger: quiet()})
	if err != nil {
		return err
	}
	defer executor.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var l leave
	go func() {
		l.read(os.Stdin)
		cancel()
	}()
	a, err := adapter.New(rules, "Seller", telling{executor, &l}, adapter.WithLogger(quiet()))
	if err != nil {
		return err
	}
	a.OnObservation("RFQ", func(ctx context.Context, o adapter.Observation) error {
		return l.ask(ctx, "charge", idOf(o.Enactment.Key()))
	})
	a.OnObservation("Reject", func(_ context.Context, o adapter.Observation) error {
		fmt.Println("reject", idOf(o.Enactment.Key()))
		return nil
	})
	return a.Run(ctx)
}

// telling is an executor that asks leave before it stores a position, and tells when it is stored.
type telling struct {
	adapter.Executor
	leave *leave
}

func (e telling) Join(ctx context.Context, as enactment.Identity) (adapter.Feed, error) {
	feed, err := e.Executor.Join(ctx, as)
	if err != nil {
		return nil, err
	}
	fmt.Println("joined", as)
	return tellingFeed{feed, e.leave}, nil
}

type tellingFeed struct {
	adapter.Feed
	leave *leave
}

func (f tellingFeed) Store(ctx context.Context, key enactment.Key, sequence uint64) error {
	if err := f.leave.ask(ctx, "store", idOf(key)); err != nil {
		return err
	}
	err := f.Feed.Store(ctx, key, sequence)
	if err == nil {
		fmt.Println("stored", idOf(key))
	}
	return err
}

// said is a line of a process.
type said struct {
	by       *process
	what, id string
}

// process is one that runs runShop or runAttempt.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{} // closed when all that it said was taken in
	once  sync.Once
}

// startProcess starts a process, which tells into a channel until it ends. It is killed with the test.
func startProcess(t *testing.T, c childConfig, tells chan<- said) *process {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	executable, err := os.Executable()
	require.NoError(t, err)
	a := &process{cmd: exec.Command(executable), ended: make(chan struct{})}
	a.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	a.cmd.Stderr = os.Stderr
	a.input, err = a.cmd.StdinPipe()
	require.NoError(t, err)
	output, err := a.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, a.cmd.Start())
	go func() {
		defer close(a.ended)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			what, id, _ := strings.Cut(lines.Text(), " ")
			tells <- said{a, what, id}
		}
	}()
	t.Cleanup(a.kill)
	return a
}

// kill kills the process (-9).
func (a *process) kill() {
	a.once.Do(func() {
		_ = a.cmd.Process.Kill() // it may have ended by itself
		<-a.ended
		_ = a.cmd.Wait()
	})
}

// permit gives leave for what an agent told.
func permit(t *testing.T, s said) {
	t.Helper()
	_, err := fmt.Fprintln(s.by.input, s.what, s.id)
	require.NoError(t, err)
}

// hear takes in the next line of any process.
func hear(t *testing.T, tells <-chan said) said {
	t.Helper()
	select {
	case s := <-tells:
		return s
	case <-time.After(time.Minute):
		require.FailNow(t, "nobody says anything")
		return said{}
	}
}

// TestShopDiesInItsHandler has two processes of one shop charge for orders, and kills one (-9) in the middle: with one
// order in its handler, and with another whose handler has returned but whose position is not stored yet. These two are
// charged a second time, by the other process; every other order once.
func TestShopDiesInItsHandler(t *testing.T) {
	t.Parallel()
	orders := 24
	windows := map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond}
	if testing.Short() {
		orders = 12
		delete(windows, "batch")
	}
	for name, window := range windows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shopDies(t, window, orders)
		})
	}
}

func shopDies(t *testing.T, window time.Duration, orders int) {
	const handling, storing = "handling", "storing"
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
	serve(t, s, rules, syncserver.ServerConfig{Window: window, Lease: 5 * time.Second})
	buyer := client(t, connect(t, s), rules)
	order := func(ids ...string) {
		var attempts sync.WaitGroup
		for _, id := range ids {
			attempts.Go(func() { Accepted(t, buyer, Attempt(Buyer, "RFQ", id, "item", "fig")) })
		}
		attempts.Wait()
	}
	tells := make(chan said, 16*orders) // so that a process that is killed never waits to be heard
	charges, stored := make(map[string][]*process), make(map[string]*process)
	// listen takes in what the processes say, gives leave for all but what is held, until enough is known.
	listen := func(held func(said) bool, enough func() bool) {
		t.Helper()
		for !enough() {
			tell := hear(t, tells)
			switch tell.what {
			case "charge":
				charges[tell.id] = append(charges[tell.id], tell.by)
			case "stored":
				stored[tell.id] = tell.by
			}
			if (tell.what == "charge" || tell.what == "store") && !held(tell) {
				permit(t, tell)
			}
		}
	}
	ready := func() *process {
		t.Helper()
		a := startProcess(t, childConfig{Does: doesShop, URL: s.URL()}, tells)
		require.Equal(t, said{a, "joined", "Seller"}, hear(t, tells))
		return a
	}

	dying := ready()
	order(handling, storing)
	reached := make(map[string]bool)
	held := func(tell said) bool {
		if tell.by == dying && (tell.what+tell.id == "charge"+handling || tell.what+tell.id == "store"+storing) {
			reached[tell.id] = true
			return true
		}
		return false
	}
	listen(held, func() bool { return len(reached) == 2 })
	other := ready()
	all := []string{handling, storing}
	for n := range orders {
		all = append(all, fmt.Sprint(n))
	}
	order(all[2:]...)
	listen(held, func() bool { return len(stored) == orders })
	for _, id := range all {
		require.Len(t, charges[id], 1, "%s, while both live", id)
	}

	dying.kill()
	listen(held, func() bool { return len(stored) == orders+2 })
	// What is handled next in each enactment comes after anything that would be handled again.
	for _, id := range all {
		Accepted(t, buyer, Attempt(Buyer, "Reject", id))
	}
	rejected := make(map[string]int)
	for len(rejected) < len(all) {
		switch tell := hear(t, tells); tell.what {
		case "reject":
			require.Same(t, other, tell.by)
			rejected[tell.id]++
		case "charge":
			require.Fail(t, "charged again", tell.id)
		case "store":
			permit(t, tell)
		}
	}
	for _, id := range all {
		require.Equal(t, 1, rejected[id])
		if id == handling || id == storing {
			require.Equal(t, []*process{dying, other}, charges[id], "%s, which was not stored", id)
			continue
		}
		require.Len(t, charges[id], 1, "%s, which was stored", id)
	}
}
