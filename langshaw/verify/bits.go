package verify

import (
	"iter"
	"math/bits"
)

// set is a set of small numbers. Sets of one problem have the same length, so that they combine word by word.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) remove(i int) { s[i/64] &^= 1 << (i % 64) }

func (s set) meets(t set) bool {
	for i, word := range s {
		if word&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s set) addAll(t set) {
	for i, word := range t {
		s[i] |= word
	}
}

// take adds what is in both t and among, and appends what was not there before to the list.
func (s set) take(t, among set, fresh []int) []int {
	for i, word := range t {
		word &= among[i] &^ s[i]
		s[i] |= word
		for ; word != 0; word &= word - 1 {
			fresh = append(fresh, i*64+bits.TrailingZeros64(word))
		}
	}
	return fresh
}

func (s set) clone() set { return append(set(nil), s...) }

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// all lists the members in ascending order.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// appendTo writes the set so that different sets of one length read differently.
func (s set) appendTo(to []byte) []byte {
	for _, word := range s {
		to = append(to, byte(word), byte(word>>8), byte(word>>16), byte(word>>24),
			byte(word>>32), byte(word>>40), byte(word>>48), byte(word>>56))
	}
	return to
}
