package adapter

import (
	"context"
	"slices"
)

// scope is the life of a context that is given to handlers. It ends when the enactment is revoked and when Run ends,
// and otherwise once the handlers have returned and every attempt that was made with it has resolved: a handler may
// return and keep the promise.
type scope struct {
	run  *run
	view *view
	ctx  context.Context
	stop context.CancelCauseFunc
	// inside counts the handlers' step and the attempts; guarded by the run's mutex.
	inside int
}

// scopeKey finds the scope in a handler's context.
type scopeKey struct{}

// begin makes a scope for one step. The caller holds the mutex, and leaves the scope after the step.
func (r *run) begin(v *view) *scope {
	s := &scope{run: r, view: v, inside: 1}
	s.ctx, s.stop = context.WithCancelCause(context.WithValue(r.ctx, scopeKey{}, s))
	v.scopes = append(v.scopes, s)
	return s
}

// enter counts an attempt that is made with a handler's context into the handler's scope, and among the goroutines that
// Run waits for, and has it done by one of them. An attempt that is made without such a context has a goroutine of its
// own.
func enter(ctx context.Context, attempt func()) {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok {
		go attempt()
		return
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.inside == 0 { // an outgrowth of the context, made to outlive the scope
		go attempt()
		return
	}
	s.inside++
	s.run.inside++
	s.run.crew.Do(func() {
		defer s.run.leave()
		defer s.leave()
		attempt()
	})
}

func (s *scope) leave() {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.inside--
	if s.inside == 0 {
		s.stop(context.Canceled)
		s.view.scopes = slices.DeleteFunc(s.view.scopes, func(other *scope) bool { return other == s })
		if s.view.settled && len(s.view.scopes) == 0 {
			s.run.schedule(s.view) // so that a worker lets go of it
		}
	}
}
