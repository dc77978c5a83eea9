package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/internal/pause"
)

// pausedError says that an observation stays unanswered until somebody has decided.
type pausedError struct{ approval string }

func (e *pausedError) Error() string { return "bridge: waiting for approval " + e.approval }

// paused are the actions that wait for somebody to decide. None of them holds up a handler, of which there are only so
// many: each has a waiter of its own, which takes the enactment up again.
type paused struct {
	bridge *Bridge

	mu      sync.Mutex
	running context.Context // that of Run, which the waiters belong to
	since   map[string]time.Time
	// refused are decisions against calls, until they are acted upon: who asks again after an expiry is asked again.
	refused map[string]approval.Decision
	waiters sync.WaitGroup
}

// refusal gives a decision against a call that was waited for.
func (p *paused) refusal(approvalID string) (approval.Decision, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	decision, ok := p.refused[approvalID]
	delete(p.refused, approvalID)
	return decision, ok
}

func (p *paused) refuse(approvalID string, decision approval.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = make(map[string]approval.Decision)
	}
	p.refused[approvalID] = decision
}

// run lets waiters run as long as the function does.
func (p *paused) run(ctx context.Context, work func(context.Context) error) error {
	waiting, stop := context.WithCancel(ctx)
	p.mu.Lock()
	p.running = waiting
	p.mu.Unlock()
	err := work(ctx)
	p.mu.Lock()
	p.running = nil
	p.mu.Unlock()
	stop()
	p.waiters.Wait()
	return err
}

// await starts a waiter for the approval that a run needs; it tells whether there was none before.
func (p *paused) await(r *run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waits := p.since[r.approval]; waits {
		return false
	}
	if p.since == nil {
		p.since = make(map[string]time.Time)
	}
	p.since[r.approval] = time.Now()
	if ctx := p.running; ctx != nil {
		p.waiters.Go(func() { p.wait(ctx, r) })
	}
	return true
}

// decided gives how long it was waited for an approval, 0 if it was not.
func (p *paused) decided(approvalID string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, waited := p.since[approvalID]
	if !waited {
		return 0
	}
	delete(p.since, approvalID)
	return time.Since(since)
}

// wait waits for a decision, and takes the enactment up again. What it cannot know now it asks again.
func (p *paused) wait(ctx context.Context, r *run) {
	waiting, stop := ctx, context.CancelFunc(func() {})
	if until := p.bridge.options.Patience.Until; !until.IsZero() {
		waiting, stop = context.WithDeadline(ctx, until)
	}
	defer stop()
	for {
		decision, err := p.bridge.options.Approvals.Wait(waiting, r.approval)
		switch {
		case ctx.Err() != nil:
			return
		case waiting.Err() != nil:
			p.decided(r.approval)
			p.bridge.unknown(ctx, r, &unclearError{
				detail: fmt.Sprintf("step %s of %s waits for approval %s: nobody has decided yet", r.stepName(), r.plan.action, r.approval),
				unsent: true,
			})
			return
		case err != nil:
			p.bridge.log.WarnContext(ctx, "cannot wait for an approval", "enactment", r.key, "approval", r.approval, "error", err)
			if pause.For(ctx, p.bridge.options.Patience.Longest) != nil {
				return
			}
		}
		if err == nil {
			if decision.State != approval.Granted {
				p.refuse(r.approval, decision)
			}
			break
		}
	}
	// Whoever plays the role in this enactment by now takes it up; if that is another bridge, it waits as well.
	switch err := p.bridge.Settle(ctx, r.key); {
	case errors.Is(err, ErrNotHeld):
		p.decided(r.approval)
		p.refusal(r.approval)
	case err != nil && ctx.Err() == nil:
		p.bridge.log.WarnContext(ctx, "cannot go on after an approval", "enactment", r.key, "approval", r.approval, "error", err)
	}
}
