package wire

// raiseFulfillment mends what the public servers of 2026-01-11 send otherwise than its schema says: prices of options
// that stand in the option itself, addresses below address, city and region.
func raiseFulfillment(fulfillment Object) {
	for _, method := range objects(fulfillment, "methods") {
		shipping := text(method, "type") != "pickup"
		for _, destination := range objects(method, "destinations") {
			if address := object(destination, "address"); address != nil && shipping {
				for name, value := range address {
					if destination[name] == nil {
						destination[name] = value
					}
				}
				delete(destination, "address")
			}
			raiseAddress(destination)
		}
		for _, group := range objects(method, "groups") {
			for _, option := range objects(group, "options") {
				raiseOption(option)
			}
		}
	}
}

func raiseAddress(address Object) {
	rename(address, "city", "address_locality")
	rename(address, "region", "address_region")
}

// raiseOption gives an option totals where it has flat amounts.
func raiseOption(option Object) {
	if option["totals"] == nil {
		totals := list()
		for _, kind := range []string{"subtotal", "tax", "total"} {
			if value, ok := option[kind]; ok {
				totals = append(totals, Object{"type": kind, "amount": value})
			}
		}
		if len(totals) > 0 {
			option["totals"] = totals
		}
	}
	for _, kind := range []string{"subtotal", "tax", "total"} {
		delete(option, kind)
	}
	raiseTotals(option, "totals")
}

func lowerFulfillment(fulfillment Object) {
	for _, method := range objects(fulfillment, "methods") {
		for _, group := range objects(method, "groups") {
			for _, option := range objects(group, "options") {
				lowerTotals(option, "totals")
			}
		}
	}
}
