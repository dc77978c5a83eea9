package main

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A request leaves much garbage, and what stays is small: so the heap may grow by shopGC percent before garbage is
// collected, but for more than shopMemory bytes only as far as memoryShare times what is in use. A limit that stood still
// would have a shop whose checkouts fill it do nothing else than collect.
const (
	shopGC      = 400
	shopMemory  = 512 << 20
	memoryShare = 3
)

// memoryLooks is how often what is in use is looked at.
const memoryLooks = 5 * time.Second

// memoryFor gives the limit, in bytes, where so many are in use.
func memoryFor(used uint64) int64 {
	return max(shopMemory, memoryShare*int64(min(used, math.MaxInt64/memoryShare)))
}

// lessGarbage has garbage collected as is good for a shop, unless GOGC says how. The function that it gives undoes it.
func lessGarbage() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(shopGC)
	return func() { debug.SetGCPercent(before) }
}

// boundMemory bounds the memory of the process until the context ends, unless GOMEMLIMIT does.
func boundMemory(ctx context.Context) error {
	if os.Getenv("GOMEMLIMIT") != "" {
		<-ctx.Done()
		return nil
	}
	// What was set before is none; it is not asked for, since shops that overlap in one process would keep each other's.
	defer debug.SetMemoryLimit(math.MaxInt64)
	looks := time.NewTicker(memoryLooks)
	defer looks.Stop()
	used := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := int64(0); ; {
		metrics.Read(used)
		// To set it stops the process for a moment, so small changes are let be.
		if limit := memoryFor(used[0].Value.Uint64()); limit < set-set/16 || limit > set+set/16 {
			debug.SetMemoryLimit(limit)
			set = limit
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return nil
		}
	}
}
