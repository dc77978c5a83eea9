package bridge

import (
	"time"

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

// Call is one request to the remote party and what came of it, for an audit. It holds no secret: what a secret
// attribute was rendered into is masked, and what the remote party quotes of one is cut out.
type Call struct {
	// Enactment is where, Action the observed action that is being answered, Step the step of its mapping.
	Enactment enactment.Key `json:"enactment"`
	Action    string        `json:"action"`
	Step      string        `json:"step"`
	// Query tells that the call asks about the step's request.
	Query bool `json:"query,omitempty"`
	// Send counts the times that the step's request was sent, from 1.
	Send   int    `json:"send,omitempty"`
	Method string `json:"method"`
	URL    string `json:"url"`
	// Key is the idempotency key; empty where nothing changes.
	Key string `json:"key,omitempty"`
	// Status is the HTTP status; 0 where there was no whole response.
	Status int `json:"status,omitempty"`
	// Outcome is what is known after the call.
	Outcome Outcome `json:"outcome"`
	// Error says why there was no response, or no meaning in it.
	Error string `json:"error,omitempty"`
	// Request and Response are the bodies as JSON text, or as the text that came; empty for none.
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	// At is when the call began, Duration how long it took.
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"duration"`
}

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
	// none was, the last call; nil if none was made since the bridge took the step up.
	Last *Call
	// Detail says why, and what the remote party said last, without secrets.
	Detail string
	// Err is [ErrRequestChanged] where that is the reason, else nil.
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
