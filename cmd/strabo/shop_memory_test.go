package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMemoryFor: garbage has always as much room as what is in use, twice over, so that a shop that grows does not come to
// do nothing else than collect it.
func TestMemoryFor(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 512<<20, memoryFor(0))
	require.EqualValues(t, 512<<20, memoryFor(150<<20))
	require.EqualValues(t, 3<<30, memoryFor(1<<30))
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Uint64().Draw(t, "used")
		limit := memoryFor(used)
		require.GreaterOrEqual(t, limit, int64(shopMemory))
		if used <= math.MaxInt64/memoryShare {
			require.GreaterOrEqual(t, uint64(limit), memoryShare*used)
		}
	})
}
