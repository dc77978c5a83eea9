package audit

import (
	"context"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Kind says what a [Record] tells.
type Kind string

// What happens on the wire. One request that is sent three times gives three records: a first call and two retries.
const (
	// Intent says that a call is about to leave. It is written only where the audit is required, before the first byte
	// leaves: if no sink keeps it, the call stays here. The record of what came of the call follows; where it does not,
	// the process died meanwhile.
	Intent Kind = "intent"
	// FirstCall is the first time that a request was sent.
	FirstCall Kind = "first_call"
	// Retry is the same request sent again, with the same idempotency key and the same bytes.
	Retry Kind = "retry"
	// StatusQuery asks what became of a request.
	StatusQuery Kind = "status_query"
)

// What is learnt.
const (
	// Replay says that a result which was written down earlier was used again, so that nothing was sent.
	Replay Kind = "replay"
	// IdempotencyHit says that the remote party gave the result of an earlier request with the same key; Inferred if it
	// did not say so itself.
	IdempotencyHit Kind = "idempotency_hit"
	// DuplicateObserved says that the same message or notification came in again.
	DuplicateObserved Kind = "duplicate_observed"
	// ConflictingResult says that requests with one idempotency key were answered differently, so that the operation is
	// not as idempotent as it is declared to be.
	ConflictingResult Kind = "conflicting_result"
	// UnknownOutcome says that nobody can tell what became of a request: it is neither failed nor done.
	UnknownOutcome Kind = "unknown_outcome"
)

// What keeps a call from leaving.
const (
	// Denied says that a call may not leave; Detail says why: the operation is disabled, the subject is missing, the
	// approval was denied or has expired, the arguments are not what is declared.
	Denied Kind = "denied"
	// Limited says that a limit did not admit a call, or made it wait; Detail says which.
	Limited Kind = "limited"
	// BreakerOpen says that a call did not leave because earlier ones to the same target failed.
	BreakerOpen Kind = "breaker_open"
	// ApprovalRequested says that a call waits for somebody to agree.
	ApprovalRequested Kind = "approval_requested"
	// ApprovalDecided says that it no longer waits: Outcome is granted, denied or expired.
	ApprovalDecided Kind = "approval_decided"
)

// Kinds lists every kind, in the order in which they are documented.
func Kinds() []Kind {
	return []Kind{
		Intent, FirstCall, Retry, StatusQuery,
		Replay, IdempotencyHit, DuplicateObserved, ConflictingResult, UnknownOutcome,
		Denied, Limited, BreakerOpen, ApprovalRequested, ApprovalDecided,
	}
}

// Record is one line of the audit. The JSON names are stable; readers must expect that further ones are added.
type Record struct {
	// At is when the call began or the decision was made.
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// Enactment is where, Action the observed action that is being answered, Step the step of its mapping.
	Enactment enactment.Key `json:"enactment"`
	Action    string        `json:"action,omitempty"`
	Step      string        `json:"step,omitempty"`
	// Operation, Scope and Risk are those of the contract; empty where there is none.
	Operation string `json:"operation,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Risk      string `json:"risk,omitempty"`
	// Subject is for whom the call is made, Approval the id of the approval that it is made under.
	Subject  string `json:"subject,omitempty"`
	Approval string `json:"approval,omitempty"`
	// KeyHash tells idempotency keys apart, BodyDigest the requests; see [Hasher]. BodyDigest is empty where the contract
	// says that the call is sensitive.
	KeyHash    string `json:"key_hash,omitempty"`
	BodyDigest string `json:"body_digest,omitempty"`
	// Attempt counts how often the request was sent, from 1; 0 where nothing was.
	Attempt int `json:"attempt,omitempty"`
	// Method, URL, Request and Response are the call, redacted. The bodies are JSON text, or the text that came; they
	// are empty for none, and where the contract says that the call is sensitive.
	Method   string `json:"method,omitempty"`
	URL      string `json:"url,omitempty"`
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	// Status is the HTTP status; 0 where there was no whole response.
	Status int `json:"status,omitempty"`
	// Outcome is what is known afterwards: open, known or unknown of a call; granted, denied or expired of an approval.
	Outcome string `json:"outcome,omitempty"`
	// Latency is how long the call took, or the wait.
	Latency time.Duration `json:"latency_ns,omitempty"`
	// Inferred tells that nobody said so, but what is known allows no other reading.
	Inferred bool `json:"inferred,omitempty"`
	// Detail is a sentence for a person, redacted.
	Detail string `json:"detail,omitempty"`
	// Sources say of each value of the policy that mattered where it comes from, such as "timeout" and
	// "runtime.yaml:12:5".
	Sources map[string]string `json:"sources,omitempty"`
}

// Sink keeps records. Implementations are safe for concurrent use, and do not change or hold on to what they are given
// after they return.
//
// An error means that the record may not have been kept. Whoever makes a call acts on it by the kind: after an error
// for an [Intent] the call must not leave, and what has happened already is acted upon all the same, for the remote
// party has done it. [Require] sees to it that nothing is lost by that while the process lives.
type Sink interface {
	// Record keeps a record. It blocks until the record is as safe as the sink makes it, or the context ends.
	Record(ctx context.Context, r Record) error
}
