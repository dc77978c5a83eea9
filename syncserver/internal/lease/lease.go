// Package lease says who lives: a holder renews a message of its own, and others hold it for dead when they have seen
// the message unchanged for longer than a lease lasts. No clocks are compared: everybody measures durations of their
// own. Before anything of a dead holder's is taken, its lease is ended under compare-and-set, so that a holder that
// lives after all learns that it lost it.
//
// A holder must hold itself for dead when a lease has passed since it began its last renewal that succeeded; that is
// before anybody else does. Start reading at [Holder] and [Watch].
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
)

// ErrLost says that the lease was ended by others, or belongs to another.
var ErrLost = errors.New("the lease is lost")

// Form is what a lease says.
type Form struct {
	Holder string `json:"holder"`
	// Renewed counts renewals, so that no two are alike.
	Renewed uint64 `json:"renewed"`
	// Ended is set when the holder has left or was held for dead.
	Ended bool `json:"ended,omitempty"`
	// Position is for the holder's own use.
	Position uint64 `json:"position,omitempty"`
}

// Holder is one holder's side of one lease.
type Holder struct {
	conn    *request.Conn
	reader  stream.Reader
	subject string
	timeout time.Duration

	mu       sync.Mutex
	form     Form
	revision uint64
}

// Take takes the lease of a subject, or takes it up again if the holder has it already. The error is [ErrLost] if it was
// ended or is another's. A lease that was ended can be taken if anew is set.
func Take(ctx context.Context, conn *request.Conn, name, subject, holder string, anew bool, timeout time.Duration) (*Holder, error) {
	h := &Holder{
		conn: conn, reader: stream.Reader{Conn: conn.Conn, Stream: name}, subject: subject, timeout: timeout,
		form: Form{Holder: holder},
	}
	form, revision, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	if revision > 0 {
		if form.Holder != holder && !form.Ended || form.Ended && !anew {
			return nil, ErrLost
		}
		h.form.Renewed, h.form.Position = form.Renewed, form.Position
	}
	h.revision = revision
	if err := h.Renew(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *Holder) read(ctx context.Context) (Form, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	m, err := h.reader.Last(ctx, h.subject)
	if err != nil || m.Sequence == 0 {
		return Form{}, 0, err
	}
	var form Form
	err = json.Unmarshal(m.Data, &form)
	return form, m.Sequence, err
}

// Position is what the lease said when it was taken, or was last set to.
func (h *Holder) Position() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.form.Position
}

// SetPosition sets what the next renewal says.
func (h *Holder) SetPosition(position uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.form.Position = position
}

// Renew keeps the lease. The error is [ErrLost] if it is lost.
func (h *Holder) Renew(ctx context.Context) error { return h.put(ctx, false) }

// End gives the lease up.
func (h *Holder) End(ctx context.Context) error { return h.put(ctx, true) }

func (h *Holder) put(ctx context.Context, end bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for backoff := stream.FirstBackoff; ; {
		form := h.form
		form.Renewed++
		form.Ended = end
		data, err := json.Marshal(form)
		if err != nil {
			return err
		}
		revision, err := stream.Put(ctx, h.conn, h.subject, data, h.revision, h.timeout)
		if err == nil {
			h.form, h.revision = form, revision
			return nil
		}
		if !errors.Is(err, stream.ErrConflict) {
			return err
		}
		// Either an earlier renewal came through unnoticed, or this is no conflict at all, or the lease is lost.
		has, revision, err := h.read(ctx)
		switch {
		case err != nil:
			return err
		case revision == h.revision:
			if backoff, err = stream.Pause(ctx, backoff); err != nil {
				return err
			}
		case revision == 0 || has.Holder == h.form.Holder && !has.Ended:
			h.revision, h.form.Renewed = revision, has.Renewed
		default:
			return ErrLost
		}
	}
}

// Watch sees which of several leases have ended.
type Watch struct {
	conn    *request.Conn
	reader  stream.Reader
	filter  string
	lease   time.Duration
	timeout time.Duration

	mu   sync.Mutex
	seen map[string]*sighting // by subject
}

// sighting is what was seen of a lease. The revision is 0 while it is missing.
type sighting struct {
	revision uint64
	since    time.Time
	dead     bool
}

// NewWatch watches the leases of all subjects that match. They last as long as said.
func NewWatch(conn *request.Conn, name, filter string, lease, timeout time.Duration) *Watch {
	return &Watch{
		conn: conn, reader: stream.Reader{Conn: conn.Conn, Stream: name}, filter: filter, lease: lease, timeout: timeout,
		seen: make(map[string]*sighting),
	}
}

// patience is how long a lease may go without being renewed: a little longer than its holder relies on.
func (w *Watch) patience() time.Duration { return w.lease + w.lease/4 }

// Dead tells whether the lease of a subject is known to have ended. A lease that was never seen has not, until it has
// been missing for as long as one lasts.
func (w *Watch) Dead(subject string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.seen[subject]
	if !ok {
		w.seen[subject] = &sighting{since: time.Now()}
		return false
	}
	return s.dead
}

// Free tells whether the lease of a subject has ended, or was never there when all were last looked at.
func (w *Watch) Free(subject string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.seen[subject]
	return !ok || s.dead
}

// Look looks at all leases, and ends those that were not renewed for too long. It tells whether any ended since it
// looked before.
func (w *Watch) Look(ctx context.Context) (ended bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	present := make(map[string]bool)
	// There is one message a subject.
	err = w.reader.Read(ctx, w.filter, 1, func(m stream.Message) (bool, error) {
		var form Form
		if err := json.Unmarshal(m.Data, &form); err != nil {
			return false, err
		}
		present[m.Subject] = true
		s := w.seen[m.Subject]
		if s == nil {
			s = &sighting{since: began}
			w.seen[m.Subject] = s
		}
		if m.Sequence > s.revision {
			s.revision, s.since = m.Sequence, time.Now()
			ended = ended || form.Ended && !s.dead
			s.dead = form.Ended
		}
		if s.dead || began.Sub(s.since) <= w.patience() {
			return true, nil
		}
		form.Ended = true
		data, err := json.Marshal(form)
		if err != nil {
			return false, err
		}
		// If it was renewed meanwhile this fails, and the lease goes on.
		if _, err := stream.Put(ctx, w.conn, m.Subject, data, m.Sequence, w.timeout); err == nil {
			s.dead, ended = true, true
		}
		return true, nil
	})
	if err != nil {
		return ended, err
	}
	for subject, s := range w.seen {
		if !present[subject] && !s.dead && began.Sub(s.since) > w.patience() {
			s.dead, ended = true, true
		}
	}
	return ended, nil
}
