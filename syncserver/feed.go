package syncserver

import (
	"context"
	"fmt"
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// feed delivers what one identity sees to one adapter.
type feed struct {
	group    *group
	ready    []*member     // have something to deliver; guarded by the group's lock, as is left
	left     bool          // Close has been called
	owning   bool          // the last delivery was of an enactment that was the feed's already
	wake     chan struct{} // has a token when something may be ready
	done     chan struct{} // closed by Close
	once     sync.Once
	executor <-chan struct{} // closed when the executor is
}

// Receive takes the enactments that have something to deliver in turn, so that none waits for all of another's. One
// that is nobody's becomes this feed's.
func (f *feed) Receive(ctx context.Context) (adapter.Delivery, error) {
	for {
		if ctx.Err() != nil {
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.group.identity, context.Cause(ctx))
		}
		if f.closed() {
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.group.identity, adapter.ErrClosed)
		}
		if delivery, ok := f.next(); ok {
			return delivery, nil
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		case <-f.done:
		case <-f.executor:
		}
	}
}

func (f *feed) closed() bool {
	select {
	case <-f.done:
		return true
	case <-f.executor:
		return true
	default:
		return false
	}
}

// next takes one delivery, if there is any.
func (f *feed) next() (adapter.Delivery, bool) {
	g := f.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if f.left {
			return adapter.Delivery{}, false
		}
		m := f.take()
		if m == nil {
			return adapter.Delivery{}, false
		}
		if m.gone {
			delete(g.members, m.log.key)
			if m.owner != f {
				continue // it never had it
			}
			return adapter.Delivery{Key: m.log.key, Revoked: true}, true
		}
		m.owner = f
		delivery, ok := g.deliver(m)
		if delivery.More {
			g.enqueue(m)
		}
		if ok {
			return delivery, true
		}
	}
}

// take gives in turn an enactment that is the feed's and one that is nobody's, so that neither kind waits for ever; nil
// if there is none. The caller holds the group's lock.
func (f *feed) take() *member {
	first, second := &f.ready, &f.group.nobodys
	if f.owning {
		first, second = second, first
	}
	m := take(first)
	if m == nil {
		m = take(second)
	}
	f.owning = m != nil && m.owner == f
	return m
}

// deliver projects the next entry of a log that the identity sees; false if there is none.
func (g *group) deliver(m *member) (adapter.Delivery, bool) {
	entries := m.log.read()
	m.skip(g, entries)
	if m.next == len(entries) {
		return adapter.Delivery{}, false
	}
	f := entries[m.next].finalisation
	begins := !m.begun
	m.begun = true
	m.next++
	m.last = f.Sequence
	m.skip(g, entries)
	seen := make([]enactment.Instance, 0, len(f.Instances))
	for _, instance := range f.Instances {
		if projected, ok := g.rules.Project(g.identity.Role, instance); ok {
			seen = append(seen, projected)
		}
	}
	return adapter.Delivery{
		Key:          m.log.key,
		Finalisation: enactment.Finalisation{Sequence: f.Sequence, Instances: seen, Completed: f.Completed},
		Begins:       begins,
		Handled:      f.Sequence <= m.stored,
		More:         m.next < len(entries),
	}, true
}

// skip passes over entries of which the identity sees nothing.
func (m *member) skip(g *group, entries []entry) {
	for m.next < len(entries) && !g.sees(entries[m.next]) {
		m.next++
	}
}

// Store keeps the position in memory, for the next feed of the identity.
func (f *feed) Store(_ context.Context, key enactment.Key, sequence uint64) error {
	g := f.group
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.members[key]
	if !ok || m.owner != f {
		return fmt.Errorf("syncserver: store position %d of %s: %w", sequence, key, adapter.ErrRevoked)
	}
	m.stored = max(m.stored, sequence)
	return nil
}

// Release has the history of an enactment delivered from its beginning, should more of it happen.
func (f *feed) Release(key enactment.Key, sequence uint64) bool {
	g := f.group
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.members[key]
	if !ok || m.owner != f || m.queued {
		return false
	}
	// What was written to the log is queued in a moment, or is in the queue.
	entries := m.log.read()
	m.skip(g, entries)
	if m.next < len(entries) || m.last != sequence {
		return false
	}
	m.next, m.begun = 0, false
	return true
}

// Close gives the feed's enactments to the others of its identity, from the beginning of their history. It never fails.
func (f *feed) Close() error {
	f.once.Do(func() {
		close(f.done)
		f.group.leave(f)
	})
	return nil
}

// rouse tells Receive to look again.
func (f *feed) rouse() {
	select {
	case f.wake <- struct{}{}:
	default: // it will
	}
}
