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

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

type benchCommand struct {
	storeFlags
	Protocol   string        `arg:"" default:"purchase" help:"Protocol by name or file."`
	Executor   string        `enum:"local,process,nats" default:"process" help:"Who decides: ${enum}. local is in memory, process a server inside, nats a server asked over NATS."`
	Durability string        `enum:"none,ack,fsync" default:"ack" help:"What an answer stands for: ${enum}."`
	Finalize   string        `enum:"immediate,batch" default:"immediate" help:"How attempts are finalised: ${enum}."`
	Window     time.Duration `default:"20ms" help:"Window of batch finalisation."`
	At         int           `name:"at-once" default:"64" help:"How many enactments go on at once."`
	Attempts   int           `default:"20000" help:"How many attempts to make."`
	Duration   time.Duration `default:"1m" help:"How long to go on at the most."`
	JSON       bool          `name:"json" help:"Print the answer as JSON."`
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
	Protocol   string  `json:"protocol"`
	Executor   string  `json:"executor"`
	Durability string  `json:"durability"`
	Finalize   string  `json:"finalize"`
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
	rules, err := loadRules(c.Protocol)
	if err != nil {
		return err
	}
	executor, done, err := c.executor(ctx, rules)
	if err != nil {
		return err
	}
	defer done()
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
	answer.Protocol, answer.Executor, answer.Durability, answer.Finalize = rules.Protocol().Name(), c.Executor, c.Durability, c.Finalize
	if c.JSON {
		return json.NewEncoder(s.out).Encode(answer)
	}
	_, err = fmt.Fprintf(s.out, "%d attempts in %.2f s: %.0f a second, %d refused\np50 %.3f ms, p95 %.3f ms, p99 %.3f ms, slowest %.3f ms\n%.1f µs of processor time for each attempt\n",
		answer.Attempts, answer.Seconds, answer.PerSecond, answer.Refused, answer.P50, answer.P95, answer.P99, answer.Slowest, answer.CPU)
	return err
}

// executor makes what is to be measured.
func (c *benchCommand) executor(ctx context.Context, rules *enactment.Rules) (adapter.Executor, func(), error) {
	if c.Executor == "local" {
		var options []syncserver.Option
		if c.Finalize == "batch" {
			options = append(options, syncserver.WithBatch(c.Window, 0))
		}
		local := syncserver.NewLocal(rules, options...)
		return local, local.Close, nil
	}
	log := slog.New(slog.DiscardHandler)
	store, err := c.open(natsSettings{sync: c.Durability == "fsync"}, nil)
	if err != nil {
		return nil, nil, err
	}
	if c.NATS != "" && c.Executor == "nats" {
		client, err := syncserver.NewClient(store.conn, rules, syncserver.ClientConfig{Logger: log})
		if err != nil {
			store.close()
			return nil, nil, err
		}
		return client, func() { client.Close(); store.close() }, nil
	}
	config := syncserver.ServerConfig{
		System: fmt.Sprint("bench-", time.Now().UnixNano()), Keys: store.keys, Memory: c.Durability == "none", Logger: log,
	}
	if c.Finalize == "batch" {
		config.Window = c.Window
	}
	server, err := syncserver.NewServer(ctx, store.conn, rules, config)
	if err != nil {
		store.close()
		return nil, nil, err
	}
	client, closing := server.Client(syncserver.ClientConfig{Logger: log}), func() {}
	if c.Executor == "nats" {
		var conn *nats.Conn
		if conn, err = store.server.Connect(); err == nil {
			client, err = syncserver.NewClient(conn, rules, syncserver.ClientConfig{System: config.System, Logger: log})
			closing = conn.Close
		}
	}
	end := func() {
		if client != nil {
			client.Close()
		}
		closing()
		_ = drain([]*syncserver.Server{server})
		store.close()
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return client, end, nil
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
	for role := range b.rules.Protocol().Roles() {
		feasible := b.rules.Starts(role)
		if state != nil {
			feasible = state.Enabled(role)
		}
		for f := range feasible {
			a := enactment.Attempt{
				ID: fmt.Sprint(id, "-", n), Identity: enactment.Identity{Role: role}, Action: f.Action,
				Values: make(enactment.Values), At: time.Now(),
			}
			for name, value := range f.Known {
				a.Values[name] = value
			}
			for _, open := range f.Open {
				a.Values[open.Attribute] = enactment.MustValue(fmt.Sprint(id, "-", open.Attribute, "-", n))
			}
			return a, true
		}
	}
	return enactment.Attempt{}, false
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
