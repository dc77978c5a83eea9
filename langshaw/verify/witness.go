package verify

// plainLimit bounds the plain search for a witness with the fewest actions, in states.
const plainLimit = 100_000

// shortest makes a witness out of a way that a reduced search found: the fewest actions, one by one where possible, if a
// plain search fits its limit; otherwise the way found, without the actions that can be left out. Shows tells whether a
// state is what is to be shown.
func (x *explorer) shortest(found [][]int, shows func(*view) bool) [][]int {
	if steps, ok := x.plain(shows); ok {
		return steps
	}
	return x.minimal(found, shows)
}

// plain goes through all states by their number of actions, without reduction. It is false when it met its limit.
func (x *explorer) plain(shows func(*view) bool) ([][]int, bool) {
	type node struct {
		done  set
		path  *path
		joint int // actions done in steps of several
	}
	limit := min(plainLimit, x.limit)
	layers := [][]*node{{{done: newSet(len(x.events))}}}
	known := make(map[string]*node)
	for count := 0; count < len(layers); count++ {
		for _, at := range layers[count] {
			if x.ctx.Err() != nil {
				return nil, false
			}
			v := x.look(at.done, nil)
			if shows(v) {
				return at.path.steps(), true
			}
			steps, err := x.steps(v, nil)
			if err != nil {
				return nil, false
			}
			for _, step := range steps {
				next := &node{with(at.done, step), &path{at.path, step}, at.joint}
				if len(step) > 1 {
					next.joint += len(step)
				}
				identity := string(next.done.appendTo(nil))
				if had, ok := known[identity]; ok {
					// Both lie in a layer that is still to come, so the better way can take the other's place.
					if next.joint < had.joint {
						*had = *next
					}
					continue
				}
				if len(known) >= limit {
					return nil, false
				}
				known[identity] = next
				for len(layers) <= count+len(step) {
					layers = append(layers, nil)
				}
				layers[count+len(step)] = append(layers[count+len(step)], next)
			}
		}
		layers[count] = nil
	}
	return nil, false
}

// minimal leaves out of a way what it can do without, the latest first.
func (x *explorer) minimal(steps [][]int, shows func(*view) bool) [][]int {
	for again := true; again; {
		again = false
		for n := len(steps) - 1; n >= 0; n-- {
			shorter := append(append([][]int(nil), steps[:n]...), steps[n+1:]...)
			if v := x.follow(shorter); v != nil && shows(v) {
				steps, again = shorter, true
			}
		}
	}
	return steps
}

// follow goes a way from the start and gives the state that it leads to, nil where it cannot be gone.
func (x *explorer) follow(steps [][]int) *view {
	v := x.look(newSet(len(x.events)), nil)
	for _, step := range steps {
		for n, i := range step {
			if !v.enabled.has(i) {
				return nil
			}
			for _, j := range step[:n] {
				if !x.together(v, i, j) {
					return nil
				}
			}
		}
		v = x.look(with(v.done, step), nil)
	}
	return v
}

// meets tells whether a state meets a target.
func (x *explorer) meets(v *view, t target) bool {
	return x.satisfied(v.done, t.needs) && !v.done.meets(t.without)
}
