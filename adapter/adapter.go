package adapter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// Adapter plays one role for one party: it keeps what the identity knows of its enactments, calls the agent's handlers
// and submits its attempts. Its methods are safe for concurrent use.
//
// What is known of an enactment stays in memory for as long as the adapter holds it: until it is revoked, Run returns, or
// the enactment is complete, nothing in it is enabled for the role, and no handler runs nor attempt of one is on its way.
// If more happens in it after that, its history is fetched again first.
type Adapter struct {
	rules    *enactment.Rules
	identity enactment.Identity
	executor Executor
	options  options
	log      *slog.Logger
	handlers handlers

	mu      sync.Mutex
	started bool
	run     *run // nil before Run has joined and after it has returned
}

// New makes an adapter for a role of the protocol on an executor. It does nothing before [Adapter.Run] but submit
// what is attempted. The error says what is wrong with the arguments: an unknown role, a party that is none of those
// configured for the role, an option out of bounds, or an executor that judges by other rules and can say so.
func New(rules *enactment.Rules, role string, executor Executor, with ...Option) (*Adapter, error) {
	switch {
	case rules == nil:
		return nil, errors.New("adapter: no rules")
	case executor == nil:
		return nil, errors.New("adapter: no executor")
	case !rules.Protocol().HasRole(role):
		return nil, fmt.Errorf("adapter: protocol %s has no role %q", rules.Protocol().Name(), role)
	}
	// An executor that can say which rules it judges by is held to it.
	if judge, ok := executor.(interface{ Rules() *enactment.Rules }); ok && judge.Rules().Hash() != rules.Hash() {
		return nil, fmt.Errorf("adapter: the executor judges by other rules: %s is %s there and %s here",
			judge.Rules().Protocol().Name(), judge.Rules().Hash(), rules.Hash())
	}
	o := options{
		concurrency: DefaultConcurrency, queue: DefaultQueue,
		firstWait: DefaultFirstWait, longestWait: DefaultLongestWait,
	}
	o.party, _ = rules.Party(role)
	for _, option := range with {
		if err := option(&o); err != nil {
			return nil, err
		}
	}
	identity := enactment.Identity{Role: role, Party: o.party}
	if !rules.NewState("").Sees(identity) {
		return nil, fmt.Errorf("adapter: party %q is none of those that play %s", o.party, role)
	}
	if o.logger == nil {
		o.logger = slog.Default()
	}
	a := &Adapter{rules: rules, executor: executor, options: o, identity: identity, handlers: newHandlers()}
	a.log = o.logger.With("protocol", rules.Protocol().Name(), "identity", a.identity.String())
	return a, nil
}

// Identity is the role and the party that the adapter plays.
func (a *Adapter) Identity() enactment.Identity { return a.identity }

// Rules is the protocol that the adapter plays.
func (a *Adapter) Rules() *enactment.Rules { return a.rules }

// Enabled lists every action that the role may do now, in all enactments that this adapter holds, one enactment after
// the other in the order of their keys; what the handlers of [Adapter.OnEnabled] were offered is among it. Actions that
// start an enactment are not: see [enactment.Rules.Starts].
//
// It is lazy from one enactment to the next, and lists one enactment at a time: where keys are known in many
// combinations there are as many actions, so stop early. The body of the loop may attempt and wait. Nothing is listed
// before Run has received something, after Run has returned, and once ctx has ended.
func (a *Adapter) Enabled(ctx context.Context) iter.Seq[*FeasibleAction] {
	return func(yield func(*FeasibleAction) bool) {
		current := a.current()
		if current == nil {
			return
		}
		whatever := func(string) bool { return true }
		for _, held := range current.held() {
			if ctx.Err() != nil {
				return
			}
			for _, feasible := range held.enabled(a.identity.Role, whatever) {
				if ctx.Err() != nil || !yield(a.feasible(held, feasible)) {
					return
				}
			}
		}
	}
}

func (a *Adapter) current() *run {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}
