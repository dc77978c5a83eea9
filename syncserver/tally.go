package syncserver

import (
	"context"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// tally counts the open enactments of a system: those that have begun and are not complete. It reads the log, all of it the
// first time and then what has come since, when somebody asks; so it costs nothing where nobody does.
type tally struct {
	ctx    context.Context // of reading
	cancel context.CancelFunc

	mu      sync.Mutex
	reading chan struct{} // closed when the read that is under way has ended; nil if there is none
	last    uint64        // sequence in the stream of what was read last
	open    int
	whole   bool // the end was reached
}

// tallyPatience is how long whoever asks waits for the log to be read, before there is the count of before.
const tallyPatience = 250 * time.Millisecond

// openEnactments tells how many enactments are open in the whole system, whatever server they go through; false if that is not
// known yet.
func (s *Server) openEnactments() (int, bool) {
	t := &s.tally
	t.mu.Lock()
	if t.reading == nil && s.enter() {
		t.reading = make(chan struct{})
		go func() {
			defer s.working.Done()
			t.read(stream.Reader{Conn: s.conn, Stream: s.subjects.LogStream()}, s.subjects.Logs())
		}()
	}
	reading := t.reading
	t.mu.Unlock()
	if reading != nil {
		timer := time.NewTimer(tallyPatience)
		defer timer.Stop()
		select {
		case <-reading:
		case <-timer.C:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open, t.whole
}

// read counts what has come. A message that cannot be read counts for nothing: enactments verify names it.
func (t *tally) read(log stream.Reader, subject string) {
	t.mu.Lock()
	from := t.last + 1
	t.mu.Unlock()
	err := log.Read(t.ctx, subject, from, func(m stream.Message) (bool, error) {
		begins, completes := wire.Progress(m.Data)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last = m.Sequence
		if begins {
			t.open++
		}
		if completes {
			t.open--
		}
		return true, nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = t.whole || err == nil
	close(t.reading)
	t.reading = nil
}
