package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Request is a question: may this call be made?
type Request struct {
	// ID names what is asked about, such as one step of the answer to one observed instance. It stays the same when the
	// same is asked again. It has 1 to [MaxID] characters, visible ASCII without @.
	ID string `json:"id"`
	// Operation and Scope are those of the contract.
	Operation string `json:"operation,omitempty"`
	Scope     string `json:"scope,omitempty"`
	// Enactment, Action and Step say what the call is for.
	Enactment enactment.Key `json:"enactment"`
	Action    string        `json:"action,omitempty"`
	Step      string        `json:"step,omitempty"`
	// Values are what the observed instance says, redacted, as a JSON object: what the call is for, such as the sum to be paid,
	// which the arguments need not say.
	Values json.RawMessage `json:"values,omitempty"`
	// Arguments are what the call would send, redacted, as JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Digest identifies the exact bytes that would be sent: method, URL and body. It is a SHA-256, or better a keyed
	// hash of that length where the bytes can be guessed (audit.Hasher), in lower-case hexadecimal. The store only
	// compares it.
	Digest string `json:"digest"`
	// Labels say why somebody has to agree, Prompt what to ask; both are words of the contract.
	Labels []string `json:"labels,omitempty"`
	Prompt string   `json:"prompt,omitempty"`
	// At is when it was asked, Expires until when it may be answered and a grant be used; the zero time sets no limit.
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires,omitzero"`
}

// State says where a question stands.
type State string

// The states. A question that is granted or denied is never decided otherwise, but a grant ends with the question.
const (
	// Pending means that nobody has decided.
	Pending State = "pending"
	// Granted means that the call may be made, with these bytes.
	Granted State = "granted"
	// Denied means that it may not.
	Denied State = "denied"
	// Expired means that the time is over: nobody decided in time, or a grant was not used in time.
	Expired State = "expired"
)

// Decision is what was decided, as things stand when it is read.
type Decision struct {
	State State `json:"state"`
	// By says who decided, Reason why, in their own words. A grant that has expired still says who gave it.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// At is when it was decided, or expired; zero while it is pending.
	At time.Time `json:"at,omitzero"`
}

// Entry is a question and what was decided.
type Entry struct {
	Request  Request  `json:"request"`
	Decision Decision `json:"decision"`
}

// Verdict is a decision to be made.
type Verdict struct {
	Granted bool
	// Digest is that of the request which was looked at. It must be the whole digest of the question.
	Digest string
	// By says who decides, at most [MaxText] bytes and not empty. Reason is optional, with the same bound.
	By, Reason string
}

// Bounds of what is stored.
const (
	// MaxID is how many characters an id may have.
	MaxID = 200
	// MaxText is how many bytes By, Reason, Prompt and each label may have.
	MaxText = 4096
	// MaxArguments is how many bytes the arguments may have, and the values.
	MaxArguments = 256 << 10
)

// Errors of a [Store]. They are wrapped.
var (
	// ErrNotFound: there is no question with this id.
	ErrNotFound = errors.New("approval: no such question")
	// ErrDecided: it has been decided before; the first decision stands.
	ErrDecided = errors.New("approval: decided already")
	// ErrExpired: its time is over.
	ErrExpired = errors.New("approval: expired")
	// ErrChanged: the request is no longer the one that the verdict is about.
	ErrChanged = errors.New("approval: the request has changed")
	// ErrInvalid: a request or a verdict is not what its documentation asks for.
	ErrInvalid = errors.New("approval: invalid")
)

// Store keeps questions and decisions. Implementations are safe for concurrent use, by several processes as well.
type Store interface {
	// Ask asks, and tells at once how the question stands. Asking the same (ID and Digest) again changes nothing. A
	// changed Digest is a new question in the place of the old one, with whatever was decided about that; so is the
	// same once it has expired, if it is asked with a later Expires. When it returns without an error the question is
	// stored.
	Ask(ctx context.Context, request Request) (Decision, error)

	// Decide decides a question that is pending. The error is [ErrNotFound], [ErrDecided], [ErrExpired], [ErrChanged] or
	// [ErrInvalid], or what kept it from trying; of several decisions at once, one succeeds.
	Decide(ctx context.Context, id string, verdict Verdict) error

	// Get gives a question; the error is [ErrNotFound] if there is none.
	Get(ctx context.Context, id string) (Entry, error)

	// List gives all questions, in the order in which they were asked. With an error, it gives those that can be read.
	List(ctx context.Context) ([]Entry, error)

	// Wait blocks until the question is no longer pending, and gives the decision. If the question is replaced by
	// another meanwhile, the error is [ErrChanged]. The context ends the wait, with its error.
	Wait(ctx context.Context, id string) (Decision, error)
}
