package observation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
	"github.com/strabo-engine/strabo/syncserver/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// session serves one feed.
type session struct {
	group  *group
	feed   string
	holder *lease.Holder
	ended  chan struct{}
	once   sync.Once
	wake   chan struct{} // has a token when a sweep was ordered

	mu sync.Mutex
	// position is how far the log was looked at; number is that of the last batch, and sent what it said.
	position uint64
	number   uint64
	sent     *answer
	answered time.Time // when there was last something to deliver
	// owned has, for each enactment of the feed's, up to where in the stream it was delivered.
	owned map[enactment.Key]uint64
	// begun is where the session started: what the feed had before was delivered up to there.
	begun struct{ position, number uint64 }
	// due are enactments to be taken over, or delivered whole, outside the order of the log.
	due []enactment.Key

	orders struct {
		sync.Mutex
		sweep   bool
		renewed time.Time
		again   time.Time // when to sweep once more
	}
}

func newSession(g *group, feed string, holder *lease.Holder, position, number uint64) *session {
	s := &session{
		group: g, feed: feed, holder: holder, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		position: position, number: number, owned: make(map[enactment.Key]uint64),
	}
	s.begun.position, s.begun.number = position, number
	s.orders.sweep = true
	if number > 0 {
		// Another server may still be at work for the feed: what it takes now, nobody would ever deliver.
		s.orders.again = time.Now().Add(g.host.Lease)
	}
	s.renewed()
	return s
}

func (s *session) end() { s.once.Do(func() { close(s.ended) }) }

func (s *session) renewed() {
	s.orders.Lock()
	defer s.orders.Unlock()
	s.orders.renewed = time.Now()
}

// abandoned tells whether the feed has not asked here for so long that it must be elsewhere.
func (s *session) abandoned() bool {
	s.orders.Lock()
	defer s.orders.Unlock()
	return time.Since(s.orders.renewed) > 2*s.group.host.Lease
}

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

// Bounds of one batch.
const (
	mostDeliveries = 512
	mostItems      = 1024
	longestWait    = 30 * time.Second
	busy           = time.Millisecond
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
		most: min(max(r.Most, 1), mostDeliveries), mostBytes: s.group.host.MaxBytes / 2, text: text,
		last: make(map[enactment.Key]int),
	}
	for {
		more, err := s.fill(ctx, b)
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
			return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the feed has gone elsewhere"}
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

// fill adds what there is: first what is to be taken over, then what follows in the log. If there is nothing, the
// channel says when to look again.
func (s *session) fill(ctx context.Context, b *batch) (<-chan struct{}, error) {
	if s.sweepOrdered() {
		if err := s.sweep(ctx); err != nil {
			s.orderSweep()
			return nil, err
		}
	}
	for len(s.due) > 0 && !b.full() {
		key := s.due[0]
		if _, has := s.owned[key]; !has {
			if err := s.take(ctx, b, key); err != nil {
				return nil, err
			}
		}
		s.due = s.due[1:]
	}
	h := s.group.host
	for !b.full() {
		items, covered, more := h.tail.after(s.position, min(mostItems, 2*b.room()))
		if !covered {
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
		fresh := s.beginnings(items)
		if err := s.claim(ctx, b, items, fresh); err != nil {
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
		}
	}
	return nil, nil
}

// beginnings finds the enactments that can be delivered from the items on, without their history: the session has looked
// at all of it, and left nothing out that the identity may see. That the role is not another party's by now is known
// from the tail; of items that lie before it only if the role is taken, or another party might have it.
func (s *session) beginnings(items []item) map[enactment.Key]bool {
	fresh := make(map[enactment.Key]bool)
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
		fresh[e.Key] = (whole || !seen && e.Finalisation.Sequence == 1) && s.allowed(e.Seats) && taken
	}
	return fresh
}

// mine tells whether no other feed is known to have had an enactment.
func (s *session) mine(key enactment.Key) bool {
	r, known := s.group.known(key)
	return !known || r.form.Feed == s.feed
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

// interesting tells whether an entry would be delivered to the identity.
func (s *session) interesting(e *wire.Entry) bool {
	f := &e.Finalisation
	if len(f.Instances) == 0 || !s.allowed(e.Seats) {
		return false
	}
	for i := range f.Instances {
		if s.group.visible[f.Instances[i].Action] {
			return true
		}
	}
	return f.Completed
}

// allowed tells whether the identity sees an enactment in which those seats are taken.
func (s *session) allowed(seats map[string]string) bool {
	party, taken := seats[s.group.identity.Role]
	return !taken || party == s.group.identity.Party
}

// claimsAtOnce bounds how many claims are on their way.
const claimsAtOnce = 32

// claim takes, all together, what begins in the items and would be delivered.
func (s *session) claim(ctx context.Context, b *batch, items []item, fresh map[enactment.Key]bool) error {
	var keys []enactment.Key
	asked := make(map[enactment.Key]bool)
	for i := range items {
		if len(keys) >= b.room() {
			break
		}
		e := items[i].entry
		if !fresh[e.Key] || asked[e.Key] || len(e.Finalisation.Instances) == 0 || !s.interesting(e) {
			continue
		}
		asked[e.Key] = true
		if _, known := s.group.known(e.Key); !known {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) < 2 {
		return nil
	}
	return s.group.claim(ctx, keys, s.feed, s.number+1)
}

// look delivers an item if it is for the feed.
func (s *session) look(ctx context.Context, b *batch, i *item, fresh bool) error {
	e := i.entry
	if len(e.Finalisation.Instances) == 0 {
		return nil
	}
	if delivered, has := s.owned[e.Key]; has {
		switch {
		case i.sequence <= delivered:
		case !s.allowed(e.Seats):
			delete(s.owned, e.Key)
			b.add(adapter.Delivery{Key: e.Key, Revoked: true})
		default:
			s.owned[e.Key] = i.sequence
			s.deliver(b, e)
		}
		return nil
	}
	if !s.interesting(e) {
		return nil
	}
	if r, ok := s.group.known(e.Key); ok && r.form.Feed != s.feed && !s.group.dead(r.form.Feed) {
		return nil
	}
	if !fresh {
		return s.take(ctx, b, e.Key)
	}
	switch _, err := s.group.change(ctx, e.Key, s.feed, true, s.inNextBatch); {
	case errors.Is(err, errForeign):
		return nil
	case err != nil:
		return err
	}
	s.owned[e.Key] = i.sequence
	s.deliver(b, e)
	return nil
}

// inNextBatch notes that what becomes the feed's is delivered with the batch that is being made.
func (s *session) inNextBatch(f *recordForm) {
	if f.Batch == 0 {
		f.Batch = s.number + 1
	}
}

// take makes an enactment the feed's, if it may be, and delivers its whole history.
func (s *session) take(ctx context.Context, b *batch, key enactment.Key) error {
	history, err := s.history(ctx, key)
	if err != nil {
		return err
	}
	if len(history) == 0 || !s.allowed(history[len(history)-1].entry.Seats) ||
		!slices.ContainsFunc(history, func(i item) bool { return s.interesting(i.entry) }) {
		return nil
	}
	r, err := s.group.change(ctx, key, s.feed, true, s.inNextBatch)
	if errors.Is(err, errForeign) {
		return nil
	}
	if err != nil {
		return err
	}
	delivered := uint64(0)
	if r.form.Batch <= s.begun.number { // before the session began, up to there
		delivered = s.begun.position
	}
	for _, i := range history {
		if i.sequence > delivered {
			s.deliver(b, i.entry)
		}
	}
	s.owned[key] = history[len(history)-1].sequence
	return nil
}

// history reads the log of an enactment, without refusals.
func (s *session) history(ctx context.Context, key enactment.Key) ([]item, error) {
	h := s.group.host
	var history []item
	err := h.log.Read(ctx, h.Subjects.Log(key), 1, func(m stream.Message) (bool, error) {
		entry, err := h.Codec.DecodeEntry(m.Data)
		if err != nil {
			return false, err
		}
		if entry.Key == key && len(entry.Finalisation.Instances) > 0 {
			history = append(history, item{sequence: m.Sequence, entry: entry})
		}
		return true, nil
	})
	return history, err
}

// deliver adds what the identity sees of an entry.
func (s *session) deliver(b *batch, e *wire.Entry) {
	f := enactment.Finalisation{Sequence: e.Finalisation.Sequence, Completed: e.Finalisation.Completed}
	for i := range e.Finalisation.Instances {
		if seen, ok := s.group.host.Codec.Rules.Project(s.group.identity.Role, e.Finalisation.Instances[i]); ok {
			f.Instances = append(f.Instances, seen)
		}
	}
	if len(f.Instances) == 0 && !f.Completed {
		return
	}
	r, _ := s.group.known(e.Key)
	b.add(adapter.Delivery{Key: e.Key, Finalisation: f, Handled: f.Sequence <= r.form.Stored})
}

// sweep finds enactments of the identity that are the feed's, or nobody's because whoever had them is gone.
func (s *session) sweep(ctx context.Context) error {
	g := s.group
	due := make(map[enactment.Key]bool)
	err := g.host.positions.Read(ctx, g.host.Subjects.PositionsOf(g.identity), 1, func(m stream.Message) (bool, error) {
		r, err := recordOf(m)
		if err != nil {
			return false, err
		}
		g.learn(r)
		if _, has := s.owned[r.form.Key]; has {
			return true, nil
		}
		switch {
		case r.form.Feed == s.feed && r.form.Batch <= s.begun.number:
			s.owned[r.form.Key] = s.begun.position
		case r.form.Feed == s.feed || g.dead(r.form.Feed):
			due[r.form.Key] = true
		}
		return true, nil
	})
	s.due = slices.Sorted(maps.Keys(due))
	return err
}

// store keeps positions.
func (s *session) store(ctx context.Context, positions []wire.Position) (*wire.Stored, error) {
	lost := make([]bool, len(positions))
	failures := make([]error, len(positions))
	var done sync.WaitGroup
	tickets := make(chan struct{}, claimsAtOnce)
	for n, p := range positions {
		tickets <- struct{}{}
		done.Go(func() {
			defer func() { <-tickets }()
			_, err := s.group.change(ctx, p.Key, s.feed, false, func(f *recordForm) { f.Stored = max(f.Stored, p.Sequence) })
			if errors.Is(err, errForeign) {
				lost[n] = true
			} else {
				failures[n] = err
			}
		})
	}
	done.Wait()
	answer := &wire.Stored{}
	for n := range positions {
		if lost[n] {
			answer.Revoked = append(answer.Revoked, n)
		}
	}
	return answer, errors.Join(failures...)
}
