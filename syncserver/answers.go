package syncserver

import (
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// answers remembers what attempts were answered, and which are on their way. It is shared by all enactments, since an
// id is unique for its identity and the system, whatever the attempt is about.
type answers struct {
	retention time.Duration

	mu       sync.Mutex
	given    *enactment.Answers
	underway map[attemptName]*pending
	swept    time.Time
}

// attemptName is what makes an attempt the same attempt.
type attemptName struct {
	identity enactment.Identity
	id       string
}

// pending is an attempt on its way. outcome is set before decided is closed.
type pending struct {
	attempt enactment.Attempt
	outcome enactment.Outcome
	decided chan struct{}
}

func newAnswers(retention time.Duration) *answers {
	return &answers{retention: retention, given: enactment.NewAnswers(), underway: make(map[attemptName]*pending)}
}

func nameOf(a enactment.Attempt) attemptName { return attemptName{a.Identity, a.ID} }

// admit gives the answer to an attempt if it was answered before; then there is nothing pending. Otherwise it gives
// what is pending under its name: the attempt itself if it is admitted, else the one that came before it.
func (a *answers) admit(attempt enactment.Attempt) (p *pending, admitted bool, answer enactment.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(time.Now())
	if first, ok := a.underway[nameOf(attempt)]; ok {
		return first, false, enactment.Outcome{}
	}
	if answer, ok := a.given.Recall(attempt); ok {
		return nil, false, answer
	}
	attempt.Late = a.given.Late(attempt)
	p = &pending{attempt: attempt, decided: make(chan struct{})}
	a.underway[nameOf(attempt)] = p
	return p, true, enactment.Outcome{}
}

// settle answers attempts.
func (a *answers) settle(together []*pending, outcomes []enactment.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now() // under the lock, so that times do not decrease
	for i, p := range together {
		a.given.Remember(p.attempt, outcomes[i], now)
		delete(a.underway, nameOf(p.attempt))
		p.outcome = outcomes[i]
		close(p.decided)
	}
}

// withdraw takes back an attempt that was not submitted after all.
func (a *answers) withdraw(p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.underway, nameOf(p.attempt))
}

// sweep forgets old answers, now and then, since each time costs as much as there are answers.
func (a *answers) sweep(now time.Time) {
	if a.swept.IsZero() {
		a.swept = now
	}
	if now.Sub(a.swept) >= a.retention/8 {
		a.given.Forget(now.Add(-a.retention))
		a.swept = now
	}
}
