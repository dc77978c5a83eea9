package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/adapter"
)

// settle answers, in order, what has been observed in an enactment and is not answered yet. An observation whose answer
// is unknown holds up those after it: one request at a time is under way in an enactment.
func (b *Bridge) settle(ctx context.Context, e adapter.Enactment, again bool) error {
	unlock, err := b.locks.lock(ctx, e.Key())
	if err != nil {
		return err
	}
	defer unlock()
	unmade, err := b.settleInTurn(ctx, e, again)
	if err != nil {
		return err
	}
	// What waits for the remote party holds up nothing, and is looked at when nothing of ours is under way.
	if err := b.lookAt(ctx, e, again); err != nil {
		return err
	}
	return unmade
}

// settleInTurn answers what does not wait for the remote party. Unmade says which requests could not be made.
func (b *Bridge) settleInTurn(ctx context.Context, e adapter.Enactment, again bool) (unmade, err error) {
	var waitsFor *run
	var pausing bool
	for instance := range e.Instances() {
		plan, mapped := b.mapping.actions[instance.Action]
		if !mapped || instance.Role == b.mapping.role {
			continue
		}
		r, err := b.resume(ctx, plan, e, instance)
		if err != nil {
			return nil, err
		}
		if !again {
			b.forgotten(ctx, e, r)
		}
		if r.done() || r.waiting != nil && len(r.pending) == 0 {
			continue
		}
		if waitsFor != nil {
			if !again || pausing {
				continue
			}
			b.unknown(ctx, r, &unclearError{
				detail: fmt.Sprintf("not tried, since step %s of %s before it is unknown", waitsFor.stepName(), waitsFor.plan.action),
				unsent: r.open == nil,
			})
			continue
		}
		if !again && b.gaveUp(r) {
			waitsFor = r
			continue
		}
		err = r.answer(ctx)
		switch {
		case err == nil:
			b.takeUp(r)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("bridge: %s: %w", instance.Action, context.Cause(ctx))
		case errors.Is(err, errWaiting):
			b.takeUp(r)
			b.watch.again(string(r.key)+r.instance, e, b.limit(r.waiting.Until), b.options.Patience)
		case errors.As(err, new(*pausedError)):
			waitsFor, pausing = r, true
		case errors.As(err, new(*NotSentError)):
			unmade = errors.Join(unmade, err) // Nothing has happened that others would have to wait for.
		default:
			b.giveUp(r)
			var unclear *unclearError
			if !errors.As(err, &unclear) {
				return nil, err
			}
			waitsFor = r
		}
	}
	return unmade, nil
}

// forgotten warns, once, of an answer that the journal has and the enactment has not, where that is up to date: the executor
// has forgotten what the journal remembers, so whoever waits for the answer waits for ever.
func (b *Bridge) forgotten(ctx context.Context, e adapter.Enactment, r *run) {
	if len(r.before) == 0 || !r.done() || b.gaveUp(r) {
		return
	}
	made := make(map[string]bool)
	for i := range e.Instances() {
		made[i.Attempt] = true
	}
	for _, answer := range r.before {
		if !made[answer.ID] {
			b.giveUp(r)
			b.log.WarnContext(ctx, "the journal has an answer that the enactment has not: it belongs to another executor, or to one that "+
				"has lost its memory, and nothing is answered; begin a new enactment, or use a journal of its own for each executor",
				"enactment", r.key, "action", r.plan.action, "answer", answer.Action)
			return
		}
	}
}

func (b *Bridge) gaveUp(r *run) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.given[string(r.key)+r.instance]
}

func (b *Bridge) giveUp(r *run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given[string(r.key)+r.instance] = true
}

func (b *Bridge) takeUp(r *run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.given, string(r.key)+r.instance)
}
