package langshaw

import (
	"cmp"
	"maps"
)

// wideNono is the size from which the pairs of a nono are no longer stored one by one, so that memory stays linear.
const wideNono = 32

type conflicts struct {
	pairs map[[2]string]bool
	// wide tells for each action which of the large nonos it stands in.
	wide  map[string]map[int]bool
	nogos map[[2]string]bool
}

func newConflicts(nonos []*Nono, nogos []*Nogo) conflicts {
	c := conflicts{pairs: make(map[[2]string]bool), wide: make(map[string]map[int]bool), nogos: make(map[[2]string]bool)}
	for i, n := range nonos {
		if len(n.actions) >= wideNono {
			for _, a := range n.actions {
				if c.wide[a] == nil {
					c.wide[a] = make(map[int]bool)
				}
				c.wide[a][i] = true
			}
			continue
		}
		for j, a := range n.actions {
			for _, b := range n.actions[:j] {
				c.pairs[ordered(a, b)] = true
			}
		}
	}
	for _, n := range nogos {
		c.nogos[[2]string{n.first, n.then}] = true
	}
	return c
}

func ordered(a, b string) [2]string {
	if cmp.Less(b, a) {
		a, b = b, a
	}
	return [2]string{a, b}
}

func (c conflicts) excludes(a, b string) bool {
	if c.pairs[ordered(a, b)] {
		return true
	}
	if a == b {
		return false
	}
	few, many := c.wide[a], c.wide[b]
	if len(few) > len(many) {
		few, many = many, few
	}
	for i := range maps.Keys(few) {
		if many[i] {
			return true
		}
	}
	return false
}

func (c conflicts) blocks(first, then string) bool { return c.nogos[[2]string{first, then}] }
