package acc

import (
	"time"

	"github.com/strabo-engine/strabo/langshaw"
)

// Origin says where a value of a contract comes from.
type Origin string

// Where values come from.
const (
	// Declared: the contract says so.
	Declared Origin = "declared"
	// Default: nobody says anything, and this is what ACC or the runtime takes that to mean.
	Default Origin = "default"
	// Inferred: ACC infers it from what is declared or, for a GET, from the method. Only risk is inferred.
	Inferred Origin = "inferred"
	// Local: the operator wants it tighter than it is declared.
	Local Origin = "local"
	// Remaining: what is left until the deadline of whatever the call is part of.
	Remaining Origin = "deadline"
)

// Setting is a value of a contract with where it comes from.
type Setting[T any] struct {
	Value  T      `json:"value"`
	Origin Origin `json:"origin"`
	// Span is where it is declared; nil where it is not, or stands in no text.
	Span *langshaw.Span `json:"span,omitempty"`
}

// Limit is a limit that every call must be admitted by, and what it counts.
type Limit struct {
	RateLimit
	// Dimension says per what calls are counted. It is empty in a contract that is not merged, since ACC has none.
	Dimension Dimension
}

// Contract is what holds for the calls of one operation: every value, each with where it comes from.
type Contract struct {
	// Enabled false forbids to expose the operation.
	Enabled Setting[bool]
	Scope   Setting[string]
	Risk    Setting[RiskLevel]
	// SubjectRequired forbids calls without a trusted subject.
	SubjectRequired Setting[bool]
	// ApprovalRequired asks for an approval of every call; otherwise a call that meets any of When needs one.
	ApprovalRequired Setting[bool]
	Prompt           string
	When             []Setting[Condition]
	// AuditSensitive asks to keep what is sent and answered out of what is written down.
	AuditSensitive Setting[bool]
	Readonly       Setting[bool]
	Idempotent     Setting[bool]
	// Timeout bounds the waiting, not what happens at the other end. It is 0 where none is declared and nothing has been
	// merged.
	Timeout Setting[time.Duration]
	// Limits are the limits, each of which must admit a call.
	Limits []Setting[Limit]
	// Retry permits to send the same call again by itself. It is never declared: [Merge] permits it.
	Retry Setting[bool]
}

// MethodGet is the one method that ACC infers anything from.
const MethodGet = "GET"

// Contract gives the effective contract of an operation with the HTTP method given; empty where the operation is none of
// HTTP. Nothing is inferred but risk: low for what is declared to only read and, if neither risk nor readonly is
// declared, for a GET; medium otherwise.
func (d *Declaration) Contract(method string) Contract {
	c := Contract{
		Enabled:          declared(d, "enabled", d.Enabled),
		Scope:            declared(d, "scope", d.Scope),
		SubjectRequired:  d.boolean("subject.required", d.SubjectRequired),
		ApprovalRequired: d.boolean("approval.required", d.Approval.Required),
		Prompt:           d.Approval.Prompt,
		AuditSensitive:   d.boolean("audit.sensitive", d.AuditSensitive),
		Readonly:         d.boolean("execution.readonly", d.Execution.Readonly),
		Idempotent:       d.boolean("execution.idempotent", d.Execution.Idempotent),
		Timeout:          Setting[time.Duration]{Origin: Default},
		Retry:            Setting[bool]{Origin: Default},
	}
	switch {
	case d.RiskLevel != "":
		c.Risk = declared(d, "risk.level", d.RiskLevel)
	case c.Readonly.Value, method == MethodGet && d.Execution.Readonly == nil:
		c.Risk = Setting[RiskLevel]{Value: LowRisk, Origin: Inferred}
	default:
		c.Risk = Setting[RiskLevel]{Value: MediumRisk, Origin: Default}
	}
	for _, condition := range d.Approval.When {
		s := Setting[Condition]{Value: condition, Origin: Declared}
		if condition.Span != (langshaw.Span{}) {
			s.Span = &condition.Span
		}
		c.When = append(c.When, s)
	}
	if d.Execution.Timeout > 0 {
		c.Timeout = declared(d, "execution.timeout_ms", d.Execution.Timeout)
	}
	if d.Execution.RateLimit != nil {
		c.Limits = append(c.Limits, declared(d, "execution.rate_limit", Limit{RateLimit: *d.Execution.RateLimit}))
	}
	return c
}

// Exposed tells whether the operation may be offered to an agent: it is enabled, the policy of the runtime admits its
// scope, and there is a trusted subject where one is required. What a model or a caller claims is no trusted subject.
func (c *Contract) Exposed(scopeAllowed, trustedSubject bool) bool {
	return c.Enabled.Value && scopeAllowed && (trustedSubject || !c.SubjectRequired.Value)
}

func declared[T any](d *Declaration, field string, value T) Setting[T] {
	s := Setting[T]{Value: value, Origin: Declared}
	if span, ok := d.places[field]; ok {
		s.Span = &span
	}
	return s
}

func (d *Declaration) boolean(field string, value *bool) Setting[bool] {
	if value == nil {
		return Setting[bool]{Origin: Default}
	}
	return declared(d, field, *value)
}
