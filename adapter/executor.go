package adapter

import (
	"context"

	"github.com/strabo-engine/strabo/enactment"
)

// Executor coordinates the agents of a system: it decides attempts and delivers to each identity what it sees. The
// same agent runs on every executor. Implementations are safe for concurrent use.
type Executor interface {
	// Attempt submits one attempt and blocks until it is decided or the context ends. A refusal is an outcome, not an
	// error; an error means that the outcome is unknown, and the same attempt may be submitted again. An error that is
	// [ErrClosed] says that this executor will never answer. The attempt's values and parties must not be changed any
	// more: it may still be under way when the context has ended.
	Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error)

	// Join starts to receive what the identity sees. Feeds of one identity share the enactments among them: each
	// enactment belongs to one feed at a time, and to another when that feed closes.
	Join(ctx context.Context, identity enactment.Identity) (Feed, error)
}

// Feed delivers what one identity sees. Receive is called from one goroutine at a time; its other methods from any.
type Feed interface {
	// Receive blocks until something is to be delivered or the context ends. Deliveries of one enactment come in the
	// order of its log; when an enactment becomes this feed's, its whole history comes first. After Close it returns
	// [ErrClosed]. An executor mends what it can by itself, so any other error ends the feed too.
	Receive(ctx context.Context) (Delivery, error)

	// Store keeps the position up to which an enactment's deliveries are handled, so that what comes after it is
	// delivered again if the process dies, and nothing before it is handled twice. It returns [ErrRevoked] if the
	// enactment is not this feed's any more.
	Store(ctx context.Context, key enactment.Key, sequence uint64) error

	// Release gives up what the feed has delivered of an enactment up to the sequence; the enactment stays the feed's. If
	// more of it is to be delivered later, its whole history comes first again. It is false, and nothing is given up, if
	// more was delivered or is about to be, or the enactment is not this feed's. It does not block.
	Release(key enactment.Key, sequence uint64) bool

	// Close gives the feed's enactments to others of its identity. Call it when no handler runs any more.
	Close() error
}

// Delivery is one finalisation of one enactment as the identity sees it.
type Delivery struct {
	// Key is the enactment.
	Key enactment.Key
	// Finalisation holds the instances that the identity sees, projected; there may be none where it only learns that
	// the enactment is complete. Its sequence is the log's, so there are gaps.
	Finalisation enactment.Finalisation
	// Begins tells that the history of the enactment, as the identity sees it, begins with this delivery.
	Begins bool
	// Handled tells that the stored position lies at or beyond it: it is history, to be folded but not handled.
	Handled bool
	// More tells that another delivery of this enactment follows at once, since the log was already longer when this one
	// was made. What is enabled is judged only after the last of them, lest an action be offered that history shows to
	// have happened. An executor that cannot know leaves it false.
	More bool
	// Revoked tells that the enactment now belongs to another feed of the identity, or is no longer for the identity to
	// see because another party plays its role; nothing else is set but Key.
	Revoked bool
}
