package journal

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Enactment is what a journal knows of one: the fold of its log up to a message.
type Enactment struct {
	key   enactment.Key
	rules *enactment.Rules

	mu    sync.Mutex
	state *enactment.State
	// last is the sequence in the stream of the last message that is folded; happened that of the last one by which
	// something happened, which cannot expire.
	last, happened uint64
	seats          map[string]string
	given          map[attemptName]answer
	decided        uint64
	loaded         bool // the log was read, be it empty
	doubt          bool // the log may be longer
	saved          uint64
	swept          int // how many answers there were when old ones were last dropped
	folded         func(*enactment.State, enactment.Finalisation)

	use usage
}

// attemptName is what makes an attempt the same attempt.
type attemptName struct{ role, party, id string }

func nameOf(a *enactment.Attempt) attemptName { return attemptName{a.Role, a.Party, a.ID} }

// answer is what an attempt was answered.
type answer struct {
	digest wire.Digest
	// at is when a refusal was written, by the clock of who wrote it, and known when it became known here.
	at, known time.Time
	outcome   enactment.Outcome
}

func newEnactment(key enactment.Key, rules *enactment.Rules) *Enactment {
	return &Enactment{key: key, rules: rules, state: rules.NewState(key), given: make(map[attemptName]answer)}
}

// Key says which enactment it is.
func (e *Enactment) Key() enactment.Key { return e.key }

// State is the fold.
func (e *Enactment) State() *enactment.State { return e.state }

// Last is the sequence in the stream of the last message that is folded.
func (e *Enactment) Last() uint64 { return e.last }

// Decided is the highest arrival that is decided.
func (e *Enactment) Decided() uint64 { return e.decided }

// Answer gives what an attempt was answered, if it is known.
func (e *Enactment) Answer(a *enactment.Attempt, retention time.Duration) (enactment.Outcome, bool) {
	had, ok := e.given[nameOf(a)]
	if !ok {
		return enactment.Outcome{}, false
	}
	if had.expired(retention) {
		delete(e.given, nameOf(a))
		return enactment.Outcome{}, false
	}
	if had.digest != a.Digest() {
		return enactment.Outcome{Rejection: ReusedID(), Sequence: had.outcome.Sequence}, true
	}
	return had.outcome, true
}

// expired tells whether an answer is one that need not be kept any more. No clock is asked for the time of day: one that
// is put forward and back would have a refusal forgotten that is still in the log, and its attempt might be accepted.
func (a *answer) expired(retention time.Duration) bool {
	return a.outcome.Rejection != nil && time.Since(a.known) >= retention
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
	e.sweep(retention)
	d := draft{outcomes: make([]enactment.Outcome, len(window))}
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

// sweep drops refusals that need not be kept any more, whenever the answers have doubled.
func (e *Enactment) sweep(retention time.Duration) {
	if len(e.given) < 2*e.swept+1024 {
		return
	}
	maps.DeleteFunc(e.given, func(_ attemptName, a answer) bool {
		return a.expired(retention)
	})
	e.swept = len(e.given)
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
	f := entry.Finalisation
	if len(f.Instances) > 0 {
		e.state.Apply(f)
		if e.folded != nil {
			e.folded(e.state, f)
		}
		e.happened = sequence
		e.seats = entry.Seats
		for n := range f.Instances {
			i := &f.Instances[n]
			e.given[attemptName{i.Role, i.Party, i.Attempt}] = answer{
				digest: entry.Digests[n], outcome: enactment.Outcome{Instance: *i, Sequence: f.Sequence},
			}
		}
	}
	var now time.Time
	if len(entry.Refused) > 0 {
		now = time.Now()
	}
	for n := range entry.Refused {
		r := &entry.Refused[n]
		name := attemptName{r.Role, r.Party, r.Attempt}
		if had, ok := e.given[name]; ok && (had.outcome.Rejection == nil || had.at.After(entry.At)) {
			continue
		}
		e.given[name] = answer{
			digest: r.Digest, at: entry.At, known: now, outcome: enactment.Outcome{Rejection: r.Rejection, Sequence: r.Sequence},
		}
	}
	e.decided = max(e.decided, entry.Decided)
	e.last = sequence
}

// reset forgets everything.
func (e *Enactment) reset() {
	*e.state = *e.rules.NewState(e.key)
	e.last, e.happened, e.decided, e.saved, e.seats = 0, 0, 0, 0, nil
	e.given = make(map[attemptName]answer)
	e.swept, e.loaded = 0, false
}

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
