package langshaw

import (
	"iter"
	"slices"
)

// keySet is a sorted set of key names, shared between all that have the same.
type keySet struct {
	names []string
	id    int
}

func (s *keySet) len() int { return len(s.names) }

func (s *keySet) all() iter.Seq[string] { return slices.Values(s.names) }

// keySets gives equal sets one identity and remembers intersections.
type keySets struct {
	empty   *keySet
	byNames map[string]*keySet
	met     map[[2]int]*keySet
}

func newKeySets() *keySets {
	s := &keySets{byNames: make(map[string]*keySet), met: make(map[[2]int]*keySet)}
	s.empty = s.of(nil)
	return s
}

// of gives the set of the names, which need not be sorted.
func (s *keySets) of(names []string) *keySet {
	slices.Sort(names)
	identity := make([]byte, 0, 16*len(names))
	for _, name := range names {
		identity = append(append(identity, name...), ',')
	}
	if set, ok := s.byNames[string(identity)]; ok {
		return set
	}
	set := &keySet{names: names, id: len(s.byNames)}
	s.byNames[string(identity)] = set
	return set
}

func (s *keySets) intersect(a, b *keySet) *keySet {
	if a == b {
		return a
	}
	if a.len() > b.len() {
		a, b = b, a
	}
	pair := [2]int{a.id, b.id}
	if set, ok := s.met[pair]; ok {
		return set
	}
	var both []string
	for _, name := range a.names {
		if _, ok := slices.BinarySearch(b.names, name); ok {
			both = append(both, name)
		}
	}
	set := s.of(both)
	s.met[pair] = set
	return set
}
