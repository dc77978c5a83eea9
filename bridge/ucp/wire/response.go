package wire

import (
	"fmt"
	"net/http"
)

// EncodeResponse makes the status and the body that the release answers with of a response in the model. A status of
// 200 with ucp.status "error" and no resource is a business outcome: since 2026-04-08 it is sent so, before it the
// status says it too, see [Release.EncodeProblem]. Any other status of 400 and more is a protocol error, with the
// members code and content in the model.
//
// The error is an [*UnknownReleaseError]. Sources: UCP checkout.json, order.json and ucp.json of each release.
func (r Release) EncodeResponse(x Exchange, status int, model Object) (int, Object, error) {
	if !r.Known() {
		return 0, nil, &UnknownReleaseError{string(r)}
	}
	out := cloned(model)
	if status >= http.StatusBadRequest || object(out, "ucp")["status"] == "error" {
		status, out = r.EncodeProblem(problemOf(status, out))
		return status, out, nil
	}
	switch x.Operation {
	case GetOrder:
		r.lowerOrder(out)
	case CreateCheckout, GetCheckout, UpdateCheckout, CompleteCheckout, CancelCheckout:
		r.lowerCheckout(out)
	default:
		return 0, nil, fmt.Errorf("ucp: %q is no operation", x.Operation)
	}
	return status, out, nil
}

func (r Release) lowerCheckout(out Object) {
	r.lowerMetadata(out, true)
	if out["links"] == nil {
		out["links"] = list()
	}
	if r == April2026 {
		return
	}
	lowerTotals(out, "totals")
	for _, line := range objects(out, "line_items") {
		lowerTotals(line, "totals")
	}
	if fulfillment := object(out, "fulfillment"); fulfillment != nil {
		lowerFulfillment(fulfillment)
	}
	for _, message := range objects(out, "messages") {
		lowerMessage(message)
	}
	for _, name := range []string{"signals", "attribution"} {
		delete(out, name)
	}
	if r == January11 || r == January23 {
		delete(out, "context")
	}
}

// lowerMessage gives a message a severity that an older release has: what cannot be recovered is handed to the buyer.
func lowerMessage(message Object) {
	if text(message, "severity") == "unrecoverable" {
		message["severity"] = "requires_buyer_input"
	}
}

// DecodeResponse makes a response in the model of what a business of the release has answered. Statuses of 400 and more
// become {ucp: {status: "error"}, messages}, with the status that the model has for them: 200 for a business outcome,
// the status itself for a protocol error (with code and content). Members that are not known are kept. The error is an
// [*UnknownReleaseError]; a success that is no resource at all comes back as it is, and a checkout that comes with such a
// status is a checkout, for what it says of an order must not get lost.
func (r Release) DecodeResponse(x Exchange, status int, body Object) (int, Object, error) {
	if !r.Known() {
		return 0, nil, &UnknownReleaseError{string(r)}
	}
	out := cloned(body)
	if status >= http.StatusMultipleChoices && !resource(out) {
		status, out = r.DecodeProblem(x.Operation, status, out)
		return status, out, nil
	}
	if x.Operation == GetOrder {
		r.raiseOrder(x, out)
		return status, out, nil
	}
	r.raiseMetadata(out)
	raiseDraft(out)
	if out["id"] == nil && object(out, "ucp")["status"] == "success" && hasError(out) {
		object(out, "ucp")["status"] = "error"
	}
	if r == January11 {
		raisePayment(out)
		if id := text(out, "order_id"); id != "" && out["order"] == nil {
			order := Object{"id": id}
			if at := text(out, "order_permalink_url"); at != "" {
				order["permalink_url"] = at
			}
			out["order"] = order
		}
		delete(out, "order_id")
		delete(out, "order_permalink_url")
	}
	if out["id"] != nil && out["links"] == nil {
		out["links"] = list() // The public Node server leaves them out.
	}
	if r.before(April2026) {
		raiseTotals(out, "totals")
		for _, line := range objects(out, "line_items") {
			raiseTotals(line, "totals")
		}
		if fulfillment := object(out, "fulfillment"); fulfillment != nil {
			raiseFulfillment(fulfillment)
		}
	}
	return status, out, nil
}

// resource tells whether an answer is a checkout or an order, whatever its status says.
func resource(message Object) bool {
	if text(message, "id") == "" {
		return false
	}
	return array(message, "line_items") != nil || object(message, "order") != nil || text(message, "order_id") != ""
}

func hasError(message Object) bool {
	for _, m := range objects(message, "messages") {
		if text(m, "type") == "error" {
			return true
		}
	}
	return false
}
