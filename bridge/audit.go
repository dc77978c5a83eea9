package bridge

import (
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// Outcome says what is known of what a call was to do.
type Outcome string

const (
	// Open means that the remote party has not settled it yet; it will be asked.
	Open Outcome = "open"
	// Known means that the response settles it.
	Known Outcome = "known"
	// Unknown means that nobody can tell: the call timed out, the connection broke, or the response has no meaning.
	// It is neither failed nor done.
	Unknown Outcome = "unknown"
)

// Unsettled says that nobody can tell what became of a request. The observation is not answered; it will be taken up
// again when the enactment goes on, when the bridge starts anew, and by [Bridge.Settle].
type Unsettled struct {
	Enactment enactment.Key
	// Action is what was observed, Step where its answer stands.
	Action, Step string
	// Key is the idempotency key of the request; empty if it has not come to one.
	Key string
	// Unsent tells that the request has certainly not left.
	Unsent bool
	// Last is the last call for the step that was answered, with the status and the words of the remote party; where
	// none was, the last call; nil if none was made since the bridge took the step up. It has the words also where the
	// contract keeps them out of the audit: they are for whoever has to find out, and not to be written down.
	Last *audit.Record
	// Said is the last answer to the request itself, in the same way; nil if there was none.
	Said *audit.Record
	// Detail says why, and what the remote party said last, without secrets.
	Detail string
	// Err is the reason where there is one of its own: [ErrRequestChanged], an error of the package policy, or what kept
	// an approval or a record of the audit from being had; else nil.
	Err error
}

// Divergence says that what the remote party reports and what the protocol allows do not fit: the world is not as the
// enactment says. Somebody has to look into it.
type Divergence struct {
	Enactment enactment.Key
	// Action is what was observed, Step where the answer came from.
	Action, Step string
	// Attempt is what was attempted; nil if the mapping itself found the divergence.
	Attempt *Answer
	// Rejection is why the attempt was refused; nil if there was none.
	Rejection *enactment.Rejection
	// Facts are what the remote party says it has done, such as the order that it has placed, as far as the mapping
	// finds that; empty for none.
	Facts enactment.Values
	// Detail says how they differ, and the facts, without secrets.
	Detail string
}
