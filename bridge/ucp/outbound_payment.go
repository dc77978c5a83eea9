package ucp

import (
	"context"
	"maps"
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
