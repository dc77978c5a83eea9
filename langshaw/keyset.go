package langshaw

import (
	"iter"
	"math/bits"
	"slices"
)

// mostKeys is how many keys a protocol may declare. Each attribute has a set of keys as its scope, so this is what
// keeps a model linear in its text; protocols have a few.
const mostKeys = 256

// keyTable are the keys of one protocol.
type keyTable struct {
	// sorted are the names, number the place of each.
	sorted []string
	number map[string]int
}

// newKeyTable takes at most mostKeys names.
func newKeyTable(names []string) *keyTable {
	t := &keyTable{sorted: slices.Sorted(slices.Values(names)), number: make(map[string]int, len(names))}
	for i, name := range t.sorted {
		t.number[name] = i
	}
	return t
}

// among gives the set of those names that are keys.
func (t *keyTable) among(names []string) keySet {
	s := keySet{table: t}
	for _, name := range names {
		if number, ok := t.number[name]; ok {
			s.bits[number/64] |= 1 << (number % 64)
		}
	}
	return s
}

// keySet is a set of the keys of one protocol. It is a value; the zero value is empty.
type keySet struct {
	table *keyTable
	bits  [mostKeys / 64]uint64
}

func (s keySet) len() int {
	count := 0
	for _, word := range s.bits {
		count += bits.OnesCount64(word)
	}
	return count
}

// all gives the names, sorted.
func (s keySet) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, word := range s.bits {
			for ; word != 0; word &= word - 1 {
				if !yield(s.table.sorted[i*64+bits.TrailingZeros64(word)]) {
					return
				}
			}
		}
	}
}

// and gives the keys that are in both sets.
func (s keySet) and(other keySet) keySet {
	for i := range s.bits {
		s.bits[i] &= other.bits[i]
	}
	return s
}

// meeting is the intersection of sets that come one by one, those that are empty left out.
type meeting struct {
	set keySet
	met bool
}

func (m *meeting) meet(s keySet) {
	switch {
	case s.len() == 0:
	case m.met:
		m.set = m.set.and(s)
	default:
		m.set, m.met = s, true
	}
}
