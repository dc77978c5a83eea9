package acc

import "time"

// Dimension says per what calls are counted by a limit. A contract does not say it, so the operator must.
type Dimension string

// Per what calls are counted.
const (
	// PerOperation counts all calls of the operation together.
	PerOperation Dimension = "operation"
	// PerAgent counts those of each agent.
	PerAgent Dimension = "agent"
	// PerSubject counts those for each subject.
	PerSubject Dimension = "subject"
	// PerTenant counts those of each tenant.
	PerTenant Dimension = "tenant"
)

// KnownDimension tells whether calls can be counted in this way.
func KnownDimension(d Dimension) bool {
	return d == PerOperation || d == PerAgent || d == PerSubject || d == PerTenant
}

// LocalPolicy is what the operator of a runtime wants of one operation. What is nil, empty or zero is left as it is
// declared. It may only tighten what is declared: [Merge] refuses the rest.
type LocalPolicy struct {
	// Expose false keeps an enabled operation from being exposed.
	Expose *bool
	// Risk may be higher than the contract's.
	Risk RiskLevel
	// SubjectRequired and ApprovalRequired may be true where the contract does not ask for it.
	SubjectRequired, ApprovalRequired *bool
	// When are more conditions under which an approval is needed.
	When []Condition
	// AuditSensitive may be true where the contract does not ask for it.
	AuditSensitive *bool
	// Readonly and Idempotent false say that the contract's promise is not relied upon.
	Readonly, Idempotent *bool
	// Timeout is at most the contract's.
	Timeout time.Duration
	// DefaultTimeout holds where neither Timeout nor the contract says anything; [DefaultTimeout] if it is 0.
	DefaultTimeout time.Duration
	// Dimension is per what the contract's limit counts. It must be given where the contract has a limit.
	Dimension Dimension
	// Limits are more limits. None may admit all that the contract's does and more.
	Limits []Limit
	// Retry permits to send the same call again; only what is idempotent may be.
	Retry *bool
	// Key tells that a repetition is recognised at the other end, by a key or natively. Without it, an operation that
	// changes something is never sent again by itself.
	Key bool
}

// DefaultTimeout holds where neither the contract nor the operator says how long to wait.
const DefaultTimeout = 30 * time.Second
