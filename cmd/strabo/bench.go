package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
)

type benchCommand struct {
	engineFlags `set:"executor=process"`

	Protocol string        `arg:"" default:"purchase" help:"${openHelp}"`
	At       int           `name:"at-once" default:"64" help:"How many enactments go on at once."`
	Attempts int           `default:"20000" help:"How many attempts to make."`
	Duration time.Duration `default:"1m" help:"How long to go on at the most."`
	JSON     bool          `name:"json" help:"Print the answer as JSON."`
}

// Help is shown by strabo bench --help.
func (benchCommand) Help() string {
	return `Plays enactments of a protocol, each as far as it goes, and tells how many attempts a second were decided, how ` +
		`long they took, and how much processor time this process spent on each. With --executor nats and --nats, servers ` +
		`must be running; else one runs inside.

Exit status: 0 when it is done, 2 when something failed.`
}

func (benchCommand) examples() string {
	return `  strabo bench
  strabo bench --store /tmp/bench --durability fsync
  strabo bench purchase --executor nats --finalize batch --window 5ms
`
}

// benchAnswer is what a benchmark came to.
type benchAnswer struct {
	Protocol string `json:"protocol"`
	Executor string `json:"executor"`
	// Durability and Finalize are left out where others serve, who decide that.
	Durability string  `json:"durability,omitempty"`
	Finalize   string  `json:"finalize,omitempty"`
	Attempts   int     `json:"attempts"`
	Refused    int     `json:"refused"`
	Seconds    float64 `json:"seconds"`
	PerSecond  float64 `json:"attempts_per_second"`
	P50        float64 `json:"p50_ms"`
	P95        float64 `json:"p95_ms"`
	P99        float64 `json:"p99_ms"`
	Slowest    float64 `json:"slowest_ms"`
	// CPU is 0 where the system does not tell.
	CPU float64 `json:"cpu_microseconds_per_attempt"`
}

// Run plays and tells.
func (c *benchCommand) Run(ctx context.Context, s *streams) error {
	if c.At < 1 || c.Attempts < 1 {
		return errors.New("--at-once and --attempts must be at least 1")
	}
	rules, err := openRules(s, c.Protocol)
	if err != nil {
		return err
	}
	all, err := c.engines(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer all.close()
	open := all.of(ctx, fmt.Sprint("bench-", time.Now().UnixNano()))
	if c.NATS != "" && c.Executor == onNATS {
		open = all.served
	}
	executor, err := open(rules, nil)
	if err != nil {
		return err
	}
	defer executor.Close()
	ctx, cancel := context.WithTimeout(ctx, c.Duration)
	defer cancel()
	b := &bench{rules: rules, executor: executor, most: int64(c.Attempts), run: fmt.Sprint(time.Now().UnixNano())}
	stop := b.progress(s.err)
	before, began := processorTime(), time.Now()
	err = b.play(ctx, c.At)
	took, spent := time.Since(began), processorTime()-before
	stop()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	answer := b.answer(took, spent)
	answer.Protocol, answer.Executor = rules.Protocol().Name(), c.Executor
	switch {
	case c.Executor == onLocal:
		answer.Durability, answer.Finalize = inMemory, c.Finalize
	case c.NATS == "" || c.Executor == onProcess:
		answer.Durability, answer.Finalize = c.Durability, c.Finalize
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(answer)
	}
	_, err = fmt.Fprintf(s.out, "%d attempts in %.2f s: %.0f a second, %d refused\np50 %.3f ms, p95 %.3f ms, p99 %.3f ms, slowest %.3f ms\n%.1f µs of processor time for each attempt\n",
		answer.Attempts, answer.Seconds, answer.PerSecond, answer.Refused, answer.P50, answer.P95, answer.P99, answer.Slowest, answer.CPU)
	return err
}

// bench plays enactments.
type bench struct {
	rules    *enactment.Rules
	executor adapter.Executor
	most     int64
	run      string
	made     atomic.Int64
	number   atomic.Int64

	mu      sync.Mutex
	refused int
	took    []time.Duration
}

// play plays as many enactments at once as said, until enough attempts were made.
func (b *bench) play(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for b.made.Load() < b.most && ctx.Err() == nil {
				if err := b.enact(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// enact plays one enactment as far as it goes: whatever is enabled first is attempted.
func (b *bench) enact(ctx context.Context) error {
	id := fmt.Sprint(b.run, "-", b.number.Add(1))
	var state *enactment.State
	for n := 0; b.made.Load() < b.most; n++ {
		attempt, ok := b.next(state, id, n)
		if !ok {
			return nil
		}
		began := time.Now()
		outcome, err := b.executor.Attempt(ctx, attempt)
		if err != nil {
			return err
		}
		b.made.Add(1)
		b.mu.Lock()
		b.took = append(b.took, time.Since(began))
		if outcome.Rejection != nil {
			b.refused++
		}
		b.mu.Unlock()
		if outcome.Rejection != nil {
			return nil
		}
		if state == nil {
			key, unplaced := b.rules.KeyOf(attempt)
			if unplaced != nil {
				return unplaced
			}
			state = b.rules.NewState(key)
		}
		state.Apply(enactment.Finalisation{Sequence: outcome.Sequence, Instances: []enactment.Instance{outcome.Instance}})
	}
	return nil
}

// next makes an attempt of the first action that may be done.
func (b *bench) next(state *enactment.State, id string, n int) (enactment.Attempt, bool) {
	if n >= 20 {
		return enactment.Attempt{}, false // some protocols go on for ever
	}
	if state == nil {
		state = b.rules.NewState("")
	}
	inner := table.InnerKeys(b.rules.Protocol())
	for role := range b.rules.Protocol().Roles() {
		for f := range state.Enabled(role) {
			f, ok := table.Settle(state, f, n+1)
			if !ok {
				continue
			}
			a := enactment.Attempt{
				ID: fmt.Sprint(id, "-", n), Identity: enactment.Identity{Role: role}, Action: f.Action,
				Values: make(enactment.Values), At: time.Now(),
			}
			for name, value := range f.Known {
				a.Values[name] = value
			}
			for _, open := range f.Open {
				a.Values[open.Attribute] = enactment.MustValue(fmt.Sprint(id, "-", open.Attribute, "-", n))
				if samples := b.rules.Samples(open.Attribute); len(samples) > 0 && !slices.Contains(inner, open.Attribute) {
					a.Values[open.Attribute] = samples[n%len(samples)]
				}
			}
			if b.passes(state, a) {
				return a, true
			}
		}
	}
	return enactment.Attempt{}, false
}

// passes tells whether an attempt of what is enabled passes the guards.
func (b *bench) passes(state *enactment.State, a enactment.Attempt) bool {
	for guard := range b.rules.Guards() {
		if guard.Action == a.Action {
			_, outcomes := enactment.Judge(state, a)
			return !errors.Is(outcomes[0].Err(), enactment.GuardRefused)
		}
	}
	return true
}

// progress shows how far it is, until it is stopped.
func (b *bench) progress(w io.Writer) (stop func()) {
	const width = 30
	ticker, done, ended := time.NewTicker(200*time.Millisecond), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				filled := min(int(b.made.Load()*width/b.most), width)
				fmt.Fprintf(w, "\r[%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", width-filled), b.made.Load(), b.most)
			case <-done:
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", width+30))
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

func (b *bench) answer(took, spent time.Duration) benchAnswer {
	slices.Sort(b.took)
	at := func(share float64) float64 {
		if len(b.took) == 0 {
			return 0
		}
		return float64(b.took[min(int(share*float64(len(b.took))), len(b.took)-1)].Microseconds()) / 1000
	}
	n := max(len(b.took), 1)
	return benchAnswer{
		Attempts: len(b.took), Refused: b.refused, Seconds: took.Seconds(), PerSecond: float64(len(b.took)) / took.Seconds(),
		P50: at(0.5), P95: at(0.95), P99: at(0.99), Slowest: at(1), CPU: float64(spent.Microseconds()) / float64(n),
	}
}
