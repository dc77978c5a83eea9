package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/benchmark"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

type benchCommand struct {
	engineFlags `set:"executor=process"`

	Protocol string        `arg:"" default:"purchase" help:"${openHelp}"`
	AtOnce   int           `default:"64" help:"How many enactments go on at once."`
	Rivals   int           `default:"1" help:"How many agents attempt each step of an enactment at once; all but one are refused."`
	Attempts int           `default:"20000" help:"How many attempts to make."`
	Duration time.Duration `default:"1m" help:"How long to go on at the most."`
	Replicas int           `default:"1" help:"How many servers of a NATS cluster keep each stream, where --nats is one."`
	JSON     bool          `name:"json" help:"Print the answer as JSON."`
}

// Help is shown by strabo bench --help.
func (benchCommand) Help() string {
	return `Plays enactments of a protocol, each as far as it goes, and tells how many attempts a second were decided, how ` +
		`long they took, how many were refused and why, and how much processor time this process spent on each: agents, ` +
		`server and NATS, as far as they run in it.

With --executor process a server runs in this process, and with --executor nats it is asked over NATS; it keeps a system ` +
		`of its own, which is removed afterwards. With --executor nats and --nats, the servers of the protocol's system ` +
		`must be running elsewhere: what is attempted stays in their log.

Exit status: 0 when it is done, or was interrupted after some attempts; 2 when something failed.`
}

func (benchCommand) examples() string {
	return `  strabo bench
  strabo bench --store /tmp/bench --durability fsync
  strabo bench purchase --executor nats --finalize batch --window 5ms --rivals 4
  strabo bench purchase.lsh --nats nats://127.0.0.1:4222 --replicas 3 --at-once 256 --json
`
}

// benchAnswer is what a benchmark came to.
type benchAnswer struct {
	Protocol string `json:"protocol"`
	Executor string `json:"executor"`
	// Durability and Finalize are left out where others serve, who decide that.
	Durability string                 `json:"durability,omitempty"`
	Finalize   string                 `json:"finalize,omitempty"`
	AtOnce     int                    `json:"at_once"`
	Rivals     int                    `json:"rivals"`
	Attempts   int64                  `json:"attempts"`
	Refused    int                    `json:"refused"`
	Reasons    map[enactment.Code]int `json:"refused_by_code,omitempty"`
	Seconds    float64                `json:"seconds"`
	PerSecond  float64                `json:"attempts_per_second"`
	P50        float64                `json:"p50_ms"`
	P95        float64                `json:"p95_ms"`
	P99        float64                `json:"p99_ms"`
	Slowest    float64                `json:"slowest_ms"`
	// CPU is 0 where the system does not tell.
	CPU float64 `json:"cpu_microseconds_per_attempt"`
}

// Run plays and tells.
func (c *benchCommand) Run(ctx context.Context, s *streams) (err error) {
	if c.AtOnce < 1 || c.Attempts < 1 || c.Rivals < 1 || c.Replicas < 1 || c.Duration <= 0 {
		return errors.New("--at-once, --attempts, --rivals, --replicas and --duration must be positive")
	}
	rules, err := openRules(s, c.Protocol)
	if err != nil {
		return err
	}
	all, err := c.engines(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	all.replicas = c.Replicas
	defer all.close()
	run := fmt.Sprint("bench-", time.Now().UnixNano())
	open := all.of(ctx, run)
	elsewhere := c.NATS != "" && c.Executor == onNATS
	if elsewhere {
		open = all.served
	} else if all.store != nil {
		if all.store.keys == nil { // what is sealed with it is removed
			if all.store.keys, err = passingKey(); err != nil {
				return err
			}
		}
		defer func() {
			// The context may have ended, which is no reason to leave anything behind.
			removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
			defer cancel()
			err = errors.Join(err, syncserver.Remove(removing, all.store.conn, run))
		}()
	}
	executor, err := open(rules, nil)
	if err != nil {
		return err
	}
	defer executor.Close()
	player := func(part string, most int) *benchmark.Player {
		return &benchmark.Player{
			Rules: rules, Executor: executor, Run: run + part, AtOnce: c.AtOnce, Rivals: c.Rivals, Most: int64(most),
		}
	}
	// What is slow once only, such as the election of a sequencer, is over when the clock starts.
	warming := player("-warm", c.AtOnce*c.Rivals)
	if err := c.play(ctx, warming); err != nil {
		return err
	}
	if warming.Decided() == 0 {
		return fmt.Errorf("nothing was decided within %v", c.Duration)
	}
	measured := player("", c.Attempts)
	stop := func() {}
	if isTerminal(s.err) {
		stop = progress(s.err, measured)
	}
	before, began := processorTime(), time.Now()
	err = c.play(ctx, measured)
	took, spent := time.Since(began), processorTime()-before
	stop()
	if err != nil {
		return err
	}
	if measured.Decided() == 0 {
		return errors.New("it was ended before anything was decided")
	}
	return c.answer(s, rules, measured, took, spent, elsewhere)
}

// passingKey makes a key that nobody keeps.
func passingKey() (*syncserver.Keyring, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return syncserver.NewKeyring(key)
}

// play plays as long as it may take.
func (c *benchCommand) play(ctx context.Context, p *benchmark.Player) error {
	ctx, cancel := context.WithTimeout(ctx, c.Duration)
	defer cancel()
	return p.Play(ctx)
}

// answer tells what it came to.
func (c *benchCommand) answer(
	s *streams, rules *enactment.Rules, p *benchmark.Player, took, spent time.Duration, elsewhere bool,
) error {
	milliseconds := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	n := p.Decided()
	a := benchAnswer{
		Protocol: rules.Protocol().Name(), Executor: c.Executor, AtOnce: c.AtOnce, Rivals: c.Rivals, Attempts: n,
		Reasons: p.Refused(), Seconds: took.Seconds(), PerSecond: float64(n) / took.Seconds(),
		P50: milliseconds(p.Latencies.Percentile(50)), P95: milliseconds(p.Latencies.Percentile(95)),
		P99: milliseconds(p.Latencies.Percentile(99)), Slowest: milliseconds(p.Latencies.Slowest()),
		CPU: float64(spent.Nanoseconds()) / 1000 / float64(n),
	}
	for _, count := range a.Reasons {
		a.Refused += count
	}
	switch {
	case c.Executor == onLocal:
		a.Durability, a.Finalize = inMemory, c.Finalize
	case !elsewhere:
		a.Durability, a.Finalize = c.Durability, c.Finalize
	}
	if c.JSON {
		return printLine(s, a)
	}
	_, err := io.WriteString(s.out, a.text())
	return err
}

func (a *benchAnswer) text() string {
	var to strings.Builder
	fmt.Fprintf(&to, "%d attempts in %.2f s: %.0f a second\n", a.Attempts, a.Seconds, a.PerSecond)
	fmt.Fprintf(&to, "%d refused", a.Refused)
	for i, code := range slices.Sorted(maps.Keys(a.Reasons)) {
		fmt.Fprintf(&to, "%s %s %d", map[bool]string{true: ":", false: ","}[i == 0], code, a.Reasons[code])
	}
	fmt.Fprintf(&to, "\np50 %.3f ms, p95 %.3f ms, p99 %.3f ms, slowest %.3f ms\n", a.P50, a.P95, a.P99, a.Slowest)
	if a.CPU > 0 {
		fmt.Fprintf(&to, "%.1f µs of processor time for each attempt\n", a.CPU)
	}
	return to.String()
}

// progress shows how far a player is, until it is stopped.
func progress(w io.Writer, p *benchmark.Player) (stop func()) {
	ticker, done, ended := time.NewTicker(100*time.Millisecond), make(chan struct{}), make(chan struct{})
	began, shown := time.Now(), 0
	show := func(line string) {
		fmt.Fprintf(w, "\r%s%s", line, strings.Repeat(" ", max(shown-len(line), 0)))
		shown = len(line)
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				show(progressLine(p.Decided(), p.Most, time.Since(began)))
			case <-done:
				show("")
				fmt.Fprint(w, "\r")
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// progressLine is how far it is, in one line of ASCII.
func progressLine(decided, most int64, took time.Duration) string {
	const width = 30
	filled := int(min(decided*width/most, width))
	return fmt.Sprintf("[%s%s] %d of %d, %.0f a second", strings.Repeat("#", filled), strings.Repeat(".", width-filled),
		decided, most, float64(decided)/max(took.Seconds(), 1e-9))
}
