package langshaw

import (
	"encoding/binary"
	"iter"
	"slices"
)

// keySet is a set of keys, shared between all that have the same.
type keySet struct {
	// names are sorted, and numbers are the places of the names among all keys of the protocol, sorted too.
	names   []string
	numbers []int32
	id      int
}

func (s *keySet) len() int { return len(s.numbers) }

func (s *keySet) all() iter.Seq[string] { return slices.Values(s.names) }

// keySets gives equal sets one identity and remembers intersections.
type keySets struct {
	empty  *keySet
	names  []string
	number map[string]int32
	byKeys map[string]*keySet
	met    map[[2]int]*keySet
}

// newKeySets makes the sets of the keys of one protocol.
func newKeySets(keys []string) *keySets {
	s := &keySets{
		names: slices.Sorted(slices.Values(keys)), number: make(map[string]int32, len(keys)),
		byKeys: make(map[string]*keySet), met: make(map[[2]int]*keySet),
	}
	for i, name := range s.names {
		s.number[name] = int32(i)
	}
	s.empty = s.of(nil)
	return s
}

// among gives the set of those names that are keys.
func (s *keySets) among(names []string) *keySet {
	var numbers []int32
	for _, name := range names {
		if number, ok := s.number[name]; ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return s.of(numbers)
}

// of gives the set of the numbers, which are sorted.
func (s *keySets) of(numbers []int32) *keySet {
	identity := make([]byte, 0, 64)
	for _, number := range numbers {
		identity = binary.LittleEndian.AppendUint32(identity, uint32(number))
	}
	if set, ok := s.byKeys[string(identity)]; ok {
		return set
	}
	set := &keySet{numbers: numbers, id: len(s.byKeys)}
	for _, number := range numbers {
		set.names = append(set.names, s.names[number])
	}
	s.byKeys[string(identity)] = set
	return set
}

func (s *keySets) intersect(a, b *keySet) *keySet {
	if a == b || a.len() == 0 {
		return a
	}
	pair := [2]int{a.id, b.id}
	if set, ok := s.met[pair]; ok {
		return set
	}
	both := make([]int32, 0, min(a.len(), b.len()))
	for i, j := 0, 0; i < len(a.numbers) && j < len(b.numbers); {
		switch x, y := a.numbers[i], b.numbers[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			both = append(both, x)
			i++
			j++
		}
	}
	set := a
	if len(both) < a.len() {
		set = s.of(both)
	}
	s.met[pair] = set
	return set
}
