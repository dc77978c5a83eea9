package syncserver

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// DefaultRetention is how long answers are kept where [WithRetention] does not say otherwise.
const DefaultRetention = 10 * time.Minute

// Local is an executor in memory: agents in the same process share it. Attempts of one enactment are decided one after
// the other, those of different enactments in parallel. Its methods are safe for concurrent use.
//
// It keeps the log of every enactment for as long as it lives, for each identity that ever joined the position in each
// enactment that it sees, and answers for as long as [WithRetention] says. What is delivered is projected from the log
// when it is received; nothing is queued for anybody.
type Local struct {
	rules    *enactment.Rules
	name     string // tells it from others
	recorder func(enactment.Record)
	span     time.Duration // of a window, 0 where it does not end by time
	count    int           // of attempts that end a window, 0 where it does not end by count
	answers  *answers
	done     chan struct{} // closed by Close
	timers   sync.WaitGroup

	// Locks are taken in this order: that of a log, this one, that of a group, that of a log's entries.
	mu     sync.Mutex
	closed bool
	logs   map[enactment.Key]*log
	begun  []*log // logs that are not empty, in the order in which they began
	groups map[string]map[string]*group
}

var _ adapter.Executor = (*Local)(nil)

// Option changes how a Local works.
type Option func(*Local)

// WithBatch makes finalisation batch instead of immediate. The first attempt of an enactment that arrives opens a
// window for that enactment; it closes after the time span, or when it holds count attempts, whichever comes first,
// and then its attempts are judged together. A span that is not positive sets no such limit, and attempts wait until as
// many have come; a count that is not positive or more than [MostInWindow] means that. Without either finalisation stays
// immediate.
func WithBatch(span time.Duration, count int) Option {
	return func(l *Local) {
		l.span, l.count = max(span, 0), max(count, 0)
		if l.span > 0 && l.count == 0 || l.count > MostInWindow {
			l.count = MostInWindow
		}
	}
}

// MostInWindow is how many attempts one window holds at most: to judge them costs up to the square of their number.
const MostInWindow = 1024

// WithRetention says how long an answer is kept, so that an attempt that arrives again gets it: the time must be longer
// than any agent goes on submitting one attempt. Attempts that were made longer ago are refused as expired if nothing
// else stands against them. It panics unless the time is positive; [DefaultRetention] if it is not given.
func WithRetention(retention time.Duration) Option {
	if retention <= 0 {
		panic(fmt.Sprintf("syncserver: retention of %v: it must be positive", retention))
	}
	return func(l *Local) { l.answers.retention = retention }
}

// WithRecorder has every record told to a function: what happened, what was refused and what became complete. Records
// of one enactment come one at a time and in order: what happened by a finalisation, what was refused with it, and
// completion; and before anybody is delivered or answered what they tell of. Records of different enactments may come
// at the same time. Secrets are hidden. An attempt that is answered again is not recorded again.
//
// The enactment is locked meanwhile: the function must return soon, and must not call this Local.
func WithRecorder(recorder func(enactment.Record)) Option {
	return func(l *Local) { l.recorder = recorder }
}

// NewLocal makes an executor for a protocol. Finalisation is immediate unless [WithBatch] is given. Close it when it is
// needed no more.
func NewLocal(rules *enactment.Rules, options ...Option) *Local {
	l := &Local{
		rules:   rules,
		name:    nuid.Next(),
		answers: newAnswers(DefaultRetention),
		done:    make(chan struct{}),
		logs:    make(map[enactment.Key]*log),
		groups:  make(map[string]map[string]*group),
	}
	for _, option := range options {
		option(l)
	}
	return l
}

// Rules are those that it judges by.
func (l *Local) Rules() *enactment.Rules { return l.rules }

// Close ends the executor: attempts that wait for a window, and feeds that wait for something to receive, return
// [adapter.ErrClosed], and windows that are open are never decided. It returns when no goroutine of the executor is
// left. What happened can still be read. Closing again does nothing.
func (l *Local) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	logs := make([]*log, 0, len(l.logs))
	for _, e := range l.logs {
		logs = append(logs, e)
	}
	l.mu.Unlock()
	for _, e := range logs {
		e.mu.Lock()
		if e.window != nil {
			l.stop(e.window)
			e.window = nil
		}
		e.mu.Unlock()
	}
	l.timers.Wait()
}

// Enactments lists the enactments in which something has happened, in the order in which they began. It lists those
// that there were when the range began.
func (l *Local) Enactments() iter.Seq[enactment.Key] {
	return func(yield func(enactment.Key) bool) {
		l.mu.Lock()
		begun := l.begun // only ever appended to
		l.mu.Unlock()
		for _, e := range begun {
			if !yield(e.key) {
				return
			}
		}
	}
}

// History gives the log of an enactment, whole: every finalisation in order. It is empty if nothing has happened. The
// caller must not change the instances.
func (l *Local) History(key enactment.Key) []enactment.Finalisation {
	e := l.find(key)
	if e == nil {
		return nil
	}
	entries := e.read()
	history := make([]enactment.Finalisation, len(entries))
	for i := range entries {
		history[i] = entries[i].finalisation
	}
	return history
}

// Records lists the log of an enactment as records, as an identity sees it (semantics section 7): what happened, and
// completion. The zero identity sees everything but secrets; an identity that does not see the enactment gets nothing.
// Refusals are no part of a log: see [WithRecorder] for those.
func (l *Local) Records(key enactment.Key, viewer enactment.Identity) iter.Seq[enactment.Record] {
	return func(yield func(enactment.Record) bool) {
		e := l.find(key)
		all := viewer == enactment.Identity{}
		if e == nil || !all && !e.sees(viewer) {
			return
		}
		for _, entry := range e.read() {
			f := entry.finalisation
			for _, instance := range f.Instances {
				seen, ok := instance, true
				if !all {
					seen, ok = l.rules.Project(viewer.Role, instance)
				}
				if ok && !yield(l.rules.HappenedRecord(key, f.Sequence, seen, entry.at)) {
					return
				}
			}
			if f.Completed && !yield(l.rules.CompletedRecord(key, f.Sequence, entry.at)) {
				return
			}
		}
	}
}

// find gives the log of an enactment, nil if nothing was ever attempted in it.
func (l *Local) find(key enactment.Key) *log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logs[key]
}

// Join starts to receive what an identity sees. Feeds of one identity share its enactments: one that is nobody's goes
// to the feed that asks first, and stays with it until that feed closes. The error is [adapter.ErrClosed] after Close,
// and otherwise says that there is no such role, or that the party is none of those configured for it.
func (l *Local) Join(ctx context.Context, identity enactment.Identity) (adapter.Feed, error) {
	if !l.rules.NewState("").Sees(identity) {
		return nil, fmt.Errorf("syncserver: %s plays no role of protocol %s", identity, l.rules.Protocol().Name())
	}
	g, begun, err := l.group(identity)
	if err != nil {
		return nil, err
	}
	for _, e := range begun {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("syncserver: join as %s: %w", identity, context.Cause(ctx))
		}
		e.mu.Lock()
		if e.state.Sees(identity) && slices.ContainsFunc(e.read(), g.sees) {
			g.add(e)
		}
		e.mu.Unlock()
	}
	return g.join(l.done), nil
}

// group finds or makes the group of an identity, together with the logs that it may have missed.
func (l *Local) group(identity enactment.Identity) (*group, []*log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, fmt.Errorf("syncserver: join as %s: %w", identity, adapter.ErrClosed)
	}
	g := l.groups[identity.Role][identity.Party]
	if g == nil {
		g = newGroup(l.rules, identity)
		if l.groups[identity.Role] == nil {
			l.groups[identity.Role] = make(map[string]*group)
		}
		l.groups[identity.Role][identity.Party] = g
	}
	if g.caughtUp() {
		return g, nil, nil
	}
	return g, l.begun, nil
}
