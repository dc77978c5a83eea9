package audit

import (
	"slices"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Filter chooses records. The zero value chooses all.
type Filter struct {
	// Kinds are those that are wanted; all if empty.
	Kinds []Kind
	// Enactment, Operation, Action and Subject must be these, where they are not empty.
	Enactment                  enactment.Key
	Operation, Action, Subject string
	// Since and Until bound the time of a record, both inclusively; the zero times do not.
	Since, Until time.Time
}

// Chooses tells whether a record is wanted.
func (f Filter) Chooses(r Record) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, r.Kind)) &&
		(f.Enactment == "" || f.Enactment == r.Enactment) &&
		(f.Operation == "" || f.Operation == r.Operation) &&
		(f.Action == "" || f.Action == r.Action) &&
		(f.Subject == "" || f.Subject == r.Subject) &&
		(f.Since.IsZero() || !r.At.Before(f.Since)) &&
		(f.Until.IsZero() || !r.At.After(f.Until))
}
