package syncserver

import (
	"context"
	"fmt"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// Attempt decides an attempt, at once or with the others of its window, and blocks until then. The error is that of the
// context, or [adapter.ErrClosed]. An attempt that is in a window by then stays there and may still be accepted: its
// outcome is unknown, and submitting it again gives the answer.
//
// An attempt with the id of another one of the same identity is a copy (semantics section 5). It gets the answer of the
// first, also when both are on their way, and a refusal if its content differs.
func (l *Local) Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error) {
	for {
		if ctx.Err() != nil {
			return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, context.Cause(ctx))
		}
		first, admitted, answer := l.answers.admit(attempt)
		if first == nil {
			return answer, nil
		}
		if admitted {
			if err := l.submit(first); err != nil {
				l.answers.withdraw(first)
				return enactment.Outcome{}, err
			}
		}
		select {
		case <-first.decided:
		default:
			select {
			case <-first.decided:
			case <-ctx.Done():
				continue // which returns the context's error
			case <-l.done:
				return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, adapter.ErrClosed)
			}
		}
		if admitted {
			return first.outcome, nil
		}
		// A copy: now that the first is answered, that answer is found.
	}
}

// submit hands an attempt to its enactment.
func (l *Local) submit(p *pending) error {
	key, unplaced := l.rules.KeyOf(p.attempt)
	if unplaced != nil {
		now := time.Now()
		if l.recorder != nil {
			l.recorder(l.rules.RefusedRecord("", 0, p.attempt, unplaced, now))
		}
		l.answers.settle([]*pending{p}, []enactment.Outcome{{Rejection: unplaced}})
		return nil
	}
	e, err := l.acquire(key)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if l.span == 0 && l.count == 0 {
		l.decide(e, []*pending{p})
		return nil
	}
	if e.window == nil {
		if e.window, err = l.open(e); err != nil {
			l.release(e, 1)
			return err
		}
	}
	e.window.waiting = append(e.window.waiting, p)
	if len(e.window.waiting) == l.count {
		l.shut(e)
	}
	return nil
}

// window holds attempts that are to be judged together.
type window struct {
	waiting []*pending
	timer   *time.Timer // nil if the window does not close by time
}

// open opens a window. The caller holds the log's lock.
func (l *Local) open(e *log) (*window, error) {
	w := &window{}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, adapter.ErrClosed
	}
	if l.span > 0 {
		l.timers.Add(1)
		w.timer = time.AfterFunc(l.span, func() {
			defer l.timers.Done()
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.window == w { // else it was closed by count, or with the executor, just now
				l.shut(e)
			}
		})
	}
	return w, nil
}

// stop ends a window's timer.
func (l *Local) stop(w *window) {
	if w.timer != nil && w.timer.Stop() {
		l.timers.Done()
	}
}

// shut closes the window and decides what is in it. The caller holds the log's lock.
func (l *Local) shut(e *log) {
	w := e.window
	e.window = nil
	l.stop(w)
	l.decide(e, w.waiting)
}

// decide judges attempts together, and sees to it that the log, the records, the feeds and the answers say the same.
// The caller holds the log's lock and one use of the log for each attempt, which decide gives back.
func (l *Local) decide(e *log, together []*pending) {
	attempts := make([]enactment.Attempt, len(together))
	for i, p := range together {
		attempts[i] = p.attempt
	}
	finalisation, outcomes := enactment.Judge(e.state, attempts...)
	now := time.Now()
	if l.recorder != nil {
		for record := range l.rules.Records(e.key, finalisation, attempts, outcomes, now) {
			l.recorder(record)
		}
	}
	if len(finalisation.Instances) > 0 {
		l.append(e, entry{finalisation, now})
	}
	l.answers.settle(together, outcomes)
	l.release(e, len(together))
}

// append adds to the log and tells the groups of those who see it.
func (l *Local) append(e *log, added entry) {
	l.mu.Lock()
	if e.state.Empty() {
		l.begun = append(l.begun, e)
	}
	audience := make([]*group, 0, len(l.groups))
	var others []*group // of roles whose party was open: they do not see it if the party is another now
	for role, parties := range l.groups {
		if party, taken := e.state.Party(role); taken {
			if seeing := parties[party]; seeing != nil {
				audience = append(audience, seeing)
			}
			continue
		}
		for _, open := range parties {
			others = append(others, open)
		}
	}
	l.mu.Unlock()

	e.state.Apply(added.finalisation)
	for _, open := range others {
		if e.state.Sees(open.identity) {
			audience = append(audience, open)
		} else {
			open.drop(e)
		}
	}
	e.write(added)
	for _, seeing := range audience {
		if seeing.sees(added) {
			seeing.add(e)
		}
	}
}
