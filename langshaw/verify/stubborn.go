package verify

// A stubborn set is a set of events, closed so that whatever leads to the goal without touching it can be done after one
// of its steps as well. Exploring only the steps of one stubborn set at each state therefore keeps every dead end, and
// every way to a goal that some event of the set must bring about (Valmari's strong stubborn sets, on the clauses and
// blockers of this package). Closing means:
//
//   - of an event that is not enabled, one unsatisfied need is taken, and all events that could satisfy it are added:
//     the event cannot happen before one of them;
//   - of an enabled event, all events that it may stop or that may stop it are added, so that what is left out can be
//     done before or after it alike;
//   - of two enabled events that may have to happen in one step but of which one dominates the other, the events that
//     would settle that are added: the step cannot happen before.
//
// Events that can no longer happen are left out throughout.

// stubborn gives the smallest, by enabled events, of the stubborn sets that grow from the seeds; each seed is a list of
// events that must be in the set together. Among equals the first wins.
func (x *explorer) stubborn(v *view, seeds [][]int) set {
	var best set
	fewest := -1
	partners := x.partners(v)
	for _, seed := range seeds {
		closed := x.closure(v, seed, partners)
		enabled := 0
		for i := range v.enabled.all() {
			if closed.has(i) {
				enabled++
			}
		}
		if enabled > 0 && (fewest < 0 || enabled < fewest) {
			best, fewest = closed, enabled
			if fewest == 1 {
				break
			}
		}
	}
	return best
}

// partners gives for each possible event the others that it may have to happen with in one step.
func (x *explorer) partners(v *view) map[int][]int {
	if x.immediate {
		return nil
	}
	partners := make(map[int][]int)
	for _, component := range x.components(v.possible) {
		for _, i := range component {
			partners[i] = component
		}
	}
	return partners
}

func (x *explorer) closure(v *view, seed []int, partners map[int][]int) set {
	closed := newSet(len(x.events))
	var queue []int
	addAll := func(events set) { queue = closed.take(events, v.possible, queue) }
	start := newSet(len(x.events))
	for _, i := range seed {
		start.add(i)
	}
	addAll(start)
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if !v.enabled.has(i) {
			addAll(x.clauses[x.unmet(v, closed, x.events[i].needs)])
			continue
		}
		addAll(x.events[i].interferes)
		for _, j := range partners[i] {
			if i == j || !v.enabled.has(j) {
				continue
			}
			for _, clause := range x.rivalry(i, j) {
				if !x.clauses[clause].meets(v.done) {
					addAll(x.clauses[clause])
				}
			}
		}
	}
	return closed
}

// unmet picks the unsatisfied clause that adds the fewest events to a set.
func (x *explorer) unmet(v *view, to set, clauses []int) int {
	best, fewest := -1, 0
	for _, clause := range clauses {
		if x.clauses[clause].meets(v.done) {
			continue
		}
		adds := 0
		for i := range x.clauses[clause].all() {
			if v.possible.has(i) && !to.has(i) {
				adds++
			}
		}
		if best < 0 || adds < fewest {
			best, fewest = clause, adds
		}
	}
	return best
}
