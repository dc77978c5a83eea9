package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// stuckReasons says of a state in which nothing is enabled what each unmet conjunct of `what` waits for, and why that
// can no longer come: a line for the conjunct and, indented below it, the lines that explain it.
func (x *explorer) stuckReasons(done set) []string {
	t := teller{explorer: x, done: done}
	for n, clause := range x.goals[0] {
		if x.clauses[clause].meets(done) {
			continue
		}
		alternatives := strings.Join(slices.Collect(x.conjuncts[n].Alternatives()), " or ")
		t.told = newSet(len(x.events))
		t.say(0, "what needs %s (line %d)", alternatives, x.conjuncts[n].Span().Start.Line)
		if x.clauses[clause].empty() {
			t.say(1, "no action can bring it about")
		}
		for i := range x.clauses[clause].all() {
			t.explain(1, i)
		}
	}
	return t.lines
}

// unmetConjuncts gives the conjuncts of `what` that a state does not satisfy, for the first assignment of keys.
func (x *explorer) unmetConjuncts(done set) []*langshaw.Conjunct {
	var unmet []*langshaw.Conjunct
	for n, clause := range x.goals[0] {
		if !x.clauses[clause].meets(done) {
			unmet = append(unmet, x.conjuncts[n])
		}
	}
	return unmet
}

// teller writes an explanation, each event explained once.
type teller struct {
	*explorer
	done  set
	told  set
	lines []string
}

func (t *teller) say(depth int, format string, arguments ...any) {
	t.lines = append(t.lines, strings.Repeat("  ", depth)+fmt.Sprintf(format, arguments...))
}

// explain says why an event can no longer happen.
func (t *teller) explain(depth, i int) {
	e := &t.events[i]
	if t.told.has(i) {
		t.say(depth, "%s: as above", e.name)
		return
	}
	t.told.add(i)
	for b := range e.blockers.all() {
		if t.done.has(b) {
			t.say(depth, "%s is %s", e.name, t.stoppedBy(i, b))
			return
		}
	}
	for _, clause := range e.needs {
		if t.clauses[clause].meets(t.done) {
			continue
		}
		var from []string
		for j := range t.clauses[clause].all() {
			from = append(from, t.events[j].name)
		}
		switch need := t.needed(i, clause); {
		case len(from) == 0 && need == "":
			t.say(depth, "%s carries no key, so it can never happen", e.name)
		case len(from) == 0:
			t.say(depth, "%s needs %s, which %s may not bind and no other action does", e.name, need, e.role)
		case len(from) == 1 && from[0] == need:
			t.say(depth, "%s needs %s", e.name, need)
		default:
			t.say(depth, "%s needs %s, which %s may not bind, from %s", e.name, need, e.role, strings.Join(from, " or "))
		}
		for j := range t.clauses[clause].all() {
			t.explain(depth+1, j)
		}
		return
	}
	t.say(depth, "%s waits for nothing", e.name)
}

// stoppedBy says by what an event is stopped, and where that is written.
func (t *teller) stoppedBy(i, by int) string {
	e, b := &t.events[i], &t.events[by]
	if e.nonos.has(by) {
		for nono := range t.protocol.Nonos() {
			names := slices.Collect(nono.Actions())
			if slices.Contains(names, e.action.Name()) && slices.Contains(names, b.action.Name()) {
				return fmt.Sprintf("excluded by %s (nono, line %d)", b.name, nono.Span().Start.Line)
			}
		}
	}
	for nogo := range t.protocol.Nogos() {
		if nogo.First() == b.action.Name() && nogo.Then() == e.action.Name() {
			return fmt.Sprintf("blocked by %s (nogo, line %d)", b.name, nogo.Span().Start.Line)
		}
	}
	return fmt.Sprintf("done once already, as %s", b.name)
}

// needed gives the attribute, or the action referred to, that a need of an event stands for; empty for the need of an
// action that carries no key.
func (t *teller) needed(i, clause int) string {
	e := &t.events[i]
	for name := range e.action.Attributes() {
		a, _ := t.protocol.Attribute(name)
		switch {
		case a.IsAction():
			events := newSet(len(t.events))
			for _, other := range t.byAction[name] {
				if t.agree(i, other) {
					events.add(other)
				}
			}
			if t.clause(events) == clause {
				return name
			}
		case !a.MayBind(e.role) && t.bound(name, i) == clause:
			return name
		}
	}
	return ""
}
