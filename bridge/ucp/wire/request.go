package wire

import (
	"fmt"
	"slices"
)

// EncodeRequest makes the body that the release wants of a request in the model. It is nil for operations without one.
// The error is an [*UnknownReleaseError].
//
// What a release does not know is left out where the release would not know what to do with it: context, signals and
// attribution before they were there. Sources: UCP 2026-01-11 and 2026-01-23, checkout.json with its ucp_request
// annotations; 2026-04-08, checkout.json.
func (r Release) EncodeRequest(x Exchange, model Object) (Object, error) {
	if !r.Known() {
		return nil, &UnknownReleaseError{string(r)}
	}
	switch x.Operation {
	case GetCheckout, CancelCheckout, GetOrder:
		return nil, nil
	case CreateCheckout, UpdateCheckout, CompleteCheckout:
	default:
		return nil, fmt.Errorf("ucp: %q is no operation", x.Operation)
	}
	out := cloned(model)
	for _, answered := range []string{"ucp", "status", "totals", "messages", "links", "expires_at", "continue_url", "order"} {
		delete(out, answered)
	}
	delete(object(out, "discounts"), "applied")
	if x.Draft && r == April2026 {
		lowerDraft(out)
	}
	if x.Operation == CompleteCheckout {
		return r.encodeComplete(out), nil
	}
	delete(out, "id")
	if x.Operation == UpdateCheckout && r.before(April2026) {
		out["id"] = x.Checkout
	}
	if r.before(April2026) {
		delete(out, "signals")
		delete(out, "attribution")
	}
	if r == January11 {
		out["currency"] = x.Currency
		if wanted := text(object(out, "context"), "currency"); wanted != "" {
			out["currency"] = wanted
		}
		delete(out, "context")
		titled(out)
		lowerPayment(out)
	} else {
		delete(out, "currency")
		if payment := object(out, "payment"); payment != nil {
			delete(payment, "handlers")
		}
	}
	return out, nil
}

// titled gives every item a title: the schema leaves titles to the business, but the public Python server breaks off
// without.
func titled(in Object) {
	for _, line := range objects(in, "line_items") {
		if item := object(line, "item"); item != nil && item["title"] == nil {
			item["title"] = text(item, "id")
		}
	}
}

func (r Release) encodeComplete(in Object) Object {
	out := Object{}
	if ap2, ok := in["ap2"]; ok {
		out["ap2"] = ap2
	}
	switch {
	case r == January11:
		out["payment_data"] = lowerInstrument(selected(object(in, "payment")))
		out["risk_signals"] = riskSignals(in)
	case r == January23:
		out["payment"] = orEmpty(object(in, "payment"))
		if signals := riskSignals(in); len(signals) > 0 {
			out["risk_signals"] = signals
		}
	default:
		out["payment"] = orEmpty(object(in, "payment"))
		for _, name := range []string{"signals", "attribution"} {
			if value, ok := in[name]; ok {
				out[name] = value
			}
		}
		if buyer := object(in, "buyer"); buyer["consent"] != nil {
			out["buyer"] = Object{"consent": buyer["consent"]}
		}
	}
	return out
}

func riskSignals(in Object) Object { return orEmpty(object(in, "signals")) }

func orEmpty(in Object) Object {
	if in == nil {
		return Object{}
	}
	return in
}

// DecodeRequest makes a request in the model of the body that a platform of the release has sent; nil stands for no
// body. Members that are not known are kept. The error is an [*UnknownReleaseError]. Whether the request makes sense is
// not looked at.
func (r Release) DecodeRequest(x Exchange, body Object) (Object, error) {
	if !r.Known() {
		return nil, &UnknownReleaseError{string(r)}
	}
	out := cloned(body)
	raiseDraft(out)
	if x.Operation == CompleteCheckout {
		return r.decodeComplete(out), nil
	}
	if !slices.Contains([]Operation{CreateCheckout, UpdateCheckout}, x.Operation) {
		return out, nil
	}
	if r == January11 {
		if currency := text(out, "currency"); currency != "" {
			context := orEmpty(object(out, "context"))
			if context["currency"] == nil {
				context["currency"] = currency
			}
			out["context"] = context
		}
		delete(out, "currency")
		raisePayment(out)
	}
	if r.before(April2026) {
		rename(out, "risk_signals", "signals")
		if fulfillment := object(out, "fulfillment"); fulfillment != nil {
			raiseFulfillment(fulfillment)
		}
	}
	return out, nil
}

func (r Release) decodeComplete(out Object) Object {
	if r.before(April2026) {
		rename(out, "risk_signals", "signals")
		if signals := object(out, "signals"); signals != nil && len(signals) == 0 {
			delete(out, "signals")
		}
	}
	if data := object(out, "payment_data"); data != nil && r == January11 {
		instrument := raiseInstrument(data)
		instrument["selected"] = true
		delete(out, "payment_data")
		out["payment"] = Object{"instruments": list(instrument)}
	}
	return out
}
