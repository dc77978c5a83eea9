package syncserver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// attendedFeed delivers to one agent what is attended to. What waits in it belongs to enactments at hand, so it is
// bounded by those that are visited and [AttendanceConfig.Idle].
type attendedFeed struct {
	attendance *Attendance
	identity   enactment.Identity
	wake       chan struct{} // has a token when something may wait
	done       chan struct{} // closed by Close
	once       sync.Once

	mu      sync.Mutex
	waiting []adapter.Delivery
}

// Join starts to receive what the identity sees of the enactments that are attended to. One agent of an identity may join
// at a time.
func (a *Attendance) Join(_ context.Context, identity enactment.Identity) (adapter.Feed, error) {
	if !a.server.rules.NewState("").Sees(identity) {
		return nil, fmt.Errorf("syncserver: %s plays no role of protocol %s", identity, a.server.rules.Protocol().Name())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, fmt.Errorf("syncserver: join as %s: %w", identity, adapter.ErrClosed)
	case a.feeds[identity] != nil:
		return nil, fmt.Errorf("syncserver: join as %s: another agent has joined", identity)
	}
	f := &attendedFeed{attendance: a, identity: identity, wake: make(chan struct{}, 1), done: make(chan struct{})}
	a.feeds[identity] = f
	// What is at hand came without the agent.
	for _, at := range a.attended {
		state := a.server.rules.NewState(at.key)
		if at.sequence > 0 {
			state.Apply(enactment.Finalisation{Sequence: at.sequence, Instances: at.instances, Completed: at.completed})
		}
		at.look(state, []enactment.Identity{identity})
		at.told = append(at.told, f)
		f.deliver(at.history(identity, a.server.rules))
	}
	return f, nil
}

// deliver puts a delivery in the line. It never blocks.
func (f *attendedFeed) deliver(d adapter.Delivery) {
	if !d.Revoked && d.Finalisation.Sequence == 0 {
		return
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, d)
	f.mu.Unlock()
	signal(f.wake)
}

// Receive implements [adapter.Feed].
func (f *attendedFeed) Receive(ctx context.Context) (adapter.Delivery, error) {
	for {
		f.mu.Lock()
		if len(f.waiting) > 0 {
			d := f.waiting[0]
			f.waiting[0] = adapter.Delivery{}
			f.waiting = f.waiting[1:]
			f.mu.Unlock()
			return d, nil
		}
		f.waiting = nil
		f.mu.Unlock()
		select {
		case <-f.wake:
		case <-ctx.Done():
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, context.Cause(ctx))
		case <-f.done:
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, adapter.ErrClosed)
		case <-f.attendance.done:
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, adapter.ErrClosed)
		}
	}
}

// Store does nothing: no position is kept of what is attended to.
func (f *attendedFeed) Store(context.Context, enactment.Key, uint64) error { return nil }

// Release keeps everything: what is attended to is forgotten some time after its last visit.
func (f *attendedFeed) Release(enactment.Key, uint64) bool { return false }

// Close implements [adapter.Feed].
func (f *attendedFeed) Close() error {
	f.once.Do(func() {
		close(f.done)
		f.attendance.mu.Lock()
		defer f.attendance.mu.Unlock()
		delete(f.attendance.feeds, f.identity)
		for _, at := range f.attendance.attended {
			at.told = slices.DeleteFunc(at.told, func(other *attendedFeed) bool { return other == f })
		}
	})
	return nil
}
