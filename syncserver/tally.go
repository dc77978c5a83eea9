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
	open    int           // of what was read
	// stale tells that what was counted may have been removed meanwhile, so that all is to be counted anew. What was removed
	// before known, where the stream ended when the count was begun, is not counted at all.
	stale bool
	known uint64
	told  int  // what is told: open, or while all is counted anew what it was before
	whole bool // the end was reached
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
	return t.told, t.whole
}

// read counts what has come. A message that cannot be read counts for nothing: enactments verify names it.
func (t *tally) read(log stream.Reader, subject string) {
	err := t.readOn(log, subject)
	t.mu.Lock()
	stale := t.stale
	t.mu.Unlock()
	if err == nil && stale {
		err = t.readOn(log, subject)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && !t.stale {
		t.told, t.whole = t.open, true
	}
	close(t.reading)
	t.reading = nil
}

// readOn reads on, or from the beginning if it must be counted anew.
func (t *tally) readOn(log stream.Reader, subject string) error {
	if err := t.begin(log, subject); err != nil {
		return err
	}
	t.mu.Lock()
	from := t.last + 1
	t.mu.Unlock()
	return log.Read(t.ctx, subject, from, t.count)
}

// begin begins the count, if none was begun or it must be begun anew.
func (t *tally) begin(log stream.Reader, subject string) error {
	t.mu.Lock()
	anew := t.last == 0 || t.stale
	t.mu.Unlock()
	if !anew {
		return nil
	}
	end, err := log.Last(t.ctx, subject)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.open, t.stale, t.known = 0, 0, false, end.Sequence
	return nil
}

// count counts a message.
func (t *tally) count(m stream.Message) (bool, error) {
	begins, completes, removed := wire.Progress(m.Data)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = m.Sequence
	t.stale = t.stale || removed && m.Sequence > t.known
	if begins {
		t.open++
	}
	if completes {
		t.open--
	}
	return true, nil
}
