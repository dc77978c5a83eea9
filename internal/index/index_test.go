package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/internal/index"
)

// TestAgainstMap compares an index with a map, under hashes that collide in whole or in part.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 60), 0, 200).Draw(t, "keys")
		hash := rapid.SampledFrom([]func(uint64) uint64{
			func(k uint64) uint64 { return k << 32 },
			func(k uint64) uint64 { return (k % 3) << 32 },
			func(k uint64) uint64 { return k << 61 },
			func(uint64) uint64 { return 1<<64 - 1 },
		}).Draw(t, "hash")
		var x index.Index
		first := make(map[uint64]int)
		find := func(key uint64) (int, bool) {
			return x.Find(hash(key), func(number int) bool { return keys[number] == key })
		}
		if rapid.Bool().Draw(t, "reserve") {
			x.Reserve(len(keys))
		}
		for number, key := range keys {
			if _, ok := first[key]; !ok {
				first[key] = number
			}
			x.Add(hash(key), number)
		}
		require.Equal(t, len(keys), x.Len())
		for key := range uint64(70) {
			want, there := first[key]
			got, found := find(key)
			require.Equal(t, there, found)
			if there {
				require.Equal(t, want, got)
			}
		}
	})
}
