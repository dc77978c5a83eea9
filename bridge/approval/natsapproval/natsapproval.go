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
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
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
type Store struct{ kv *natskv.Store }

// mostTries bounds how often a change is tried that others keep getting ahead of.
const mostTries = 20

// Open opens the store, and makes its bucket if there is none. The connection is the caller's. It blocks until NATS has
// answered or ctx ends; the error says that NATS cannot be reached or refuses it.
func Open(ctx context.Context, conn *nats.Conn, options Options) (*Store, error) {
	kv, err := natskv.Open(ctx, conn, natskv.Config{
		Bucket: options.bucket(), Life: cmp.Or(options.Keep, approval.DefaultKeep), Replicas: options.Replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	return &Store{kv}, nil
}

// Find opens a store that is there; the error is that of [natskv.Find] if there is none.
func Find(ctx context.Context, conn *nats.Conn, options Options) (*Store, error) {
	kv, err := natskv.Find(ctx, conn, options.bucket())
	if err != nil {
		return nil, fmt.Errorf("natsapproval: %w", err)
	}
	return &Store{kv}, nil
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
		stored, err := s.kv.Get(ctx, key)
		switch {
		case err == nil:
			if tried != nil && bytes.Equal(tried, stored.Value) {
				return decode(id, tried)
			}
			entry, err := decode(id, stored.Value)
			if err != nil {
				return approval.Entry{}, err
			}
			old = &entry
		case !errors.Is(err, keyvalue.ErrNone):
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
		_, err = s.kv.Put(ctx, key, tried, stored.Revision)
		switch {
		case err == nil:
			return decode(id, tried)
		case ctx.Err() != nil || !errors.Is(err, keyvalue.ErrConflict) && !errors.Is(err, nats.ErrTimeout):
			return approval.Entry{}, fmt.Errorf("natsapproval: %w", err)
		}
	}
	return approval.Entry{}, fmt.Errorf("natsapproval: %q changes all the time", id)
}

// Get implements [approval.Store].
func (s *Store) Get(ctx context.Context, id string) (approval.Entry, error) {
	stored, err := s.kv.Get(ctx, keyOf(id))
	if err != nil {
		return approval.Entry{}, failed(id, err)
	}
	entry, err := decode(id, stored.Value)
	return entry.Standing(time.Now()), err
}

func failed(id string, err error) error {
	if errors.Is(err, keyvalue.ErrNone) {
		return fmt.Errorf("%w: %q", approval.ErrNotFound, id)
	}
	return fmt.Errorf("natsapproval: %w", err)
}

// List implements [approval.Store].
func (s *Store) List(ctx context.Context) ([]approval.Entry, error) {
	var entries []approval.Entry
	var damaged []error
	for stored, err := range s.kv.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("natsapproval: %w", err)
		}
		entry, err := decode("", stored.Value)
		if err != nil || keyOf(entry.Request.ID) != stored.Name {
			damaged = append(damaged, fmt.Errorf("natsapproval: %s is damaged", stored.Name))
			continue
		}
		entries = append(entries, entry.Standing(time.Now()))
	}
	slices.SortFunc(entries, approval.Order)
	return entries, errors.Join(damaged...)
}

// Wait implements [approval.Store]. It is told of changes by NATS.
func (s *Store) Wait(ctx context.Context, id string) (approval.Decision, error) {
	for digest := ""; ; {
		entry, err := s.Get(ctx, id)
		if err != nil {
			return approval.Decision{}, err
		}
		if digest == "" {
			digest = entry.Request.Digest
		}
		decision, err := s.until(ctx, entry.Request, digest)
		if !errors.Is(err, errOver) {
			return decision, err
		}
	}
}

// errOver says that the time of a question is over.
var errOver = errors.New("natsapproval: over")

// until waits until a question is decided, or its time is over.
func (s *Store) until(ctx context.Context, request approval.Request, digest string) (approval.Decision, error) {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if !request.Expires.IsZero() && time.Now().Before(request.Expires) {
		waiting, cancel = context.WithDeadlineCause(ctx, request.Expires, errOver)
	}
	defer cancel()
	for stored, err := range s.kv.Watch(waiting, keyOf(request.ID)) {
		switch {
		case ctx.Err() != nil:
			return approval.Decision{}, ctx.Err()
		case err != nil && waiting.Err() != nil:
			return approval.Decision{}, errOver
		case err != nil:
			return approval.Decision{}, failed(request.ID, err)
		}
		entry, err := decode(request.ID, stored.Value)
		if err != nil {
			return approval.Decision{}, err
		}
		if entry.Request.Digest != digest {
			return approval.Decision{}, fmt.Errorf("%q: %w", request.ID, approval.ErrChanged)
		}
		if standing := entry.Standing(time.Now()); standing.Decision.State != approval.Pending {
			return standing.Decision, nil
		}
	}
	return approval.Decision{}, errOver
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
