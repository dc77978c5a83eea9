// Package keyvalue is what the bridges keep beside the log of enactments: small values under names, changed by
// compare-and-set, so that any number of processes may share them. What one enactment decides stands in its log; here is
// what holds across enactments, such as a stock or which idempotency keys were used.
//
// [Memory] keeps values in one process; package natskv keeps them in NATS. Start reading at [Store].
package keyvalue

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Store keeps values under names. A name is made of letters, digits, - and _, in parts separated by points. Its methods
// are safe for concurrent use and block until the value is stored or the context ends; an error that is neither [ErrNone]
// nor [ErrConflict] leaves unknown whether a change was made.
type Store interface {
	// Get gives the value under a name and its revision. The error is [ErrNone] if there is none.
	Get(ctx context.Context, name string) (Entry, error)
	// Put puts a value in the place of the one that has the revision, 0 for none, and gives the new revision. The error
	// is [ErrConflict] if there is another by now.
	Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error)
	// Delete removes the value that has the revision. The error is [ErrConflict] if there is another by now.
	Delete(ctx context.Context, name string, revision uint64) error
	// List ranges over what there is under the names that begin with a prefix, which ends with a point. What changes
	// meanwhile may be in it or not. It ends with an error if not all could be read.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
}

// Entry is a value that is stored.
type Entry struct {
	Name     string
	Value    []byte
	Revision uint64
	// At is when it was stored, by the clock of the store.
	At time.Time
}

var (
	// ErrNone says that nothing is stored under a name.
	ErrNone = errors.New("keyvalue: there is no such value")
	// ErrUnavailable says that the store cannot be reached, or has not answered in time. A change may have been made.
	ErrUnavailable = errors.New("keyvalue: the store cannot be reached")
	// ErrConflict says that the value has another revision than was expected.
	ErrConflict = errors.New("keyvalue: the value was changed meanwhile")
)

// Change reads what is under a name, has it changed, and stores that, again and again as long as others are faster. The
// change is given nil where there is nothing; it gives nil to leave all as it is, and may be called several times. Its
// error ends Change and is given back as it is.
func Change(ctx context.Context, store Store, name string, change func(value []byte) ([]byte, error)) error {
	for {
		entry, err := store.Get(ctx, name)
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		changed, err := change(entry.Value)
		if err != nil || changed == nil {
			return err
		}
		if _, err = store.Put(ctx, name, changed, entry.Revision); !errors.Is(err, ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
