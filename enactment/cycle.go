package enactment

// earliestInSource gives the earliest undecided candidate that is in a cycle of domination which nothing outside
// dominates. It is called when every undecided candidate is dominated, so there is such a cycle. The components are
// found as Tarjan does it, without recursion, so that a long window cannot exhaust the stack.
func (w *contest) earliestInSource() int {
	component := w.components()
	source := make(map[int]bool)
	for i, c := range component {
		if !w.decided[i] {
			source[c] = true
		}
	}
	for i := range component {
		if w.decided[i] {
			continue
		}
		for _, other := range w.dominated[i] {
			if !w.decided[other] && component[other] != component[i] {
				source[component[other]] = false
			}
		}
	}
	for i, c := range component {
		if !w.decided[i] && source[c] {
			return i
		}
	}
	panic("enactment: domination without a source, which no finite graph has")
}

// components numbers the strongly connected components of domination among the undecided.
func (w *contest) components() []int {
	n := len(w.candidates)
	component, order, low := make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	edge := make([]int, n)
	var stack, path []int
	visited, found := 0, 0
	visit := func(i int) {
		visited++
		order[i], low[i], onStack[i] = visited, visited, true
		stack, path = append(stack, i), append(path, i)
	}
	for start := range n {
		if w.decided[start] || order[start] != 0 {
			continue
		}
		visit(start)
		for len(path) > 0 {
			at := path[len(path)-1]
			if edge[at] < len(w.dominated[at]) {
				other := w.dominated[at][edge[at]]
				edge[at]++
				switch {
				case w.decided[other]:
				case order[other] == 0:
					visit(other)
				case onStack[other]:
					low[at] = min(low[at], order[other])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				low[path[len(path)-1]] = min(low[path[len(path)-1]], low[at])
			}
			if low[at] == order[at] {
				found++
				for top := -1; top != at; {
					top = stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					onStack[top] = false
					component[top] = found
				}
			}
		}
	}
	return component
}
