package journal

import (
	"hash/maphash"
	"maps"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/index"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

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

// expired tells whether an answer is one that need not be kept any more. No clock is asked for the time of day: one that
// is put forward and back would have a refusal forgotten that is still in the log, and its attempt might be accepted.
func (a *answer) expired(retention time.Duration) bool {
	return a.outcome.Rejection != nil && time.Since(a.known) >= retention
}

// answers are what the attempts of an enactment were answered. What was accepted is found among what happened, so that
// an acceptance costs no more than its digest, its sequence and a place in an index.
type answers struct {
	seed maphash.Seed
	// By the place of the instance in the state; both are only ever appended to.
	digests   []wire.Digest
	sequences []uint64
	accepted  index.Index
	refused   map[attemptName]answer
	swept     int // how many refusals there were when old ones were last dropped
}

func newAnswers() answers {
	return answers{seed: maphash.MakeSeed(), refused: make(map[attemptName]answer)}
}

func (a *answers) len() int { return len(a.digests) + len(a.refused) }

// find gives the answer to an attempt.
func (a *answers) find(s *enactment.State, name attemptName) (answer, bool) {
	at, ok := a.accepted.Find(maphash.String(a.seed, name.id), func(at int) bool {
		i := s.Instance(at)
		return i.Attempt == name.id && i.Role == name.role && i.Party == name.party
	})
	if !ok {
		had, ok := a.refused[name]
		return had, ok
	}
	return answer{
		digest: a.digests[at], outcome: enactment.Outcome{Instance: s.Instance(at), Sequence: a.sequences[at]},
	}, true
}

// accept adds the answer to the attempt of an instance, which is the next one that has none.
func (a *answers) accept(i *enactment.Instance, digest wire.Digest, sequence uint64) {
	a.index(i.Attempt)
	a.digests, a.sequences = append(a.digests, digest), append(a.sequences, sequence)
	if len(a.refused) > 0 {
		delete(a.refused, attemptName{i.Role, i.Party, i.Attempt})
	}
}

// index adds the next instance to the index.
func (a *answers) index(attempt string) {
	a.accepted.Add(maphash.String(a.seed, attempt), a.accepted.Len())
}

// refuse adds a refusal, unless there is an acceptance or a later refusal.
func (a *answers) refuse(s *enactment.State, r *wire.Refusal, at, known time.Time) {
	name := attemptName{r.Role, r.Party, r.Attempt}
	if had, ok := a.find(s, name); ok && (had.outcome.Rejection == nil || had.at.After(at)) {
		return
	}
	a.refused[name] = answer{
		digest: r.Digest, at: at, known: known, outcome: enactment.Outcome{Rejection: r.Rejection, Sequence: r.Sequence},
	}
}

// sweep drops refusals that need not be kept any more, whenever they have doubled.
func (a *answers) sweep(retention time.Duration) {
	if len(a.refused) < 2*a.swept+1024 {
		return
	}
	maps.DeleteFunc(a.refused, func(_ attemptName, had answer) bool { return had.expired(retention) })
	a.swept = len(a.refused)
}
