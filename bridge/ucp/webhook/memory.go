package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
)

// mostSeen is how many events of a checkout's order are remembered.
const mostSeen = 64

// Memory remembers in a store which events were handed on, for as long as the store keeps its values: what is forgotten
// is taken for fresh again. Of each order it knows the last 64 events. Any number of processes may share the store. It is
// safe for concurrent use. Make one with [Remember].
type Memory struct {
	store keyvalue.Store

	mu   sync.Mutex
	busy map[string]*turn
}

// turn lets one at a time be at an order; waiting counts who is at it or wants to be.
type turn struct {
	token   chan struct{}
	waiting int
}

// heard is what is remembered of an order.
type heard struct {
	Seen []string  `json:"seen"`
	Last time.Time `json:"last,omitzero"`
}

// Remember makes a memory of a store, in which it has the names that begin with heard and a point.
func Remember(store keyvalue.Store) *Memory {
	return &Memory{store: store, busy: make(map[string]*turn)}
}

// Once tells whether an event is new, and if it is has it handled and remembers that. In one process the events of one
// order are handled one at a time; two processes that are told the same at once may both handle it, and so may one that
// comes after the process that handled it and died, so handle has to bear that. If handle fails nothing is remembered and
// its error is given.
func (m *Memory) Once(ctx context.Context, e Event, handle func(context.Context) error) (Verdict, error) {
	name := memoryName(e)
	leave, err := m.enter(ctx, name)
	if err != nil {
		return "", err
	}
	defer leave()
	handled := false
	for {
		h, revision, err := m.load(ctx, name)
		if err != nil {
			return "", err
		}
		verdict := h.verdict(e)
		switch {
		case handled && verdict == Duplicate: // Another process has handled it, too.
			return Fresh, nil
		case verdict == Duplicate:
			return Duplicate, nil
		case handled:
			verdict = Fresh
		case verdict == Fresh:
			if err := handle(ctx); err != nil {
				return "", err
			}
			handled = true
		}
		h.remember(e)
		value, err := json.Marshal(h)
		if err != nil {
			return "", fmt.Errorf("ucp: webhook: remember: %w", err)
		}
		if _, err = m.store.Put(ctx, name, value, revision); err == nil {
			return verdict, nil
		}
		if !errors.Is(err, keyvalue.ErrConflict) {
			return "", fmt.Errorf("ucp: webhook: remember: %w", err)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// memoryName is where an order is remembered: by its checkout, which the platform has opened, and not by its own id, of
// which whoever tells of it could name any number.
func memoryName(e Event) string {
	sum := sha256.Sum256([]byte(e.Business + "\n" + e.Checkout))
	return "heard." + hex.EncodeToString(sum[:16])
}

func (m *Memory) load(ctx context.Context, name string) (h heard, revision uint64, err error) {
	entry, err := m.store.Get(ctx, name)
	switch {
	case errors.Is(err, keyvalue.ErrNone):
		return h, 0, nil
	case err == nil:
		err = json.Unmarshal(entry.Value, &h)
	}
	if err != nil {
		return h, 0, fmt.Errorf("ucp: webhook: what was heard: %w", err)
	}
	return h, entry.Revision, nil
}

// enter waits for the turn to be at an order.
func (m *Memory) enter(ctx context.Context, name string) (leave func(), err error) {
	m.mu.Lock()
	t := m.busy[name]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		m.busy[name] = t
	}
	t.waiting++
	m.mu.Unlock()
	done := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(m.busy, name)
		}
	}
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; done() }, nil
	case <-ctx.Done():
		done()
		return nil, context.Cause(ctx)
	}
}

func (h *heard) verdict(e Event) Verdict {
	switch {
	case slices.Contains(h.Seen, e.ID):
		return Duplicate
	case !e.At.IsZero() && e.At.Before(h.Last):
		return Stale
	default:
		return Fresh
	}
}

func (h *heard) remember(e Event) {
	if h.Seen = append(h.Seen, e.ID); len(h.Seen) > mostSeen {
		h.Seen = slices.Delete(h.Seen, 0, len(h.Seen)-mostSeen)
	}
	if e.At.After(h.Last) {
		h.Last = e.At
	}
}
