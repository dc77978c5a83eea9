package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// errWaiting says that a step waits for the remote party, or for somebody there. It is looked at again; nobody is held up
// by it.
var errWaiting = errors.New("bridge: waiting for the remote party")

// longestWait bounds what the remote party may have somebody wait.
const longestWait = 30 * 24 * time.Hour

// park has the step looked at again until the time that the answer gives.
func (x *exchange) park(ctx context.Context, a *answer) error {
	until, err := x.until(a)
	if err != nil {
		return err
	}
	if x.waiting == nil || !x.waiting.Until.Equal(until) {
		entry := Entry{Kind: EntryWaiting, Step: x.step.name, Key: x.idempotency, Until: until, At: time.Now().UTC()}
		if err := x.append(ctx, entry); err != nil {
			return err
		}
		x.waiting = &entry
	}
	return errWaiting
}

// until reads how long is waited. What the remote party says that is no time says nothing.
func (x *exchange) until(a *answer) (time.Time, error) {
	value, err := a.until.render(x.scene())
	if err != nil && !errors.Is(err, errAbsent) {
		return time.Time{}, unclear("wait of step %s: %v", x.step.name, err)
	}
	text, _ := value.value.(string)
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		until = x.open.At.Add(x.bridge.options.Patience.Wait)
	}
	if most := x.open.At.Add(longestWait); until.After(most) {
		until = most
	}
	return until.UTC().Truncate(time.Second), nil
}

// look looks once at what is waited for. What cannot be found out now is looked at later, until the time is over.
func (x *exchange) look(ctx context.Context) (*answer, int, error) {
	late := !time.Now().Before(x.waiting.Until)
	var a *answer
	var err error
	if x.step.status != nil {
		a, err = x.ask(ctx)
	} else {
		a, _, err = x.send(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case err == nil && a != nil && a.kind != ask && a.kind != resend && a.kind != wait:
		return a, x.status, nil
	case err == nil && a != nil && a.kind == wait:
		// The remote party may have put it off.
		until, err := x.until(a)
		if err == nil && until.After(x.waiting.Until) {
			return a, x.status, nil
		}
	}
	until := x.bridge.options.Patience.Until
	switch {
	case late && x.step.late != nil:
		return x.step.late, 0, nil
	case late:
		x.reason += ", and the time to wait is over"
		return nil, 0, x.unclear(nil)
	case !until.IsZero() && !time.Now().Before(until):
		x.reason += ", and there is no time left to wait"
		return nil, 0, x.unclear(nil)
	default:
		return nil, 0, errWaiting
	}
}

// lookAt looks at what waits for the remote party in an enactment, if it is time.
func (b *Bridge) lookAt(ctx context.Context, e adapter.Enactment, again bool) error {
	for instance := range e.Instances() {
		plan, mapped := b.mapping.actions[instance.Action]
		if !mapped || instance.Role == b.mapping.role {
			continue
		}
		r, err := b.resume(ctx, plan, e, instance)
		if err != nil {
			return err
		}
		name := string(r.key) + r.instance
		switch {
		case r.done() || r.waiting == nil:
			b.watch.forget(name)
			continue
		case len(r.pending) > 0 || !again && b.gaveUp(r):
			continue
		}
		if b.watch.due(name, time.Now()) {
			err := r.answer(ctx)
			if !errors.Is(err, errWaiting) {
				b.watch.forget(name)
			}
			switch {
			case err == nil:
				b.takeUp(r)
				continue
			case ctx.Err() != nil:
				return fmt.Errorf("bridge: %s: %w", instance.Action, context.Cause(ctx))
			case errors.As(err, new(*unclearError)):
				b.giveUp(r)
				continue
			case errors.As(err, new(*pausedError)):
				continue
			case !errors.Is(err, errWaiting):
				return err
			}
		}
		b.watch.again(name, e, b.limit(r.waiting.Until), b.options.Patience)
	}
	return nil
}

// limit is when is looked at the latest.
func (b *Bridge) limit(until time.Time) time.Time {
	if own := b.options.Patience.Until; !own.IsZero() && own.Before(until) {
		return own
	}
	return until
}

// lookAgain is called when it is time for a look.
func (b *Bridge) lookAgain(ctx context.Context, e adapter.Enactment) {
	err := b.settle(ctx, e, false)
	if err != nil && ctx.Err() == nil {
		b.log.ErrorContext(ctx, "cannot look at what is waited for", "enactment", e.Key(), "error", err)
	}
	b.watch.rest(e.Key(), err != nil, b.options.Patience)
}

// watch says when what waits is looked at again.
type watch struct {
	mu      sync.Mutex
	looks   map[string]*look // by enactment and instance
	changed chan struct{}    // has room for one
}

// look is when one instance is looked at next.
type look struct {
	enactment adapter.Enactment
	next      time.Time
	set       bool // next is yet to come
	backoff   *policy.Backoff
}

// mostLooks is how many enactments are looked at together.
const mostLooks = 16

func newWatch() *watch {
	return &watch{looks: make(map[string]*look), changed: make(chan struct{}, 1)}
}

// due tells whether it is time to look, as it is at first.
func (w *watch) due(name string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.looks[name]
	return l == nil || !now.Before(l.next)
}

func (w *watch) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.looks, name)
}

// again sets when is looked next, unless that is set: after a pause that grows, but not after the limit.
func (w *watch) again(name string, e adapter.Enactment, limit time.Time, patience Patience) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.looks[name]
	if l == nil {
		l = &look{backoff: policy.NewBackoff(patience.First, patience.LongestLook)}
		w.looks[name] = l
	}
	l.enactment = e
	now := time.Now()
	if l.set && now.Before(l.next) {
		return
	}
	// At the limit there is one look more, and then no other.
	l.next, l.set = now.Add(max(l.backoff.Next(), patience.First/4)), true
	if now.Before(limit) && l.next.After(limit) {
		l.next = limit
	}
	w.wake()
}

// rest deals with the looks of an enactment that were due and not made: those that failed are made later, what is not
// there any more, as in an enactment that was let go, is forgotten.
func (w *watch) rest(key enactment.Key, failed bool, patience Patience) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, l := range w.looks {
		switch {
		case l.set || l.enactment.Key() != key:
		case failed:
			l.next, l.set = time.Now().Add(max(l.backoff.Next(), patience.First)), true
			w.wake()
		default:
			delete(w.looks, name)
		}
	}
}

// wake has run look at what has changed.
func (w *watch) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// run calls with each enactment that it is time to look at, until the context ends, and waits for the calls.
func (w *watch) run(ctx context.Context, call func(context.Context, adapter.Enactment)) {
	var calls errgroup.Group
	calls.SetLimit(mostLooks)
	defer func() { _ = calls.Wait() }() // They give no errors.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		case <-timer.C:
		}
		due, next := w.take(time.Now())
		for _, e := range due {
			calls.Go(func() error {
				call(ctx, e)
				return nil
			})
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// take gives the enactments that it is time to look at, each once, and when the next will be; zero for never.
func (w *watch) take(now time.Time) (due []adapter.Enactment, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := make(map[enactment.Key]bool)
	for _, l := range w.looks {
		switch {
		case !l.set:
		case !now.Before(l.next):
			l.set = false
			if key := l.enactment.Key(); !taken[key] {
				taken[key] = true
				due = append(due, l.enactment)
			}
		case next.IsZero() || l.next.Before(next):
			next = l.next
		}
	}
	return due, next
}
