package adapter

import (
	"context"
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// handlers are what an agent registered, in the order of registration.
type handlers struct {
	enabled     map[string][]func(context.Context, *FeasibleAction) error
	observation map[string][]func(context.Context, Observation) error
	completion  []func(context.Context, Enactment) error
	failure     []func(context.Context, HandlerError)
}

func newHandlers() handlers {
	return handlers{
		enabled:     make(map[string][]func(context.Context, *FeasibleAction) error),
		observation: make(map[string][]func(context.Context, Observation) error),
	}
}

// concern tells whether a delivery has any handler.
func (h *handlers) concern(d Delivery) bool {
	if d.Handled {
		return false
	}
	return d.Finalisation.Completed && len(h.completion) > 0 ||
		slices.ContainsFunc(d.Finalisation.Instances, func(i enactment.Instance) bool {
			return len(h.observation[i.Action]) > 0
		})
}

// OnEnabled registers a handler for an action of the role. It is offered the action when that becomes enabled in an
// enactment that exists, and again only when what is known of it has changed, or after an attempt of it was refused as
// dominated, or as blocked by an action of the role in the same window, once the adapter has seen by what. For each
// combination of key values there is one offer; where a key is left open there is one for all values that it may be
// given. An action that starts an enactment is never offered for one that does not exist: start it with
// [Adapter.Attempt].
//
// Nothing is offered while the adapter knows that it has not yet seen all that was decided. Still the action may be
// refused by the time it is attempted. When the process restarts, or an enactment comes over from another adapter of
// the identity, what is enabled is offered anew.
//
// That a handler failed is no reason to offer again: it is logged and told to [Adapter.OnError], and the action waits
// until one of the above comes about. So what may well succeed the next time is tried again within the handler.
//
// Several handlers for one action are called in order of registration. OnEnabled panics if the protocol has no such
// action, if another role performs it, if the handler is nil, and after Run has begun.
func (a *Adapter) OnEnabled(action string, handler func(context.Context, *FeasibleAction) error) {
	declared, ok := a.rules.Protocol().Action(action)
	switch {
	case !ok:
		a.misuse("OnEnabled: there is no action %q", action)
	case declared.Role() != a.identity.Role:
		a.misuse("OnEnabled: action %s is performed by %s", action, declared.Role())
	case handler == nil:
		a.misuse("OnEnabled: no handler for %s", action)
	}
	a.register("OnEnabled", func() { a.handlers.enabled[action] = append(a.handlers.enabled[action], handler) })
}

// OnObservation registers a handler for the instances of an action that the role sees, its own included (semantics
// section 7). It is called at least once for each, and twice only if the process died before the position was stored.
//
// Several handlers for one action are called in order of registration. OnObservation panics if the protocol has no such
// action, if the role never sees it, if the handler is nil, and after Run has begun.
func (a *Adapter) OnObservation(action string, handler func(context.Context, Observation) error) {
	_, ok := a.rules.Protocol().Action(action)
	sees, _ := a.rules.Sight(a.identity.Role, action)
	switch {
	case !ok:
		a.misuse("OnObservation: there is no action %q", action)
	case !sees:
		a.misuse("OnObservation: %s never sees %s", a.identity.Role, action)
	case handler == nil:
		a.misuse("OnObservation: no handler for %s", action)
	}
	a.register("OnObservation", func() {
		a.handlers.observation[action] = append(a.handlers.observation[action], handler)
	})
}

// OnCompletion registers a handler that is called once for each enactment of the identity, when it becomes complete
// (semantics section 6), and twice only if the process died before the position was stored. It panics if the handler is
// nil and after Run has begun.
func (a *Adapter) OnCompletion(handler func(context.Context, Enactment) error) {
	if handler == nil {
		a.misuse("OnCompletion: no handler")
	}
	a.register("OnCompletion", func() { a.handlers.completion = append(a.handlers.completion, handler) })
}

// OnError registers a handler that is told when another handler failed or panicked, or a position could not be stored;
// all of that is logged too. It runs in the failed handler's place, so the enactment waits for it; if it panics, that
// is only logged. It panics if the handler is nil and after Run has begun.
func (a *Adapter) OnError(handler func(context.Context, HandlerError)) {
	if handler == nil {
		a.misuse("OnError: no handler")
	}
	a.register("OnError", func() { a.handlers.failure = append(a.handlers.failure, handler) })
}

// register adds a handler while nobody reads the handlers yet: once Run has begun they never change.
func (a *Adapter) register(method string, add func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started {
		a.misuse("%s after Run", method)
	}
	add()
}

// misuse panics: a handler registered by mistake would otherwise wait for ever.
func (a *Adapter) misuse(format string, arguments ...any) {
	mistake := fmt.Sprintf(format, arguments...)
	panic(fmt.Sprintf("adapter: %s of %s: %s", a.identity.Role, a.rules.Protocol().Name(), mistake))
}
