package benchmark

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Latencies counts durations, in memory that does not grow with their number: those that differ by less than a part in
// 64 may be counted as the same. Its methods are safe for concurrent use.
type Latencies struct {
	counts  [(64 - fine) << fine]atomic.Uint64
	longest atomic.Int64
}

// fine is how many bits of a duration beside the first are told apart.
const fine = 6

// place is where durations like d are counted: those below 128 ns each by itself.
func place(d time.Duration) int {
	ns := uint64(max(d, 0))
	shift := max(bits.Len64(ns)-fine-1, 0)
	return shift<<fine + int(ns>>shift)
}

// middle is the middle of the durations that are counted at a place.
func middle(place int) time.Duration {
	shift := max(place>>fine-1, 0)
	from := uint64(place-shift<<fine) << shift
	return time.Duration(from + (uint64(1)<<shift)/2)
}

// Count counts a duration.
func (l *Latencies) Count(d time.Duration) {
	l.counts[place(d)].Add(1)
	for {
		longest := l.longest.Load()
		if int64(d) <= longest || l.longest.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Slowest is the longest duration counted; 0 if there is none.
func (l *Latencies) Slowest() time.Duration { return time.Duration(l.longest.Load()) }

// Percentile gives the duration that as many in a hundred do not exceed; 0 if none were counted.
func (l *Latencies) Percentile(percent float64) time.Duration {
	if percent >= 100 {
		return l.Slowest()
	}
	total := uint64(0)
	for i := range l.counts {
		total += l.counts[i].Load()
	}
	below := uint64(0)
	for i := range l.counts {
		below += l.counts[i].Load()
		if total > 0 && float64(below) >= percent/100*float64(total) {
			return min(middle(i), l.Slowest())
		}
	}
	return l.Slowest()
}
