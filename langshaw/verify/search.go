package verify

// path is a list of steps from the start; each step is a set of events.
type path struct {
	before *path
	step   []int
}

func (p *path) steps() [][]int {
	var steps [][]int
	for ; p != nil; p = p.before {
		steps = append([][]int{p.step}, steps...)
	}
	return steps
}

// move is what to do at a state: the search ends when Found, and otherwise goes on with the steps that touch the
// stubborn set within; with none where that is nil.
type move struct {
	found  bool
	way    [][]int // when found, from the start
	within set
}

// walk goes through the states depth first, one of each signature, and asks decide what to do at each. Events in avoid
// are not done.
func (x *explorer) walk(avoid set, also [][]int, decide func(*view, *path) move) ([][]int, bool, error) {
	type node struct {
		done set
		path *path
	}
	remembered := make(map[string]bool)
	stack := []node{{done: newSet(len(x.events))}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		v := x.look(at.done, avoid)
		signature := x.signature(v, also...)
		if remembered[signature] {
			continue
		}
		remembered[signature] = true
		if err := x.visit(); err != nil {
			return nil, false, err
		}
		x.seen.addAll(v.enabled)
		next := decide(v, at.path)
		if next.found {
			return next.way, true, nil
		}
		if next.within == nil {
			continue
		}
		steps, err := x.steps(v, next.within)
		if err != nil {
			return nil, false, err
		}
		for n := len(steps) - 1; n >= 0; n-- {
			stack = append(stack, node{with(at.done, steps[n]), &path{at.path, steps[n]}})
		}
	}
	return nil, false, nil
}

// stuck looks for a state in which nothing is enabled and the enactment is not complete. It returns a way there, or
// false when there is none. Complete states are not explored further: what is complete stays complete.
func (x *explorer) stuck() ([][]int, bool, error) {
	return x.walk(nil, x.goals, func(v *view, p *path) move {
		switch {
		case x.isComplete(v.done):
			return move{}
		case v.enabled.empty():
			return move{found: true, way: p.steps()}
		case x.hopeless(v):
			return move{found: true, way: append(p.steps(), x.onward(v.done)...)}
		}
		var seeds [][]int
		for i := range v.enabled.all() {
			seeds = append(seeds, []int{i})
		}
		return move{within: x.stubborn(v, seeds)}
	})
}

// hopeless tells whether the enactment can no longer become complete.
func (x *explorer) hopeless(v *view) bool {
	for _, goal := range x.goals {
		possible := true
		for _, clause := range goal {
			possible = possible && (x.clauses[clause].meets(v.done) || x.clauses[clause].meets(v.possible))
		}
		if possible {
			return false
		}
	}
	return true
}

// onward does whatever is enabled, one by one, until nothing is.
func (x *explorer) onward(done set) [][]int {
	var steps [][]int
	for {
		v := x.look(done, nil)
		if v.enabled.empty() {
			return steps
		}
		for i := range v.enabled.all() {
			steps = append(steps, []int{i})
			done = with(done, steps[len(steps)-1])
			break
		}
	}
}

// target is a condition on states: all needs satisfied, and nothing of without done.
type target struct {
	needs   []int
	without set
}

// enabling is the condition that all the events are enabled at once.
func (x *explorer) enabling(events ...int) target {
	t := target{without: newSet(len(x.events))}
	for _, i := range events {
		t.needs = append(t.needs, x.events[i].needs...)
		t.without.addAll(x.events[i].blockers)
		t.without.add(i)
	}
	return t
}

// reach looks for a state that meets the target, and returns a way there, or false when there is none.
func (x *explorer) reach(t target) ([][]int, bool, error) {
	return x.walk(t.without, [][]int{t.needs}, func(v *view, p *path) move {
		var seeds [][]int
		for _, clause := range t.needs {
			if x.clauses[clause].meets(v.done) {
				continue
			}
			if !x.clauses[clause].meets(v.possible) {
				return move{}
			}
			var seed []int
			for i := range x.clauses[clause].all() {
				seed = append(seed, i)
			}
			seeds = append(seeds, seed)
		}
		if len(seeds) == 0 {
			return move{found: true, way: p.steps()}
		}
		// Without a stubborn set that can do anything, whatever could lead on waits for itself.
		return move{within: x.stubborn(v, seeds)}
	})
}
