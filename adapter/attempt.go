package adapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pause"
)

// Values are values by attribute name, each anything that encoding/json encodes, an [enactment.Value] or a
// json.RawMessage.
type Values map[string]any

// AttemptOption says more about one attempt.
type AttemptOption func(*enactment.Attempt)

// WithAttemptID gives the attempt an id, unique for the identity and the system, instead of a new random one. The same
// id with the same content is the same attempt: it happens once and gets the same answer, also after the process that
// attempted first is gone (semantics section 5). With other content it is refused as malformed.
func WithAttemptID(id string) AttemptOption {
	return func(a *enactment.Attempt) { a.ID = id }
}

// WithAttemptTime says when the attempt was first made, instead of now. Give it together with [WithAttemptID] when an
// attempt is repeated after the process that made it is gone: one that is older than the executor's memory of answers
// is then refused as expired, and not taken for a new one (semantics section 5).
func WithAttemptTime(at time.Time) AttemptOption {
	return func(a *enactment.Attempt) { a.At = at }
}

// WithPartyOf names the party that plays another role. Only the attempt that starts an enactment may (semantics
// section 3).
func WithPartyOf(role, party string) AttemptOption {
	return func(a *enactment.Attempt) {
		if a.Parties == nil {
			a.Parties = make(map[string]string)
		}
		a.Parties[role] = party
	}
}

// Attempt submits an action of the role with values, and returns at once: so does an agent start an enactment, and so
// may it do anything for which it knows the values. Values must have the action's keys, and what the role has to bind;
// what is bound already may be left out.
//
// The promise resolves with the accepted instance, or with a [*Rejection]. When the executor cannot tell the outcome,
// the same attempt is submitted again after a while ([WithBackoff]) for as long as ctx lives. When ctx ends, or the
// executor is closed, before there is an answer, the promise resolves with [ErrUnknown]; when ctx had ended before
// anything was submitted, with its cause alone. The attempt may be made before Run, and runs on a goroutine of its own.
//
// In a handler, give it the handler's context, which lives until the promise has resolved even if the handler returns
// before.
func (a *Adapter) Attempt(ctx context.Context, action string, values Values, options ...AttemptOption) *Promise {
	attempt := a.attempt(action, options)
	attempt.Values = make(enactment.Values, len(values))
	for name, v := range values {
		value, rejection := valueOf(name, v)
		if rejection != nil {
			return resolved(attempt.ID, rejection)
		}
		attempt.Values[name] = value
	}
	return a.submit(ctx, attempt)
}

func (a *Adapter) attempt(action string, options []AttemptOption) enactment.Attempt {
	attempt := enactment.Attempt{Identity: a.identity, Action: action, At: time.Now()}
	for _, option := range options {
		option(&attempt)
	}
	if attempt.ID == "" {
		attempt.ID = uuid.NewString()
	}
	return attempt
}

// resolved is a promise whose answer is known at once.
func resolved(id string, err error) *Promise {
	p := newPromise(id)
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		p.resolve(Outcome{Rejection: rejection}, nil)
	} else {
		p.resolve(Outcome{}, err)
	}
	return p
}

func (a *Adapter) submit(ctx context.Context, attempt enactment.Attempt) *Promise {
	if ctx.Err() != nil {
		return resolved(attempt.ID, fmt.Errorf("adapter: %s not attempted: %w", attempt.Action, context.Cause(ctx)))
	}
	p := newPromise(attempt.ID)
	enter(ctx, func() {
		outcome, err := a.decide(ctx, attempt)
		if err == nil {
			// Before the promise resolves: what a handler does next must not overtake it.
			a.learn(attempt, outcome)
		}
		p.resolve(outcome, err)
	})
	return p
}

// decide submits the attempt until there is an answer, or no hope of one.
func (a *Adapter) decide(ctx context.Context, attempt enactment.Attempt) (Outcome, error) {
	for wait := a.options.firstWait; ; wait = min(2*wait, a.options.longestWait) {
		outcome, err := a.executor.Attempt(ctx, attempt)
		if err == nil {
			return outcome, nil
		}
		if ctx.Err() == nil && !errors.Is(err, ErrClosed) {
			a.log.WarnContext(ctx, "outcome of an attempt unknown, submitting it again",
				"action", attempt.Action, "attempt", attempt.ID, "error", err)
		}
		if errors.Is(err, ErrClosed) || pause.For(ctx, wait/2+rand.N(wait/2+1)) != nil {
			return Outcome{}, fmt.Errorf("%w: attempt %s of %s: %w", ErrUnknown, attempt.ID, attempt.Action, err)
		}
	}
}

// learn keeps offers from being made of what is known to be out of date. After an acceptance, nothing is offered
// until the instance has been delivered; after dominated, until the finalisation that decided has been, and then what
// was dominated is offered anew. So is what was blocked by another action of the role in the same window, since a nogo
// in the other direction leaves it enabled.
func (a *Adapter) learn(attempt enactment.Attempt, outcome Outcome) {
	current := a.current()
	if current == nil {
		return
	}
	key, unplaced := a.rules.KeyOf(attempt)
	switch {
	case unplaced != nil:
	case outcome.Rejection == nil:
		current.await(key, outcome.Sequence)
	case outcome.Rejection.Code == enactment.Dominated:
		if !a.mayBeHidden(outcome.Rejection.By, attempt.Action) {
			current.await(key, outcome.Sequence)
		}
		current.reoffer(key, attempt)
	case outcome.Rejection.Code == enactment.Blocked && outcome.Rejection.Beside:
		current.await(key, outcome.Sequence)
		current.reoffer(key, attempt)
	}
}

// mayBeHidden tells whether the role may not see the instance that dominated its action, so that there would be nothing
// to wait for. It sees whatever carries an attribute that the action carries too, unless that is a key which the role
// may bind itself (semantics section 7).
func (a *Adapter) mayBeHidden(by, dominated string) bool {
	protocol := a.rules.Protocol()
	action, ok := protocol.Action(dominated)
	if !ok {
		return true
	}
	for other := range protocol.Actions() {
		if other.Role() != by {
			continue
		}
		if sees, _ := a.rules.Sight(a.identity.Role, other.Name()); sees {
			continue
		}
		for attribute := range other.Attributes() {
			if action.Carries(attribute) {
				return true
			}
		}
	}
	return false
}

// concerns tells whether an attempt was one of an offer: of the same action with the same keys, as far as the offer
// says.
func concerns(attempt enactment.Attempt, action string, keys []keyValue) bool {
	return attempt.Action == action && !slices.ContainsFunc(keys, func(k keyValue) bool {
		return !attempt.Values[k.name].Equal(k.value)
	})
}
