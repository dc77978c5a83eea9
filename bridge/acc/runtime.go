package acc

import (
	"time"

	"github.com/strabo-engine/strabo/langshaw"
)

// RuntimeVersion is the version of the format of runtime.yaml that the package reads.
const RuntimeVersion = 1

// Runtime is what the operator of a runtime wants of its calls: the contents of a runtime.yaml, which [ParseRuntime]
// reads. What it says of an operation may only tighten the contract, which [Runtime.Govern] sees to.
type Runtime struct {
	defaults   runtimeEntry
	operations []runtimeEntry
}

// CallPolicy is how the calls of one operation are made, as far as contracts say nothing of it.
type CallPolicy struct {
	// Retries are meant where the merged contract permits to retry at all.
	Retries Retries
	// Limits says how the limits of the merged contract are kept.
	Limits LimitPolicy
	// Idempotency says how a repetition is recognised at the other end; nil where it is not.
	Idempotency *Idempotency
	// Breaker stops calls to a target that fails; nil for none.
	Breaker *Breaker
	// ApprovalExpires is how long a question may wait for an answer, and a grant for its use; 0 for no limit.
	ApprovalExpires time.Duration
	// AuditRequired forbids a call to leave unless the audit has it first.
	AuditRequired bool
	// Redact names members of what is sent and answered, by dotted paths, whose values are masked wherever they are
	// written down, besides those that the protocol declares secret.
	Redact []string
	// Places are where the fields stand in runtime.yaml, by dotted name such as retries.attempts.
	Places map[string]langshaw.Span
}

// Retries say how the same request is sent again.
type Retries struct {
	// Attempts is how often it is sent at most, the first time included; 1 where there are no retries.
	Attempts int
	// Ratio is how many retries each call earns, and Reserve how many the operation has at first and saves up to. So
	// retries cannot multiply an outage.
	Ratio   float64
	Reserve int
	// First is the most that is waited before the first retry, doubled each time up to Longest; the wait itself is drawn
	// between nothing and that (full jitter).
	First, Longest time.Duration
}

// What Retries are where only some of them are said.
const (
	DefaultAttempts = 3
	DefaultRatio    = 0.2
	DefaultReserve  = 10
	DefaultFirst    = 200 * time.Millisecond
	DefaultLongest  = 5 * time.Second
)

// OnExceed says what becomes of a call that a limit does not admit.
type OnExceed string

// What becomes of it.
const (
	// RejectExceeding refuses the call at once.
	RejectExceeding OnExceed = "reject"
	// QueueExceeding lets it wait for its turn, at most MaxWait.
	QueueExceeding OnExceed = "queue"
)

// LimitPolicy says how limits are kept.
type LimitPolicy struct {
	// OnExceed is RejectExceeding where nothing is said.
	OnExceed OnExceed
	// MaxWait bounds the wait of QueueExceeding; it is 0 with RejectExceeding.
	MaxWait time.Duration
	// CountRetries tells that retries count too; true where nothing is said.
	CountRetries bool
	// Shared tells that all processes count together.
	Shared bool
}

// Idempotency says how a repetition is recognised at the other end.
type Idempotency struct {
	// Header is the name of the header that carries the key; empty with Native.
	Header string
	// Native tells that the operation needs no key, and Note why.
	Native bool
	Note   string
	// Expires is how long the other end remembers a key: what is older is not sent again by itself; 0 for ever.
	Expires time.Duration
}

// Breaker stops calls for a while when those before failed.
type Breaker struct {
	// Failures is how many in a row open it.
	Failures int
	// Cooldown is how long it stays open before one call tries again.
	Cooldown time.Duration
}

// What a Breaker is where only some of it is said.
const (
	DefaultFailures = 5
	DefaultCooldown = 30 * time.Second
)

// Governed is an operation with all that holds for its calls.
type Governed struct {
	*Operation
	// Document is what the document is called.
	Document string
	// Merged is the contract, tightened by the runtime. What it says in place of [Operation.Contract] holds.
	Merged Contract
	// Local is what the runtime wants, for [Merge] with the time that is left of a call.
	Local LocalPolicy
	// Approval judges calls by the conditions of both, in place of [Operation.Gate].
	Approval *Gate
	// Policy is how calls are made.
	Policy CallPolicy
}

// runtimeEntry is what runtime.yaml says of one operation, or of all by default. What is not said is not in the Places of
// its policy.
type runtimeEntry struct {
	// name is an operationId, or method and path; empty for the defaults. It stands at span.
	name   string
	span   langshaw.Span
	local  LocalPolicy
	policy CallPolicy
	// limit is count and window of rate_limit.
	limit RateLimit
}

// says tells whether a field stands there.
func (e *runtimeEntry) says(field string) bool {
	_, ok := e.policy.Places[field]
	return ok
}
