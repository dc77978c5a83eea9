package verify

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// problem is a protocol reduced to what decides which actions may follow which. With one value a key, its events are
// the actions; with several, an event is an action under an assignment of the keys outside the root key.
//
// Being enabled has two sides. The needs of an event are clauses, each satisfied once one of its events is done, and a
// satisfied clause stays so. Its blockers stop it, once done, for good. All that follows rests on this: what is enabled
// stops being so only through a blocker.
type problem struct {
	protocol *langshaw.Protocol
	events   []event
	byAction map[string][]int
	clauses  []set
	clauseID map[string]int
	// goals are the ways to be complete, one for each assignment of keys: clauses all of which are satisfied.
	goals [][]int
	// conjuncts gives, for the first assignment, the conjunct that each clause of the goal stands for.
	conjuncts []*langshaw.Conjunct
}

// event is an action under one assignment of its keys.
type event struct {
	action *langshaw.Action
	name   string // as it is shown
	role   string
	keys   map[string]int
	needs  []int // clauses
	// blockers are the events that stop this one, nonos those of them that exclude it by nono.
	blockers, nonos set
	// interferes holds the events that this one may stop and those that may stop it.
	interferes set
	// nogos are the events that this one stops by nogo.
	nogos set
}

// events counts the events of a protocol, up to a little more than [MostEvents].
func events(p *langshaw.Protocol, values int) int {
	root := make(map[string]bool)
	for key := range p.RootKey() {
		root[key] = true
	}
	grown := func(keys iter.Seq[string]) int {
		n := 1
		for key := range keys {
			if !root[key] && n <= MostEvents {
				n *= values
			}
		}
		return n
	}
	count := grown(p.Keys()) // the ways to be complete
	for a := range p.Actions() {
		if count += grown(a.Keys()); count > MostEvents {
			break
		}
	}
	return count
}

// newProblem reduces a protocol, with the given number of values for each key outside the root key.
func newProblem(p *langshaw.Protocol, values int) *problem {
	q := &problem{protocol: p, byAction: make(map[string][]int), clauseID: make(map[string]int)}
	root := slices.Collect(p.RootKey())
	for a := range p.Actions() {
		var residual []string
		for key := range a.Keys() {
			if !slices.Contains(root, key) {
				residual = append(residual, key)
			}
		}
		assign(residual, values, func(keys map[string]int) {
			name := a.Name()
			if values > 1 && len(residual) > 0 {
				var parts []string
				for _, key := range residual {
					parts = append(parts, fmt.Sprintf("%s=%d", key, keys[key]+1))
				}
				name += "[" + strings.Join(parts, ",") + "]"
			}
			q.byAction[a.Name()] = append(q.byAction[a.Name()], len(q.events))
			q.events = append(q.events, event{action: a, name: name, role: a.Role(), keys: keys})
		})
	}
	for i := range q.events {
		e := &q.events[i]
		e.blockers, e.nonos, e.nogos, e.interferes = newSet(len(q.events)), newSet(len(q.events)), newSet(len(q.events)), newSet(len(q.events))
	}
	for i := range q.events {
		q.need(i)
	}
	q.conflicts()
	q.complete(root, values)
	return q
}

// assign calls do with every assignment of that many values to the keys.
func assign(keys []string, values int, do func(map[string]int)) {
	digits := make([]int, len(keys))
	for {
		assignment := make(map[string]int, len(keys))
		for i, key := range keys {
			assignment[key] = digits[i]
		}
		do(assignment)
		i := len(digits) - 1
		for ; i >= 0; i-- {
			if digits[i]++; digits[i] < values {
				break
			}
			digits[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// clause gives the identity of a disjunction of events.
func (q *problem) clause(events set) int {
	identity := string(events.appendTo(nil))
	id, ok := q.clauseID[identity]
	if !ok {
		id = len(q.clauses)
		q.clauses = append(q.clauses, events)
		q.clauseID[identity] = id
	}
	return id
}

// bound gives the clause that an attribute is bound, for an event that carries it: some event that carries it in the
// same scope is done. The event itself is left out, since it asks before it happens.
func (q *problem) bound(attribute string, by int) int {
	a, _ := q.protocol.Attribute(attribute)
	scope := slices.Collect(a.Scope())
	events := newSet(len(q.events))
	for carrier := range a.Carriers() {
		for _, other := range q.byAction[carrier.Name()] {
			if other != by && q.sameKeys(by, other, scope) {
				events.add(other)
			}
		}
	}
	return q.clause(events)
}

func (q *problem) sameKeys(a, b int, keys []string) bool {
	for _, key := range keys {
		if q.events[a].keys[key] != q.events[b].keys[key] {
			return false
		}
	}
	return true
}

// agree tells whether two events have the same value for every key that both carry.
func (q *problem) agree(a, b int) bool {
	for key, value := range q.events[a].keys {
		if other, ok := q.events[b].keys[key]; ok && other != value {
			return false
		}
	}
	return true
}

// need finds what an event needs (semantics section 4).
func (q *problem) need(i int) {
	e := &q.events[i]
	require := func(clause int) {
		if !slices.Contains(e.needs, clause) {
			e.needs = append(e.needs, clause)
		}
	}
	keyless := true
	for name := range e.action.Attributes() {
		a, _ := q.protocol.Attribute(name)
		keyless = keyless && !a.IsKey()
		switch {
		case a.IsAction():
			events := newSet(len(q.events))
			for _, other := range q.byAction[name] {
				if q.agree(i, other) {
					events.add(other)
				}
			}
			require(q.clause(events))
		case !a.MayBind(e.role):
			require(q.bound(name, i))
		}
	}
	if keyless {
		require(q.clause(newSet(len(q.events))))
	}
}

// conflicts finds what stops what: nono, nogo, and the same action in the same scope of its name.
func (q *problem) conflicts() {
	pairs := func(a, b string, do func(x, y int)) {
		for _, x := range q.byAction[a] {
			for _, y := range q.byAction[b] {
				if x != y && q.agree(x, y) {
					do(x, y)
				}
			}
		}
	}
	for nono := range q.protocol.Nonos() {
		for a := range nono.Actions() {
			for b := range nono.Actions() {
				if a != b {
					pairs(a, b, func(x, y int) {
						q.events[x].blockers.add(y)
						q.events[x].nonos.add(y)
					})
				}
			}
		}
	}
	for nogo := range q.protocol.Nogos() {
		pairs(nogo.First(), nogo.Then(), func(x, y int) {
			q.events[y].blockers.add(x)
			q.events[x].nogos.add(y)
		})
	}
	for name, events := range q.byAction {
		a, _ := q.protocol.Attribute(name)
		scope := slices.Collect(a.Scope())
		for _, x := range events {
			for _, y := range events {
				if x != y && q.sameKeys(x, y, scope) {
					q.events[x].blockers.add(y)
				}
			}
		}
	}
	for i := range q.events {
		for b := range q.events[i].blockers.all() {
			q.events[i].interferes.add(b)
			q.events[b].interferes.add(i)
		}
	}
}

// complete finds the ways to be complete (semantics section 6).
func (q *problem) complete(root []string, values int) {
	var residual []string
	for key := range q.protocol.Keys() {
		if !slices.Contains(root, key) {
			residual = append(residual, key)
		}
	}
	assign(residual, values, func(keys map[string]int) {
		var goal []int
		for conjunct := range q.protocol.What() {
			events := newSet(len(q.events))
			for i := range q.events {
				e := &q.events[i]
				satisfies := false
				for name := range conjunct.Alternatives() {
					satisfies = satisfies || e.action.Carries(name)
				}
				for key, value := range e.keys {
					satisfies = satisfies && keys[key] == value
				}
				if satisfies {
					events.add(i)
				}
			}
			goal = append(goal, q.clause(events))
			if len(q.goals) == 0 {
				q.conjuncts = append(q.conjuncts, conjunct)
			}
		}
		q.goals = append(q.goals, goal)
	})
}

// dominations lists the clauses that must be satisfied for neither of two events to dominate the other: that each
// attribute over which they rank differently is bound (semantics section 5).
func (q *problem) dominations(x, y int) []int {
	a, b := &q.events[x], &q.events[y]
	if a.role == b.role {
		return nil
	}
	var clauses []int
	for name := range a.action.Attributes() {
		attribute, _ := q.protocol.Attribute(name)
		if attribute.IsAction() || !b.action.Carries(name) || !q.sameKeys(x, y, slices.Collect(attribute.Scope())) {
			continue
		}
		_, mine := attribute.Rank(a.role)
		_, yours := attribute.Rank(b.role)
		if mine && yours {
			clauses = append(clauses, q.boundBeside(name, x, y))
		}
	}
	return clauses
}

// boundBeside gives the clause that an attribute is bound by an event other than the two that carry it.
func (q *problem) boundBeside(attribute string, x, y int) int {
	events := q.clauses[q.bound(attribute, x)].clone()
	events.remove(y)
	return q.clause(events)
}
