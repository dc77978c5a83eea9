package syncserver

import (
	"fmt"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// log is one enactment: what happened, and the state that comes of it.
type log struct {
	key enactment.Key

	// mu is held while attempts of the enactment are judged.
	mu     sync.Mutex
	state  *enactment.State
	window *window // nil where none is open

	// users counts the attempts that are about to use the log; guarded by the executor's lock.
	users int

	// entriesMu guards entries alone, so that feeds can read while attempts are judged.
	entriesMu sync.RWMutex
	entries   []entry // only ever appended to
	changed   chan struct{}
}

// entry is one finalisation and the time of its judgement.
type entry struct {
	finalisation enactment.Finalisation
	at           time.Time
}

// read gives the entries that there are now.
func (e *log) read() []entry {
	e.entriesMu.RLock()
	defer e.entriesMu.RUnlock()
	return e.entries
}

func (e *log) write(added entry) {
	e.entriesMu.Lock()
	defer e.entriesMu.Unlock()
	e.entries = append(e.entries, added)
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// more gives a channel that is closed when something is added.
func (e *log) more() <-chan struct{} {
	e.entriesMu.Lock()
	defer e.entriesMu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

func (e *log) sees(identity enactment.Identity) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.Sees(identity)
}

// acquire finds or makes the log of an enactment, for one attempt.
func (l *Local) acquire(key enactment.Key) (*log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("syncserver: attempt in %s: %w", key, adapter.ErrClosed)
	}
	e, ok := l.logs[key]
	if !ok {
		e = &log{key: key, state: l.rules.NewState(key)}
		l.logs[key] = e
	}
	e.users++
	return e, nil
}

// release gives a log back, and forgets it if nothing has happened in it: attempts that are refused leave nothing
// behind. The caller holds the log's lock.
func (l *Local) release(e *log, attempts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.users -= attempts
	if e.users == 0 && e.state.Empty() {
		delete(l.logs, e.key)
	}
}
