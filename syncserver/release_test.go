package syncserver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// watched is an executor of one agent that notes of which enactments the agent keeps the history.
type watched struct {
	adapter.Executor
	keep bool // nothing is released
	// changed has a token when something was received, released or told since it was last looked at.
	changed chan struct{}

	mu       sync.Mutex
	held     map[enactment.Key]bool
	released int
}

type watchedFeed struct {
	adapter.Feed
	by *watched
}

func (w *watched) Join(ctx context.Context, id enactment.Identity) (adapter.Feed, error) {
	feed, err := w.Executor.Join(ctx, id)
	return &watchedFeed{feed, w}, err
}

func (f *watchedFeed) Receive(ctx context.Context) (adapter.Delivery, error) {
	d, err := f.Feed.Receive(ctx)
	f.by.mu.Lock()
	defer f.by.change()
	defer f.by.mu.Unlock()
	if err == nil {
		f.by.held[d.Key] = true
	}
	return d, err
}

func (f *watchedFeed) Release(key enactment.Key, sequence uint64) bool {
	if f.by.keep {
		return false
	}
	f.by.mu.Lock()
	defer f.by.change()
	defer f.by.mu.Unlock()
	if !f.Feed.Release(key, sequence) {
		return false
	}
	delete(f.by.held, key)
	f.by.released++
	return true
}

func (w *watched) change() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watched) holds(key enactment.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[key]
}

func (w *watched) releases() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.released
}

// observer is an agent that does nothing but note what it is told.
type observer struct {
	*watched
	agent *adapter.Adapter
	stop  func()

	mu   sync.Mutex
	told map[enactment.Key][]string
}

func (o *observer) note(key enactment.Key, what string) {
	o.mu.Lock()
	defer o.change()
	defer o.mu.Unlock()
	o.told[key] = append(o.told[key], what)
}

func (o *observer) of(key enactment.Key) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.told[key])
}

func observe(t require.TestingT, rules *enactment.Rules, e adapter.Executor, role string, keep bool) *observer {
	o := &observer{
		watched: &watched{Executor: e, keep: keep, changed: make(chan struct{}, 1), held: make(map[enactment.Key]bool)},
		told:    make(map[enactment.Key][]string),
	}
	var err error
	o.agent, err = adapter.New(rules, role, o.watched, adapter.WithLogger(quiet()))
	require.NoError(t, err)
	for action := range rules.Protocol().Actions() {
		if sees, _ := rules.Sight(role, action.Name()); sees {
			o.agent.OnObservation(action.Name(), func(_ context.Context, seen adapter.Observation) error {
				o.note(seen.Enactment.Key(), seen.Action)
				return nil
			})
		}
	}
	o.agent.OnCompletion(func(_ context.Context, e adapter.Enactment) error {
		o.note(e.Key(), "complete")
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.agent.Run(ctx) }()
	o.stop = func() {
		cancel()
		require.NoError(t, <-done)
	}
	return o
}

// TestReleasing has agents that let go of what is settled, and others that keep all: both are told the same, each thing
// once and in order; and what is settled is not kept.
func TestReleasing(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	executors := map[string]func() adapter.Executor{
		"local": func() adapter.Executor {
			l := syncserver.NewLocal(rules)
			t.Cleanup(l.Close)
			return l
		},
		"server": func() adapter.Executor {
			s := store(t, embedded.Options{})
			serve(t, s, rules, syncserver.ServerConfig{Cache: 1})
			return client(t, connect(t, s), rules)
		},
	}
	for place, executor := range executors {
		t.Run(place, func(t *testing.T) {
			releasing, keeping := executor(), executor()
			var observers []*observer
			for _, e := range []adapter.Executor{releasing, keeping} {
				for _, role := range []string{"Buyer", "Seller", "Auditor"} {
					o := observe(t, rules, e, role, e == keeping)
					defer o.stop()
					observers = append(observers, o)
				}
			}
			run := 0
			rapid.Check(t, func(t *rapid.T) {
				run++
				moves := rapid.SliceOfN(rapid.IntRange(0, 7*3-1), 1, 30).Draw(t, "moves")
				playReleasing(t, rules, fmt.Sprint(run), moves, observers)
			})
			// The moves that were drawn need not have settled anything; these do, for everybody.
			before := observers[0].watched.releases()
			playReleasing(t, rules, "last", []int{0, 4, 3}, observers)
			require.Greater(t, observers[0].watched.releases(), before)
		})
	}
}

func playReleasing(t require.TestingT, rules *enactment.Rules, prefix string, moves []int, observers []*observer) {
	roles := []string{"Buyer", "Seller", "Auditor"}
	releasing, keeping := observers[0].Executor, observers[len(roles)].Executor
	states := make(map[enactment.Key]map[string]*enactment.State) // as each role sees it
	want := make(map[enactment.Key]map[string][]string)
	happen := func(move int) {
		id := fmt.Sprintf("%s-%d", prefix, move/7)
		a := []enactment.Attempt{
			Attempt(Buyer, "RFQ", id, "item", "fig"), Attempt(Seller, "Quote", id, "price", 5), Attempt(Buyer, "Accept", id, "address", "a"),
			Attempt(Buyer, "Reject", id), Attempt(Seller, "Stop", id), Attempt(Buyer, "Urge", id), Attempt(Auditor, "File", id, "report", "r"),
		}[move%7]
		key, unplaced := rules.KeyOf(a)
		require.Nil(t, unplaced)
		outcome, err := releasing.Attempt(context.Background(), a)
		require.NoError(t, err)
		other, err := keeping.Attempt(context.Background(), a)
		require.NoError(t, err)
		require.Equal(t, outcome.Rejection, other.Rejection)
		if outcome.Rejection != nil || slices.Contains(want[key]["all"], a.Action) {
			return
		}
		if states[key] == nil {
			states[key], want[key] = make(map[string]*enactment.State), make(map[string][]string)
			for _, role := range append(roles, "all") {
				states[key][role] = rules.NewState(key)
			}
		}
		want[key]["all"] = append(want[key]["all"], a.Action)
		whole := enactment.Finalisation{Sequence: outcome.Sequence, Instances: []enactment.Instance{outcome.Instance}}
		whole.Completed = !states[key]["all"].Complete() && (a.Action == "Accept" || a.Action == "Reject")
		states[key]["all"].Apply(whole)
		for _, role := range roles {
			f := enactment.Finalisation{Sequence: outcome.Sequence, Completed: whole.Completed}
			if seen, ok := rules.Project(role, outcome.Instance); ok {
				f.Instances = []enactment.Instance{seen}
				want[key][role] = append(want[key][role], a.Action)
			}
			if f.Completed {
				want[key][role] = append(want[key][role], "complete")
			}
			states[key][role].Apply(f)
		}
	}
	for n, move := range moves {
		happen(move)
		if n%3 == 0 {
			settle(t, observers, roles, states, want) // so that something is released before the next
		}
	}
	settle(t, observers, roles, states, want)
}

// settle waits until everybody was told what there is, and has let go of what is settled.
func settle(
	t require.TestingT, observers []*observer, roles []string,
	states map[enactment.Key]map[string]*enactment.State, want map[enactment.Key]map[string][]string,
) {
	for n, o := range observers {
		role := roles[n%len(roles)]
		for key := range want {
			settled := states[key][role].Complete()
			for range states[key][role].Enabled(role) {
				settled = false
			}
			deadline := time.After(time.Minute)
			for !slices.Equal(want[key][role], o.of(key)) || len(want[key][role]) > 0 && o.holds(key) != (o.keep || !settled) {
				select {
				case <-o.changed:
				case <-deadline:
					require.Equal(t, want[key][role], o.of(key), "%s of %s", role, key)
					require.Equal(t, o.keep || !settled, o.holds(key), "%s keeps %s", role, key)
				}
			}
		}
	}
}
