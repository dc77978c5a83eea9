package keyvalue

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] in the memory of one process. Values live for ever, or for a time after they were last stored.
type Memory struct {
	life time.Duration

	mu       sync.Mutex
	revision uint64
	entries  map[string]Entry
	sweep    time.Time // when to look for what has expired
}

// NewMemory makes a store whose values live for a time after they were last stored, for ever if it is 0.
func NewMemory(life time.Duration) *Memory {
	return &Memory{life: life, entries: make(map[string]Entry)}
}

var _ Store = (*Memory)(nil)

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, name string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry, ok := m.entry(name); ok {
		return entry, nil
	}
	return Entry{}, fmt.Errorf("%w: %s", ErrNone, name)
}

func (m *Memory) entry(name string) (Entry, bool) {
	entry, ok := m.entries[name]
	return entry, ok && !m.expired(entry, time.Now())
}

func (m *Memory) expired(entry Entry, now time.Time) bool {
	return m.life > 0 && now.Sub(entry.At) >= m.life
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, name string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry, _ := m.entry(name); entry.Revision != revision {
		return 0, fmt.Errorf("%w: %s", ErrConflict, name)
	}
	m.revision++
	now := time.Now()
	m.entries[name] = Entry{Name: name, Value: bytes.Clone(value), Revision: m.revision, At: now}
	if m.life > 0 && now.After(m.sweep) {
		m.sweep = now.Add(m.life / 8)
		for name, entry := range m.entries {
			if m.expired(entry, now) {
				delete(m.entries, name)
			}
		}
	}
	return m.revision, nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, name string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry, _ := m.entry(name); entry.Revision != revision {
		return fmt.Errorf("%w: %s", ErrConflict, name)
	}
	delete(m.entries, name)
	return nil
}

// List implements [Store]. It gives what there was when it began, in the order of the names.
func (m *Memory) List(_ context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		var found []Entry
		for name := range m.entries {
			if entry, ok := m.entry(name); ok && strings.HasPrefix(name, prefix) {
				found = append(found, entry)
			}
		}
		m.mu.Unlock()
		slices.SortFunc(found, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		for _, entry := range found {
			if !yield(entry, nil) {
				return
			}
		}
	}
}
