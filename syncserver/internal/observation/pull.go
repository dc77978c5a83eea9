package observation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Bounds of one batch.
const (
	mostDeliveries = 512
	mostItems      = 1024
	longestWait    = 30 * time.Second
	busy           = time.Millisecond
	// wholeItems is how long a history may be that is never cut, and wholeShare the part of a batch's bytes that it may
	// have. A batch may become larger by so much.
	wholeItems = 64
	wholeShare = 8
)

// pull makes the next batch, or gives the last one again if it did not arrive. It is encoded where text is not nil.
func (s *session) pull(ctx context.Context, r *wire.FeedRequest, text *wire.BatchText) (*answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent != nil && r.Batch == s.number-1 {
		return s.sent, nil
	}
	if r.Batch != s.number {
		return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the feed is elsewhere"}
	}
	wait, cancel := context.WithTimeout(ctx, min(max(r.Wait, 0), longestWait))
	defer cancel()
	// Where much happens it pays to wait a moment for more of it; where little happens nobody waits.
	if time.Since(s.answered) < busy {
		if _, err := stream.Pause(wait, busy); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	b := &batch{
		most: min(max(r.Most, 1), mostDeliveries), mostBytes: s.group.host.MaxBytes, text: text,
		last: make(map[enactment.Key]int),
	}
	s.goOn(b)
	for _, key := range r.Recall {
		if b.full() {
			break // it will be asked for again
		}
		if err := s.recall(ctx, b, key); err != nil {
			return nil, err
		}
	}
	for {
		more, err := s.fill(ctx, wait, b)
		if err != nil {
			return nil, err
		}
		if b.count > 0 || wait.Err() != nil {
			break
		}
		select {
		case <-more:
		case <-s.wake:
		case <-wait.Done():
		case <-s.ended:
			_, err := s.over(wait)
			return nil, err
		case <-s.group.host.ctx.Done():
			return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the server stops"}
		}
	}
	if b.count > 0 {
		s.answered = time.Now()
	}
	s.number++
	s.sent = b.end(s.number, s.position)
	return s.sent, nil
}

// over tells whether to go on with a batch later: when the time that the feed waits is over. The error says that nobody
// waits for the batch any more, so that nothing may be taken for it: the feed has gone elsewhere.
func (s *session) over(wait context.Context) (bool, error) {
	select {
	case <-s.ended:
		return true, &wire.Error{Reason: wire.NoFeed, Detail: "the feed has gone elsewhere"}
	default:
		return wait.Err() != nil, nil
	}
}

// fill adds what there is: first what is to be taken over, then what follows in the log. If there is nothing, the
// channel says when to look again. When the time to wait is over it ends in between, after something at the least, for a
// feed that has to wait much longer asks elsewhere, and gets nothing of what was taken for it here.
func (s *session) fill(ctx, wait context.Context, b *batch) (<-chan struct{}, error) {
	if err := s.sweep(ctx, wait, b); err != nil {
		return nil, err
	}
	h := s.group.host
	for over := false; !b.full() && !over; {
		items, covered, more := h.tail.after(s.position, min(mostItems, 2*b.room()))
		if covered {
			s.unread = nil
		} else if items = s.unread; len(items) == 0 {
			var err error
			if items, err = h.tail.read(ctx, h.log, h.Subjects.Logs(), s.position, mostItems); err != nil {
				return nil, err
			}
			if len(items) == 0 {
				if err := s.skip(ctx); err != nil {
					return nil, err
				}
				continue
			}
		}
		if len(items) == 0 {
			return more, nil
		}
		fresh, err := s.beginnings(ctx, items)
		if err != nil {
			return nil, err
		}
		if err := s.prepare(ctx, b, items, fresh); err != nil {
			return nil, err
		}
		for i := range items {
			if b.full() {
				break
			}
			if err := s.look(ctx, b, &items[i], fresh[items[i].entry.Key]); err != nil {
				return nil, err
			}
			s.position = items[i].sequence
			if !covered {
				s.unread = items[i+1:]
			}
		}
		if over, err = s.over(wait); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// beginnings finds the enactments that can be delivered from the items on, without their history: the session has looked
// at all of it, and left nothing out that the identity may see. That the role is not another party's by now is known
// from the tail; of items that lie before it if the role is taken, or from the last entry.
func (s *session) beginnings(ctx context.Context, items []item) (map[enactment.Key]bool, error) {
	fresh := make(map[enactment.Key]bool)
	open := make(map[enactment.Key]uint64) // with the last item
	for i := range items {
		e := items[i].entry
		if len(e.Finalisation.Instances) == 0 {
			continue
		}
		whole, seen := fresh[e.Key]
		if on := items[i].trail; on != nil {
			if !seen {
				fresh[e.Key] = on.first > s.begun.position && s.allowed(on.latest.Load().Seats) && s.mine(e.Key)
			}
			continue
		}
		_, taken := e.Seats[s.group.identity.Role]
		begins := (whole || !seen && e.Finalisation.Sequence == 1 || open[e.Key] > 0) && s.allowed(e.Seats)
		fresh[e.Key] = begins && taken
		if begins && !taken {
			open[e.Key] = items[i].sequence
		} else {
			delete(open, e.Key)
		}
	}
	return fresh, s.beginningsOpen(ctx, open, fresh)
}

// beginningsOpen finds those of enactments in which the role is not taken, up to an item, in which it is not another
// party's by now.
func (s *session) beginningsOpen(ctx context.Context, open map[enactment.Key]uint64, fresh map[enactment.Key]bool) error {
	h := s.group.host
	for some := range slices.Chunk(slices.Collect(maps.Keys(open)), stream.MostSubjects) {
		subjects := make([]string, len(some))
		for i, key := range some {
			subjects[i] = h.Subjects.Log(key)
		}
		err := h.log.ReadLast(ctx, subjects, func(m stream.Message) error {
			entry, err := h.Codec.DecodeEntry(m.Data)
			if err != nil {
				return err
			}
			if until, asked := open[entry.Key]; asked && !entry.Removed && m.Sequence >= until && s.allowed(entry.Seats) {
				fresh[entry.Key] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mine tells whether no other feed is known to have had an enactment.
func (s *session) mine(key enactment.Key) bool {
	r, known := s.group.records.get(key)
	return !known || r.revision == 0 || r.form.Feed == s.feed
}

// skip passes over a part of the log, before the tail begins, of which nothing is left.
func (s *session) skip(ctx context.Context) error {
	h := s.group.host
	start := h.tail.start() // whatever comes later lies behind it
	m, err := h.log.Last(ctx, h.Subjects.Logs())
	if err != nil {
		return err
	}
	if m.Sequence <= s.position {
		s.position = max(s.position, start)
		return nil
	}
	// The replica that was read is behind.
	_, err = stream.Pause(ctx, 10*time.Millisecond)
	return err
}
