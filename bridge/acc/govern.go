package acc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// localNames are the fields of runtime.yaml by what [Merge] calls them.
var localNames = map[string]string{
	"enabled": "enabled", "risk.level": "risk.level", "subject.required": "subject.required",
	"approval.required": "approval.required", "audit.sensitive": "audit.sensitive", "execution.readonly": "readonly",
	"execution.idempotent": "idempotent", "execution.timeout_ms": "timeout", "execution.rate_limit": "rate_limit",
	"retry": "retries",
}

// NamedDocument is a document, and what it is called in diagnostics.
type NamedDocument struct {
	Name string
	*Document
}

// Govern joins the operations of documents with what the operator wants of them, in the order of the documents, and
// reports what does not go together: what is looser than the contract, limits of which it is not said per what they
// count, names of operations that are none, conditions about what is no input. The diagnostics are about runtime.yaml,
// in order of position; their messages name the place in the document. With any error no operation is given, and no call
// may be made.
//
// An operation is named by its operationId, or by method and path such as "POST /refunds". What runtime.yaml says among
// its defaults holds for an operation of which it does not say the same field, where that is no looser than its
// contract: a default timeout is for contracts without one, and retries are for what is idempotent.
func (r *Runtime) Govern(documents ...NamedDocument) ([]*Governed, Diagnostics) {
	g := &governor{}
	entries := g.find(r, documents)
	var governed []*Governed
	for _, document := range documents {
		g.name = document.Name
		for _, operation := range document.Operations {
			governed = append(governed, g.govern(operation, &r.defaults, entries[operation]))
		}
	}
	if sorted(g.list).HasErrors() {
		return nil, g.list
	}
	return governed, g.list
}

// Default gives what the operator wants of an operation that is not in any document, whose contract is the one given.
func (r *Runtime) Default(contract Contract) (LocalPolicy, CallPolicy) {
	e := &blend{defaults: &r.defaults, own: &runtimeEntry{}, places: make(map[string]langshaw.Span)}
	return e.local(contract), e.policy()
}

type governor struct {
	name string // of the document that is looked at
	list Diagnostics
}

// fault reports an error; what stands nowhere, at the beginning.
func (g *governor) fault(code langshaw.Code, span langshaw.Span, format string, arguments ...any) {
	if span.Start.Line == 0 {
		span.Start, span.End = langshaw.Position{Line: 1, Column: 1}, langshaw.Position{Line: 1, Column: 1}
	}
	g.list = append(g.list, Diagnostic{
		Code: code, Severity: langshaw.Error, Message: fmt.Sprintf(format, arguments...), Span: span,
	})
}

// find gives what is said of each operation.
func (g *governor) find(r *Runtime, documents []NamedDocument) map[*Operation]*runtimeEntry {
	named, skipped := make(map[string]*Operation), make(map[string]string)
	var names, files []string
	for _, document := range documents {
		files = append(files, document.Name)
		for _, operation := range document.Operations {
			for _, name := range []string{operation.ID, operation.String()} {
				if name != "" {
					names = append(names, name)
					named[name] = operation
				}
			}
		}
		for _, s := range document.Skipped {
			skipped[s.ID], skipped[s.String()] = document.Name, document.Name
		}
	}
	found := make(map[*Operation]*runtimeEntry)
	for i := range r.operations {
		e := &r.operations[i]
		operation, ok := named[e.name]
		switch {
		case ok && found[operation] != nil:
			g.fault(CodeInvalidRuntime, e.span, "%s is named twice, also at %s", operation, found[operation].span.Start)
		case ok:
			found[operation] = e
		case e.name != "" && skipped[e.name] != "":
			g.fault(CodeUnknownOperation, e.span, "the contract of %s in %s cannot be used", shorten(e.name), skipped[e.name])
		default:
			g.list = append(g.list, Diagnostic{
				Code: CodeUnknownOperation, Severity: langshaw.Error, Span: e.span, Suggestion: langshaw.Nearest(e.name, names),
				Message: fmt.Sprintf("there is no operation %s with a contract in %s", shorten(e.name), strings.Join(files, ", ")),
			})
		}
	}
	return found
}

// govern merges one operation; own is nil where nothing is said of it.
func (g *governor) govern(o *Operation, defaults, own *runtimeEntry) *Governed {
	if own == nil {
		own = &runtimeEntry{}
	}
	e := &blend{defaults: defaults, own: own, places: make(map[string]langshaw.Span)}
	contract := o.Contract()
	governed := &Governed{Operation: o, Document: g.name, Local: e.local(contract), Policy: e.policy()}
	var err error
	if governed.Policy.Limits.OnExceed == QueueExceeding && governed.Policy.Limits.MaxWait == 0 {
		g.unbounded(e.places["rate_limit.on_exceed"])
	}
	if governed.Merged, err = Merge(contract, governed.Local, NoDeadline); err != nil {
		g.refused(o, e, err)
		return governed
	}
	g.placed(&governed.Merged, e)
	if e.says("retries") && governed.Merged.Idempotent.Value && !governed.Merged.Retry.Value && governed.Policy.Retries.Attempts > 1 {
		g.list = append(g.list, Diagnostic{
			Code: CodeRetryWithoutKey, Severity: langshaw.Warning, Span: e.places["retries"],
			Message: fmt.Sprintf("%s is not sent again: idempotency does not say how a repetition is recognised", o),
		})
	}
	var conditions []Condition
	for _, condition := range governed.Merged.When {
		conditions = append(conditions, condition.Value)
	}
	local := conditions[len(contract.When):]
	if _, found := o.Input.Gate(false, local); len(found) > 0 {
		for i := range found {
			found[i].Message = o.String() + ": " + found[i].Message
		}
		g.list = append(g.list, found...)
		return governed
	}
	// The declared ones have been checked when the document was read; one that is faulty all the same lets nothing through.
	approval, found := o.Input.Gate(governed.Merged.ApprovalRequired.Value, conditions)
	governed.Approval, g.list = approval, append(g.list, found...)
	return governed
}

// unbounded reports a queue that holds calls for ever, once where it is said of all operations.
func (g *governor) unbounded(span langshaw.Span) {
	if !slices.ContainsFunc(g.list, func(d Diagnostic) bool { return d.Span == span }) {
		g.fault(CodeInvalidRuntime, span, "on_exceed: queue needs max_wait, how long a call may wait")
	}
}

// refused reports why the two do not go together, with both places.
func (g *governor) refused(o *Operation, e *blend, err error) {
	for _, err := range flatten(err) {
		var policy *PolicyError
		if !errors.As(err, &policy) {
			g.fault(CodeInvalidRuntime, e.at(""), "%s: %v", o, err)
			continue
		}
		field, span := localNames[policy.Field], e.at(localNames[policy.Field])
		declared := at(o.Declaration, policy.Field)
		place := fmt.Sprintf("%s:%s", g.name, declared.Start)
		switch {
		case errors.Is(err, ErrNoDimension):
			g.fault(CodeLimitUndetermined, span, "%s has a limit (%s), and rate_limit.dimension does not say per what it counts", o, place)
		case field == "rate_limit" && e.dimension() == "":
			g.fault(CodeLimitUndetermined, span, "%s: rate_limit.dimension does not say per what rate_limit.count counts", o)
		case errors.Is(err, ErrLooser) && policy.Field == "retry":
			g.fault(CodeLooserThanDeclared, span, "%s may not be sent again: it is not idempotent (%s)", o, place)
		case errors.Is(err, ErrLooser):
			g.fault(CodeLooserThanDeclared, span, "%s: %s %s is looser than the contract, which says %s (%s)", o, field, policy.Local, policy.Declared, place)
		default:
			g.fault(CodeInvalidRuntime, span, "%s: %s: %v", o, field, policy)
		}
	}
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// placed says of every value that the operator wanted where it stands.
func (g *governor) placed(c *Contract, e *blend) {
	place(&c.Enabled, e, "enabled")
	place(&c.Risk, e, "risk.level")
	if c.Risk.Origin == Local && c.Risk.Span == nil { // raised since a promise is not relied upon
		place(&c.Risk, e, "readonly")
	}
	place(&c.SubjectRequired, e, "subject.required")
	place(&c.ApprovalRequired, e, "approval.required")
	place(&c.AuditSensitive, e, "audit.sensitive")
	place(&c.Readonly, e, "readonly")
	place(&c.Idempotent, e, "idempotent")
	place(&c.Timeout, e, "timeout")
	place(&c.Retry, e, "retries")
	for i := range c.Limits {
		place(&c.Limits[i], e, "rate_limit.count")
	}
	for i := range c.When {
		if c.When[i].Origin == Local {
			c.When[i].Span = &c.When[i].Value.Span
		}
	}
}

func place[T any](s *Setting[T], e *blend, field string) {
	if span, ok := e.places[field]; ok && s.Origin == Local {
		s.Span = &span
	}
}

// blend is what is said of an operation, in front of what is said of all.
type blend struct {
	defaults, own *runtimeEntry
	places        map[string]langshaw.Span
}

// pick gives the entry that says a field, and notes where; nil where none does.
func (e *blend) pick(field string) *runtimeEntry {
	for _, entry := range []*runtimeEntry{e.own, e.defaults} {
		if entry.says(field) {
			e.places[field] = entry.policy.Places[field]
			return entry
		}
	}
	return nil
}

func (e *blend) says(field string) bool { return e.pick(field) != nil }

// at is where a field stands, or the operation where it does not.
func (e *blend) at(field string) langshaw.Span {
	if span, ok := e.places[field]; ok {
		return span
	}
	return e.own.span
}

// local gives what is merged with the contract. What is said of all is left out where it would be looser, since it is
// not about this operation.
func (e *blend) local(c Contract) LocalPolicy {
	l := e.own.local
	tighten := func(own **bool, byDefault *bool, field string) {
		if from := e.pick(field); from == e.defaults {
			*own = byDefault
		}
	}
	d := &e.defaults.local
	tighten(&l.Expose, d.Expose, "enabled")
	tighten(&l.SubjectRequired, d.SubjectRequired, "subject.required")
	tighten(&l.ApprovalRequired, d.ApprovalRequired, "approval.required")
	tighten(&l.AuditSensitive, d.AuditSensitive, "audit.sensitive")
	tighten(&l.Readonly, d.Readonly, "readonly")
	tighten(&l.Idempotent, d.Idempotent, "idempotent")
	e.pick("risk.level")
	if e.pick("timeout") == e.defaults {
		l.DefaultTimeout = d.Timeout
	}
	l.Dimension = e.dimension()
	e.pick("rate_limit")
	if from := e.pick("rate_limit.count"); from != nil {
		l.Limits = []Limit{{RateLimit: from.limit, Dimension: l.Dimension}}
		if from == e.defaults && slices.ContainsFunc(c.Limits, func(declared Setting[Limit]) bool { return from.limit.looserThan(declared.Value.RateLimit) }) {
			l.Limits = nil
		}
	}
	l.Key = e.idempotency() != nil
	if from := e.pick("retries"); from != nil {
		promised := c.Idempotent.Value && (l.Idempotent == nil || *l.Idempotent)
		if wanted := e.attempts() > 1; !wanted || from == e.own || promised {
			l.Retry = &wanted
		}
	}
	return l
}

func (e *blend) idempotency() *Idempotency {
	if from := e.pick("idempotency"); from != nil {
		return from.policy.Idempotency
	}
	return nil
}

func (e *blend) dimension() Dimension {
	if from := e.pick("rate_limit.dimension"); from != nil {
		return from.local.Dimension
	}
	return ""
}

func (e *blend) attempts() int {
	if from := e.pick("retries.attempts"); from != nil {
		return from.policy.Retries.Attempts
	}
	if e.says("retries") {
		return DefaultAttempts
	}
	return 1
}

func (e *blend) policy() CallPolicy {
	p := CallPolicy{
		Retries: Retries{
			Attempts: e.attempts(), Ratio: DefaultRatio, Reserve: DefaultReserve, First: DefaultFirst, Longest: DefaultLongest,
		},
		Limits: LimitPolicy{OnExceed: RejectExceeding, CountRetries: true}, Idempotency: e.idempotency(),
	}
	if from := e.pick("retries.budget.ratio"); from != nil {
		p.Retries.Ratio = from.policy.Retries.Ratio
	}
	if from := e.pick("retries.budget.reserve"); from != nil {
		p.Retries.Reserve = from.policy.Retries.Reserve
	}
	if from := e.pick("retries.backoff.first"); from != nil {
		p.Retries.First = from.policy.Retries.First
	}
	if from := e.pick("retries.backoff.longest"); from != nil {
		p.Retries.Longest = from.policy.Retries.Longest
	}
	p.Retries.Longest = max(p.Retries.First, p.Retries.Longest)
	if from := e.pick("rate_limit.on_exceed"); from != nil {
		p.Limits.OnExceed = from.policy.Limits.OnExceed
	}
	if from := e.pick("rate_limit.max_wait"); from != nil && p.Limits.OnExceed == QueueExceeding {
		p.Limits.MaxWait = from.policy.Limits.MaxWait
	}
	if from := e.pick("rate_limit.count_retries"); from != nil {
		p.Limits.CountRetries = from.policy.Limits.CountRetries
	}
	if from := e.pick("rate_limit.shared"); from != nil {
		p.Limits.Shared = from.policy.Limits.Shared
	}
	if from := e.pick("breaker"); from != nil {
		p.Breaker = from.policy.Breaker
	}
	if from := e.pick("approval.expires"); from != nil {
		p.ApprovalExpires = from.policy.ApprovalExpires
	}
	if from := e.pick("audit.required"); from != nil {
		p.AuditRequired = from.policy.AuditRequired
	}
	e.pick("audit.redact")
	p.Redact = slices.Concat(e.defaults.policy.Redact, e.own.policy.Redact)
	p.Places = e.places
	return p
}
