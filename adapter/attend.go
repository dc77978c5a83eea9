package adapter

import (
	"context"
	"iter"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Attendant is an executor whose enactments can be visited one at a time: by a request that has come in for one of them,
// say, at whatever process it came in. Agents that have joined it work on what is visited, so an enactment needs no
// owner, and no position has to be stored for it: whoever visits it next finds what is left to do.
//
// An agent of such an executor is offered what is enabled in an enactment when it is visited, also if another process
// does the same at the same time. The engine lets each action happen once; what a handler does besides must bear to be
// done twice. Observations are handled only by an agent of the process that made them happen, so whatever must not be
// missed belongs into the handler of an offer.
type Attendant interface {
	Executor
	// Visit begins to attend to an enactment and shows it as the identity sees it. Close the visit when it is over. The
	// error is that of the context or of the executor, [ErrClosed] if it is closed.
	Visit(ctx context.Context, identity enactment.Identity, key enactment.Key, how Freshness) (Visit, error)
}

// Freshness says how much must be known of an enactment when a visit begins. An attempt is always decided on all that
// has happened, so what is known matters only for what is shown, and for what is attempted at all.
type Freshness int

const (
	// Latest asks for all that had happened when the visit began.
	Latest Freshness = iota
	// Known is content with what the process knows, if it knows anything.
	Known
	// Begun asks for nothing: the enactment is about to be begun.
	Begun
)

// Visit shows one enactment to one identity. Its methods are safe for concurrent use.
type Visit interface {
	// Instances gives what is known to have happened, in order, as the identity sees it. The caller must not change it.
	// There is nothing if the enactment is not for the identity to see.
	Instances() []enactment.Instance
	// Sequence is that of the last finalisation of what Instances gives, 0 if there is none. Instances and Sequence may
	// have grown between two calls.
	Sequence() uint64
	// Changed gives a channel that is closed when there is more than there was at the call.
	Changed() <-chan struct{}
	// Close ends the visit. What is known of the enactment is forgotten some time after the last visit, at once where
	// again is set: then agents are offered anew what is enabled at the next visit, as is right after a handler failed.
	Close(again bool)
}

// Lister is an executor that knows all its enactments, also those that nobody visits. With it an agent finds those of which
// the time has come although nobody asks for them.
type Lister interface {
	// Began ranges over enactments in the order in which they began, from behind a place; an empty place is the beginning,
	// and so is one in another log, such as that from before a restore. An enactment that was removed is not among them. It
	// ends where there are no more, or with an error if not all could be read; what began a moment ago may be left to the
	// next time.
	Began(ctx context.Context, after string) iter.Seq2[Beginning, error]
}

// Beginning says when an enactment began.
type Beginning struct {
	Key enactment.Key
	// At is the time of the first judgement in it, by the clock of who judged.
	At time.Time
	// Place is where to go on behind it. It means nothing to anybody but the executor.
	Place string
}
