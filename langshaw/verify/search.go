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

// stuck looks for a state in which nothing is enabled and the enactment is not complete. It returns a way there, or
// false when there is none. Complete states are not explored further: what is complete stays complete.
func (x *explorer) stuck() ([][]int, bool, error) {
	type node struct {
		done set
		path *path
	}
	remembered := make(map[string]bool)
	stack := []node{{done: newSet(len(x.events))}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if x.isComplete(at.done) {
			continue
		}
		v := x.look(at.done, nil)
		signature := x.signature(v, x.goals...)
		if remembered[signature] {
			continue
		}
		remembered[signature] = true
		if err := x.visit(); err != nil {
			return nil, false, err
		}
		x.seen.addAll(v.enabled)
		if v.enabled.empty() {
			return at.path.steps(), true, nil
		}
		if x.hopeless(v) {
			return append(at.path.steps(), x.onward(at.done)...), true, nil
		}
		var seeds [][]int
		for i := range v.enabled.all() {
			seeds = append(seeds, []int{i})
		}
		steps, err := x.steps(v, x.stubborn(v, seeds))
		if err != nil {
			return nil, false, err
		}
		for n := len(steps) - 1; n >= 0; n-- {
			stack = append(stack, node{with(at.done, steps[n]), &path{at.path, steps[n]}})
		}
	}
	return nil, false, nil
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
	type node struct {
		done set
		path *path
	}
	remembered := make(map[string]bool)
	stack := []node{{done: newSet(len(x.events))}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		v := x.look(at.done, t.without)
		signature := x.signature(v, t.needs)
		if remembered[signature] {
			continue
		}
		remembered[signature] = true
		if err := x.visit(); err != nil {
			return nil, false, err
		}
		x.seen.addAll(v.enabled)
		var seeds [][]int
		hopeless := false
		for _, clause := range t.needs {
			if x.clauses[clause].meets(at.done) {
				continue
			}
			if !x.clauses[clause].meets(v.possible) {
				hopeless = true
				break
			}
			var seed []int
			for i := range x.clauses[clause].all() {
				seed = append(seed, i)
			}
			seeds = append(seeds, seed)
		}
		if hopeless {
			continue
		}
		if len(seeds) == 0 {
			return at.path.steps(), true, nil
		}
		within := x.stubborn(v, seeds)
		if within == nil {
			continue // Whatever could lead on waits for itself.
		}
		steps, err := x.steps(v, within)
		if err != nil {
			return nil, false, err
		}
		for n := len(steps) - 1; n >= 0; n-- {
			stack = append(stack, node{with(at.done, steps[n]), &path{at.path, steps[n]}})
		}
	}
	return nil, false, nil
}
