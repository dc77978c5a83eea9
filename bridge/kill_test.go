package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/syncserver"
)

// bridgeProcess makes the test binary a bridge that is to be killed, as its value says.
const bridgeProcess = "STRABO_TEST_KILLED_BRIDGE"

// killed says what a bridge process does, and before which of its steps it is killed; 0 for none.
type killed struct {
	Shop, Folder, Scenario string
	Before                 int
}

// deadline kills the process, with SIGKILL, before the step that is its turn. A step is whatever leaves a trace: an entry
// of the journal, a call, a question or its decision, a record of the audit, and the end.
type deadline struct {
	mu   sync.Mutex
	left int
}

func (d *deadline) step() { d.stepping(func() {}) }

// stepping does something half before the process is killed.
func (d *deadline) stepping(half func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left != 0 {
		return
	}
	half()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Fprintln(os.Stderr, "cannot die:", err)
	select {}
}

// mortalJournal dies while an entry is written: half of its line is there. As each process has a new executor, what was answered before is
// answered again there.
type mortalJournal struct {
	*bridge.FileJournal
	*deadline
	name  string
	begun time.Time
}

func (j *mortalJournal) Append(ctx context.Context, e bridge.Entry) error {
	j.stepping(func() {
		line := must(json.Marshal(e))
		file := must(os.OpenFile(j.name, os.O_WRONLY|os.O_APPEND, 0))
		must(file.Write(line[:len(line)/2]))
	})
	return j.FileJournal.Append(ctx, e)
}

func (j *mortalJournal) Load(ctx context.Context, key enactment.Key) ([]bridge.Entry, error) {
	entries, err := j.FileJournal.Load(ctx, key)
	var kept []bridge.Entry
	for _, e := range entries {
		if e.Kind != bridge.EntryAnswered || !e.At.Before(j.begun) {
			kept = append(kept, e)
		}
	}
	return kept, err
}

type mortalCaller struct {
	bridge.Caller
	*deadline
}

func (c *mortalCaller) Call(ctx context.Context, r bridge.Request) (bridge.Response, error) {
	c.step()
	return c.Caller.Call(ctx, r)
}

// mortalApprover asks, and agrees itself.
type mortalApprover struct {
	approval.Store
	*deadline
}

func (a *mortalApprover) Ask(ctx context.Context, r approval.Request) (approval.Decision, error) {
	a.step()
	decision, err := a.Store.Ask(ctx, r)
	if err != nil || decision.State != approval.Pending {
		return decision, err
	}
	a.step()
	if err := a.Decide(ctx, r.ID, approval.Verdict{Granted: true, Digest: r.Digest, By: "ben"}); err != nil {
		return decision, err
	}
	entry, err := a.Get(ctx, r.ID)
	return entry.Decision, err
}

// runKilledBridge plays a scenario from its beginning, on an executor of its own, with the journal of those before it. It
// prints how that ended.
func runKilledBridge() int {
	var k killed
	if err := json.Unmarshal([]byte(os.Getenv(bridgeProcess)), &k); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ending, err := k.play()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(ending)
	return 0
}

// must ends a bridge process that cannot even begin.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// lasting is how long a bridge goes on asking: long enough on a busy machine, and no minute where nobody will ever know.
var lasting = bridge.Patience{
	First: hasty.First, Longest: hasty.Longest, Sends: hasty.Sends, Asks: hasty.Asks, Deadline: 10 * time.Second,
}

func (k killed) play() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	protocol, _ := langshaw.Parse(must(os.ReadFile("testdata/booking.lsh")))
	rules := must(enactment.Compile(protocol, enactment.WithSecrets("card")))
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	mapping := must(bridge.Load("governed.yaml", must(os.ReadFile("testdata/governed.yaml")), rules, nil))
	text := strings.Replace(string(must(os.ReadFile("testdata/governed.contracts.yaml"))), "scope: hotel.pay", "scope: hotel.pay\n        approval: {required: true}", 1)
	governing := must(policy.New(must(policy.ReadContracts(policy.File{Name: "c", Text: []byte(text)})), policy.Options{}))
	death := &deadline{left: k.Before}
	journal := must(bridge.OpenFileJournal(filepath.Join(k.Folder, "journal")))
	defer journal.Close()
	records := must(audit.OpenFile(filepath.Join(k.Folder, "audit"), audit.FileOptions{}))
	defer records.Close()
	ended := make(chan string, 10)
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	b := must(bridge.New(rules, exec, mapping, bridge.Options{
		BaseURL: k.Shop, Policy: governing, Logger: logger,
		Journal:   &mortalJournal{journal, death, filepath.Join(k.Folder, "journal"), time.Now()},
		Caller:    &mortalCaller{bridge.NewHTTPCaller(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, 0, 0), death},
		Approvals: &mortalApprover{must(approval.OpenFileStore(filepath.Join(k.Folder, "approvals"), approval.FileOptions{})), death},
		Audit: audit.SinkFunc(func(ctx context.Context, r audit.Record) error {
			death.step()
			return records.Record(ctx, r)
		}),
		AuditRequired: true,
		Hasher:        audit.NewHasher(make([]byte, audit.HashKeySize)),
		Patience:      lasting,
		OnUnknown:     func(u bridge.Unsettled) { ended <- "unknown " + u.Step },
		OnDiverged:    func(d bridge.Divergence) { ended <- "diverged " + d.Detail },
	}))
	guest := must(adapter.New(rules, "Guest", exec, adapter.WithLogger(logger)))
	for _, action := range []string{"Booked", "Full", "Paid", "Failed", "Withdrawn"} {
		guest.OnObservation(action, func(context.Context, adapter.Observation) error {
			ended <- action
			return nil
		})
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 2)
	go func() { stopped <- b.Run(running) }()
	go func() { stopped <- guest.Run(running) }()
	defer func() {
		stop()
		<-stopped
		<-stopped
	}()
	next := func() string {
		select {
		case e := <-ended:
			return e
		case <-ctx.Done():
			return "nothing"
		}
	}
	if err := guest.Attempt(ctx, "Ask", adapter.Values{"rid": "r1", "room": 7, "guest": "Ann"}).Err(ctx); err != nil {
		return "", err
	}
	if e := next(); e != "Booked" {
		return e, nil
	}
	values := adapter.Values{"rid": "r1", "number": "n1"}
	action := "Withdraw"
	if k.Scenario == "pay" {
		action, values["card"] = "Pay", token
	}
	if err := guest.Attempt(ctx, action, values).Err(ctx); err != nil {
		return "", err
	}
	ending := next()
	death.step()
	return ending, nil
}

// run starts the process and tells how it ended; killed if it was.
func (k killed) run(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(k)
	require.NoError(t, err)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), bridgeProcess+"="+string(text))
	var said, failed strings.Builder
	process.Stdout, process.Stderr = &said, &failed
	if err := process.Run(); err != nil {
		require.Equal(t, -1, process.ProcessState.ExitCode(), "%v: %s", err, failed.String())
		return "killed"
	}
	return strings.TrimSpace(said.String())
}

// TestKilledBeforeEveryStep kills a bridge, with SIGKILL, before each of its steps or halfway in it, and lets another go on. What is
// declared idempotent is done exactly once; what is not, at most once, and never told as done or not done unless it is.
// With STRABO_TEST_KILLS the second process is killed as well, before each of its steps.
func TestKilledBeforeEveryStep(t *testing.T) {
	t.Parallel()
	// How many steps there are depends on what is observed at once; there are never as few as these.
	for scenario, fewest := range map[string]int{"pay": 15, "withdraw": 9} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			every := 1
			if testing.Short() {
				every = 4
			}
			kills := 0
			for before := 1; ; before += every {
				k := killed{Shop: newHostileShop(t).url, Folder: t.TempDir(), Scenario: scenario, Before: before}
				ending := k.run(t)
				if ending != "killed" {
					k.check(t, ending)
					break
				}
				kills++
				k.Before = 0
				k.check(t, k.run(t))
				for again := 1; os.Getenv("STRABO_TEST_KILLS") != ""; again++ {
					k = killed{Shop: newHostileShop(t).url, Folder: t.TempDir(), Scenario: scenario, Before: before}
					require.Equal(t, "killed", k.run(t))
					if k.Before = again; k.run(t) != "killed" {
						break
					}
					k.Before = 0
					k.check(t, k.run(t))
				}
			}
			require.GreaterOrEqual(t, kills*every, fewest, "there are that many steps")
		})
	}
}

// check holds what is told against what the shop has done.
func (k killed) check(t *testing.T, ending string) {
	t.Helper()
	shop := &hostileShop{t, k.Shop}
	defer t.Logf("%+v %s", k, ending)
	where := fmt.Sprintf("%s, killed before step %d, ended with %q", k.Scenario, k.Before, ending)
	require.Equal(t, 1, shop.effects(reserveLine), where)
	keys := make(map[string]string)
	for _, r := range shop.books().Requests {
		if r.Key != "" {
			if body, again := keys[r.Key]; again {
				require.Equal(t, body, r.Line+r.Body, "one key, one request")
			}
			keys[r.Key] = r.Line + r.Body
		}
	}
	if k.Scenario == "pay" {
		require.Equal(t, "Paid", ending, where)
		require.Equal(t, 1, shop.effects(payLine), where)
		return
	}
	done := shop.effects(withdrawLine)
	require.LessOrEqual(t, shop.asked(withdrawLine), 1, where)
	switch ending {
	case "Withdrawn":
		require.Equal(t, 1, done, where)
	case "unknown withdraw":
		require.LessOrEqual(t, done, 1, where)
	default:
		t.Fatal(where)
	}
}
