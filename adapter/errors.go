package adapter

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/enactment"
)

var (
	// ErrUnknown is what a promise resolves with when nobody can say whether the attempt was accepted: it was
	// submitted, and its context or the executor ended before an answer came. It may have happened, or happen yet;
	// attempting again with the same id ([WithAttemptID]) and content is safe.
	ErrUnknown = errors.New("adapter: outcome unknown")

	// ErrClosed is returned by an executor or a feed that was closed.
	ErrClosed = errors.New("adapter: closed")

	// ErrUnavailable says that an executor cannot be reached at the moment: the same may be asked again later.
	ErrUnavailable = errors.New("adapter: the executor cannot be reached")
	// ErrRevoked is returned by [Feed.Store] for an enactment that is not the feed's any more, and is the cause with
	// which the context of a handler ends when its enactment is revoked.
	ErrRevoked = errors.New("adapter: enactment revoked")

	// ErrAlreadyRun is returned by [Adapter.Run] when it is called a second time.
	ErrAlreadyRun = errors.New("adapter: run was called before")

	// ErrPanic is what a [HandlerError] wraps when the handler panicked.
	ErrPanic = errors.New("adapter: handler panicked")

	// ErrGoexit is what a [HandlerError] wraps when the handler ended its goroutine, as runtime.Goexit and the FailNow
	// of a test do.
	ErrGoexit = errors.New("adapter: handler ended its goroutine")
)

// Rejection says why an attempt was refused: errors.As gives it, errors.Is asks for its code, as in
// errors.Is(err, enactment.Dominated).
type Rejection = enactment.Rejection

// Outcome is the answer to an attempt.
type Outcome = enactment.Outcome

// Step names what an adapter was doing when something failed.
type Step string

// The steps of a [HandlerError].
const (
	// StepObservation is a handler of [Adapter.OnObservation].
	StepObservation Step = "observation"
	// StepCompletion is a handler of [Adapter.OnCompletion].
	StepCompletion Step = "completion"
	// StepOffer is a handler of [Adapter.OnEnabled].
	StepOffer Step = "offer"
	// StepPosition is storing the position after the handlers: they are done, but may be called again for the same
	// delivery if the process dies before a later position is stored.
	StepPosition Step = "position"
)

// HandlerError says which handler failed and how. The enactment goes on nevertheless.
type HandlerError struct {
	// Step is what was being done.
	Step Step
	// Action is what was observed or offered; empty for a completion or a position.
	Action string
	// Enactment is the key of the enactment.
	Enactment enactment.Key
	// Sequence is the position in the enactment's log of what was handled; for an offer, of the last thing known.
	Sequence uint64
	// Err is what the handler returned; it wraps [ErrPanic] or [ErrGoexit] if it did not return.
	Err error
	// Stack is the stack of a handler that panicked, else nil.
	Stack []byte
}

// Error says what failed, where, and why.
func (e HandlerError) Error() string {
	what := string(e.Step)
	if e.Action != "" {
		what += " of " + e.Action
	}
	return fmt.Sprintf("adapter: %s in %s at %d: %v", what, e.Enactment, e.Sequence, e.Err)
}

// Unwrap gives Err.
func (e HandlerError) Unwrap() error { return e.Err }
