// Package benchmark plays enactments of a protocol as fast as an executor goes, and counts. It must not know which executor it
// is, nor print. Start reading at [Player.Play].
package benchmark

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
)

// Player plays. Its fields are set before [Player.Play] and not changed.
type Player struct {
	Rules    *enactment.Rules
	Executor adapter.Executor
	// Run makes the enactments of this player others than those of any other.
	Run string
	// AtOnce is how many enactments go on at the same time, and Rivals how many agents attempt each step of one at the
	// same time: all but one of them are refused.
	AtOnce, Rivals int
	// Most is how many attempts are made.
	Most int64

	Latencies Latencies
	begun     atomic.Int64 // attempts that were made or are being made
	decided   atomic.Int64
	number    atomic.Int64 // of enactments

	mu      sync.Mutex
	refused map[enactment.Code]int
}

// Decided is how many attempts were decided by now.
func (p *Player) Decided() int64 { return p.decided.Load() }

// Refused is how many attempts were refused, by reason.
func (p *Player) Refused() map[enactment.Code]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.refused)
}

// Play plays enactments, each as far as it goes, until as many attempts were made as said or the context ends; then it is
// no error. It returns when nothing is on its way any more.
func (p *Player) Play(ctx context.Context) error {
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for range p.AtOnce {
		working.Go(func() {
			for p.begun.Load() < p.Most && playing.Err() == nil {
				if err := p.enact(playing); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(playing)
}

// mostSteps bounds one enactment: some protocols go on for ever.
const mostSteps = 20

// enact plays one enactment as far as it goes: whatever is enabled first is attempted.
func (p *Player) enact(ctx context.Context) error {
	id := fmt.Sprint(p.Run, "-", p.number.Add(1))
	var state *enactment.State
	for n := range mostSteps {
		attempt, ok := p.next(state, fmt.Sprint(id, "-", n), n)
		if !ok {
			return nil
		}
		accepted, err := p.attempt(ctx, attempt)
		if err != nil || accepted == nil {
			return err
		}
		if state == nil {
			key, unplaced := p.Rules.KeyOf(attempt)
			if unplaced != nil {
				return unplaced
			}
			state = p.Rules.NewState(key)
		}
		state.Apply(*accepted)
	}
	return nil
}

// attempt has the rivals attempt, and gives what was accepted; nil if nothing was.
func (p *Player) attempt(ctx context.Context, a enactment.Attempt) (*enactment.Finalisation, error) {
	outcomes := make([]enactment.Outcome, p.Rivals)
	failures := make([]error, p.Rivals)
	made := 0
	var waiting sync.WaitGroup
	for r := range p.Rivals {
		if p.begun.Add(1) > p.Most {
			break
		}
		made++
		rival := a
		rival.ID = fmt.Sprint(a.ID, "-", r)
		if r == p.Rivals-1 { // the last, or only, one needs no goroutine of its own
			outcomes[r], failures[r] = p.measured(ctx, rival)
			break
		}
		waiting.Go(func() { outcomes[r], failures[r] = p.measured(ctx, rival) })
	}
	waiting.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var accepted *enactment.Finalisation
	for r := range made {
		if o := outcomes[r]; o.Rejection == nil {
			accepted = &enactment.Finalisation{Sequence: o.Sequence, Instances: []enactment.Instance{o.Instance}}
		}
	}
	return accepted, nil
}

// measured makes one attempt and counts what came of it.
func (p *Player) measured(ctx context.Context, a enactment.Attempt) (enactment.Outcome, error) {
	began := time.Now()
	outcome, err := p.Executor.Attempt(ctx, a)
	if err != nil {
		return outcome, err
	}
	p.Latencies.Count(time.Since(began))
	p.decided.Add(1)
	if outcome.Rejection != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.refused == nil {
			p.refused = make(map[enactment.Code]int)
		}
		p.refused[outcome.Rejection.Code]++
	}
	return outcome, nil
}

// next makes the attempt with that number of the first action that may be done; false if there is none.
func (p *Player) next(state *enactment.State, id string, n int) (enactment.Attempt, bool) {
	if state == nil {
		state = p.Rules.NewState("")
	}
	inner := table.InnerKeys(p.Rules.Protocol())
	for role := range p.Rules.Protocol().Roles() {
		for f := range state.Enabled(role) {
			f, ok := table.Settle(state, f, n+1)
			if !ok {
				continue
			}
			a := enactment.Attempt{
				ID: id, Identity: enactment.Identity{Role: role}, Action: f.Action, Values: make(enactment.Values), At: time.Now(),
			}
			maps.Copy(a.Values, f.Known)
			for _, open := range f.Open {
				a.Values[open.Attribute] = enactment.MustValue(fmt.Sprint(id, "-", open.Attribute))
				if samples := p.Rules.Samples(open.Attribute); len(samples) > 0 && !slices.Contains(inner, open.Attribute) {
					a.Values[open.Attribute] = samples[n%len(samples)]
				}
			}
			if p.passes(state, a) {
				return a, true
			}
		}
	}
	return enactment.Attempt{}, false
}

// passes tells whether an attempt of what is enabled passes the guards.
func (p *Player) passes(state *enactment.State, a enactment.Attempt) bool {
	for guard := range p.Rules.Guards() {
		if guard.Action == a.Action {
			_, outcomes := enactment.Judge(state, a)
			return !errors.Is(outcomes[0].Err(), enactment.GuardRefused)
		}
	}
	return true
}
