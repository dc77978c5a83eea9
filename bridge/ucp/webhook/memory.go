package webhook

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory remembers which events were handed on. Implementations are safe for concurrent use.
type Memory interface {
	// Once tells whether an event is new, and if it is has it handled and remembers that. The events of one order are
	// taken one at a time. If handle fails nothing is remembered and the error is given.
	Once(ctx context.Context, e Event, handle func(context.Context) error) (Verdict, error)
}

const (
	// orders is how many orders the memory of a process knows, those told of last, and events how many events of each.
	orders, events = 65536, 64
)

// InProcess is a [Memory] that lasts as long as the process and knows the 65,536 orders that were told of last, with 64
// events each. What is forgotten is taken for fresh again, as after a restart: whoever handles events has to bear that.
// The zero value is empty and ready for use.
type InProcess struct {
	mu     sync.Mutex
	known  map[order]*list.Element
	recent *list.List
}

// order is one order of one business.
type order struct{ business, id string }

// history is what was handed on of an order.
type history struct {
	order order
	busy  chan struct{} // has a token while somebody is at it
	seen  []string
	last  time.Time
}

// Once implements [Memory].
func (m *InProcess) Once(ctx context.Context, e Event, handle func(context.Context) error) (Verdict, error) {
	h := m.history(order{e.Business, e.OrderID})
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-h.busy }()
	switch {
	case slices.Contains(h.seen, e.ID):
		return Duplicate, nil
	case !e.At.IsZero() && e.At.Before(h.last):
		h.remember(e)
		return Stale, nil
	}
	if err := handle(ctx); err != nil {
		return "", err
	}
	h.remember(e)
	return Fresh, nil
}

func (h *history) remember(e Event) {
	if h.seen = append(h.seen, e.ID); len(h.seen) > events {
		h.seen = slices.Delete(h.seen, 0, 1)
	}
	if e.At.After(h.last) {
		h.last = e.At
	}
}

func (m *InProcess) history(o order) *history {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known, m.recent = make(map[order]*list.Element), list.New()
	}
	if found, ok := m.known[o]; ok {
		m.recent.MoveToFront(found)
		if h, ok := found.Value.(*history); ok {
			return h
		}
	}
	h := &history{order: o, busy: make(chan struct{}, 1)}
	m.known[o] = m.recent.PushFront(h)
	if m.recent.Len() > orders {
		oldest := m.recent.Back()
		m.recent.Remove(oldest)
		if h, ok := oldest.Value.(*history); ok {
			delete(m.known, h.order)
		}
	}
	return h
}
