package ucp

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// wrongRequest is a request that is not what the schemas of its release ask for. Path is a JSONPath.
func wrongRequest(path, format string, arguments ...any) *wireError {
	return &wireError{http.StatusBadRequest, "invalid_request", path + ": " + fmt.Sprintf(format, arguments...)}
}

// decodeStrictly reads a JSON object that says one thing to whoever reads it: it is Unicode, and has no member twice.
func decodeStrictly(text []byte) (wire.Object, error) {
	if _, err := enactment.ParseValue(text); err != nil {
		return nil, &wireError{http.StatusBadRequest, "invalid_request", "The body is not sound JSON."}
	}
	said, err := wire.Decode(text)
	if err != nil {
		return nil, &wireError{http.StatusBadRequest, "invalid_request", "The body is no JSON object."}
	}
	return said, nil
}

// objectMembers are the members of requests that are objects, where they are there.
var objectMembers = []string{"buyer", "context", "signals", "attribution", "payment", "fulfillment", "discounts", "ap2"}

// checkRequest holds a request in the model to what gets lost, or another meaning, on its way to the business. What the
// business reads it checks itself. For a payment it tells which of the instruments pays.
func checkRequest(x wire.Exchange, model wire.Object) (pays int, err error) {
	for _, name := range objectMembers {
		if value, there := model[name]; there {
			if _, ok := value.(wire.Object); !ok {
				return 0, wrongRequest("$."+name, "It must be an object.")
			}
		}
	}
	// The id stands in the path, or beside the checkout; who says another one means another checkout.
	if id, there := model["id"]; there && x.Operation != wire.CreateCheckout && id != x.Checkout {
		return 0, wrongRequest("$.id", "The body is about another checkout than the request.")
	}
	switch x.Operation {
	case wire.UpdateCheckout:
		if _, there := model["line_items"]; !there { // A PUT replaces, and there is no checkout without.
			return 0, wrongRequest("$.line_items", "They are missing.")
		}
	case wire.CompleteCheckout:
		return payingInstrument(model)
	}
	return 0, nil
}

// payingInstrument finds the instrument that is to pay: the one that is selected, or else the first.
func payingInstrument(model wire.Object) (int, error) {
	const at = "$.payment.instruments"
	payment, _ := model["payment"].(wire.Object)
	instruments, _ := payment["instruments"].([]any)
	if len(instruments) == 0 {
		return 0, wrongRequest(at, "There is none to pay with.")
	}
	pays, selected := 0, 0
	for i, element := range instruments {
		instrument, ok := element.(wire.Object)
		if !ok {
			return 0, wrongRequest(fmt.Sprintf("%s[%d]", at, i), "It must be an object.")
		}
		for _, name := range []string{"id", "handler_id", "type"} {
			if text, ok := instrument[name].(string); !ok || text == "" {
				return 0, wrongRequest(fmt.Sprintf("%s[%d].%s", at, i, name), "It must be a string that says something.")
			}
		}
		if instrument["selected"] == true {
			if selected++; selected == 1 {
				pays = i
			}
		}
	}
	if selected > 1 {
		return 0, wrongRequest(at, "More than one is selected.")
	}
	return pays, nil
}

// retell makes of what the business says in the words of 2026-01-11 what it means in the release.
func (h *releaseHandler) retell(model, said wire.Object, active activity, pays int) {
	if messages, ok := said["messages"].([]any); ok && model["code"] != nil && h.release != wire.April2026 {
		model["messages"] = messages // In which the path is.
	}
	ucp, _ := model["ucp"].(wire.Object)
	handlers, _ := ucp["payment_handlers"].(wire.Object)
	for _, entries := range handlers {
		list, _ := entries.([]any)
		for _, entry := range list {
			retellHandler(entry)
		}
	}
	messages, _ := model["messages"].([]any)
	for _, element := range messages {
		if message, ok := element.(wire.Object); ok {
			h.retellMessage(model, message, active, pays, ucp["status"] == "error")
		}
	}
}

// activity tells which extensions are active.
type activity interface{ Has(capability string) bool }

// retellHandler gives a payment handler the names that it has since 2026-01-23.
func retellHandler(entry any) {
	handler, ok := entry.(wire.Object)
	if !ok {
		return
	}
	if schema, there := handler["config_schema"]; there && handler["schema"] == nil {
		handler["schema"] = schema
	}
	delete(handler, "config_schema")
	delete(handler, "instrument_schemas")
}

func (h *releaseHandler) retellMessage(model, message wire.Object, active activity, pays int, gone bool) {
	path, _ := message["path"].(string)
	if rest, ok := strings.CutPrefix(path, "$.payment_data"); ok {
		message["path"] = fmt.Sprintf("$.payment.instruments[%d]%s", pays, rest)
	}
	if path == "$.currency" { // A hint of the context, since 2026-01-23.
		message["path"] = "$.context.currency"
	}
	if message["code"] == "resource_not_found" {
		message["code"] = "not_found"
	}
	if message["type"] != "error" {
		return
	}
	for capability, member := range extensionMembers {
		if member != "ap2" && !active.Has(capability) && strings.HasPrefix(path, "$."+member) {
			// The platform has no way to say it, so that only the buyer can. A mandate it can always send.
			message["severity"] = "requires_buyer_input"
			if model["status"] == "incomplete" && model["continue_url"] != nil {
				model["status"] = "requires_escalation"
			}
		}
	}
	if gone && h.release == wire.April2026 { // There is nothing that could be changed.
		message["severity"] = "unrecoverable"
	}
}
