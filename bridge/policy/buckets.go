package policy

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/strabo-engine/strabo/bridge/acc"
)

// DefaultMaxBuckets is how many agents, subjects and tenants [LocalBuckets] keep account of at a time, over all limits.
const DefaultMaxBuckets = 100_000

// LocalBuckets are [Buckets] of this process alone.
type LocalBuckets struct {
	most int

	mu      sync.Mutex
	buckets map[string]*localBucket
}

type localBucket struct {
	limiter *rate.Limiter
	limit   acc.RateLimit
}

// NewLocalBuckets makes buckets, at most so many; [DefaultMaxBuckets] if most is 0. When there are as many, those that
// are full, which is as good as new, are forgotten; if there is none, the error of Take is [ErrTooManyBuckets].
func NewLocalBuckets(most int) *LocalBuckets {
	if most <= 0 {
		most = DefaultMaxBuckets
	}
	return &LocalBuckets{most: most, buckets: make(map[string]*localBucket)}
}

// Take implements [Buckets]. It does not block.
func (l *LocalBuckets) Take(_ context.Context, bucket string, limit acc.RateLimit, longest time.Duration) (time.Duration, bool, error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[bucket]
	if !ok || b.limit != limit {
		if !ok && len(l.buckets) >= l.most && !l.forget(now) {
			return 0, false, ErrTooManyBuckets
		}
		b = &localBucket{limiter: rate.NewLimiter(perSecond(limit), burst(limit)), limit: limit}
		l.buckets[bucket] = b
	}
	reservation := b.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > longest {
		reservation.CancelAt(now)
		return wait, false, nil
	}
	return wait, true, nil
}

// forget drops the buckets that are full, and tells whether there were any.
func (l *LocalBuckets) forget(now time.Time) bool {
	before := len(l.buckets)
	for name, b := range l.buckets {
		if b.limiter.TokensAt(now) >= float64(b.limiter.Burst()) {
			delete(l.buckets, name)
		}
	}
	return len(l.buckets) < before
}

func perSecond(limit acc.RateLimit) rate.Limit {
	return rate.Limit(float64(limit.Count) / limit.Window.Seconds())
}

// largestBurst keeps within what every platform's int holds; a limit above it limits nobody.
const largestBurst = 1<<31 - 1

func burst(limit acc.RateLimit) int { return int(min(limit.Count, largestBurst)) }
