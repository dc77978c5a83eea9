// Package table is one enactment of a protocol that somebody leads by hand, attempt by attempt: a person who plays, or
// a simulation. Nothing in it runs by itself, so the same attempts in the same order always give the same.
//
// It decides nothing: what is enabled, who wins and why is said by package enactment, in the calls in which an executor
// asks for it. It must not know of terminals, of chance or of clocks. Start reading at Table.
package table

import (
	"slices"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Table is one enactment and its log. It begins empty, and its first accepted attempt says which enactment it is. It is
// not safe for concurrent use.
type Table struct {
	rules    *enactment.Rules
	state    *enactment.State
	log      []enactment.Finalisation
	recorder func(enactment.Record)
}

// New makes an empty table. The recorder, if there is one, is told every record as an executor tells them: whole, but
// for secrets.
func New(rules *enactment.Rules, recorder func(enactment.Record)) *Table {
	return &Table{rules: rules, state: rules.NewState(""), recorder: recorder}
}

// State is what has happened so far. It must not be kept over a call of Judge or Undo.
func (t *Table) State() *enactment.State { return t.state }

// Log lists the finalisations so far. The caller must not change it.
func (t *Table) Log() []enactment.Finalisation { return t.log }

// Judge decides the attempts of one window: one attempt as immediate finalisation does, several as batch finalisation
// does (semantics section 5). What is accepted has then happened.
func (t *Table) Judge(at time.Time, window ...enactment.Attempt) []enactment.Outcome {
	state, key := t.state, t.state.Key()
	if state.Empty() {
		key = t.place(window)
		state = t.rules.NewState(key)
	}
	finalisation, outcomes := enactment.Judge(state, window...)
	if t.recorder != nil {
		for record := range t.rules.Records(key, finalisation, window, outcomes, at) {
			t.recorder(record)
		}
	}
	if len(finalisation.Instances) > 0 {
		state.Apply(finalisation)
		t.state = state
		t.log = append(t.log, finalisation)
	}
	return outcomes
}

// place gives the enactment that a window begins: that of the first attempt that says one.
func (t *Table) place(window []enactment.Attempt) enactment.Key {
	for _, attempt := range window {
		if key, rejection := t.rules.KeyOf(attempt); rejection == nil {
			return key
		}
	}
	return ""
}

// Undo takes back the finalisations from the given place of the log on.
func (t *Table) Undo(from int) {
	t.log = slices.Clip(t.log[:from])
	key := t.state.Key()
	if from == 0 {
		key = ""
	}
	t.state = t.rules.NewState(key)
	for _, finalisation := range t.log {
		t.state.Apply(finalisation)
	}
}

// Choice is an action that a role may do now.
type Choice struct {
	Role string
	enactment.Feasible
}

// most is how many choices of one role are listed: combinations of keys multiply.
const most = 100

// Choices lists what the roles may do now, the first hundred of each. The table is one enactment, so a root key that is
// settled is known to everybody.
func (t *Table) Choices(roles ...string) []Choice {
	var choices []Choice
	for _, role := range roles {
		for _, feasible := range Feasible(t.state, role, t.state.Key()) {
			choices = append(choices, Choice{role, feasible})
		}
	}
	return choices
}

// Feasible lists what a role may do in a state, the first hundred actions, with the root key values of the enactment
// known although the role may have seen nothing yet.
func Feasible(state *enactment.State, role string, key enactment.Key) []enactment.Feasible {
	var all []enactment.Feasible
	settled := key.Values()
	for feasible := range state.Enabled(role) {
		feasible.Open = slices.DeleteFunc(feasible.Open, func(open enactment.Open) bool {
			value, ok := settled[open.Attribute]
			if ok {
				feasible.Known[open.Attribute] = value
			}
			return ok
		})
		all = append(all, feasible)
		if len(all) == most {
			break
		}
	}
	return all
}

// InnerKeys lists the keys outside the root key, of which one enactment may have many values.
func InnerKeys(p *langshaw.Protocol) []string {
	root := slices.Collect(p.RootKey())
	var inner []string
	for key := range p.Keys() {
		if !slices.Contains(root, key) {
			inner = append(inner, key)
		}
	}
	return inner
}
