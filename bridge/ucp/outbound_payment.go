package ucp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// instrument is the hook instrument: it turns the value of the attribute payment into the payment instrument of a complete
// request (UCP 2026-04-08, card_payment_instrument.json). The value is the instrument itself, an object with
//
//	handler_id     the payment handler, one that discovery offers (required)
//	credential     {"type": ..., "token": ...}, or what else the handler takes; or instead of it
//	token          the token alone, which becomes {"type": "token", "token": ...}
//	brand          such as "Visa", and
//	last_digits    such as "1234", both required of the type card, and in display if not here
//	type           by default "card"
//	id             the instrument's id, by default "instrument"
//
// and whatever else the handler wants, such as billing_address, which is passed on. What is lacking is found out here,
// since a shop may answer it with a status from which nothing can be concluded.
func instrument(_ context.Context, input any) (any, error) {
	given, ok := input.(map[string]any)
	if !ok {
		return nil, unfit("payment_invalid", "the payment is no object")
	}
	data := maps.Clone(given)
	if token, ok := data["token"]; ok {
		delete(data, "token")
		if data["credential"] == nil {
			data["credential"] = map[string]any{"type": "token", "token": token}
		}
	}
	for name, otherwise := range map[string]string{"type": "card", "id": "instrument"} {
		if data[name] == nil {
			data[name] = otherwise
		}
	}
	// The samples refuse a null where a member may be left out.
	maps.DeleteFunc(data, func(_ string, value any) bool { return value == nil })
	for _, name := range []string{"id", "handler_id", "type"} {
		if text, ok := data[name].(string); !ok || text == "" {
			return nil, unfit("payment_invalid", "the payment has no %s", name)
		}
	}
	display := map[string]any{}
	if given, ok := data["display"].(map[string]any); ok {
		maps.Copy(display, given)
	}
	for _, name := range []string{"brand", "last_digits"} {
		if value, ok := data[name]; ok {
			display[name] = value
			delete(data, name)
		}
		// Since 2026-01-23 they may be missing, but no shop is worse off with them.
		if text, ok := display[name].(string); data["type"] == "card" && (!ok || text == "") {
			return nil, unfit("payment_invalid", "the payment has no %s", name)
		}
	}
	if len(display) > 0 {
		data["display"] = display
	}
	data["selected"] = true
	credential, ok := data["credential"].(map[string]any)
	if !ok {
		return nil, unfit("payment_invalid", "the payment has no credential")
	}
	if kind, ok := credential["type"].(string); !ok || kind == "" {
		return nil, unfit("payment_invalid", "the credential has no type")
	} else if token, ok := credential["token"].(string); kind != "card" && (!ok || token == "") {
		return nil, unfit("payment_invalid", "the credential has no token")
	}
	return data, nil
}

// payment is the hook payment: it makes the body of a complete request (UCP 2026-04-08, checkout.json and payment.json)
// of what pays, {"paying", "handlers", "release"}. Paying is the value of the attribute credential, which is that body:
// {"payment": {"instruments": [...]}} with at least one instrument, of the form that the hook instrument takes, and signals
// or ap2 where the shop wants them. Handlers are those that the shop has stated for the checkout, if any: what they do not
// take is not tried.
func payment(ctx context.Context, input any) (any, error) {
	given, _ := input.(map[string]any)
	body, ok := given["paying"].(map[string]any)
	if !ok {
		return nil, unfit("payment_invalid", "the payment is no object")
	}
	paying, _ := body["payment"].(map[string]any)
	instruments, _ := paying["instruments"].([]any)
	if len(instruments) == 0 {
		return nil, unfit("payment_invalid", "the payment has no instruments")
	}
	stated, _ := given["handlers"].(map[string]any)
	if given["release"] == string(wire.January11) {
		stated = nil // The public shops of that release list other handlers with a checkout than they take.
	}
	checked := make([]any, 0, len(instruments))
	for _, element := range instruments {
		one, err := instrument(ctx, element)
		if err == nil {
			err = takenBy(stated, one)
		}
		if err != nil {
			return nil, err
		}
		checked = append(checked, one)
	}
	paying = maps.Clone(paying)
	paying["instruments"] = checked
	out := map[string]any{"payment": paying}
	for _, name := range []string{"signals", "attribution", "ap2"} {
		if value := body[name]; value != nil {
			out[name] = value
		}
	}
	return out, nil
}

// takenBy tells whether an instrument is one that the handlers of a checkout take (UCP 2026-04-08, payment handler guide:
// what a response says of available_instruments is authoritative). A shop that lists no handlers has said nothing, and a
// handler that lists no instruments takes all of its own.
func takenBy(handlers map[string]any, paid any) error {
	if len(handlers) == 0 {
		return nil
	}
	with, _ := paid.(map[string]any)
	id, _ := with["handler_id"].(string)
	var others []string
	for _, entries := range handlers {
		listed, _ := entries.([]any)
		for _, element := range listed {
			handler, _ := element.(map[string]any)
			if handler["id"] != id {
				name, _ := handler["id"].(string)
				others = append(others, shortly(name))
				continue
			}
			available, _ := handler["available_instruments"].([]any)
			if len(available) > 0 && !slices.ContainsFunc(available, func(one any) bool { return admits(one, with) }) {
				return unfit(CodeNotTaken, "for this checkout the shop does not take such an instrument by this handler")
			}
			return nil
		}
	}
	slices.Sort(others)
	return unfit(CodeNotTaken, "for this checkout the shop does not take payments by this handler, but by %s", strings.Join(others, ", "))
}

// CodeNotTaken is the code of the notice by which a payment is declined that the shop does not take for the checkout. It
// has not been asked then.
const CodeNotTaken = "payment_handler_unavailable"

// admits tells whether an instrument is one of those that are available: of the type, and of the brands if there are any.
func admits(available any, with map[string]any) bool {
	of, _ := available.(map[string]any)
	if of["type"] != with["type"] {
		return false
	}
	constraints, _ := of["constraints"].(map[string]any)
	brands, limited := constraints["brands"].([]any)
	display, _ := with["display"].(map[string]any)
	brand, _ := display["brand"].(string)
	return !limited || slices.ContainsFunc(brands, func(one any) bool {
		name, _ := one.(string)
		return strings.EqualFold(name, brand)
	})
}
