package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
)

// record begins a record of the run, for an operation.
func (r *run) record(kind audit.Kind, rule *governed) audit.Record {
	return audit.Record{
		At: time.Now().UTC(), Kind: kind, Enactment: r.key, Action: r.plan.action, Step: r.stepName(),
		Operation: rule.Name, Scope: rule.Contract.Scope.Value, Risk: string(rule.Contract.Risk.Value),
		Subject: r.principal.Subject, Approval: r.approval, Sources: rule.Sources(),
	}
}

// tell gives a record to the audit. What has happened has happened, so that a failure is logged and holds up nothing.
func (r *run) tell(ctx context.Context, record audit.Record) {
	if r.bridge.options.Audit == nil {
		return
	}
	// A record is kept also of what the end of the context has broken off.
	if err := r.bridge.options.Audit.Record(context.WithoutCancel(ctx), record); err != nil {
		r.bridge.log.ErrorContext(ctx, "cannot keep an audit record", "enactment", r.key, "kind", record.Kind, "error", err)
	}
}

func (r *run) denied(ctx context.Context, rule *governed, err error) {
	record := r.record(audit.Denied, rule)
	record.Detail = r.scrub.text(err.Error(), true)
	r.tell(ctx, record)
}

// left says that the target is left alone.
func (r *run) left(ctx context.Context, rule *governed, err error) {
	record := r.record(audit.BreakerOpen, rule)
	record.Detail = err.Error()
	r.tell(ctx, record)
}

// unsettled writes down that nobody can tell what became of the request of the step, unless it has not left.
func (r *run) unsettled(ctx context.Context, unclear *unclearError) {
	if unclear.unsent || r.at >= len(r.plan.steps) {
		return
	}
	rule := r.bridge.governed[r.plan.steps[r.at].request]
	if rule == nil {
		return
	}
	record := r.record(audit.UnknownOutcome, rule)
	record.Outcome, record.Detail, record.KeyHash = string(Unknown), unclear.detail, r.bridge.options.Hasher.Key(r.idempotency)
	r.tell(ctx, record)
}

// intend writes down that a call is about to leave, where nothing may leave without that.
func (x *exchange) intend(ctx context.Context) error {
	if !x.bridge.options.AuditRequired || x.rule.keyless(x.step.request) {
		return nil
	}
	record := x.record(audit.Intent, x.rule)
	record.Attempt, record.Method, record.URL = x.sends+1, x.step.request.method, x.rule.ShownURL(x.shown.url)
	record.KeyHash = x.bridge.options.Hasher.Key(x.idempotency)
	if err := x.bridge.options.Audit.Record(ctx, record); err != nil {
		return fmt.Errorf("bridge: no audit, no call: %w", err)
	}
	return nil
}

// attempted is one attempt on the wire.
type attempted struct {
	request  Request
	rule     *governed
	shown    shownRequest
	began    time.Time
	latency  time.Duration
	response Response
	said     string
	answer   *answer
	err      error
}

// attempted writes down an attempt on the wire, and notes what was said last.
func (x *exchange) attempted(ctx context.Context, t attempted) {
	kind := audit.FirstCall
	switch {
	case t.request.Query:
		kind = audit.StatusQuery
	case x.sends > 1:
		kind = audit.Retry
	}
	record := x.record(kind, t.rule)
	record.At, record.Latency = t.began.UTC(), t.latency
	record.Method, record.URL, record.Request = t.request.Method, t.rule.ShownURL(t.shown.url), t.rule.Shown(t.shown.body)
	record.Status, record.Response = t.response.Status, t.rule.Shown(t.said)
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(t.began) < t.rule.Contract.Timeout.Value {
		record.Sources = maps.Clone(record.Sources)
		record.Sources["execution.timeout_ms"] = string(acc.Remaining)
	}
	if !t.request.Query {
		record.Attempt, record.KeyHash = x.sends, x.bridge.options.Hasher.Key(x.idempotency)
		record.BodyDigest = x.bridge.options.Hasher.Request(t.request.Method, t.request.URL, t.request.Body)
	}
	switch {
	case t.answer == nil:
		record.Outcome, record.Detail = string(Unknown), x.scrub.text(x.reason, true)
	case t.answer.kind == ask || t.answer.kind == resend || t.answer.kind == wait:
		record.Outcome, record.Detail = string(Open), x.scrub.text(x.reason, true)
	default:
		record.Outcome = string(Known)
	}
	last := record
	if last.Status != 0 || x.last == nil || x.last.Status == 0 {
		x.last = &last
	}
	if !t.request.Query && last.Status != 0 {
		x.said = &last
	}
	x.sensitive = x.sensitive || t.rule.Contract.AuditSensitive.Value
	if t.rule.Contract.AuditSensitive.Value {
		record.Request, record.Response, record.BodyDigest = "", "", ""
	}
	x.tell(ctx, record)
}

// compare looks at the answers to one request that was sent more than once under one key: an operation that is idempotent
// gives the same result again. An answer that was not to be final says nothing.
func (x *exchange) compare(ctx context.Context, rule *governed, response Response, a *answer) {
	if response.Status < http.StatusOK || response.Status >= http.StatusMultipleChoices || a != nil && (a.kind == ask || a.kind == wait) {
		return
	}
	replayed := response.Header.Get("Idempotency-Replayed") == "true" || response.Header.Get("Idempotent-Replayed") == "true"
	sum := sha256.Sum256(response.Body)
	result := fmt.Sprintf("%d %s", response.Status, hex.EncodeToString(sum[:]))
	before, same := len(x.results), x.results[result]
	if x.results == nil {
		x.results = make(map[string]bool)
	}
	x.results[result] = true
	record := x.record(audit.IdempotencyHit, rule)
	record.Attempt, record.Status, record.KeyHash = x.sends, response.Status, x.bridge.options.Hasher.Key(x.idempotency)
	switch {
	case replayed:
		record.Detail = "the remote party says that it repeats an earlier result"
	case same && x.sends > 1:
		record.Inferred, record.Detail = true, "the same result as before"
	case before > 0:
		record.Kind, record.Inferred = audit.ConflictingResult, true
		record.Detail = "another result than before, for the same request under the same key: is the operation idempotent?"
		x.bridge.log.WarnContext(ctx, "one request under one key has had different results",
			"enactment", x.key, "operation", rule.Name, "action", x.plan.action, "step", x.step.name)
	default:
		return
	}
	x.tell(ctx, record)
}
