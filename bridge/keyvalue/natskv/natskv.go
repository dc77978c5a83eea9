// Package natskv keeps a [keyvalue.Store] in a JetStream key-value bucket. Start reading at [Open].
package natskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/internal/pause"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
)

// Config says what a bucket is like; it counts when the bucket is made.
type Config struct {
	// Bucket is its name.
	Bucket string
	// Life is how long a value lives after it was last stored; 0 for ever.
	Life time.Duration
	// Replicas is how many servers of a NATS cluster keep it; 1 by default.
	Replicas int
	// Memory keeps it in memory: it is lost when the NATS server stops.
	Memory bool
}

// Store is a bucket. Its methods are safe for concurrent use.
type Store struct {
	bucket   jetstream.KeyValue
	requests *request.Conn // until the connection is closed
	subject  string        // of all values, with the point at its end
}

// putTimeout bounds one write.
const putTimeout = 5 * time.Second

func storeOf(conn *nats.Conn, bucket jetstream.KeyValue) (*Store, error) {
	requests, err := request.Over(conn)
	if err != nil {
		return nil, fmt.Errorf("natskv: %w", err)
	}
	return &Store{bucket, requests, "$KV." + bucket.Bucket() + "."}, nil
}

var _ keyvalue.Store = (*Store)(nil)

// markerLife is how long a deleted name leaves a trace behind, for those that are listing or watching. It is short, since
// each list passes over all traces.
const markerLife = time.Minute

// Open finds or makes a bucket. The connection stays the caller's.
func Open(ctx context.Context, conn *nats.Conn, config Config) (*Store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natskv: %w", err)
	}
	storage := jetstream.FileStorage
	if config.Memory {
		storage = jetstream.MemoryStorage
	}
	bucket, err := js.KeyValue(ctx, config.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: config.Bucket, History: 1, TTL: config.Life, Storage: storage, Replicas: max(config.Replicas, 1),
			LimitMarkerTTL: markerLife,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // Another process was faster.
			bucket, err = js.KeyValue(ctx, config.Bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("natskv: bucket %s: %w", config.Bucket, err)
	}
	return storeOf(conn, bucket)
}

// Find opens a bucket that is there; the error is [jetstream.ErrBucketNotFound] if there is none. The connection stays the
// caller's.
func Find(ctx context.Context, conn *nats.Conn, name string) (*Store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natskv: %w", err)
	}
	bucket, err := js.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("natskv: bucket %s: %w", name, err)
	}
	return storeOf(conn, bucket)
}

// Get implements [keyvalue.Store].
func (s *Store) Get(ctx context.Context, name string) (keyvalue.Entry, error) {
	entry, err := s.bucket.Get(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return keyvalue.Entry{}, fmt.Errorf("%w: %s", keyvalue.ErrNone, name)
	case err != nil:
		return keyvalue.Entry{}, fmt.Errorf("natskv: get %s: %w: %w", name, keyvalue.ErrUnavailable, err)
	}
	return keyvalue.Entry{Name: name, Value: entry.Value(), Revision: entry.Revision(), At: entry.Created()}, nil
}

// Put implements [keyvalue.Store].
func (s *Store) Put(ctx context.Context, name string, value []byte, revision uint64) (written uint64, err error) {
	sent := false
	if plain(name) {
		written, err = stream.Put(ctx, s.requests, s.subject+name, value, revision, putTimeout)
		switch {
		case err == nil:
			return written, nil
		case errors.Is(err, request.ErrBroken): // It may be there or not; the connection comes back.
			sent = true
		case !errors.Is(err, stream.ErrConflict):
			return 0, fmt.Errorf("natskv: put %s: %w: %w", name, keyvalue.ErrUnavailable, err)
		}
	}
	// What conflicts may be a trace of what was deleted, or nothing at all.
	err = s.change(ctx, name, revision, func() error {
		if revision == 0 {
			written, err = s.bucket.Create(ctx, name, value)
		} else {
			written, err = s.bucket.Update(ctx, name, value, revision)
		}
		return err
	})
	if sent && errors.Is(err, keyvalue.ErrConflict) {
		// What stands there instead may be what was sent at first.
		entry, failure := s.Get(ctx, name)
		if failure == nil && entry.Revision > revision && bytes.Equal(entry.Value, value) {
			return entry.Revision, nil
		}
	}
	return written, err
}

// plain tells whether a name is one that a store takes, so that it is the end of a subject as it is.
func plain(name string) bool {
	last := byte('.')
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !letter && (c != '.' || last == '.') {
			return false
		}
		last = c
	}
	return last != '.'
}

// Delete implements [keyvalue.Store].
func (s *Store) Delete(ctx context.Context, name string, revision uint64) error {
	return s.change(ctx, name, revision, func() error {
		return s.bucket.Purge(ctx, name, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerLife))
	})
}

// change makes a change, and makes it again where a replicated stream speaks of a conflict although there is none.
func (s *Store) change(ctx context.Context, name string, revision uint64, try func() error) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if !conflicts(err) {
			return fmt.Errorf("natskv: put %s: %w: %w", name, keyvalue.ErrUnavailable, err)
		}
		entry, err := s.bucket.Get(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			if revision > 0 {
				return fmt.Errorf("%w: %s", keyvalue.ErrConflict, name)
			}
		case err != nil:
			return fmt.Errorf("natskv: get %s: %w: %w", name, keyvalue.ErrUnavailable, err)
		case entry.Revision() != revision:
			return fmt.Errorf("%w: %s", keyvalue.ErrConflict, name)
		}
		if err := pause.For(ctx, wait/2+rand.N(wait)); err != nil {
			return fmt.Errorf("natskv: put %s: %w", name, err)
		}
	}
}

func conflicts(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return true
	}
	told, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (told.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		told.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// List implements [keyvalue.Store].
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[keyvalue.Entry, error] {
	return func(yield func(keyvalue.Entry, error) bool) {
		watcher, err := s.bucket.Watch(ctx, prefix+">", jetstream.IgnoreDeletes())
		if err != nil {
			yield(keyvalue.Entry{}, fmt.Errorf("natskv: list %s: %w", prefix, err))
			return
		}
		defer func() { _ = watcher.Stop() }()
		for {
			select {
			case entry, ok := <-watcher.Updates():
				if !ok {
					yield(keyvalue.Entry{}, fmt.Errorf("natskv: list %s: %w", prefix, nats.ErrConnectionClosed))
					return
				}
				if entry == nil { // The end of what there was.
					return
				}
				if !yield(keyvalue.Entry{
					Name: entry.Key(), Value: entry.Value(), Revision: entry.Revision(), At: entry.Created(),
				}, nil) {
					return
				}
			case <-ctx.Done():
				yield(keyvalue.Entry{}, fmt.Errorf("natskv: list %s: %w", prefix, context.Cause(ctx)))
				return
			}
		}
	}
}

// Watch ranges over what is under a name: the value that is there, and then each that is put in its place, until the
// context ends, whose cause is then the error. The error is [keyvalue.ErrNone] as soon as there is none.
func (s *Store) Watch(ctx context.Context, name string) iter.Seq2[keyvalue.Entry, error] {
	return func(yield func(keyvalue.Entry, error) bool) {
		fail := func(err error) { yield(keyvalue.Entry{}, fmt.Errorf("natskv: watch %s: %w", name, err)) }
		watcher, err := s.bucket.Watch(ctx, name)
		if err != nil {
			fail(err)
			return
		}
		defer func() { _ = watcher.Stop() }()
		for some := false; ; {
			select {
			case entry, ok := <-watcher.Updates():
				switch {
				case !ok:
					fail(nats.ErrConnectionClosed)
					return
				case entry == nil && some: // The end of what there was.
				case entry == nil, entry.Operation() != jetstream.KeyValuePut:
					fail(keyvalue.ErrNone)
					return
				default:
					some = true
					if !yield(keyvalue.Entry{Name: name, Value: entry.Value(), Revision: entry.Revision(), At: entry.Created()}, nil) {
						return
					}
				}
			case <-ctx.Done():
				fail(context.Cause(ctx))
				return
			}
		}
	}
}
