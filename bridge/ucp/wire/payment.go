package wire

// cardDisplay are the members that stood in the instrument itself in 2026-01-11 and stand in its display since
// 2026-01-23, by their new names.
var cardDisplay = []struct{ flat, display string }{
	{"brand", "brand"},
	{"last_digits", "last_digits"},
	{"expiry_month", "expiry_month"},
	{"expiry_year", "expiry_year"},
	{"rich_text_description", "description"},
	{"rich_card_art", "card_art"},
}

// selected gives the instrument that pays: the one marked so, else the first; nil if there is none.
func selected(payment Object) Object {
	instruments := objects(payment, "instruments")
	for _, instrument := range instruments {
		if instrument["selected"] == true {
			return instrument
		}
	}
	if len(instruments) == 0 {
		return nil
	}
	return instruments[0]
}

// lowerInstrument makes an instrument of 2026-01-11 of one of the model.
func lowerInstrument(instrument Object) Object {
	out := cloned(instrument)
	display := object(out, "display")
	delete(out, "display")
	delete(out, "selected")
	for _, name := range cardDisplay {
		if value, ok := display[name.display]; ok && out[name.flat] == nil {
			out[name.flat] = value
		}
	}
	return out
}

// raiseInstrument is the way back.
func raiseInstrument(instrument Object) Object {
	out := cloned(instrument)
	display := orEmpty(object(out, "display"))
	for _, name := range cardDisplay {
		if value, ok := out[name.flat]; ok {
			delete(out, name.flat)
			if display[name.display] == nil {
				display[name.display] = value
			}
		}
	}
	if len(display) > 0 {
		out["display"] = display
	}
	return out
}

// lowerPayment gives a request the payment of 2026-01-11, which has to be there, if only empty.
func lowerPayment(request Object) {
	payment := orEmpty(object(request, "payment"))
	delete(payment, "handlers")
	request["payment"] = lowerInstruments(payment)
}

func lowerInstruments(payment Object) Object {
	instruments := objects(payment, "instruments")
	if len(instruments) == 0 {
		return payment
	}
	lowered := list()
	for _, instrument := range instruments {
		if instrument["selected"] == true && payment["selected_instrument_id"] == nil && instrument["id"] != nil {
			payment["selected_instrument_id"] = instrument["id"]
		}
		lowered = append(lowered, lowerInstrument(instrument))
	}
	payment["instruments"] = lowered
	return payment
}

// raisePayment gives a message of 2026-01-11 the payment of the model, or none if it says nothing.
func raisePayment(message Object) {
	payment := object(message, "payment")
	if payment == nil {
		return
	}
	delete(payment, "handlers")
	chosen := text(payment, "selected_instrument_id")
	delete(payment, "selected_instrument_id")
	if instruments := objects(payment, "instruments"); len(instruments) > 0 {
		raised := list()
		for _, instrument := range instruments {
			up := raiseInstrument(instrument)
			if chosen != "" && text(up, "id") == chosen {
				up["selected"] = true
			}
			raised = append(raised, up)
		}
		payment["instruments"] = raised
	} else {
		delete(payment, "instruments")
	}
	if len(payment) == 0 {
		delete(message, "payment")
	}
}
