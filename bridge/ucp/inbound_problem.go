package ucp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// problem is an answer that says no. On the wire it is {detail, code, messages}: the first two as the public servers
// have them, the third as the specification has it.
type problem struct {
	status       int
	code, detail string
	// path is the JSONPath of what is wrong, and severity who can put it right; recoverable if empty.
	path, severity string
	// messages take the place of the one message made of the above.
	messages []Message
	// transient tells that the same request may be answered otherwise later, so that the answer is not kept for its
	// Idempotency-Key.
	transient bool
	// outcome tells that the business has decided so, about a checkout that is there: see [Inbound.outcome].
	outcome bool
}

// Error gives the code and the sentence.
func (p *problem) Error() string { return p.code + ": " + p.detail }

// said are the messages that tell it.
func (p *problem) said() []Message {
	if p.messages != nil {
		return p.messages
	}
	severity := p.severity
	if severity == "" {
		severity = "recoverable"
	}
	return []Message{{
		Type: "error", Code: strings.ToLower(p.code), Path: p.path, Content: p.detail, Severity: severity,
	}}
}

func (p *problem) body() any {
	return struct {
		Detail   string    `json:"detail"`
		Code     string    `json:"code"`
		Messages []Message `json:"messages"`
	}{p.detail, p.code, p.said()}
}

func notFound(what, id string) *problem {
	return &problem{
		status: http.StatusNotFound, code: "RESOURCE_NOT_FOUND",
		detail: fmt.Sprintf("%s %s not found.", what, id), transient: true,
	}
}

// notModifiable is the answer to what comes too late.
func notModifiable(format string, arguments ...any) *problem {
	return &problem{
		status: http.StatusConflict, code: "CHECKOUT_NOT_MODIFIABLE", detail: fmt.Sprintf(format, arguments...), outcome: true,
	}
}

// busy is the answer to what comes while something else is being decided: it may be asked for again.
func busy(format string, arguments ...any) *problem {
	p := notModifiable(format, arguments...)
	p.transient = true
	return p
}

// unanswered is the answer when the Business has not answered in time: what was asked for may happen yet.
func unanswered(what string) *problem {
	return &problem{
		status: http.StatusServiceUnavailable, code: "NO_ANSWER_YET", transient: true,
		detail: what + " has been asked for and not been answered yet. It may still happen: get the checkout, or repeat the request with the same Idempotency-Key.",
	}
}

var tooMany = &problem{
	status: http.StatusServiceUnavailable, code: "BUSY", detail: "There are too many requests at once.", transient: true,
}

var keyReused = &problem{
	status: http.StatusConflict, code: "IDEMPOTENCY_CONFLICT", transient: true,
	detail: "The Idempotency-Key was used for another request.",
}

var preconditionFailed = &problem{
	status: http.StatusPreconditionFailed, code: "PRECONDITION_FAILED", transient: true,
	detail: "The checkout is not any more what If-Match says.",
}

// invalid is the problem of a body that has not the shape of the wire.
func invalid(path, format string, arguments ...any) *problem {
	return &problem{
		status: http.StatusUnprocessableEntity, code: "INVALID_REQUEST", path: path,
		detail: fmt.Sprintf(format, arguments...),
	}
}

// refusedBy makes a problem of a refusal by the engine that no other state can explain: a conflict, or a value that
// cannot be bound.
func refusedBy(r *enactment.Rejection, what string) *problem {
	p := notModifiable("%s is not possible any more: %s", what, r.Detail)
	if r.Code == enactment.Malformed {
		p.status, p.code, p.outcome = http.StatusUnprocessableEntity, "INVALID_REQUEST", false
	}
	p.messages = []Message{{Type: "error", Code: string(r.Code), Content: p.detail, Severity: "recoverable"}}
	return p
}

// said makes a problem of the no of a Business, which an instance has bound under a name.
func said(i *enactment.Instance, name string, status func(code string) int) *problem {
	no := model.No{Code: "refused", Content: "The business refused."}
	if value, ok := i.Value(name); ok {
		if err := value.Decode(&no); err != nil {
			no.Content = value.String()
		}
	}
	code := no.Code
	if declines[code] {
		code = "payment_failed"
	}
	return &problem{
		status: status(no.Code), code: strings.ToUpper(no.Code), detail: no.Content, outcome: true,
		messages: []Message{{Type: "error", Code: code, Path: no.Path, Content: no.Content, Severity: "recoverable"}},
	}
}

// declines are ways in which a payment fails. The public samples have a code for each, and messages the one that UCP has
// for all of them, which platforms are expected to know (UCP 2026-04-08, checkout, standard errors).
var declines = map[string]bool{"insufficient_funds": true, "fraud_detected": true, "unknown_token": true}

// statusOfRefusal and statusOfDecline are what the public samples answer; UCP 2026-01-11 leaves it open.
func statusOfRefusal(string) int { return http.StatusBadRequest }

func statusOfDecline(code string) int {
	switch code {
	case "out_of_stock":
		return http.StatusConflict
	case "fraud_detected":
		return http.StatusForbidden
	case "invalid":
		return http.StatusBadRequest
	default:
		return http.StatusPaymentRequired
	}
}

// problemOf finds the problem in an error.
func problemOf(err error) (*problem, bool) { return errors.AsType[*problem](err) }
