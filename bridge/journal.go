package bridge

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Journal remembers what a bridge has sent and learnt, so that an observation that is handled again after a restart
// goes on where it was, with the same idempotency keys, instead of sending anything twice. It goes with the role: two
// bridges that share a role must share its journal. And it goes with the executor: where enactments end with the process,
// as in one that is in memory, so must the journal, for what it calls answered is not answered again, and in an enactment
// that has been begun anew nobody knows the answer. It never holds a secret, but it does hold what the remote party
// answered, in so far as a mapping binds or keeps it. Implementations are safe for concurrent use.
type Journal interface {
	// Load gives the entries of an enactment in the order in which they were appended.
	Load(ctx context.Context, key enactment.Key) ([]Entry, error)

	// Append adds an entry. When it returns without an error the entry survives the end of the process, as far as
	// the implementation promises that at all; a request leaves only after that. After an error nothing is said about
	// whether the entry is there.
	Append(ctx context.Context, entry Entry) error
}

// EntryKind says what an [Entry] tells.
type EntryKind string

// The kinds of entries.
const (
	// EntryOpen is written before the first byte of a request leaves: Key and Digest identify it, Bound is what was
	// chosen for it.
	EntryOpen EntryKind = "open"
	// EntryKnown says that a step is settled and how it goes on: with Next, with Attempt, or with neither where
	// nothing is to be answered.
	EntryKnown EntryKind = "known"
	// EntryUnknown says that nobody can tell what became of a request; Detail says why. An entry that follows may
	// settle it.
	EntryUnknown EntryKind = "unknown"
	// EntryUnsent says that the request of the last open entry has certainly not left. It may be made anew.
	EntryUnsent EntryKind = "unsent"
	// EntryDiverged says that what the remote party reported does not fit the protocol; Detail says how.
	EntryDiverged EntryKind = "diverged"
	// EntryAnswered says that the attempt of the first known entry that is not answered yet was accepted.
	EntryAnswered EntryKind = "answered"
	// EntryYielded says that it was refused, as it may be, since something else had come first.
	EntryYielded EntryKind = "yielded"
	// EntryWaiting says that the remote party, or somebody there, is at work, so that the step is looked at again, until
	// Until.
	EntryWaiting EntryKind = "waiting"
)

// Entry is one line of a [Journal].
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Enactment and Instance say which observed instance is being answered, Step which step of the mapping.
	Enactment enactment.Key `json:"enactment"`
	Instance  string        `json:"instance"`
	Step      string        `json:"step,omitempty"`
	// Key is the idempotency key, a random UUID; Digest the SHA-256, in hexadecimal, of the request's method, URL
	// and body.
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Status is the HTTP status that settled the step; 0 where none did.
	Status int `json:"status,omitempty"`
	// Bound are variables of the instance, Kept those of the enactment, such as the remote party's id for it.
	Bound enactment.Values `json:"bound,omitempty"`
	Kept  enactment.Values `json:"kept,omitempty"`
	// Next is the step that follows, after the attempt if there is one.
	Next string `json:"next,omitempty"`
	// Until is how long is waited.
	Until time.Time `json:"until,omitzero"`
	// Attempt is the answer.
	Attempt *Answer `json:"attempt,omitempty"`
	// Facts are what the remote party says it has done, where that has diverged.
	Facts enactment.Values `json:"facts,omitempty"`
	// Detail is a sentence for a person.
	Detail string `json:"detail,omitempty"`
	// At is when the entry was made.
	At time.Time `json:"at"`
}

// Answer is the attempt with which an observation is answered. Its id is fixed before it is attempted, so that
// attempting it again is the same attempt.
type Answer struct {
	ID     string           `json:"id"`
	Action string           `json:"action"`
	Values enactment.Values `json:"values,omitempty"`
	// Yields tells that it is no divergence if the protocol refuses it: then something else came first.
	Yields bool `json:"yields,omitempty"`
}

// MemoryJournal is a [Journal] that lasts as long as the process. The zero value is empty and ready for use.
type MemoryJournal struct {
	mu      sync.Mutex
	entries map[enactment.Key][]Entry
}

// Load implements [Journal].
func (j *MemoryJournal) Load(_ context.Context, key enactment.Key) ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries[key]), nil
}

// Append implements [Journal].
func (j *MemoryJournal) Append(_ context.Context, entry Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.entries == nil {
		j.entries = make(map[enactment.Key][]Entry)
	}
	j.entries[entry.Enactment] = append(j.entries[entry.Enactment], entry)
	return nil
}
