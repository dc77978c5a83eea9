package ucp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/strabo-engine/strabo/adapter"
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
	// transient tells that the same request may be answered otherwise later, so that the answer is not repeated for its
	// Idempotency-Key.
	transient bool
}

// Error gives the code and the sentence.
func (p *problem) Error() string { return p.code + ": " + p.detail }

func (p *problem) body() any {
	messages := p.messages
	if messages == nil {
		severity := p.severity
		if severity == "" {
			severity = "recoverable"
		}
		messages = []Message{{
			Type: "error", Code: strings.ToLower(p.code), Path: p.path, Content: p.detail, Severity: severity,
		}}
	}
	return struct {
		Detail   string    `json:"detail"`
		Code     string    `json:"code"`
		Messages []Message `json:"messages"`
	}{p.detail, p.code, messages}
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
		status: http.StatusConflict, code: "CHECKOUT_NOT_MODIFIABLE", detail: fmt.Sprintf(format, arguments...),
	}
}

// unanswered is the answer when the Business has not answered in time: what was asked for may happen yet.
func unanswered(what string) *problem {
	return &problem{
		status: http.StatusServiceUnavailable, code: "NO_ANSWER_YET", transient: true,
		detail: what + " has been asked for and not been answered yet. It may still happen: get the checkout, or repeat the request with the same Idempotency-Key.",
	}
}

// refusedBy makes a problem of what an attempt failed with. A refusal by the engine is a conflict with what has
// happened in the meantime.
func refusedBy(err error, what string) error {
	var rejection *adapter.Rejection
	switch {
	case errors.As(err, &rejection):
	case errors.Is(err, adapter.ErrUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unanswered(what)
	default:
		return err
	}
	p := notModifiable("%s is not possible any more: %s", what, rejection.Detail)
	if rejection.Code == enactment.Malformed {
		p.status, p.code = http.StatusUnprocessableEntity, "INVALID_REQUEST"
	}
	p.messages = []Message{{Type: "error", Code: string(rejection.Code), Content: p.detail, Severity: "recoverable"}}
	return p
}

// answer is what a Business bound when it said no: a sentence, or an object with a code, the sentence as content, detail
// or message, and perhaps the path of what it is about.
type answer struct {
	Code    string `json:"code"`
	Content string `json:"content"`
	Detail  string `json:"detail"`
	Message string `json:"message"`
	Path    string `json:"path"`
}

func readAnswer(value enactment.Value, code, content string) answer {
	var a answer
	if value.Decode(&a.Content) != nil && value.Decode(&a) != nil {
		a = answer{}
	}
	a.Content = cmp.Or(a.Content, a.Detail, a.Message, content)
	a.Code = cmp.Or(a.Code, code)
	return a
}

func (a answer) message() Message {
	return Message{Type: "error", Code: a.Code, Path: a.Path, Content: a.Content, Severity: "recoverable"}
}

// problem gives a no of the Business the form of the wire.
func (a answer) problem(status int) *problem {
	return &problem{
		status: status, code: strings.ToUpper(a.Code), detail: a.Content, messages: []Message{a.message()},
	}
}

// refusal makes a problem of the reason why the Business did not create a checkout.
func refusal(refused enactment.Instance) *problem {
	reason, _ := refused.Value("reason")
	return readAnswer(reason, "refused", "The business refused the checkout.").problem(http.StatusBadRequest)
}

// declined gives the reason why the Business did not take the payment.
func declined(f facts) answer {
	decline, _ := f.declined.Value("decline")
	return readAnswer(decline, "payment_declined", "The payment was declined.")
}

// reply is an answer ready to be sent, or to be sent again.
type reply struct {
	status     int
	retryAfter bool
	body       []byte
}

func newReply(status int, body any) (reply, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return reply{}, fmt.Errorf("ucp: inbound: encode the answer: %w", err)
	}
	return reply{status: status, body: append(encoded, '\n')}, nil
}

func (r reply) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	if r.retryAfter {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(r.status)
	_, err := w.Write(r.body)
	return err
}
