package observation

import (
	"context"
	"errors"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// recall delivers the history of an enactment again, which the feed has released; or says that it is not the feed's.
func (s *session) recall(ctx context.Context, b *batch, key enactment.Key) error {
	r, known := s.group.records.get(key)
	if !known {
		var err error
		if r, err = s.group.read(ctx, key); err != nil {
			return err
		}
	}
	var history []item
	if s.has(r) {
		var err error
		if history, err = s.history(ctx, key, 0); err != nil {
			return err
		}
	}
	if len(history) == 0 || !s.allowed(history[len(history)-1].entry.Seats) {
		b.add(adapter.Delivery{Key: key, Revoked: true})
		return nil
	}
	return s.deliverAll(ctx, b, history, r, 0)
}

// deliverAll delivers a history, as much of it as there is room for; the rest comes first in the batches that follow. The
// session is, or will be in a moment, where until says, if not beyond.
func (s *session) deliverAll(ctx context.Context, b *batch, history []item, r record, until uint64) error {
	whole := len(history) <= wholeItems && sizeOf(history) <= b.mostBytes/wholeShare
	if last := s.number + uint64(len(history)); !whole && (r.form.Session != s.name || r.form.Batch < last) {
		// Should the feed go elsewhere before it has all of the history, it has none of it. Each batch has something of it.
		var err error
		r, err = s.group.change(ctx, r.form.Key, s.feed, false, func(f *recordForm) { f.Batch, f.Session = last, s.name })
		if errors.Is(err, errForeign) {
			b.add(adapter.Delivery{Key: r.form.Key, Revoked: true})
			return nil
		}
		if err != nil {
			return err
		}
	}
	begins := true
	for _, i := range history {
		if d, ok := s.show(i.entry, r, begins); ok {
			begins = false
			if whole {
				b.add(d)
			} else {
				s.rest = append(s.rest, d)
			}
		}
	}
	s.goOn(b)
	if last := history[len(history)-1].sequence; last > max(s.position, until) {
		s.ahead[r.form.Key] = last
	}
	return nil
}

// goOn delivers what is left of a history. Where something is left after that, the batch is full.
func (s *session) goOn(b *batch) {
	for len(s.rest) > 0 && !b.full() {
		b.add(s.rest[0])
		s.rest[0] = adapter.Delivery{}
		s.rest = s.rest[1:]
	}
	if len(s.rest) > 0 {
		b.more(s.rest[0].Key)
	} else {
		s.rest = nil
	}
}

// sizeOf is how many bytes items have in the log.
func sizeOf(items []item) int {
	bytes := 0
	for i := range items {
		bytes += items[i].bytes
	}
	return bytes
}

// removed takes an enactment from the feed that was removed, if the feed may still have it at hand: one that was open, or
// that something was done in lately. Of others agents have let go.
func (s *session) removed(ctx context.Context, b *batch, e *wire.Entry) error {
	delete(s.fetched, e.Key)
	delete(s.claimed, e.Key)
	delete(s.looked, e.Key)
	r, known := s.group.records.get(e.Key)
	if !known && !e.Finalisation.Completed {
		var err error
		if r, err = s.group.read(ctx, e.Key); err != nil {
			return err
		}
	}
	if r.form.Feed == s.feed {
		b.add(adapter.Delivery{Key: e.Key, Revoked: true})
	}
	return nil
}

// history reads the log of an enactment, without refusals. A replica that has not got so far as said is asked again. There
// is none of an enactment that was removed.
func (s *session) history(ctx context.Context, key enactment.Key, until uint64) ([]item, error) {
	h := s.group.host
	for {
		var history []item
		removed := false
		err := h.log.Read(ctx, h.Subjects.Log(key), 1, func(m stream.Message) (bool, error) {
			entry, err := h.Codec.DecodeEntry(m.Data)
			if err != nil {
				return false, err
			}
			if entry.Key == key && entry.Removed {
				removed, history = true, nil
			}
			if entry.Key == key && len(entry.Finalisation.Instances) > 0 {
				history = append(history, item{sequence: m.Sequence, entry: entry, bytes: len(m.Data)})
			}
			return true, nil
		})
		if err != nil || until == 0 || removed || len(history) > 0 && history[len(history)-1].sequence >= until {
			return history, err
		}
		if _, err := stream.Pause(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// deliver adds what the identity sees of an entry, if it sees anything.
func (s *session) deliver(b *batch, e *wire.Entry, r record, begins bool) {
	if d, ok := s.show(e, r, begins); ok {
		b.add(d)
	}
}

// show projects an entry; false if the identity sees nothing of it.
func (s *session) show(e *wire.Entry, r record, begins bool) (adapter.Delivery, bool) {
	f := enactment.Finalisation{Sequence: e.Finalisation.Sequence, Completed: e.Finalisation.Completed}
	for i := range e.Finalisation.Instances {
		if seen, ok := s.group.host.Codec.Rules.Project(s.group.identity.Role, e.Finalisation.Instances[i]); ok {
			f.Instances = append(f.Instances, seen)
		}
	}
	if len(f.Instances) == 0 && !f.Completed {
		return adapter.Delivery{}, false
	}
	return adapter.Delivery{Key: e.Key, Finalisation: f, Begins: begins, Handled: f.Sequence <= r.form.Stored}, true
}
