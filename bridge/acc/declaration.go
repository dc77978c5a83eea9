package acc

import (
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Version is the version of ACC that the package reads.
const Version = 1

// Declaration is a contract as it is written: what is not written is nil or empty. [Declaration.Contract] fills in what
// that means. A Declaration is never changed once it is read.
type Declaration struct {
	// Enabled tells whether the operation may be exposed at all.
	Enabled bool
	// Scope names the capability, for the policy of the runtime to refer to.
	Scope string
	// RiskLevel is empty where none is declared.
	RiskLevel RiskLevel
	// SubjectRequired tells whether the operation needs a trusted subject to act for.
	SubjectRequired *bool
	// Approval says when somebody has to agree.
	Approval ApprovalDeclaration
	// AuditSensitive tells whether what is sent and answered is too sensitive to be written down.
	AuditSensitive *bool
	// Execution says how calls may be made.
	Execution ExecutionDeclaration
	// Guidance is for whoever chooses what to call, and never policy.
	Guidance Guidance
	// Unknown are the fields that ACC does not know, at any level. They are kept and have no effect.
	Unknown []UnknownField
	// Raw is the whole declaration as it is written, unknown fields included.
	Raw enactment.Value

	// places are where known fields stand, by dotted name; the empty name is the declaration itself.
	places map[string]langshaw.Span
}

// Span is where a known field stands in the text, by its dotted name such as risk.level; false where it is not written.
// The empty name stands for the declaration.
func (d *Declaration) Span(field string) (langshaw.Span, bool) {
	span, ok := d.places[field]
	return span, ok
}

// RiskLevel says how much harm an operation can do: low, medium or high.
type RiskLevel string

// The levels of risk.
const (
	LowRisk    RiskLevel = "low"
	MediumRisk RiskLevel = "medium"
	HighRisk   RiskLevel = "high"
)

// rank orders levels of risk. What is none is above all.
func (l RiskLevel) rank() int {
	switch l {
	case LowRisk:
		return 0
	case MediumRisk:
		return 1
	case HighRisk:
		return 2
	}
	return 3
}

// ApprovalDeclaration says when an approval is wanted: always where Required is true, and otherwise when any of the
// conditions holds.
type ApprovalDeclaration struct {
	Required *bool
	// Prompt is what to ask, at most 500 code points.
	Prompt string
	When   []Condition
}

// ExecutionDeclaration says how calls may be made.
type ExecutionDeclaration struct {
	// Readonly promises that nothing is changed.
	Readonly *bool
	// Idempotent promises that the same call again has no further effect.
	Idempotent *bool
	// Timeout is how long to wait at most, from 1 ms to 10 minutes; 0 where none is declared.
	Timeout time.Duration
	// RateLimit is how often to call at most; nil where none is declared.
	RateLimit *RateLimit
}

// RateLimit is a number of calls in a time.
type RateLimit struct {
	// Count is at least 1.
	Count int64
	// Window is a whole number of seconds, at least one.
	Window time.Duration
}

// Guidance is for whoever chooses what to call.
type Guidance struct {
	WhenToUse string
	Returns   string
	// Examples are JSON objects.
	Examples []enactment.Value
	Context  []string
}

// UnknownField is a field that ACC does not know.
type UnknownField struct {
	// Path is its dotted name, such as execution.retries.
	Path  string
	Value enactment.Value
	// Span is that of the name.
	Span langshaw.Span
}

// Operator compares an input with the value of a condition.
type Operator string

// The operators of conditions. Those that order take numbers only; equality is that of JSON, without any coercion.
const (
	Greater        Operator = ">"
	GreaterOrEqual Operator = ">="
	Less           Operator = "<"
	LessOrEqual    Operator = "<="
	Equal          Operator = "=="
	NotEqual       Operator = "!="
	In             Operator = "in"
	Contains       Operator = "contains"
	Exists         Operator = "exists"
)

var operators = []Operator{Greater, GreaterOrEqual, Less, LessOrEqual, Equal, NotEqual, In, Contains, Exists}

// orders tells whether the operator takes numbers only.
func (o Operator) orders() bool {
	return o == Greater || o == GreaterOrEqual || o == Less || o == LessOrEqual
}

// Condition is one reason to ask for approval. Its zero Value is none.
type Condition struct {
	// Param names an input: the name of a parameter or of a member of the body, and with dots members of that.
	Param string   `json:"param"`
	Op    Operator `json:"op"`
	// Value is what the input is compared with; nothing is compared by exists.
	Value enactment.Value `json:"value"`
	// Label says for a person what the condition means.
	Label string `json:"label,omitempty"`
	// Span is where param stands; it is zero where the condition stands in no text.
	Span langshaw.Span `json:"-"`
}

// String gives the condition as it may be shown to a person.
func (c Condition) String() string {
	if c.Op == Exists {
		return c.Param + " exists"
	}
	return c.Param + " " + string(c.Op) + " " + c.Value.String()
}
