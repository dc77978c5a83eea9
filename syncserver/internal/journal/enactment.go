package journal

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Enactment is what a journal knows of one: the fold of its log up to a message.
type Enactment struct {
	key   enactment.Key
	rules *enactment.Rules

	// lock has a token while somebody has the enactment, for whom others wait no longer than they care to.
	lock  chan struct{}
	state *enactment.State
	// last is the sequence in the stream of the last message that is folded; happened that of the last one by which
	// something happened, which cannot expire.
	last, happened uint64
	seats          map[string]string
	answers        answers
	decided        uint64
	loaded         bool        // the log was read, be it empty
	doubt          bool        // the log may be longer
	saved          uint64      // the sequence of the state when a snapshot was last made
	saving         atomic.Bool // a snapshot is being made
	bytes          int         // of values
	completed      uint64      // the finalisation by which it became complete, 0 if it is not
	removed        bool        // what happened was removed, and nothing more will happen
	folded         func(*enactment.State, enactment.Finalisation)
	gone           func(enactment.Key) // told of the removal; may be nil

	use usage
}

func newEnactment(key enactment.Key, rules *enactment.Rules) *Enactment {
	return &Enactment{
		key: key, rules: rules, lock: make(chan struct{}, 1), state: rules.NewState(key), answers: newAnswers(),
	}
}

// Key says which enactment it is.
func (e *Enactment) Key() enactment.Key { return e.key }

// State is the fold.
func (e *Enactment) State() *enactment.State { return e.state }

// Answer gives what an attempt was answered, if it is known.
func (e *Enactment) Answer(a *enactment.Attempt, retention time.Duration) (enactment.Outcome, bool) {
	had, ok := e.answers.find(e.state, nameOf(a))
	if !ok {
		return enactment.Outcome{}, false
	}
	if had.expired(retention) {
		delete(e.answers.refused, nameOf(a))
		return enactment.Outcome{}, false
	}
	if had.digest != a.Digest() {
		return enactment.Outcome{Rejection: ReusedID(), Sequence: had.outcome.Sequence}, true
	}
	return had.outcome, true
}

// ReusedID refuses an attempt whose id was used for another.
func ReusedID() *enactment.Rejection {
	return &enactment.Rejection{
		Code: enactment.Malformed, Detail: "the id was used before for an attempt with other content",
	}
}

// draft is what would be decided.
type draft struct {
	outcomes []enactment.Outcome
	entry    *wire.Entry         // nil where all was answered before
	guess    bool                // something was refused
	fresh    []enactment.Attempt // those that were judged
	judged   []enactment.Outcome
}

// draft judges a window. Of copies the first is judged, and the others get its answer.
func (e *Enactment) draft(window []enactment.Attempt, mark uint64, now time.Time, retention time.Duration) draft {
	e.answers.sweep(retention)
	d := draft{outcomes: make([]enactment.Outcome, len(window))}
	if e.removed {
		for i := range d.outcomes {
			d.outcomes[i] = enactment.Outcome{Rejection: removedRejection()}
		}
		return d
	}
	fresh := make([]enactment.Attempt, 0, len(window))
	place := make([]int, 0, len(window))
	var copies map[int]int // to the place of the first
	for i := range window {
		if answered, ok := e.Answer(&window[i], retention); ok {
			d.outcomes[i] = answered
			continue
		}
		if first := firstOf(window, place, i); first >= 0 {
			if copies == nil {
				copies = make(map[int]int)
			}
			copies[i] = first
			continue
		}
		fresh, place = append(fresh, window[i]), append(place, i)
	}
	if len(fresh) == 0 {
		return d
	}
	f, outcomes := enactment.Judge(e.state, fresh...)
	for n := range outcomes {
		outcomes[n].Rejection = wire.Shorten(outcomes[n].Rejection)
	}
	entry := &wire.Entry{
		Hash: e.rules.Hash(), Key: e.key, Finalisation: f, Decided: max(mark, e.decided), At: now, Seats: e.seatsAfter(f),
	}
	if len(f.Instances) == 0 {
		entry.Finalisation.Sequence = e.state.Sequence()
	}
	for n, outcome := range outcomes {
		d.outcomes[place[n]] = outcome
		digest := wire.Digest(fresh[n].Digest())
		if outcome.Rejection == nil {
			entry.Digests = append(entry.Digests, digest)
			continue
		}
		d.guess = true
		entry.Refused = append(entry.Refused, wire.Refusal{
			Identity: fresh[n].Identity, Attempt: fresh[n].ID, Digest: digest, Action: fresh[n].Action,
			Sequence: outcome.Sequence, Rejection: outcome.Rejection,
		})
	}
	d.entry, d.fresh, d.judged = entry, fresh, outcomes
	for i, first := range copies {
		d.outcomes[i] = d.outcomes[first]
		if window[i].Digest() != window[first].Digest() {
			d.outcomes[i] = enactment.Outcome{Rejection: ReusedID(), Sequence: d.outcomes[first].Sequence}
		}
	}
	return d
}

// refuse turns what would be decided of a window with one attempt into a refusal, because it is larger than so many bytes.
func (d *draft) refuse(e *Enactment, limit int) {
	rejection := &enactment.Rejection{Code: enactment.Malformed, Detail: fmt.Sprintf(
		"with what is known it would have more than the %d bytes that can be stored and delivered", limit)}
	outcome := enactment.Outcome{Rejection: rejection, Sequence: e.state.Sequence()}
	a := &d.fresh[0]
	d.outcomes[0], d.judged[0], d.guess = outcome, outcome, true
	d.entry.Finalisation = enactment.Finalisation{Sequence: e.state.Sequence()}
	d.entry.Seats, d.entry.Digests = e.seats, nil
	d.entry.Refused = []wire.Refusal{{
		Identity: a.Identity, Attempt: a.ID, Digest: a.Digest(), Action: a.Action, Sequence: outcome.Sequence, Rejection: rejection,
	}}
}

// firstOf finds an earlier attempt of the window under the same name, -1 if there is none.
func firstOf(window []enactment.Attempt, places []int, i int) int {
	for _, at := range places {
		if window[at].ID == window[i].ID && window[at].Identity == window[i].Identity {
			return at
		}
	}
	return -1
}

// seatsAfter says who plays which role once the finalisation has happened. The map is shared: it is never changed.
func (e *Enactment) seatsAfter(f enactment.Finalisation) map[string]string {
	seats := e.seats
	cloned := false
	sit := func(role, party string) {
		if _, taken := seats[role]; taken {
			return
		}
		if !cloned {
			seats = maps.Clone(seats)
			if seats == nil {
				seats = make(map[string]string)
			}
			cloned = true
		}
		seats[role] = party
	}
	for i := range f.Instances {
		for role, party := range f.Instances[i].Parties {
			sit(role, party)
		}
		sit(f.Instances[i].Role, f.Instances[i].Party)
	}
	return seats
}

// apply folds an entry.
func (e *Enactment) apply(sequence uint64, entry *wire.Entry) {
	if entry.Removed {
		e.remove(sequence)
		return
	}
	f := entry.Finalisation
	if len(f.Instances) > 0 {
		e.state.Apply(f)
		if e.folded != nil {
			e.folded(e.state, f)
		}
		if f.Completed {
			e.completed = f.Sequence
		}
		e.happened = sequence
		e.seats = entry.Seats
		for n := range f.Instances {
			i := &f.Instances[n]
			e.answers.accept(i, entry.Digests[n], f.Sequence)
			for _, value := range i.Values() {
				e.bytes += len(value.String())
			}
		}
	}
	var now time.Time
	if len(entry.Refused) > 0 {
		now = time.Now()
	}
	for n := range entry.Refused {
		e.answers.refuse(e.state, &entry.Refused[n], entry.At, now)
	}
	e.decided = max(e.decided, entry.Decided)
	e.last = sequence
}

// reset forgets everything.
func (e *Enactment) reset() {
	e.state = e.rules.NewState(e.key)
	e.last, e.happened, e.decided, e.completed, e.saved, e.seats = 0, 0, 0, 0, 0, nil
	e.answers, e.bytes, e.loaded, e.removed = newAnswers(), 0, false, false
}

// cost is what the enactment takes of a cache: one for itself, for each instance and each answer, and for each KiB of
// values.
func (e *Enactment) cost() int { return 1 + e.answers.len() + e.bytes>>10 }

// catchUp reads what is behind the last message that is known.
func (j *Journal) catchUp(ctx context.Context, e *Enactment) error {
	ctx, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	known := e.last
	long, err := j.fold(ctx, e, known == 0 && j.SnapshotEvery > 0)
	if long && err == nil {
		j.restore(ctx, e)
		_, err = j.fold(ctx, e, false)
	}
	if err != nil {
		return err
	}
	if e.last == known {
		// Nothing came: either there is nothing, or what was last has expired.
		last, err := j.reader.Last(ctx, j.Subjects.Log(e.key))
		switch {
		case err != nil:
			return err
		case last.Sequence >= e.happened:
			if last.Sequence < e.last {
				e.last = last.Sequence
			}
		default:
			return fmt.Errorf("%w: the log of %s ends at %d, and was at %d before", ErrDamaged, e.key, last.Sequence, e.happened)
		}
	}
	e.loaded, e.doubt = true, false
	return nil
}

// reach brings an enactment up to what the stream's leader has. Where a replica that is behind answers what is read, it is
// read again.
func (j *Journal) reach(ctx context.Context, e *Enactment) error {
	ctx, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	for backoff := stream.FirstBackoff; ; {
		last, err := j.reader.Last(ctx, j.Subjects.Log(e.key))
		if err != nil {
			return err
		}
		if last.Sequence == e.last {
			e.loaded, e.doubt = true, false
			return nil
		}
		if err := j.catchUp(ctx, e); err != nil || e.last >= last.Sequence {
			return err
		}
		if backoff, err = stream.Pause(ctx, backoff); err != nil {
			return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
		}
	}
}

// fold reads what follows on what is known. If the log turns out to be long and that may be said, it stops at once.
func (j *Journal) fold(ctx context.Context, e *Enactment, mayBeLong bool) (long bool, err error) {
	err = j.reader.Read(ctx, j.Subjects.Log(e.key), e.last+1, func(m stream.Message) (bool, error) {
		if mayBeLong && m.Pending >= uint64(j.SnapshotEvery) {
			long = true
			return false, nil
		}
		mayBeLong = false
		entry, err := j.Codec.DecodeEntry(m.Data)
		if err != nil {
			return false, fmt.Errorf("%w: message %d: %w", ErrDamaged, m.Sequence, err)
		}
		if err := j.fits(e, m, entry); err != nil {
			return false, err
		}
		e.apply(m.Sequence, entry)
		return true, nil
	})
	return long, err
}

// fits checks that an entry may follow on what is known.
func (j *Journal) fits(e *Enactment, m stream.Message, entry *wire.Entry) error {
	switch {
	case entry.Key != e.key:
		return fmt.Errorf("%w: message %d is of %s, not of %s", ErrDamaged, m.Sequence, entry.Key, e.key)
	case entry.Hash != j.Codec.Rules.Hash():
		return fmt.Errorf("%w: message %d was written under protocol %s, not %s",
			ErrDamaged, m.Sequence, entry.Hash, j.Codec.Rules.Hash())
	case len(entry.Finalisation.Instances) > 0 && entry.Finalisation.Sequence != e.state.Sequence()+1:
		return fmt.Errorf("%w: message %d is finalisation %d after %d", ErrDamaged, m.Sequence,
			entry.Finalisation.Sequence, e.state.Sequence())
	}
	return nil
}
