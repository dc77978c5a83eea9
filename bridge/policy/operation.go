package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/enactment"
)

// Operation is what holds for the calls of one operation. It is safe for concurrent use.
type Operation struct {
	// Name is the operationId, or what an undeclared operation is called.
	Name string
	// Contract is the declared one, tightened by local policy.
	Contract acc.Contract

	declared *acc.Operation // nil for an undeclared one
	gate     *acc.Gate
	local    Local
	policy   *Policy
	budget   *budget
	sources  map[string]string
	redact   []string // dotted paths of members that are not written down
}

// Declared gives the method and the path of the operation's declaration; false for an undeclared one.
func (o *Operation) Declared() (acc.Reference, bool) {
	if o.declared == nil {
		return acc.Reference{}, false
	}
	return o.declared.Reference, true
}

// DeclaredIdempotent tells whether the contract promises that the same call again has no further effect, whether or not
// the operator relies on it.
func (o *Operation) DeclaredIdempotent() bool {
	if o.declared == nil {
		return o.Contract.Idempotent.Value
	}
	return o.declared.Contract().Idempotent.Value
}

// Inputs lists the names of what the operation may be given, as far as that is declared.
func (o *Operation) Inputs() []string {
	if o.declared == nil {
		return nil
	}
	return o.declared.Input.Names()
}

// Principal is on whose behalf a call is made. It comes from what is trusted, such as the identities of the transport,
// and never from the arguments of a call or the words of a model.
type Principal struct {
	// Agent is who acts, Subject for whom, Tenant in whose house; empty for nobody known.
	Agent, Subject, Tenant string
}

// Errors that keep a call from leaving. A [DeniedError] wraps one of them.
var (
	// ErrDisabled: the operation is not enabled.
	ErrDisabled = errors.New("the operation is not enabled")
	// ErrNoSubject: the operation needs somebody to act for, and nobody trusted is known.
	ErrNoSubject = errors.New("the operation needs a trusted subject")
	// ErrInvalidArguments: the arguments are not what is declared, or a condition cannot be judged with them.
	ErrInvalidArguments = acc.ErrInvalidArguments
	// ErrNotApproved: somebody has to agree, and has not.
	ErrNotApproved = errors.New("not approved")
)

// DeniedError says that a call may not leave.
type DeniedError struct {
	// Operation is the name, Reason one of the errors above, Detail more of it; empty for no more.
	Operation string
	Reason    error
	Detail    string
}

// Error says it in one line, without any value of the arguments.
func (e *DeniedError) Error() string {
	text := "policy: " + e.Operation + " denied: " + e.Reason.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Codes of the reasons of a [DeniedError], for programs: see [DeniedError.Code].
const (
	CodeDisabled         = "operation_disabled"
	CodeNoSubject        = "subject_missing"
	CodeInvalidArguments = "arguments_invalid"
	CodeNotApproved      = "approval_denied" // or it was not given in time, or there is nobody to ask
)

// Code gives the code of the reason.
func (e *DeniedError) Code() string {
	switch {
	case errors.Is(e.Reason, ErrDisabled):
		return CodeDisabled
	case errors.Is(e.Reason, ErrNoSubject):
		return CodeNoSubject
	case errors.Is(e.Reason, ErrNotApproved):
		return CodeNotApproved
	default:
		return CodeInvalidArguments
	}
}

// Unwrap gives the reason.
func (e *DeniedError) Unwrap() error { return e.Reason }

// Question is why somebody has to agree to a call.
type Question struct {
	// Labels are the reasons in the contract's words, Prompt what to ask.
	Labels []string
	Prompt string
	// Lifetime is how long the answer may take.
	Lifetime time.Duration
}

// Permit tells whether a call may be made at all, before it is written down: the error is a [*DeniedError] if not. If
// somebody has to agree first, the question is not nil. An agreement is no authorization: the business still decides.
func (o *Operation) Permit(who Principal, arguments enactment.Values) (*Question, error) {
	if err := o.Stands(who); err != nil {
		return nil, err
	}
	if o.gate == nil {
		return o.undeclaredQuestion(), nil
	}
	switch decision := o.gate.Decide(arguments); decision.Outcome {
	case acc.Allow:
		return nil, nil
	case acc.ApprovalRequired:
		question := &Question{Prompt: o.Contract.Prompt, Lifetime: o.local.ApprovalLifetime}
		switch condition := decision.Condition; {
		case condition == nil:
			question.Labels = []string{o.everyCall()}
		case condition.Label != "":
			question.Labels = []string{condition.Label}
		default:
			question.Labels = []string{condition.String()}
		}
		return question, nil
	default:
		return nil, &DeniedError{Operation: o.Name, Reason: ErrInvalidArguments, Detail: detailOf(decision.Err)}
	}
}

// undeclaredQuestion is asked about every call of an operation of which nothing is declared, where the operator wants
// that; nil where not.
func (o *Operation) undeclaredQuestion() *Question {
	if !o.Contract.ApprovalRequired.Value {
		return nil
	}
	return &Question{Labels: []string{o.everyCall()}, Lifetime: o.local.ApprovalLifetime}
}

func (o *Operation) everyCall() string { return "every call of " + o.Contract.Scope.Value }

// detailOf gives what an error adds to [ErrInvalidArguments].
func detailOf(err error) string {
	text := fmt.Sprint(err)
	prefix := ErrInvalidArguments.Error() + ": "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

// Stands tells whether the operation may be called on somebody's behalf at all. It is asked again for a request that was
// permitted before a restart. If not, the error is a [*DeniedError] with [ErrDisabled] or [ErrNoSubject].
func (o *Operation) Stands(who Principal) error {
	switch {
	case !o.Contract.Enabled.Value:
		return &DeniedError{Operation: o.Name, Reason: ErrDisabled}
	case o.Contract.SubjectRequired.Value && who.Subject == "":
		return &DeniedError{Operation: o.Name, Reason: ErrNoSubject}
	}
	return nil
}

// Sources says of each value of the contract where it comes from: declared, default, inferred or local, with the place
// where it stands. It must not be changed.
func (o *Operation) Sources() map[string]string { return o.sources }

func sourcesOf(c acc.Contract) map[string]string {
	sources := make(map[string]string)
	note(sources, "enabled", c.Enabled)
	note(sources, "scope", c.Scope)
	note(sources, "risk.level", c.Risk)
	note(sources, "subject.required", c.SubjectRequired)
	note(sources, "approval.required", c.ApprovalRequired)
	note(sources, "audit.sensitive", c.AuditSensitive)
	note(sources, "execution.readonly", c.Readonly)
	note(sources, "execution.idempotent", c.Idempotent)
	note(sources, "execution.timeout_ms", c.Timeout)
	for i, limit := range c.Limits {
		note(sources, fmt.Sprintf("limit[%d]", i), limit)
	}
	note(sources, "retry", c.Retry)
	return sources
}

func note[T any](sources map[string]string, field string, s acc.Setting[T]) {
	sources[field] = string(s.Origin)
	if s.Span != nil {
		sources[field] += " " + s.Span.Start.String()
	}
}
