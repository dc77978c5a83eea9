package observation

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// What an enactment's record says, together with where the session is, tells what the feed has got of it: nothing needs
// to be remembered of each enactment that was ever delivered.
//
// One that the feed has was delivered up to the session's position, and what follows is delivered as the session goes
// on. Its history may have been delivered beyond the position, when the feed took it: that is in session.ahead until the
// position is there.

// has tells whether the feed has got an enactment's history, or gets it with the batch that is made.
func (s *session) has(r record) bool {
	return r.form.Feed == s.feed && (r.form.Session == s.name || r.form.Batch <= s.begun.number)
}

// another tells whether an enactment is another feed's, as far as is known.
func (s *session) another(r record) bool {
	return r.form.Feed != "" && r.form.Feed != s.feed && !s.group.dead(r.form.Feed)
}

// taking notes that the feed gets the history with the batch that is being made.
func (s *session) taking(f *recordForm) {
	if f.Batch == 0 || !s.has(record{form: *f}) {
		f.Batch, f.Session = s.number+1, s.name
	}
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

// lost tells whether it may be by this entry that the role became another party's, so that what the identity has seen
// of the enactment so far was the last of it.
func (s *session) lost(e *wire.Entry) bool {
	return e.Finalisation.Sequence > 1 && !s.allowed(e.Seats) &&
		slices.ContainsFunc(e.Finalisation.Instances, func(i enactment.Instance) bool { return i.Role == s.group.identity.Role })
}

// concerns tells whether anything is to be done about an entry, if the enactment is the feed's.
func (s *session) concerns(e *wire.Entry) bool { return s.interesting(e) || s.lost(e) }

// atOnce bounds how many writes of one session are on their way.
const atOnce = 32

// together does something for so many things, some at a time.
func together(count int, do func(n int) error) error {
	failures := make([]error, count)
	var done sync.WaitGroup
	tickets := make(chan struct{}, atOnce)
	for n := range count {
		tickets <- struct{}{}
		done.Go(func() {
			defer func() { <-tickets }()
			failures[n] = do(n)
		})
	}
	done.Wait()
	return errors.Join(failures...)
}

// prepare gets to know, all together, whose the enactments are that the items are of, and takes as many as there is room
// for of those that are nobody's and would be delivered: what begins, and the history of what does not.
func (s *session) prepare(ctx context.Context, b *batch, items []item, fresh map[enactment.Key]bool) error {
	var begin []record
	var rest, whole []enactment.Key
	s.looked = make(map[enactment.Key]record)
	until := make(map[enactment.Key]uint64)
	for i := range items {
		e := items[i].entry
		if _, seen := until[e.Key]; seen || i >= b.room() && !fresh[e.Key] || !s.concerns(e) || s.ahead[e.Key] >= items[i].sequence {
			continue
		}
		until[e.Key] = items[i].sequence
		switch r, known := s.group.records.get(e.Key); {
		case known && r.revision > 0 && (s.has(r) || s.another(r)):
		case known && fresh[e.Key] && (r.revision == 0 || items[i].trail == nil):
			begin = append(begin, r)
		case !known && fresh[e.Key] && items[i].trail != nil:
			begin = append(begin, record{form: recordForm{Key: e.Key}})
		case known:
			whole = append(whole, e.Key)
		default:
			rest = append(rest, e.Key)
		}
	}
	if len(rest) > 1 {
		found, err := s.group.readAll(ctx, rest)
		if err != nil {
			return err
		}
		for _, key := range rest {
			r := found[key]
			s.looked[key] = r
			switch {
			case r.revision > 0 && (s.has(r) || s.another(r)):
			case fresh[key]:
				begin = append(begin, r)
			default:
				whole = append(whole, key)
			}
		}
	}
	begin, whole = begin[:min(len(begin), b.room())], whole[:min(len(whole), b.room())]
	return errors.Join(s.beginAll(ctx, begin), s.fetchAll(ctx, whole, until))
}

// beginAll makes enactments the feed's that are nobody's, or were a feed's that is gone, and of which all is still to be
// delivered.
func (s *session) beginAll(ctx context.Context, was []record) error {
	if len(was) < 2 {
		return nil
	}
	writings := make([]stream.Writing, len(was))
	forms := make([]recordForm, len(was))
	for n, r := range was {
		forms[n] = recordForm{Key: r.form.Key, Feed: s.feed, Stored: r.form.Stored}
		s.taking(&forms[n])
		writings[n] = s.group.begin(r, &forms[n])
	}
	var failure error
	for n := range was {
		key := forms[n].Key
		revision, err := writings[n].Wait(ctx, s.group.host.Timeout)
		switch {
		case err == nil:
			r := record{revision, forms[n]}
			s.group.records.learn(r)
			s.looked[key] = r
			s.claimed[key] = true
		case errors.Is(err, stream.ErrConflict): // whose it is will be seen when it is looked at
			delete(s.looked, key)
		default:
			failure = err
		}
	}
	return failure
}

func (s *session) fetchAll(ctx context.Context, keys []enactment.Key, until map[enactment.Key]uint64) error {
	if len(keys) < 2 {
		return nil
	}
	got := make([]fetched, len(keys))
	var bytes atomic.Int64
	err := together(len(keys), func(n int) error {
		if bytes.Load() > mostItemBytes {
			return nil // it is fetched when the session is there
		}
		var err error
		got[n], err = s.fetch(ctx, keys[n], until[keys[n]])
		bytes.Add(int64(sizeOf(got[n].history)))
		return err
	})
	for n, key := range keys {
		if len(got[n].history) > 0 {
			s.fetched[key] = got[n]
		}
	}
	return err
}

// begin makes an enactment the feed's of which there is no record. It is not ours if there was one after all, which is
// then given and remembered.
func (s *session) begin(ctx context.Context, key enactment.Key) (r record, ours bool, err error) {
	form := recordForm{Key: key, Feed: s.feed}
	s.taking(&form)
	for backoff := stream.FirstBackoff; ; {
		r, err = s.group.write(ctx, record{}, form)
		if !errors.Is(err, stream.ErrConflict) {
			return r, err == nil, err
		}
		if r, err = s.group.read(ctx, key); err != nil || r.revision > 0 {
			return r, false, err
		}
		if backoff, err = stream.Pause(ctx, backoff); err != nil {
			return record{}, false, err
		}
	}
}

// look delivers an item if it is for the feed.
func (s *session) look(ctx context.Context, b *batch, i *item, fresh bool) error {
	e := i.entry
	if to, ok := s.ahead[e.Key]; ok {
		if i.sequence >= to {
			delete(s.ahead, e.Key)
		}
		if i.sequence <= to {
			return nil // it came with the history
		}
	}
	if e.Removed {
		return s.removed(ctx, b, e)
	}
	if !s.concerns(e) {
		return nil
	}
	if got, ok := s.fetched[e.Key]; ok {
		delete(s.fetched, e.Key)
		return s.deliverAll(ctx, b, got.history, got.record, i.sequence)
	}
	r, known := s.group.records.get(e.Key)
	if !known {
		r, known = s.looked[e.Key]
	}
	var err error
	switch {
	case known:
	case fresh && i.trail != nil: // it began a little while ago: had it a record, that would be remembered
		var ours bool
		if r, ours, err = s.begin(ctx, e.Key); err == nil && ours {
			s.deliver(b, e, r, true)
			return nil
		}
	default:
		r, err = s.group.read(ctx, e.Key)
	}
	if err != nil {
		return err
	}
	switch {
	case s.has(r) && s.lost(e):
		b.add(adapter.Delivery{Key: e.Key, Revoked: true})
		_, err := s.group.change(ctx, e.Key, s.feed, false, func(f *recordForm) { f.Feed = "" })
		delete(s.looked, e.Key)
		if errors.Is(err, errForeign) {
			err = nil
		}
		return err
	case s.has(r):
		s.deliver(b, e, r, s.claimed[e.Key])
		delete(s.claimed, e.Key)
		return nil
	case s.another(r) || !s.interesting(e):
		return nil
	case fresh && r.revision == 0:
		delete(s.looked, e.Key)
		r, ours, err := s.begin(ctx, e.Key)
		if err != nil {
			return err
		}
		if ours {
			s.deliver(b, e, r, true)
			return nil
		}
	}
	delete(s.looked, e.Key)
	return s.take(ctx, b, e.Key, i.sequence)
}

// fetched is an enactment that has become the feed's, and what is to be delivered of it.
type fetched struct {
	history []item
	record  record
	// lost tells that it is not for the identity to see, because the role is another party's.
	lost bool
}

// take makes an enactment the feed's, if it may be, and delivers its whole history, which has the message of the
// sequence.
func (s *session) take(ctx context.Context, b *batch, key enactment.Key, until uint64) error {
	got, err := s.fetch(ctx, key, until)
	if err == nil && len(got.history) > 0 {
		err = s.deliverAll(ctx, b, got.history, got.record, until)
	}
	return err
}

// fetch is the part of take that may be done for several enactments at once. There is no history if the enactment is not
// the feed's or has nothing for it.
func (s *session) fetch(ctx context.Context, key enactment.Key, until uint64) (fetched, error) {
	history, err := s.history(ctx, key, until)
	if err != nil {
		return fetched{}, err
	}
	switch {
	case len(history) == 0:
		return fetched{}, nil
	case !s.allowed(history[len(history)-1].entry.Seats):
		return fetched{lost: true}, nil
	case !slices.ContainsFunc(history, func(i item) bool { return s.interesting(i.entry) }):
		return fetched{}, nil
	}
	if until == 0 && history[0].sequence > s.position {
		return fetched{}, nil // the session will come to it
	}
	r, err := s.group.change(ctx, key, s.feed, true, s.taking)
	if errors.Is(err, errForeign) {
		return fetched{}, nil
	}
	return fetched{history: history, record: r}, err
}

// store keeps positions.
func (s *session) store(ctx context.Context, positions []wire.Position) (*wire.Stored, error) {
	var unknown []enactment.Key
	for i := range positions {
		if _, known := s.group.records.get(positions[i].Key); !known {
			unknown = append(unknown, positions[i].Key)
		}
	}
	found := map[enactment.Key]record{}
	if len(unknown) > 1 {
		var err error
		if found, err = s.group.readAll(ctx, unknown); err != nil {
			return nil, err
		}
	}
	lost := make([]bool, len(positions))
	err := together(len(positions), func(n int) error {
		p := positions[n]
		if r, ok := found[p.Key]; ok && r.form.Feed == s.feed {
			s.group.records.learn(r) // it may be forgotten already
		}
		_, err := s.group.change(ctx, p.Key, s.feed, false, func(f *recordForm) { f.Stored = max(f.Stored, p.Sequence) })
		if errors.Is(err, errForeign) {
			lost[n] = true
			return nil
		}
		return err
	})
	answer := &wire.Stored{}
	for n := range positions {
		if lost[n] {
			answer.Revoked = append(answer.Revoked, n)
		}
	}
	return answer, err
}
