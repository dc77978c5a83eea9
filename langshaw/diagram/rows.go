package diagram

import "slices"

const (
	// mostRows bounds how many nonos are tried.
	mostRows = 100
	// mostInRow is how many actions of one nono may stand side by side; a picture gets too wide with more.
	mostInRow = 6
)

// rows gives the groups of actions that are drawn side by side, as alternatives are: those of a nono, of several that
// share an action, unless one would then have to stand above another that it comes after.
func (d *drawer) rows() [][]*node {
	group := make(map[*node]*node) // what stands for the group of a node
	of := func(n *node) *node {
		for group[n] != nil {
			n = group[n]
		}
		return n
	}
	tried := 0
	for nono := range d.protocol.Nonos() {
		if tried++; tried > mostRows {
			break
		}
		if len(slices.Collect(nono.Actions())) > mostInRow {
			continue
		}
		var joined []*node
		var first *node
		for name := range nono.Actions() {
			n := d.nodes[name]
			if n == nil {
				continue
			}
			n = of(n)
			if first == nil {
				first = n
			} else if n != first {
				group[n] = first
				joined = append(joined, n)
			}
		}
		if len(joined) > 0 && !d.isLayered(of) {
			for _, n := range joined {
				delete(group, n)
			}
		}
	}
	members := make(map[*node][]*node)
	for _, l := range d.chart.lanes {
		for _, n := range l.nodes {
			members[of(n)] = append(members[of(n)], n)
		}
	}
	var rows [][]*node
	for _, l := range d.chart.lanes {
		for _, n := range l.nodes {
			if len(members[n]) > 1 {
				rows = append(rows, slices.Clone(members[n]))
			}
		}
	}
	return rows
}

// isLayered tells whether groups can stand in rows so that each stands below what it needs.
func (d *drawer) isLayered(of func(*node) *node) bool {
	after := make(map[*node][]*node)
	waits := make(map[*node]int)
	for _, e := range d.chart.edges {
		if e.kind == reference || e.kind == flow {
			from, to := of(e.from), of(e.to)
			after[from] = append(after[from], to)
			waits[to]++
		}
	}
	var free []*node
	for from := range after {
		if waits[from] == 0 {
			free = append(free, from)
		}
	}
	left := len(waits)
	for len(free) > 0 {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range after[n] {
			if waits[to]--; waits[to] == 0 {
				left--
				free = append(free, to)
			}
		}
	}
	return left == 0
}
