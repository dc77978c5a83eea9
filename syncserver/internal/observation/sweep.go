package observation

import (
	"context"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
)

// A sweep finds enactments behind the session's position that the feed should have and has not: because whoever had them
// is gone, or because they were taken for the feed in a batch that it never got. It goes through the records in the
// order in which they were written, a part at a time, so that it needs no list of all that it finds.
type sweep struct {
	from, to uint64 // in the stream of positions; it is over when from is greater
	due      []enactment.Key
}

const (
	mostDue  = 256
	mostRead = 4096
)

// orderSweep has the session look for enactments that are nobody's.
func (s *session) orderSweep() {
	s.orders.Lock()
	s.orders.sweep = true
	s.orders.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) sweepOrdered() bool {
	s.orders.Lock()
	defer s.orders.Unlock()
	if !s.orders.again.IsZero() && time.Now().After(s.orders.again) {
		s.orders.again = time.Time{}
		s.orders.sweep = true
	}
	ordered := s.orders.sweep
	s.orders.sweep = false
	return ordered
}

// sweep does what is ordered, as far as there is room in the batch and time to wait.
func (s *session) sweep(ctx, wait context.Context, b *batch) error {
	if s.sweepOrdered() && s.position > 0 {
		last, err := s.group.host.positions.Last(ctx, s.group.host.Subjects.PositionsOf(s.group.identity))
		if err != nil {
			s.orderSweep()
			return err
		}
		s.swept = sweep{from: 1, to: last.Sequence}
	}
	for over := false; !b.full() && !over && (len(s.swept.due) > 0 || s.swept.from <= s.swept.to && s.swept.to > 0); {
		var err error
		if over, err = s.over(wait); err != nil {
			return err
		}
		if len(s.swept.due) == 0 {
			if err := s.findDue(ctx); err != nil {
				return err
			}
			continue
		}
		key := s.swept.due[0]
		s.swept.due = s.swept.due[1:]
		r, known := s.group.records.get(key)
		if known && s.has(r) {
			continue
		}
		got, err := s.fetch(ctx, key, 0)
		switch {
		case err != nil:
			return err
		case len(got.history) > 0:
			if err := s.deliverAll(ctx, b, got.history, got.record, 0); err != nil {
				return err
			}
		case got.lost && known && r.form.Feed == s.feed:
			b.add(adapter.Delivery{Key: key, Revoked: true}) // it may have got a part of it
		}
	}
	return nil
}

// findDue reads the next part of the records.
func (s *session) findDue(ctx context.Context) error {
	g, read := s.group, 0
	next := s.swept.to + 1
	err := g.host.positions.Read(ctx, g.host.Subjects.PositionsOf(g.identity), s.swept.from, func(m stream.Message) (bool, error) {
		if m.Sequence > s.swept.to {
			return false, nil
		}
		r, err := recordOf(m)
		if err != nil {
			return false, err
		}
		if r.form.Feed != "" && !s.has(r) && !s.another(r) {
			g.records.learn(r)
			s.swept.due = append(s.swept.due, r.form.Key)
		}
		if read++; read >= mostRead || len(s.swept.due) >= mostDue {
			next = m.Sequence + 1
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		s.swept.due = nil
		return err
	}
	s.swept.from = next
	return nil
}
