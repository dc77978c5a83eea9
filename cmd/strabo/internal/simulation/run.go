// Package simulation enacts a protocol at random: agents that know only what their role sees attempt whatever they may,
// and attempts, answers and observations take their time. It decides nothing; that is package enactment's part, asked
// as an executor asks it.
//
// The agents are not goroutines on an executor, where the scheduler of the machine would decide what comes first: one
// loop draws from a seeded generator what happens next, an agent attempting something, an attempt arriving, a window
// closing or an agent receiving what it sees. So everything that can happen to agents of an executor can happen here,
// refusals of what is no longer so included, and the same seed gives the same run. Start reading at Enact.
package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
)

// Options say how to simulate. All of them are part of what makes a run the one that it is.
type Options struct {
	// Seed begins the run's generator.
	Seed uint64
	// Batch judges attempts in windows instead of one by one.
	Batch bool
	// Keys bounds how many values are made up for each key outside the root key.
	Keys int
	// Recorder is told every record of the run. It may be nil.
	Recorder func(enactment.Record)
}

// Ending says how a run ended.
type Ending string

// The endings.
const (
	// Complete: the enactment is complete, and nobody attempts anything more.
	Complete Ending = "complete"
	// Stuck: it is not complete, and nothing is enabled.
	Stuck Ending = "stuck"
	// Unfinished: it is not complete, and could go on, but with more key values or steps than a run may have.
	Unfinished Ending = "unfinished"
)

// Begin is the time at which every run begins. A step takes a millisecond.
var Begin = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// mostSteps ends a run that has no end.
const mostSteps = 10_000

// Enact makes one run, and gives how it ended and the table at its end. The error is the cause for which the context
// ended before the run did.
func Enact(ctx context.Context, rules *enactment.Rules, options Options) (Ending, *table.Table, error) {
	r := &run{
		rules: rules, options: options, random: rand.New(rand.NewPCG(options.Seed, 0)),
		table: table.New(rules, options.Recorder), values: table.NewInventor(rules), innerKeys: table.InnerKeys(rules.Protocol()),
	}
	for role := range rules.Protocol().Roles() {
		r.agents = append(r.agents, newAgent(r, role))
	}
	for r.step = 1; r.step <= mostSteps; r.step++ {
		if ctx.Err() != nil {
			return Unfinished, r.table, context.Cause(ctx)
		}
		moves := r.moves()
		if len(moves) == 0 {
			break
		}
		moves[r.random.IntN(len(moves))]()
	}
	switch {
	case r.table.State().Complete():
		return Complete, r.table, nil
	case len(r.table.Choices(slices.Collect(rules.Protocol().Roles())...)) == 0:
		return Stuck, r.table, nil
	default:
		return Unfinished, r.table, nil
	}
}

// run is a run in progress.
type run struct {
	rules   *enactment.Rules
	options Options
	random  *rand.Rand
	table   *table.Table
	agents  []*agent
	flying  []flight // attempts on their way, or waiting in the window
	values  *table.Inventor
	// innerKeys are the keys outside the root key, of which an enactment may have many values.
	innerKeys []string
	step      int
	attempt   int
}

// flight is an attempt that is not yet decided.
type flight struct {
	attempt enactment.Attempt
	agent   *agent
	offer   string
}

func (r *run) now() time.Time { return Begin.Add(time.Duration(r.step) * time.Millisecond) }

// moves lists the kinds of things that may happen next, as something to do about each.
func (r *run) moves() []func() {
	var moves []func()
	var willing, behind []*agent
	for _, a := range r.agents {
		if len(a.wishes()) > 0 {
			willing = append(willing, a)
		}
		if a.received < len(r.table.Log()) {
			behind = append(behind, a)
		}
	}
	if len(willing) > 0 {
		moves = append(moves, func() { pick(r, willing).act() })
	}
	if len(behind) > 0 {
		moves = append(moves, func() { pick(r, behind).receive() })
	}
	if len(r.flying) > 0 {
		moves = append(moves, r.judge)
	}
	return moves
}

func pick[T any](r *run, from []T) T { return from[r.random.IntN(len(from))] }

// judge has attempts arrive: any one of those on their way, or all that are in the window.
func (r *run) judge() {
	together := r.flying
	if r.options.Batch {
		r.flying = nil
	} else {
		at := r.random.IntN(len(r.flying))
		together = []flight{r.flying[at]}
		r.flying = slices.Delete(r.flying, at, at+1)
	}
	window := make([]enactment.Attempt, len(together))
	for i, f := range together {
		window[i] = f.attempt
	}
	for i, outcome := range r.table.Judge(r.now(), window...) {
		together[i].agent.answered(together[i].offer, outcome)
	}
}

// agent is a role that does whatever it may: it attempts an action once, and again when what is known of it has changed,
// or when it is still enabled although the agent has seen all that it was refused for and, if a guard did, more.
type agent struct {
	run      *run
	role     string
	view     *enactment.State // what the role has seen
	received int              // how much of the log that is
	made     map[string]string
	// refused has for each offer that was refused the finalisation from which on it may be attempted again.
	refused map[string]uint64
	offers  []offer // nil when they have to be looked up again
}

// offer is something that the agent may attempt.
type offer struct {
	id, known string
	feasible  enactment.Feasible
}

func newAgent(r *run, role string) *agent {
	return &agent{
		run: r, role: role, view: r.rules.NewState(""),
		made: make(map[string]string), refused: make(map[string]uint64),
	}
}

// wishes lists what the agent may attempt and has not.
func (a *agent) wishes() []offer {
	if a.offers == nil {
		a.offers = []offer{}
		for _, feasible := range table.Feasible(a.view, a.role, a.view.Key()) {
			if settled, ok := table.Settle(a.view, feasible, a.run.options.Keys); ok {
				a.offers = append(a.offers, a.describe(settled))
			}
		}
	}
	var wishes []offer
	for _, o := range a.offers {
		if a.wants(o) {
			wishes = append(wishes, o)
		}
	}
	return wishes
}

// describe names an offer by its action and keys, and what is known of it by all values. The root key is left out: it
// is the same for all, known before anybody has begun.
func (a *agent) describe(feasible enactment.Feasible) offer {
	keys, known := make(enactment.Values), make(enactment.Values)
	for name, value := range feasible.Known {
		switch {
		case a.run.inner(name):
			keys[name] = value
		case !a.run.rules.Protocol().IsKey(name):
			known[name] = value
		}
	}
	return offer{id: feasible.Action + text(keys), known: text(known), feasible: feasible}
}

// text writes values in one way.
func text(values enactment.Values) string {
	written, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("simulation: values that cannot be written: %v", err)) // they were read or made here
	}
	return string(written)
}

func (a *agent) wants(o offer) bool {
	if opensKey := slices.ContainsFunc(o.feasible.Open, func(open enactment.Open) bool { return a.run.inner(open.Attribute) }); opensKey {
		return !slices.ContainsFunc(o.feasible.Open, func(open enactment.Open) bool {
			return a.run.inner(open.Attribute) && a.run.values.Made(open.Attribute) >= a.run.options.Keys
		})
	}
	by, refused := a.refused[o.id]
	return a.made[o.id] != o.known || refused && a.view.Sequence() >= by
}

// inner tells whether an attribute is a key outside the root key.
func (r *run) inner(attribute string) bool { return slices.Contains(r.innerKeys, attribute) }

// act attempts one of the agent's wishes.
func (a *agent) act() {
	o := pick(a.run, a.wishes())
	a.made[o.id] = o.known
	delete(a.refused, o.id)
	values := make(enactment.Values)
	for name, value := range o.feasible.Known {
		if a.run.rules.Protocol().IsKey(name) {
			values[name] = value
		}
	}
	for _, open := range o.feasible.Open {
		values[open.Attribute] = a.run.value(open.Attribute)
	}
	a.run.attempt++
	a.run.flying = append(a.run.flying, flight{enactment.Attempt{
		ID: fmt.Sprintf("a-%d", a.run.attempt), Identity: enactment.Identity{Role: a.role}, Action: o.feasible.Action, Values: values,
		At: a.run.now(),
	}, a, o.id})
}

// value makes up a value. All agents begin the one enactment of the run, so its key is the same for all.
func (r *run) value(attribute string) enactment.Value {
	if r.rules.Protocol().IsKey(attribute) && !r.inner(attribute) {
		return table.NewInventor(r.rules).Take(attribute)
	}
	return r.values.Take(attribute)
}

// answered takes the answer to an attempt.
func (a *agent) answered(offer string, outcome enactment.Outcome) {
	if outcome.Rejection != nil {
		a.refused[offer] = outcome.Sequence
		if outcome.Rejection.Code == enactment.GuardRefused {
			a.refused[offer]++ // it is enabled in the state that it was judged against, and would be refused there again
		}
	}
}

// receive takes the next finalisation as the role sees it.
func (a *agent) receive() {
	finalisation := a.run.table.Log()[a.received]
	a.received++
	seen := enactment.Finalisation{Sequence: finalisation.Sequence, Completed: finalisation.Completed}
	for _, instance := range finalisation.Instances {
		if projected, ok := a.run.rules.Project(a.role, instance); ok {
			seen.Instances = append(seen.Instances, projected)
		}
	}
	if a.view.Empty() {
		a.view = a.run.rules.NewState(a.run.table.State().Key())
	}
	a.view.Apply(seen)
	a.offers = nil
}
