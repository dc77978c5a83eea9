package wire

// raiseMetadata gives a response of an older release the ucp member of the model: capabilities and payment handlers by
// name, and a status. UCP 2026-01-11 has lists, with the handlers in payment.
func (r Release) raiseMetadata(message Object) {
	ucp := orEmpty(object(message, "ucp"))
	message["ucp"] = ucp
	if r == January11 {
		if listed, ok := ucp["capabilities"].([]any); ok {
			ucp["capabilities"] = byName(listed)
		}
		handlers := array(object(message, "payment"), "handlers")
		if len(handlers) > 0 && ucp["payment_handlers"] == nil {
			ucp["payment_handlers"] = byName(handlers)
		}
	}
	if ucp["payment_handlers"] == nil {
		ucp["payment_handlers"] = Object{}
	}
	if ucp["status"] == nil {
		ucp["status"] = "success"
	}
}

// byName makes a map of lists of a list of named entities.
func byName(listed []any) Object {
	out := Object{}
	for _, element := range listed {
		entity, ok := element.(Object)
		name := text(entity, "name")
		if !ok || name == "" {
			continue
		}
		entity = cloned(entity)
		delete(entity, "name")
		same, _ := out[name].([]any)
		out[name] = append(same, entity)
	}
	return out
}

// listed is the way back: sorted by name, so that the same map is always the same list.
func listed(named Object) []any {
	out := list()
	for _, name := range sortedNames(named) {
		entities, _ := named[name].([]any)
		for _, element := range entities {
			if entity, ok := element.(Object); ok {
				entity = cloned(entity)
				entity["name"] = name
				out = append(out, entity)
			}
		}
	}
	return out
}

// lowerMetadata is the way back of raiseMetadata.
func (r Release) lowerMetadata(message Object, withHandlers bool) {
	ucp := orEmpty(object(message, "ucp"))
	message["ucp"] = ucp
	ucp["version"] = string(r)
	if r.before(April2026) {
		delete(ucp, "status")
	} else if ucp["status"] == nil {
		ucp["status"] = "success"
	}
	if r != January11 {
		if withHandlers && ucp["payment_handlers"] == nil {
			ucp["payment_handlers"] = Object{}
		}
		return
	}
	ucp["capabilities"] = listed(orEmpty(object(ucp, "capabilities")))
	handlers := legacyHandlers(orEmpty(object(ucp, "payment_handlers")))
	delete(ucp, "payment_handlers")
	if withHandlers {
		payment := lowerInstruments(orEmpty(object(message, "payment")))
		payment["handlers"] = handlers
		message["payment"] = payment
	}
}

// legacyHandlers lists handlers with the members that the schema of 2026-01-11 demands.
func legacyHandlers(named Object) []any {
	handlers := listed(named)
	for _, element := range handlers {
		handler, _ := element.(Object)
		rename(handler, "schema", "config_schema")
		if handler["config"] == nil {
			handler["config"] = Object{}
		}
		if handler["instrument_schemas"] == nil {
			handler["instrument_schemas"] = list()
		}
	}
	return handlers
}
