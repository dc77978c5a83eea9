// Package natsapproval keeps approvals in a NATS key-value store, for bridges and people on several machines. It is the
// one package about approvals that knows NATS. Start reading at [Open].
package natsapproval

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/bridge/approval"
)

// DefaultBucket is the name of the key-value store where [Options] name none.
const DefaultBucket = "strabo-approvals"

// Options configure a [Store]. The zero value is fine.
type Options struct {
	// Bucket is the name of the key-value store; [DefaultBucket] if empty.
	Bucket string
	// Keep is how long a question is kept after it last changed, also if nobody has decided; [approval.DefaultKeep] if 0.
	// It counts when the bucket is made.
	Keep time.Duration
	// Replicas is how many servers keep the bucket; 1 if 0. It counts when the bucket is made.
	Replicas int
}

// Store is an [approval.Store] in a NATS key-value store. Every change is a compare-and-set on the question's revision,
// so that of two decisions at once the first stands, and the other finds out.
type Store struct{ kv jetstream.KeyValue }

const (
	// mostTries bounds how often a change is tried that others keep getting ahead of.
	mostTries   = 20
	longestWait = 50 * time.Millisecond
)

// Open opens the store, and makes its bucket if there is none. The connection is the caller's.
func Open(ctx context.Context, conn *nats.Conn, options Options) (*Store, error) {
	s, err := Find(ctx, conn, options)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return s, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	keep := options.Keep
	if keep <= 0 {
		keep = approval.DefaultKeep
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: options.bucket(), Description: "questions that bridges ask before they call, and what was decided",
		TTL: keep, Replicas: max(options.Replicas, 1),
	})
	switch {
	case errors.Is(err, jetstream.ErrBucketExists): // Another has just made it.
		return Find(ctx, conn, options)
	case err != nil:
		return nil, fmt.Errorf("natsapproval: bucket %s: %w", options.bucket(), err)
	}
	return &Store{kv: kv}, nil
}

// Find opens a store that is there; the error is [jetstream.ErrBucketNotFound] if there is none.
func Find(ctx context.Context, conn *nats.Conn, options Options) (*Store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	kv, err := js.KeyValue(ctx, options.bucket())
	if err != nil {
		return nil, fmt.Errorf("natsapproval: bucket %s: %w", options.bucket(), err)
	}
	return &Store{kv: kv}, nil
}

func (o Options) bucket() string { return cmp.Or(o.Bucket, DefaultBucket) }

// Ask implements [approval.Store].
func (s *Store) Ask(ctx context.Context, request approval.Request) (approval.Decision, error) {
	entry, err := s.change(ctx, request.ID, func(old *approval.Entry, now time.Time) (approval.Entry, bool, error) {
		return approval.Asked(old, request, now)
	})
	return entry.Standing(time.Now()).Decision, err
}

// Decide implements [approval.Store].
func (s *Store) Decide(ctx context.Context, id string, verdict approval.Verdict) error {
	_, err := s.change(ctx, id, func(old *approval.Entry, now time.Time) (approval.Entry, bool, error) {
		if old == nil {
			return approval.Entry{}, false, approval.ErrNotFound
		}
		entry, err := approval.Decided(*old, verdict, now)
		return entry, true, err
	})
	return err
}

// change stores what a function makes of what is stored, if that is anything new.
func (s *Store) change(ctx context.Context, id string, by func(old *approval.Entry, now time.Time) (approval.Entry, bool, error)) (approval.Entry, error) {
	key := keyOf(id)
	var tried []byte // what may have been stored although there was an error
	for range mostTries {
		var old *approval.Entry
		var revision uint64
		stored, err := s.kv.Get(ctx, key)
		switch {
		case err == nil:
			if tried != nil && bytes.Equal(tried, stored.Value()) {
				return decode(id, tried)
			}
			entry, err := decode(id, stored.Value())
			if err != nil {
				return approval.Entry{}, err
			}
			old, revision = &entry, stored.Revision()
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return approval.Entry{}, fmt.Errorf("natsapproval: %w", err)
		}
		entry, isNew, err := by(old, time.Now().UTC())
		if err != nil {
			return approval.Entry{}, fmt.Errorf("%q: %w", id, err)
		}
		if !isNew {
			return entry, nil
		}
		if tried, err = encode(entry); err != nil {
			return approval.Entry{}, err
		}
		if old == nil {
			_, err = s.kv.Create(ctx, key, tried)
		} else {
			_, err = s.kv.Update(ctx, key, tried, revision)
		}
		if err == nil {
			return decode(id, tried)
		}
		if ctx.Err() != nil || !isConflict(err) && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrNoResponders) {
			return approval.Entry{}, fmt.Errorf("natsapproval: %w", err)
		}
		// A cluster may say so although nobody was ahead; what is stored tells.
		timer := time.NewTimer(rand.N(longestWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return approval.Entry{}, ctx.Err()
		}
	}
	return approval.Entry{}, fmt.Errorf("natsapproval: %q changes all the time", id)
}

func isConflict(err error) bool {
	var api *jetstream.APIError
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return true
	}
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Get implements [approval.Store].
func (s *Store) Get(ctx context.Context, id string) (approval.Entry, error) {
	stored, err := s.kv.Get(ctx, keyOf(id))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return approval.Entry{}, fmt.Errorf("%w: %q", approval.ErrNotFound, id)
	case err != nil:
		return approval.Entry{}, fmt.Errorf("natsapproval: %w", err)
	}
	entry, err := decode(id, stored.Value())
	return entry.Standing(time.Now()), err
}

// List implements [approval.Store].
func (s *Store) List(ctx context.Context) (entries []approval.Entry, err error) {
	watcher, err := s.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	defer func() { err = errors.Join(err, watcher.Stop()) }()
	var failed []error
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case update, ok := <-watcher.Updates():
			if !ok {
				return nil, fmt.Errorf("natsapproval: %w", nats.ErrConnectionClosed)
			}
			if update == nil { // That is all there is.
				slices.SortFunc(entries, approval.Order)
				return entries, errors.Join(failed...)
			}
			entry, err := decode("", update.Value())
			if err != nil || keyOf(entry.Request.ID) != update.Key() {
				failed = append(failed, fmt.Errorf("natsapproval: %s is damaged", update.Key()))
				continue
			}
			entries = append(entries, entry.Standing(time.Now()))
		}
	}
}

// Wait implements [approval.Store]. It is told of changes by NATS.
func (s *Store) Wait(ctx context.Context, id string) (decision approval.Decision, err error) {
	watcher, err := s.kv.Watch(ctx, keyOf(id))
	if err != nil {
		return approval.Decision{}, fmt.Errorf("natsapproval: %w", err)
	}
	defer func() { err = errors.Join(err, watcher.Stop()) }()
	var current *approval.Entry
	for {
		var timer *time.Timer
		var expired <-chan time.Time
		if current != nil && !current.Request.Expires.IsZero() {
			timer = time.NewTimer(time.Until(current.Request.Expires))
			expired = timer.C
		}
		var update jetstream.KeyValueEntry
		ok, changed := true, false
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-expired:
		case update, ok = <-watcher.Updates():
			changed = true
		}
		if timer != nil {
			timer.Stop()
		}
		switch {
		case err != nil:
			return approval.Decision{}, err
		case !ok:
			return approval.Decision{}, fmt.Errorf("natsapproval: %w", nats.ErrConnectionClosed)
		case changed && update == nil && current == nil,
			changed && update != nil && update.Operation() != jetstream.KeyValuePut:
			return approval.Decision{}, fmt.Errorf("%w: %q", approval.ErrNotFound, id)
		case changed && update != nil:
			entry, err := decode(id, update.Value())
			if err != nil {
				return approval.Decision{}, err
			}
			if current != nil && current.Request.Digest != entry.Request.Digest {
				return approval.Decision{}, fmt.Errorf("%q: %w", id, approval.ErrChanged)
			}
			current = &entry
		}
		if standing := current.Standing(time.Now()); standing.Decision.State != approval.Pending {
			return standing.Decision, nil
		}
	}
}

// keyOf is the key of a question. An id may have characters that a key may not.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func encode(entry approval.Entry) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entry); err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	return text.Bytes(), nil
}

// decode reads a question, of the id given if that is not empty.
func decode(id string, text []byte) (approval.Entry, error) {
	var entry approval.Entry
	if err := json.Unmarshal(text, &entry); err != nil {
		return approval.Entry{}, fmt.Errorf("natsapproval: %q is damaged: %w", id, err)
	}
	if err := entry.Request.Validate(); err != nil || id != "" && entry.Request.ID != id {
		return approval.Entry{}, fmt.Errorf("natsapproval: %q is damaged", id)
	}
	return entry, nil
}
