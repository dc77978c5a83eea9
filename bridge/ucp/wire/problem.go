package wire

import (
	"cmp"
	"net/http"
	"strings"
)

// Problem is an answer that says no.
type Problem struct {
	// Status is the HTTP status, 200 for a business outcome in the model.
	Status int
	// Code is from UCP's lists, such as out_of_stock, and in lower case; Content is a sentence.
	Code, Content string
	// Messages are what is said to the platform; at least one is of the type error where it is a business outcome.
	Messages []Object
	// ContinueURL is where the buyer can go on; empty if there is no such place.
	ContinueURL string
}

// Business tells whether the problem is a business outcome, which UCP answers with 200, and no protocol error.
func (p Problem) Business() bool { return p.Status < http.StatusBadRequest }

// legacyStatus are the statuses that releases before 2026-04-08, which leave them open, have for business outcomes in
// the wild.
var legacyStatus = map[string]int{
	"payment_failed":          http.StatusPaymentRequired,
	"payment_declined":        http.StatusPaymentRequired,
	"insufficient_funds":      http.StatusPaymentRequired,
	"unknown_token":           http.StatusPaymentRequired,
	"fraud_detected":          http.StatusForbidden,
	"not_found":               http.StatusNotFound,
	"resource_not_found":      http.StatusNotFound,
	"checkout_not_modifiable": http.StatusConflict,
}

// EncodeProblem makes the answer of the release: since 2026-04-08 a business outcome is 200 with {ucp: {status: "error"},
// messages}, and a protocol error {code, content}. Before, the status says no, and the body has the forms that clients
// know: detail and code of the public servers beside the messages of the specification.
func (r Release) EncodeProblem(p Problem) (int, Object) {
	messages := list()
	for _, message := range p.Messages {
		message = cloned(message)
		if r.before(April2026) {
			lowerMessage(message)
		}
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		messages = list(Object{"type": "error", "code": p.Code, "content": p.Content, "severity": "recoverable"})
	}
	if !r.before(April2026) {
		if !p.Business() {
			out := Object{"code": p.Code, "content": p.Content}
			if p.ContinueURL != "" {
				out["continue_url"] = p.ContinueURL
			}
			return p.Status, out
		}
		out := Object{"ucp": Object{"version": string(r), "status": "error"}, "messages": messages}
		if p.ContinueURL != "" {
			out["continue_url"] = p.ContinueURL
		}
		return http.StatusOK, out
	}
	status := p.Status
	if p.Business() {
		status = cmp.Or(legacyStatus[p.Code], http.StatusBadRequest)
	}
	out := Object{
		"detail": p.Content, "code": strings.ToUpper(p.Code), "status": "error", "messages": messages,
	}
	if p.ContinueURL != "" {
		out["continue_url"] = p.ContinueURL
	}
	return status, out
}

// problemOf reads a problem in the model.
func problemOf(status int, model Object) Problem {
	p := Problem{
		Status: status, Code: text(model, "code"), Content: text(model, "content"),
		Messages: objects(model, "messages"), ContinueURL: text(model, "continue_url"),
	}
	for _, message := range p.Messages {
		if text(message, "type") == "error" {
			p.Code, p.Content = cmp.Or(p.Code, text(message, "code")), cmp.Or(p.Content, text(message, "content"))
		}
	}
	return p
}

// protocolStatus are statuses that say something of the request and not of the business (UCP 2026-04-08, overview,
// errors). A 409 is one where an idempotency key was used for something else.
var protocolStatus = map[int]bool{
	http.StatusUnauthorized: true, http.StatusMethodNotAllowed: true, http.StatusRequestTimeout: true,
	http.StatusPreconditionFailed: true, http.StatusRequestEntityTooLarge: true, http.StatusUnsupportedMediaType: true,
	http.StatusUnprocessableEntity: true, http.StatusFailedDependency: true, http.StatusTooEarly: true,
	http.StatusTooManyRequests: true,
}

// protocolCodes are codes of protocol errors, as they are written in lower case.
var protocolCodes = map[string]bool{
	"idempotency_conflict": true, "version_unsupported": true, "invalid_profile_url": true,
	"digest_mismatch": true, "algorithm_unsupported": true, "profile_not_trusted": true,
}

// plainCodes are the codes of the model for what servers say by the status alone.
var plainCodes = map[int]string{
	http.StatusPaymentRequired: "payment_failed", http.StatusNotFound: "not_found", http.StatusConflict: "conflict",
}

// DecodeProblem makes the answer of the model of one with a status of 300 and more. Since 2026-04-08 that is a protocol
// error and stays one. Before, business outcomes came with such statuses too; which it is shows in the status and code:
// 402, 403, 404, 409 and 400 with a business code are the business speaking. What servers say is looked for where the
// specification and the public servers have it.
func (r Release) DecodeProblem(_ Operation, status int, body Object) (int, Object) {
	nested := body
	if detail := object(body, "detail"); detail != nil {
		nested = detail
	}
	first := Object{}
	for _, from := range []Object{body, nested} {
		for _, name := range []string{"messages", "errors"} {
			if found := objects(from, name); len(found) > 0 && len(first) == 0 {
				first = found[0]
			}
		}
	}
	code := strings.ToLower(cmp.Or(text(body, "code"), text(nested, "code"), text(first, "code"), plainCodes[status], "http_"+statusWord(status)))
	content := cmp.Or(
		text(body, "detail"), text(body, "content"), text(nested, "content"), text(first, "content"), text(first, "message"),
		text(body, "message"), text(body, "error"), text(nested, "message"), http.StatusText(status),
	)
	if status >= 500 || status < 400 || protocolStatus[status] || protocolCodes[code] || !r.before(April2026) ||
		strings.Contains(strings.ToLower(content), "idempotency key") {
		return status, Object{"code": code, "content": content}
	}
	messages := list()
	for _, message := range objects(body, "messages") {
		messages = append(messages, clone(message))
	}
	if len(messages) == 0 {
		messages = list(Object{"type": "error", "code": code, "content": content, "severity": "recoverable"})
	}
	out := Object{"ucp": Object{"version": string(r), "status": "error"}, "messages": messages}
	if next := text(body, "continue_url"); next != "" {
		out["continue_url"] = next
	}
	return http.StatusOK, out
}

func statusWord(status int) string {
	word := strings.ToLower(http.StatusText(status))
	if word == "" {
		return "status"
	}
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(word)
}
