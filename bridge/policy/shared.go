package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
)

// SharedBuckets are [Buckets] in a store that several processes share, such as one of package natskv: a limit holds for
// all of them together. Each bucket is one value, the time when it would be full again, changed by compare-and-set, so
// that two processes never take the same call. The clocks of the processes are compared with it: to one that is ahead by
// a second it is fuller by what flows in within a second.
type SharedBuckets struct {
	store   keyvalue.Store
	longest time.Duration
}

// NewSharedBuckets makes buckets of a store that keeps each value for at least as long as the longest window of a limit
// after it was last stored (natskv.Config.Life). To have it forget afterwards bounds it to who has called meanwhile.
func NewSharedBuckets(store keyvalue.Store, longestWindow time.Duration) *SharedBuckets {
	return &SharedBuckets{store, longestWindow}
}

// errRefused ends a change that is not to be made.
var errRefused = errors.New("refused")

// Take implements [Buckets]. It blocks until the store has answered, or the context ends; an error means that nobody
// knows how many there were.
func (b *SharedBuckets) Take(ctx context.Context, bucket string, limit acc.RateLimit, longest time.Duration) (time.Duration, bool, error) {
	if limit.Window > b.longest {
		return 0, false, fmt.Errorf("policy: a window of %s is longer than %s, after which calls may be forgotten", limit.Window, b.longest)
	}
	sum := sha256.Sum256([]byte(bucket)) // Names of people are no names of keys.
	each, whole := interval(limit)
	wait := time.Duration(0)
	err := keyvalue.Change(ctx, b.store, hex.EncodeToString(sum[:]), func(value []byte) ([]byte, error) {
		now := time.Now()
		full := now
		if value != nil {
			nanoseconds, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("policy: a bucket has what was never written to it: %w", err)
			}
			if stored := time.Unix(0, nanoseconds); stored.After(now) {
				full = stored
			}
		}
		full = full.Add(each)
		if wait = max(full.Add(-whole).Sub(now), 0); wait > longest {
			return nil, errRefused
		}
		return strconv.AppendInt(nil, full.UnixNano(), 10), nil
	})
	switch {
	case errors.Is(err, errRefused):
		return wait, false, nil
	case err != nil:
		return 0, false, err
	default:
		return wait, true, nil
	}
}

// interval gives how long one call takes to flow in, and a whole bucket. It is rounded up, so that a limit is never
// looser than it is written.
func interval(limit acc.RateLimit) (each, whole time.Duration) {
	count := min(limit.Count, int64(limit.Window))
	each = (limit.Window + time.Duration(count) - 1) / time.Duration(count)
	return each, each * time.Duration(count)
}
