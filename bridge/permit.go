package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// permit tells whether the request may be made at all, and asks where somebody has to agree. The error is a
// [*policy.DeniedError] if it may not, a [*pausedError] while nobody has decided, or what kept it from asking. Nothing has
// been sent or written down yet, so that a restart asks the same question again.
func (x *exchange) permit(ctx context.Context, arguments enactment.Values) error {
	question, err := x.rule.Permit(x.principal, arguments)
	if err != nil {
		x.denied(ctx, x.rule, err)
		return err
	}
	if question == nil {
		return nil
	}
	return x.approve(ctx, question)
}

// approve asks for an approval of exactly this request.
func (x *exchange) approve(ctx context.Context, question *policy.Question) error {
	if x.bridge.options.Approvals == nil {
		return x.refuse(ctx, "there is nobody to ask")
	}
	request, err := x.question(question)
	if err != nil {
		return err
	}
	x.approval = request.ID
	decision, refused := x.bridge.paused.refusal(request.ID)
	if !refused {
		decision, err = x.bridge.options.Approvals.Ask(ctx, request)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x.reason = fmt.Sprintf("approval %s: %v", x.approval, err)
		return x.unclear(err)
	}
	if decision.State == approval.Pending {
		if x.bridge.paused.await(x.run) {
			record := x.record(audit.ApprovalRequested, x.rule)
			record.Detail = strings.Join(request.Labels, "; ")
			x.tell(ctx, record)
		}
		return &pausedError{request.ID}
	}
	if decision.State == approval.Granted && x.step.since != "" && !x.agreed && x.bridge.paused.waits(request.ID) && decision.At.After(x.looked) {
		// This was taken up for another reason while somebody was asked, and looked before they agreed.
		x.agreed = true
		return errLookAgain
	}
	record := x.record(audit.ApprovalDecided, x.rule)
	record.Outcome, record.Detail = string(decision.State), decidedBy(decision)
	record.Latency = x.bridge.paused.decided(request.ID)
	x.tell(ctx, record)
	if decision.State != approval.Granted {
		return x.refuse(ctx, string(decision.State)+decidedBy(decision))
	}
	return nil
}

func decidedBy(decision approval.Decision) string {
	text := ""
	if decision.By != "" {
		text = " by " + decision.By
	}
	if decision.Reason != "" {
		text += ": " + decision.Reason
	}
	return text
}

// refuse says that nobody agrees.
func (x *exchange) refuse(ctx context.Context, why string) error {
	err := &policy.DeniedError{Operation: x.rule.Name, Reason: policy.ErrNotApproved, Detail: why}
	x.denied(ctx, x.rule, err)
	return err
}

// question is what is asked. Its id is that of the step for the observed instance, so that it is found again after a
// restart; the digest binds the decision to these very bytes.
func (x *exchange) question(q *policy.Question) (approval.Request, error) {
	about := struct {
		Method string          `json:"method"`
		URL    string          `json:"url"`
		Body   json.RawMessage `json:"body,omitempty"`
	}{x.step.request.method, x.rule.ShownURL(x.shown.url), json.RawMessage(x.rule.Shown(x.shown.body))}
	arguments, err := encodeJSON(about)
	if err != nil {
		return approval.Request{}, err
	}
	values, err := x.observedValues()
	if err != nil {
		return approval.Request{}, err
	}
	sum := sha256.Sum256([]byte(string(x.key) + "\n" + x.instance + "\n" + x.step.name))
	now := time.Now().UTC()
	return approval.Request{
		ID: hex.EncodeToString(sum[:16]), Operation: x.rule.Name, Scope: x.rule.Contract.Scope.Value,
		Enactment: x.key, Action: x.plan.action, Step: x.step.name, Values: values, Arguments: arguments,
		Digest: x.bridge.options.Hasher.Request(x.step.request.method, x.url, x.body),
		Labels: q.Labels, Prompt: q.Prompt, At: now, Expires: now.Add(q.Lifetime),
	}, nil
}

// observedValues is what may be shown of the observed instance to whoever is asked; nothing if it is too long for a question.
func (x *exchange) observedValues() (json.RawMessage, error) {
	shown := make(enactment.Values)
	for name, value := range x.observed.Values() {
		if !x.bridge.rules.Secret(name) {
			shown[name] = value
		}
	}
	text, err := encodeJSON(shown)
	if err != nil {
		return nil, err
	}
	if text = []byte(x.rule.Shown(string(text))); len(text) > approval.MaxArguments || !json.Valid(text) {
		return nil, nil
	}
	return text, nil
}

// admit lets an attempt leave when the limits admit it.
func (x *exchange) admit(ctx context.Context, rule *governed, again bool) error {
	admission, err := rule.Admit(ctx, x.principal, again)
	var limited *policy.LimitedError
	switch {
	case errors.As(err, &limited):
		record := x.record(audit.Limited, rule)
		record.Detail = limited.Error()
		x.tell(ctx, record)
	case err == nil && admission.Waited > 0:
		record := x.record(audit.Limited, rule)
		record.Detail, record.Latency = "waited for "+admission.Limit.String(), admission.Waited
		x.tell(ctx, record)
	}
	return err
}
