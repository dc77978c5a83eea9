package adapter

import (
	"context"
	"fmt"
	"sync"
)

// Promise is the answer to an attempt that is still to come. It resolves once, with the accepted instance, with a
// [*Rejection], or with an error; never with two of them. It is safe for concurrent use.
type Promise struct {
	id      string
	done    chan struct{}
	once    sync.Once
	outcome Outcome
	err     error
}

func newPromise(id string) *Promise { return &Promise{id: id, done: make(chan struct{})} }

// ID is the id of the attempt: attempting again with [WithAttemptID] and the same content gives the same answer.
func (p *Promise) ID() string { return p.id }

// Done is closed when the promise has resolved.
func (p *Promise) Done() <-chan struct{} { return p.done }

// Outcome waits until the promise has resolved. The error is nil exactly if the attempt was accepted, and then the
// outcome holds the instance; it is a [*Rejection] if the attempt was refused, and then the outcome holds it too; and
// it is [ErrUnknown] if nobody can say. If ctx ends first, the error is its cause and the promise stays unresolved.
func (p *Promise) Outcome(ctx context.Context) (Outcome, error) {
	select {
	case <-p.done:
		return p.outcome, p.err
	default:
	}
	select {
	case <-p.done:
		return p.outcome, p.err
	case <-ctx.Done():
		return Outcome{}, fmt.Errorf("adapter: waiting for attempt %s: %w", p.id, context.Cause(ctx))
	}
}

// Err is the error of [Promise.Outcome].
func (p *Promise) Err(ctx context.Context) error {
	_, err := p.Outcome(ctx)
	return err
}

// resolve sets the answer; only the first call counts.
func (p *Promise) resolve(outcome Outcome, err error) {
	p.once.Do(func() {
		p.outcome, p.err = outcome, err
		if err == nil {
			p.err = outcome.Err()
		}
		close(p.done)
	})
}
