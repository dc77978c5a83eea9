package verify

import (
	"context"
	"errors"
	"slices"
)

// errLimit stops a search that has seen as many states as it may, or whose context has ended.
var errLimit = errors.New("verify: limit on states reached")

// explorer walks over the states of a problem. A state is the set of events done; how they were ordered is forgotten.
type explorer struct {
	*problem
	ctx       context.Context
	immediate bool
	limit     int
	// states counts the states visited, over all searches.
	states int
	// tied are the groups of events that are strongly connected by nogo.
	tied [][]int
	// rivals remembers dominations.
	rivals map[[2]int][]int
	// seen holds the events that were enabled in some state visited, so that they need no search of their own.
	seen set
}

func newExplorer(ctx context.Context, q *problem, immediate bool, limit int) *explorer {
	x := &explorer{problem: q, ctx: ctx, immediate: immediate, limit: limit, rivals: make(map[[2]int][]int), seen: newSet(len(q.events))}
	var all []int
	for i := range q.events {
		all = append(all, i)
	}
	x.tied = x.split(all)
	// Every clause that a signature may name is there before the first is made.
	for _, component := range x.tied {
		for n, i := range component {
			for _, j := range component[:n] {
				x.rivalry(i, j)
			}
		}
	}
	return x
}

func (x *explorer) visit() error {
	x.states++
	if x.states > x.limit || x.ctx.Err() != nil {
		return errLimit
	}
	return nil
}

// view is a state with what follows from it.
type view struct {
	done set
	// possible holds the events that are not done, are not stopped, and whose needs can still be satisfied.
	possible set
	enabled  set
}

// look derives a view. Events in avoid are taken for stopped.
func (x *explorer) look(done, avoid set) *view {
	v := &view{done: done, possible: newSet(len(x.events)), enabled: newSet(len(x.events))}
	for i := range x.events {
		if !done.has(i) && !x.events[i].blockers.meets(done) && (avoid == nil || !avoid.has(i)) {
			v.possible.add(i)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range v.possible.all() {
			for _, clause := range x.events[i].needs {
				if !x.clauses[clause].meets(done) && !x.clauses[clause].meets(v.possible) {
					v.possible.remove(i)
					changed = true
					break
				}
			}
		}
	}
	for i := range v.possible.all() {
		if x.satisfied(done, x.events[i].needs) {
			v.enabled.add(i)
		}
	}
	return v
}

func (x *explorer) satisfied(done set, clauses []int) bool {
	for _, clause := range clauses {
		if !x.clauses[clause].meets(done) {
			return false
		}
	}
	return true
}

// isComplete tells whether the enactment is complete.
func (x *explorer) isComplete(done set) bool {
	for _, goal := range x.goals {
		if x.satisfied(done, goal) {
			return true
		}
	}
	return false
}

// rivalry gives the clauses of dominations, remembered.
func (x *explorer) rivalry(a, b int) []int {
	if a > b {
		a, b = b, a
	}
	clauses, ok := x.rivals[[2]int{a, b}]
	if !ok {
		clauses = x.dominations(a, b)
		x.rivals[[2]int{a, b}] = clauses
	}
	return clauses
}

// signature identifies what may still follow from a view: the possible events, which of their needs and of the other
// given clauses are satisfied, and which rivalries between events that may have to happen in one step are settled.
// States with one signature have the same future, so that one of them is explored.
func (x *explorer) signature(v *view, also ...[]int) string {
	relevant := newSet(len(x.clauses))
	for i := range v.possible.all() {
		for _, clause := range x.events[i].needs {
			relevant.add(clause)
		}
	}
	if !x.immediate {
		for _, component := range x.components(v.possible) {
			for n, i := range component {
				for _, j := range component[:n] {
					for _, clause := range x.rivalry(i, j) {
						relevant.add(clause)
					}
				}
			}
		}
	}
	for _, clauses := range also {
		for _, clause := range clauses {
			relevant.add(clause)
		}
	}
	for clause := range relevant.all() {
		if !x.clauses[clause].meets(v.done) {
			relevant.remove(clause)
		}
	}
	return string(relevant.appendTo(v.possible.appendTo(nil)))
}

// steps lists what may happen next, taken from the events in within: each enabled event alone and, under batch
// finalisation, the sets of events that can only happen in one step. A step is any set without domination, nono, and
// nogo within a role (semantics section 6); but one whose nogos can be put in an order, each blocked event before its
// blocker, is as well done one by one. What is left are the sets that are strongly connected by nogo.
func (x *explorer) steps(v *view, within set) ([][]int, error) {
	var steps [][]int
	for i := range v.enabled.all() {
		if within == nil || within.has(i) {
			steps = append(steps, []int{i})
		}
	}
	if x.immediate {
		return steps, nil
	}
	joint, err := x.joint(v, within)
	return append(steps, joint...), err
}

// mostJoint bounds the events tied together by nogos in both directions whose subsets are all tried.
const mostJoint = 20

func (x *explorer) joint(v *view, within set) ([][]int, error) {
	var steps [][]int
	for _, component := range x.components(v.enabled) {
		if within != nil && !slices.ContainsFunc(component, within.has) {
			continue
		}
		if len(component) > mostJoint {
			return nil, errLimit
		}
		x.subsets(v, component, nil, func(step []int) {
			if len(step) > 1 && x.connected(step) {
				steps = append(steps, slices.Clone(step))
			}
		})
	}
	return steps, nil
}

// subsets calls do with every set of the events in which no two stand against each other.
func (x *explorer) subsets(v *view, events, chosen []int, do func([]int)) {
	if len(events) == 0 {
		do(chosen)
		return
	}
	x.subsets(v, events[1:], chosen, do)
	next := events[0]
	for _, other := range chosen {
		if !x.together(v, next, other) {
			return
		}
	}
	x.subsets(v, events[1:], append(chosen, next), do)
}

// together tells whether two enabled events may happen in one step.
func (x *explorer) together(v *view, a, b int) bool {
	e, f := &x.events[a], &x.events[b]
	if e.nonos.has(b) || e.action == f.action && e.blockers.has(b) {
		return false
	}
	if e.role == f.role && (e.nogos.has(b) || f.nogos.has(a)) {
		return false
	}
	return x.satisfied(v.done, x.rivalry(a, b))
}

// connected tells whether a set of events is strongly connected by nogo.
func (x *explorer) connected(step []int) bool {
	among := newSet(len(x.events))
	for _, i := range step {
		among.add(i)
	}
	components := x.components(among)
	return len(components) == 1 && len(components[0]) == len(step)
}

// components gives the groups of two or more events of a set that are strongly connected by nogo within the set, in
// ascending order of their first event. They lie within those of all events, which are few and known.
func (x *explorer) components(among set) [][]int {
	var components [][]int
	for _, tied := range x.tied {
		var members []int
		for _, i := range tied {
			if among.has(i) {
				members = append(members, i)
			}
		}
		if len(members) > 1 {
			components = append(components, x.split(members)...)
		}
	}
	return components
}

// split gives the groups of two or more of the events that are strongly connected by nogo among them.
func (x *explorer) split(members []int) [][]int {
	among := newSet(len(x.events))
	for _, i := range members {
		among.add(i)
	}
	reach := make(map[int]set)
	for _, i := range members {
		if !x.events[i].nogos.meets(among) {
			continue
		}
		to := newSet(len(x.events))
		stack := []int{i}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for next := range x.events[at].nogos.all() {
				if among.has(next) && !to.has(next) {
					to.add(next)
					stack = append(stack, next)
				}
			}
		}
		reach[i] = to
	}
	var components [][]int
	taken := newSet(len(x.events))
	for _, i := range members {
		if reach[i] == nil || taken.has(i) {
			continue
		}
		component := []int{i}
		for _, j := range members {
			if j > i && reach[j] != nil && reach[i].has(j) && reach[j].has(i) {
				component = append(component, j)
				taken.add(j)
			}
		}
		if len(component) > 1 {
			components = append(components, component)
		}
	}
	return components
}

func with(done set, step []int) set {
	next := done.clone()
	for _, i := range step {
		next.add(i)
	}
	return next
}
