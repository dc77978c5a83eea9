package wire

import "slices"

// raiseOrder makes an order of the model of one of an older release.
func (r Release) raiseOrder(x Exchange, out Object) {
	r.raiseMetadata(out)
	delete(object(out, "ucp"), "payment_handlers")
	if !r.before(April2026) {
		return
	}
	if out["currency"] == nil && x.Currency != "" {
		out["currency"] = x.Currency
	}
	raiseTotals(out, "totals")
	for _, line := range objects(out, "line_items") {
		raiseTotals(line, "totals")
	}
	fulfillment := orEmpty(object(out, "fulfillment"))
	out["fulfillment"] = fulfillment
	for _, event := range objects(fulfillment, "events") {
		rename(event, "timestamp", "occurred_at") // The public Python server's name for it.
		if event["line_items"] == nil {
			event["line_items"] = list() // Which goods it is about is not said.
		}
	}
	for _, expectation := range objects(fulfillment, "expectations") {
		if destination := object(expectation, "destination"); destination != nil {
			raiseAddress(destination)
		}
	}
	for _, adjustment := range objects(out, "adjustments") {
		raiseAdjustment(adjustment)
	}
}

// givesBack are the types of adjustments whose word says that something goes back: the buyer's money, and what was
// bought. UCP 2026-01-11, order, shows a refund with a positive amount.
var givesBack = []string{"refund", "return", "credit", "cancellation", "dispute"}

// raiseAdjustment gives an adjustment the totals and signs of the model, where money and goods that go back are negative.
// Before 2026-04-08 there is one amount, an integer of which the release does not say what its sign means: it is said by
// the type, which is an open word, or by a minus. An amount of which neither says whether the buyer gets or pays it, such as
// that of a price_adjustment, stays the amount that it is, for a charge that is shown as a refund is worse than none.
func raiseAdjustment(adjustment Object) {
	back := slices.Contains(givesBack, text(adjustment, "type"))
	if back {
		for _, line := range objects(adjustment, "line_items") {
			if n, ok := number(line, "quantity"); ok && n > 0 {
				line["quantity"] = amount(-n)
			}
		}
	}
	n, ok := number(adjustment, "amount")
	switch {
	case !ok || adjustment["totals"] != nil:
		return
	case n > 0 && back:
		n = -n
	case n > 0 && text(adjustment, "type") != "exchange": // Which is positive in the model where it costs something.
		return
	}
	delete(adjustment, "amount")
	adjustment["totals"] = list(Object{"type": "total", "amount": amount(n)})
}

// lowerOrder is the way back.
func (r Release) lowerOrder(out Object) {
	r.lowerMetadata(out, false)
	delete(object(out, "ucp"), "payment_handlers")
	if out["fulfillment"] == nil {
		out["fulfillment"] = Object{}
	}
	if r == April2026 {
		return
	}
	lowerTotals(out, "totals")
	for _, line := range objects(out, "line_items") {
		lowerTotals(line, "totals")
		if text(line, "status") == "removed" { // Nothing of it is left to be fulfilled.
			line["status"] = "fulfilled"
		}
		delete(object(line, "quantity"), "original")
	}
	for _, adjustment := range objects(out, "adjustments") {
		if n, ok := adjusted(objects(adjustment, "totals")); ok && adjustment["amount"] == nil {
			if n < 0 && slices.Contains(givesBack, text(adjustment, "type")) {
				n = -n // Else the sign stays, since nothing else would say which way the money goes.
			}
			adjustment["amount"] = amount(n)
		}
		delete(adjustment, "totals")
		for _, line := range objects(adjustment, "line_items") {
			if n, ok := number(line, "quantity"); ok && n < 0 { // Signed since 2026-04-08.
				line["quantity"] = amount(-n)
			}
		}
	}
	delete(out, "attribution")
	delete(out, "label")
	delete(out, "messages")
}

// adjusted is what an adjustment comes to: its total, else the sum of what it has.
func adjusted(totals []Object) (sum int64, ok bool) {
	for _, total := range totals {
		n, whole := number(total, "amount")
		switch {
		case !whole:
			continue
		case text(total, "type") == "total":
			return n, true
		}
		sum, ok = sum+n, true
	}
	return sum, ok
}

// EncodeOrder makes the order of a webhook, which is what [GetOrder] answers with. The errors are those of
// [Release.EncodeResponse].
func (r Release) EncodeOrder(model Object) (Object, error) {
	_, out, err := r.EncodeResponse(Exchange{Operation: GetOrder}, 200, model)
	return out, err
}

// DecodeOrder makes an order in the model of the one in a webhook. Where the body wraps the order, as the public servers
// do ({event_type, checkout_id, order}), the order is taken out of it. The errors are those of [Release.DecodeResponse].
func (r Release) DecodeOrder(x Exchange, body Object) (Object, error) {
	if order := object(body, "order"); order != nil && body["line_items"] == nil {
		body = order
	}
	x.Operation = GetOrder
	_, out, err := r.DecodeResponse(x, 200, body)
	return out, err
}
