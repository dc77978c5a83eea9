// Package verify decides whether a protocol is live and safe, which of its actions are dead, which of them race, and
// what else is asked of the ways that an enactment may go (semantics section 6). Verdicts are exact: where the limit
// on states is met they are unknown, never guessed. It explores sets of done actions, never orders of them, and of
// those only what a stubborn set demands, so that concurrency costs little.
//
// It must not know of attribute values or of networks. Start reading at [Verify]; problem.go says what a protocol is
// reduced to, and stubborn.go why the reduction loses nothing.
package verify

import (
	"context"
	"time"

	"github.com/strabo-engine/strabo/langshaw"
)

// DefaultMaxStates is how many states are visited at most where nothing else is said.
const DefaultMaxStates = 1_000_000

// MostEvents is how many actions, times the assignments of their keys, a protocol may have to be verified: memory grows
// with the square.
const MostEvents = 5_000

// Options say how to verify. The zero value is batch finalisation, one value a key and the default limit.
type Options struct {
	// MaxStates bounds the states visited, over all verdicts and answers together; 0 means DefaultMaxStates.
	MaxStates int
	// Immediate takes single steps, as immediate finalisation does.
	Immediate bool
	// Keys is how many values of each key outside the root key are told apart; 0 means 1.
	Keys int
	// Queries are answered in order.
	Queries []Query
}

// Verdict is yes, no, or unknown because the limit was met.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota
	No
	Yes
)

// String gives yes, no or unknown.
func (v Verdict) String() string {
	switch v {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// MarshalJSON gives true, false or null.
func (v Verdict) MarshalJSON() ([]byte, error) {
	switch v {
	case Yes:
		return []byte("true"), nil
	case No:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// Report is what was found. A witness is a list of steps; a step is the actions that happen in it, most often one.
// Witnesses have the fewest actions, one by one where possible, if a plain search fits its limit; otherwise none of
// their actions can be left out. They are the same at every run.
type Report struct {
	Live, Safe Verdict
	// Dead names the actions that are enabled in no reachable state, as far as that is known.
	Dead []string
	// States is how many states were visited to reach the verdicts and the answers.
	States int
	// Exhaustive tells that neither the limit nor the end of the context was met.
	Exhaustive bool
	// LiveWitness leads to a state in which nothing is enabled and the enactment is not complete, when Live is No.
	LiveWitness [][]string
	// Stuck says, in lines indented by what they explain, what that state waits for and why it can no longer come.
	Stuck []string
	// Unmet are the conjuncts of `what` that the state does not satisfy.
	Unmet []*langshaw.Conjunct
	// SafeWitness leads to a state in which the two actions of Pair, which exclude each other and are of different
	// roles, are both enabled while neither dominates the other, when Safe is No.
	SafeWitness [][]string
	Pair        [2]string
	// Answers are those to the queries.
	Answers []Answer
	// Races are the pairs of actions whose order matters.
	Races []Race
	// Repeated names actions that `what` asks for and that can happen more than once in an enactment, binding nothing
	// that is bound once: a verdict with one value a key says nothing of two of them together.
	Repeated []string
	// Elapsed is how long it took.
	Elapsed time.Duration
}

// Verify decides all that can be decided within the limit and before ctx ends; what is left is then unknown. It blocks
// until it is done, and is safe for concurrent use. Parts of the protocol text that were faulty are not in the model,
// so the report is about the rest. A protocol of more than [MostEvents] is not looked at.
func Verify(ctx context.Context, p *langshaw.Protocol, options Options) Report {
	start := time.Now()
	if options.MaxStates <= 0 {
		options.MaxStates = DefaultMaxStates
	}
	r := Report{Exhaustive: true, Repeated: repeated(p)}
	if events(p, max(options.Keys, 1)) > MostEvents {
		r.Exhaustive = false
		for _, query := range options.Queries {
			r.Answers = append(r.Answers, Answer{Query: query})
		}
		r.Elapsed = time.Since(start)
		return r
	}
	x := newExplorer(ctx, newProblem(p, max(options.Keys, 1)), options.Immediate, options.MaxStates)
	x.decideLive(&r)
	x.decideSafe(&r)
	x.decideDead(&r)
	for _, query := range options.Queries {
		answer := x.ask(query)
		r.Exhaustive = r.Exhaustive && (answer.Holds != Unknown || answer.Err != nil)
		r.Answers = append(r.Answers, answer)
	}
	r.States = min(x.states, options.MaxStates)
	// Races are many small searches, so they have a budget of their own and do not count.
	x.states = 0
	races, err := x.races()
	r.Races = races
	r.Exhaustive = r.Exhaustive && err == nil
	r.Elapsed = time.Since(start)
	return r
}

func (x *explorer) decideLive(r *Report) {
	steps, found, err := x.stuck()
	switch {
	case err != nil:
		r.Exhaustive = false
	case found:
		r.Live = No
		steps = x.shortest(steps, func(v *view) bool { return v.enabled.empty() && !x.isComplete(v.done) })
		r.LiveWitness = x.names(steps)
		done := x.follow(steps).done
		r.Stuck, r.Unmet = x.stuckReasons(done), x.unmetConjuncts(done)
	default:
		r.Live = Yes
	}
}

func (x *explorer) decideSafe(r *Report) {
	r.Safe = Yes
	for i := range x.events {
		for j := range x.events[i].nonos.all() {
			if i > j || x.events[i].role == x.events[j].role {
				continue
			}
			t := x.enabling(i, j)
			t.needs = append(t.needs, x.rivalry(i, j)...)
			steps, found, err := x.reach(t)
			if err != nil {
				r.Safe, r.Exhaustive = Unknown, false
				return
			}
			if found {
				r.Safe = No
				steps = x.shortest(steps, func(v *view) bool { _, unsafe := x.conflict(v); return unsafe })
				pair, _ := x.conflict(x.follow(steps))
				r.SafeWitness = x.names(steps)
				r.Pair = [2]string{x.events[pair[0]].name, x.events[pair[1]].name}
				return
			}
		}
	}
}

// conflict gives the first two enabled events of different roles that exclude each other while neither dominates.
func (x *explorer) conflict(v *view) ([2]int, bool) {
	for i := range v.enabled.all() {
		for j := range x.events[i].nonos.all() {
			if i < j && v.enabled.has(j) && x.events[i].role != x.events[j].role && x.satisfied(v.done, x.rivalry(i, j)) {
				return [2]int{i, j}, true
			}
		}
	}
	return [2]int{}, false
}

func (x *explorer) decideDead(r *Report) {
	alive := make(map[string]bool)
	for i := range x.events {
		name := x.events[i].action.Name()
		if alive[name] || x.seen.has(i) {
			alive[name] = true
			continue
		}
		_, found, err := x.reach(x.enabling(i))
		if err != nil {
			r.Exhaustive = false
			found = true // not known to be dead
		}
		alive[name] = found
	}
	for a := range x.protocol.Actions() {
		if !alive[a.Name()] {
			r.Dead = append(r.Dead, a.Name())
		}
	}
}

func (x *explorer) names(steps [][]int) [][]string {
	named := make([][]string, len(steps))
	for n, step := range steps {
		for _, i := range step {
			named[n] = append(named[n], x.events[i].name)
		}
	}
	return named
}

// repeated finds the actions of which a check of one value a key hides something across values.
func repeated(p *langshaw.Protocol) []string {
	root := make(map[string]bool)
	for key := range p.RootKey() {
		root[key] = true
	}
	single := func(a *langshaw.Attribute) bool {
		for key := range a.Scope() {
			if !root[key] {
				return false
			}
		}
		return true
	}
	var names []string
	for a := range p.Actions() {
		own, _ := p.Attribute(a.Name())
		once, asked := single(own), false
		for name := range a.Attributes() {
			attribute, _ := p.Attribute(name)
			once = once || !attribute.IsKey() && !attribute.IsAction() && attribute.MayBind(a.Role()) && single(attribute)
		}
		for conjunct := range p.What() {
			for name := range conjunct.Alternatives() {
				asked = asked || !conjunct.IsKey() && name == a.Name()
			}
		}
		if asked && !once {
			names = append(names, a.Name())
		}
	}
	return names
}
