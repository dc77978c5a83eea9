package adapter_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	leak.Main(m)
}

func local(t testing.TB, rules *enactment.Rules, options ...syncserver.Option) *syncserver.Local {
	t.Helper()
	l := syncserver.NewLocal(rules, options...)
	t.Cleanup(l.Close)
	return l
}

// tester is what *testing.T, *testing.B and *rapid.T have in common.
type tester interface {
	require.TestingT
	Helper()
}

// agent makes an adapter without a log.
func agent(
	t tester, rules *enactment.Rules, role string, on adapter.Executor, options ...adapter.Option,
) *adapter.Adapter {
	t.Helper()
	quiet := adapter.WithLogger(slog.New(slog.DiscardHandler))
	a, err := adapter.New(rules, role, on, append([]adapter.Option{quiet}, options...)...)
	require.NoError(t, err)
	return a
}

// run runs an adapter until the test ends or stop is called, and demands that Run returns nil.
func run(t testing.TB, a *adapter.Adapter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// accepted attempts and demands acceptance.
func accepted(
	t testing.TB, a *adapter.Adapter, action string, values adapter.Values, options ...adapter.AttemptOption,
) adapter.Outcome {
	t.Helper()
	outcome, err := a.Attempt(context.Background(), action, values, options...).Outcome(context.Background())
	require.NoError(t, err, action)
	return outcome
}

// diary notes what handlers were called with, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, arguments ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, arguments...))
}

// read gives the notes, and forgets them.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// settled waits until nothing can happen any more without time passing, and reads.
func (d *diary) settled() []string {
	synctest.Wait()
	return d.read()
}

// offered notes every offer of the actions: the action, what is known and what is open.
func (d *diary) offered(a *adapter.Adapter, actions ...string) {
	for _, action := range actions {
		a.OnEnabled(action, func(_ context.Context, f *adapter.FeasibleAction) error {
			d.note("offer %s", describe(f))
			return nil
		})
	}
}

// observed notes every observation of the actions.
func (d *diary) observed(a *adapter.Adapter, actions ...string) {
	for _, action := range actions {
		a.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			d.note("see %s", o)
			return nil
		})
	}
}

func describe(f *adapter.FeasibleAction) string {
	var known, open []string
	for name, value := range f.Known {
		known = append(known, name+"="+value.String())
	}
	for _, o := range f.Open {
		open = append(open, o.Attribute)
	}
	slices.Sort(known)
	return fmt.Sprintf("%s(%s; %s)", f.Action, strings.Join(known, " "), strings.Join(open, " "))
}

// script is an executor that does what a test says.
type script struct {
	rules *enactment.Rules
	// answer decides attempts.
	answer func(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error)
	// deliveries are handed out by Receive, as they come; when closed, Receive fails with failure.
	deliveries chan adapter.Delivery
	failure    error
	joining    error
	storing    error
	closing    error
	stuck      bool // Store waits for its context to end

	mu     sync.Mutex
	stored []string
	closed bool
}

func scripted(rules *enactment.Rules) *script {
	return &script{rules: rules, deliveries: make(chan adapter.Delivery)}
}

func (s *script) Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error) {
	return s.answer(ctx, attempt)
}

func (s *script) Join(context.Context, enactment.Identity) (adapter.Feed, error) {
	return s, s.joining
}

func (s *script) Receive(ctx context.Context) (adapter.Delivery, error) {
	select {
	case d, ok := <-s.deliveries:
		if !ok {
			return d, s.failure
		}
		return d, nil
	case <-ctx.Done():
		return adapter.Delivery{}, ctx.Err()
	}
}

func (s *script) Store(ctx context.Context, key enactment.Key, sequence uint64) error {
	if s.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storing != nil {
		return s.storing
	}
	s.stored = append(s.stored, fmt.Sprintf("%s %d", key.Values()["ID"], sequence))
	return nil
}

// Release keeps everything.
func (s *script) Release(enactment.Key, uint64) bool { return false }

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.closing
}

func (s *script) positions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stored)
}

// delivery makes one of instances given as action, role and values.
func (s *script) delivery(t testing.TB, id string, sequence uint64, instances ...enactment.Instance) adapter.Delivery {
	t.Helper()
	return adapter.Delivery{Key: played.KeyOf(id), Finalisation: enactment.Finalisation{Sequence: sequence, Instances: instances}}
}

func (s *script) instance(t testing.TB, role, action, id string, values adapter.Values) enactment.Instance {
	t.Helper()
	all, err := enactment.ValuesOf(values)
	require.NoError(t, err)
	all["ID"] = enactment.MustValue(id)
	i, err := s.rules.NewInstance(enactment.Identity{Role: role}, action, "attempt", all, nil)
	require.NoError(t, err)
	return i
}

// logBook is a log that a test reads.
type logBook struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

func (b *logBook) option() adapter.Option {
	return adapter.WithLogger(slog.New(slog.NewTextHandler(b, nil)))
}
