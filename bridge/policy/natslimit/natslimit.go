// Package natslimit counts calls against limits in a key-value bucket of NATS, so that a limit holds for all processes
// that share it together. It is the one part of the policy that knows NATS. Start reading at [Open].
package natslimit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/policy"
)

// DefaultLongestWindow is the longest window of a limit where [Options] says nothing.
const DefaultLongestWindow = 24 * time.Hour

// Options say how the bucket is made. Every field may be left out.
type Options struct {
	// LongestWindow is the longest window of a limit that can be counted. What was not touched for as long is forgotten,
	// which bounds what is stored to those who called within it.
	LongestWindow time.Duration
	// Replicas is on how many servers it is stored; 1 if it is 0.
	Replicas int
	// MaxBytes bounds what is stored, in bytes; 64 MiB if it is 0. When it is full no more are admitted.
	MaxBytes int64
}

// Buckets are [policy.Buckets] in NATS. Each is one key with one time: when the bucket would be full again. It is changed
// by compare-and-set, so that two processes never take the same call. The clocks of the processes are compared with it:
// one that is ahead by a second finds a bucket fuller by what flows in within a second.
type Buckets struct {
	store   jetstream.KeyValue
	longest time.Duration
}

var _ policy.Buckets = (*Buckets)(nil)

// Open opens the key-value bucket with a name, and makes it if there is none. It is changed to the options if they differ.
func Open(ctx context.Context, stream jetstream.JetStream, name string, options Options) (*Buckets, error) {
	longest := cmp.Or(options.LongestWindow, DefaultLongestWindow)
	store, err := stream.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, Description: "calls counted against limits", History: 1, TTL: longest,
		Replicas: max(options.Replicas, 1), MaxBytes: cmp.Or(options.MaxBytes, 64<<20),
	})
	if err != nil {
		return nil, fmt.Errorf("natslimit: open %s: %w", name, err)
	}
	return &Buckets{store: store, longest: longest}, nil
}

// most is how often a change is tried that others come before.
const most = 200

// errContended says that others came before too often.
var errContended = errors.New("natslimit: too many take from one bucket at a time")

// Take implements [policy.Buckets]. It blocks until the server has answered, or the context ends; an error means that
// nobody knows how many there were.
func (b *Buckets) Take(ctx context.Context, bucket string, limit acc.RateLimit, longest time.Duration) (time.Duration, bool, error) {
	if limit.Window > b.longest {
		return 0, false, fmt.Errorf("natslimit: a window of %s is longer than %s, after which calls are forgotten", limit.Window, b.longest)
	}
	sum := sha256.Sum256([]byte(bucket))
	key := hex.EncodeToString(sum[:])
	pauses := policy.NewBackoff(time.Millisecond, 20*time.Millisecond)
	for range most {
		wait, admitted, again, err := b.try(ctx, key, limit, longest)
		if err != nil || !again {
			return wait, admitted, err
		}
		if err := pause(ctx, pauses.Next()); err != nil {
			return 0, false, err
		}
	}
	return 0, false, errContended
}

// try takes once; again tells that somebody else has changed the bucket meanwhile.
func (b *Buckets) try(ctx context.Context, key string, limit acc.RateLimit, longest time.Duration) (wait time.Duration, admitted, again bool, err error) {
	now := time.Now()
	var full time.Time
	revision := uint64(0)
	entry, err := b.store.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		return 0, false, false, fmt.Errorf("natslimit: %w", err)
	default:
		nanoseconds, err := strconv.ParseInt(string(entry.Value()), 10, 64)
		if err != nil {
			return 0, false, false, fmt.Errorf("natslimit: %s is not what was written: %w", key, err)
		}
		full, revision = time.Unix(0, nanoseconds), entry.Revision()
	}
	each, whole := interval(limit)
	next := later(full, now).Add(each)
	wait = max(next.Add(-whole).Sub(now), 0)
	if wait > longest {
		return wait, false, false, nil
	}
	text := strconv.AppendInt(nil, next.UnixNano(), 10)
	if revision == 0 {
		_, err = b.store.Create(ctx, key, text)
	} else {
		_, err = b.store.Update(ctx, key, text, revision)
	}
	switch {
	case err == nil:
		return wait, true, false, nil
	case conflict(err):
		return 0, false, true, nil
	default:
		return 0, false, false, fmt.Errorf("natslimit: %w", err)
	}
}

// interval gives how long one call takes to flow in, and a whole bucket. It is rounded up, so that a limit is never
// looser than it is written.
func interval(limit acc.RateLimit) (each, whole time.Duration) {
	count := min(limit.Count, int64(limit.Window))
	each = (limit.Window + time.Duration(count) - 1) / time.Duration(count)
	return each, each * time.Duration(count)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// conflict tells whether somebody else has changed the key. Clustered servers have two codes for that.
func conflict(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) {
		return true
	}
	var failure jetstream.JetStreamError
	if !errors.As(err, &failure) || failure.APIError() == nil {
		return false
	}
	code := failure.APIError().ErrorCode
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
