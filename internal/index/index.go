// Package index finds numbers by the hash of what they stand for. It stores no keys: whoever asks compares, since he has
// what the numbers stand for anyhow. So an entry costs eight bytes and no allocation of its own.
//
// It must not know what the numbers are of. Hash with a random seed (hash/maphash) where keys come from outside.
package index

import "math/bits"

// Index is a set of numbers by hash. The zero Index is empty. Finding is safe for concurrent use while nothing is added.
type Index struct {
	slots []slot // a power of two of them, at most three quarters of them taken
	taken int
}

type slot struct {
	hash   uint32
	number uint32 // plus one; 0 where the slot is free
}

// Len is how many numbers were added.
func (x *Index) Len() int { return x.taken }

// Find gives the first number of the hash, in the order of their addition, that is the same as what is looked for.
func (x *Index) Find(hash uint64, same func(number int) bool) (number int, found bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	short, mask := uint32(hash>>32), uint32(len(x.slots)-1)
	for at := short & mask; x.slots[at].number != 0; at = (at + 1) & mask {
		if x.slots[at].hash == short && same(int(x.slots[at].number-1)) {
			return int(x.slots[at].number - 1), true
		}
	}
	return 0, false
}

// Add adds a number, which must be neither negative nor greater than 2³²-2.
func (x *Index) Add(hash uint64, number int) {
	x.Reserve(1)
	x.put(slot{uint32(hash >> 32), uint32(number) + 1})
	x.taken++
}

// Reserve makes room for so many more numbers.
func (x *Index) Reserve(more int) {
	need := x.taken + more
	if 4*need <= 3*len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, max(8, 1<<bits.Len(uint(need+need/3))))
	mask := uint32(len(old) - 1)
	// A run of taken slots may go over the end: begin behind a free one, so that the order of equal hashes stays.
	first := 0
	for first < len(old) && old[first].number != 0 {
		first++
	}
	for n := range old {
		if s := old[uint32(first+n)&mask]; s.number != 0 {
			x.put(s)
		}
	}
}

func (x *Index) put(s slot) {
	mask := uint32(len(x.slots) - 1)
	at := s.hash & mask
	for x.slots[at].number != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = s
}
