package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// storeTimeout bounds how long positions may take to be stored once Run ends. They are stored then too, since the
// handlers are done, so the context of Run cannot bound it.
const storeTimeout = 10 * time.Second

// view is an enactment that the adapter holds.
type view struct {
	key enactment.Key

	// What follows is guarded by the run's mutex.

	queue     []Delivery          // to be folded and handled
	dominated []enactment.Attempt // attempts whose actions are to be offered again
	awaited   uint64              // nothing is offered before the ledger reaches it
	scheduled bool                // a worker has it, or will
	scopes    []*scope            // of handlers that run, or whose attempts do
	// ledger is nil before the first delivery and once the enactment is revoked. The worker alone sets it.
	ledger *ledger
	// settled tells that the enactment is complete and nothing is enabled in it. The worker alone sets it.
	settled bool

	// What follows is the worker's.

	offers offers
	stale  bool // offers are to be evaluated
	behind bool // more deliveries are announced
}

// due tells whether there is something to do. The caller holds the mutex and is the worker.
func (v *view) due() bool {
	return len(v.queue) > 0 || len(v.dominated) > 0 || v.offersDue()
}

func (v *view) offersDue() bool {
	return (v.stale || len(v.offers.pending) > 0) && !v.behind &&
		v.ledger != nil && v.ledger.state.Sequence() >= v.awaited
}

// idle tells whether the view is of use to nobody: the enactment is settled, and there is nothing to do and nothing under
// way. The caller holds the mutex and is the worker.
func (v *view) idle() bool {
	return v.settled && !v.due() && len(v.scopes) == 0 && !v.behind && v.ledger != nil && v.ledger.state.Sequence() >= v.awaited
}

// settle finds out whether an enactment in which nothing is left to be done is settled.
func (r *run) settle(v *view) {
	r.mu.Lock()
	look := !v.settled && v.ledger != nil && !v.due() && !v.behind && v.ledger.state.Complete()
	r.mu.Unlock()
	if look && v.ledger.exhausted(r.adapter.identity.Role) {
		r.mu.Lock()
		v.settled = true
		r.mu.Unlock()
	}
}

// step does the next thing in an enactment: one delivery, or if there is none, one offer.
func (r *run) step(v *view) {
	r.mu.Lock()
	for _, attempt := range v.dominated {
		v.offers.forget(attempt)
		v.stale = true
	}
	v.dominated = nil
	if len(v.queue) == 0 {
		due := v.offersDue()
		r.mu.Unlock()
		if due {
			r.offer(v)
		}
		return
	}
	d := take(&v.queue)
	v.settled = false
	if d.Revoked {
		v.ledger, v.offers, v.stale, v.behind, v.awaited = nil, offers{}, false, false, 0
	} else if v.ledger == nil {
		v.ledger = newLedger(r.adapter.rules, v.key)
	}
	ctx := r.ctx
	if r.adapter.handlers.concern(d) {
		s := r.begin(v)
		defer s.leave()
		ctx = s.ctx
	}
	r.mu.Unlock()
	defer r.release(1)
	if !d.Revoked {
		r.deliver(ctx, v, d)
	}
}

// deliver folds a delivery, calls the handlers that it concerns and stores the position.
func (r *run) deliver(ctx context.Context, v *view, d Delivery) {
	v.behind = d.More
	f := d.Finalisation
	if f.Sequence <= v.ledger.state.Sequence() {
		return // delivered twice, as an executor may after it has lost touch
	}
	v.ledger.apply(f)
	v.stale = len(r.adapter.handlers.enabled) > 0
	if d.Handled {
		return
	}
	if d.More && !r.adapter.handlers.concern(d) {
		return // nothing to be handled, and the position of what follows covers it
	}
	if r.observe(ctx, v, f) && r.complete(ctx, v, f) {
		r.store(ctx, v, f.Sequence)
	}
}

// observe calls the handlers of what happened. It is false if they are to be called again.
func (r *run) observe(ctx context.Context, v *view, f enactment.Finalisation) bool {
	for _, instance := range f.Instances {
		for _, handler := range r.adapter.handlers.observation[instance.Action] {
			at := HandlerError{Step: StepObservation, Action: instance.Action, Enactment: v.key, Sequence: f.Sequence}
			o := Observation{Instance: instance, Enactment: Enactment{v.ledger}, Sequence: f.Sequence}
			if !r.call(ctx, at, func() error { return handler(ctx, o) }) {
				return false
			}
		}
	}
	return true
}

// complete calls the handlers of completion, if the finalisation brought it. It is false if they are to be called
// again.
func (r *run) complete(ctx context.Context, v *view, f enactment.Finalisation) bool {
	if !f.Completed {
		return true
	}
	for _, handler := range r.adapter.handlers.completion {
		at := HandlerError{Step: StepCompletion, Enactment: v.key, Sequence: f.Sequence}
		if !r.call(ctx, at, func() error { return handler(ctx, Enactment{v.ledger}) }) {
			return false
		}
	}
	return true
}

func (r *run) store(ctx context.Context, v *view, sequence uint64) {
	storing := r.storing
	if r.ctx.Err() != nil {
		grace, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), storeTimeout)
		defer cancel()
		storing = grace
	}
	err := r.feed.Store(storing, v.key, sequence)
	if err != nil && !errors.Is(err, ErrRevoked) {
		r.report(ctx, HandlerError{Step: StepPosition, Enactment: v.key, Sequence: sequence, Err: err})
	}
}

// offer evaluates what is enabled, if that may have changed, and makes one offer.
func (r *run) offer(v *view) {
	handlers := r.adapter.handlers.enabled
	if v.stale {
		wanted := func(action string) bool { return len(handlers[action]) > 0 }
		v.offers.evaluate(r.adapter.rules.Protocol(), r.seed, v.ledger.enabled(r.adapter.identity.Role, wanted))
		v.stale = false
	}
	r.mu.Lock()
	if len(v.offers.pending) == 0 || len(v.queue) > 0 || !v.offersDue() {
		r.mu.Unlock()
		return
	}
	s := r.begin(v)
	r.mu.Unlock()
	defer s.leave()
	feasible := v.offers.next()
	at := HandlerError{
		Step: StepOffer, Action: feasible.Action, Enactment: v.key, Sequence: v.ledger.state.Sequence(),
	}
	for _, handler := range handlers[feasible.Action] {
		f := r.adapter.feasible(v.ledger, feasible)
		if !r.call(s.ctx, at, func() error { return handler(s.ctx, f) }) {
			return
		}
	}
}

// call calls a handler and reports its failure. It is false if the context ended before the handler was called or
// before it failed: then it is still to be called, by whoever holds the enactment next.
func (r *run) call(ctx context.Context, at HandlerError, handler func() error) bool {
	if ctx.Err() != nil {
		return false
	}
	at.Stack, at.Err = protect(handler, func() {
		at.Err = ErrGoexit
		r.report(ctx, at)
	})
	switch {
	case at.Err == nil:
		return true
	case errors.Is(at.Err, ctx.Err()) || errors.Is(at.Err, context.Cause(ctx)): // neither matches while ctx lives
		r.adapter.log.InfoContext(ctx, "handler interrupted",
			"step", at.Step, "action", at.Action, "enactment", at.Enactment, "sequence", at.Sequence, "error", at.Err)
	default:
		r.report(ctx, at)
	}
	return ctx.Err() == nil
}

// protect calls a handler and turns its panic into an error with a stack. If the handler ends the goroutine, protect
// does not return and calls exit instead.
func protect(handler func() error, exit func()) (stack []byte, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			stack, err = debug.Stack(), panicked(value)
		} else {
			exit()
		}
	}()
	err = handler()
	returned = true
	return nil, err
}

// panicked describes what a handler panicked with. Of anything but an error or a string it gives the type alone,
// since values of the protocol would be printed otherwise.
func panicked(value any) error {
	switch value := value.(type) {
	case error:
		return fmt.Errorf("%w: %w", ErrPanic, value)
	case string:
		return fmt.Errorf("%w: %s", ErrPanic, value)
	default:
		return fmt.Errorf("%w: a %T", ErrPanic, value)
	}
}

// report logs a failure and tells the agent.
func (r *run) report(ctx context.Context, failure HandlerError) {
	log := r.adapter.log.With("step", failure.Step, "action", failure.Action,
		"enactment", failure.Enactment, "sequence", failure.Sequence)
	if _, refused := errors.AsType[*Rejection](failure.Err); refused {
		log.WarnContext(ctx, "attempt of a handler refused", "error", failure.Err)
	} else if failure.Stack != nil {
		log.ErrorContext(ctx, "handler failed", "error", failure.Err, "stack", string(failure.Stack))
	} else {
		log.ErrorContext(ctx, "handler failed", "error", failure.Err)
	}
	for _, handler := range r.adapter.handlers.failure {
		tell := func() error {
			handler(ctx, failure)
			return nil
		}
		exited := func() { log.ErrorContext(ctx, "OnError failed", "error", ErrGoexit) }
		if stack, err := protect(tell, exited); err != nil {
			log.ErrorContext(ctx, "OnError failed", "error", err, "stack", string(stack))
		}
	}
}
