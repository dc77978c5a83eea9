package ucp

import "github.com/strabo-engine/strabo/bridge/ucp/model"

// These are the parts of the model that both sides of the wire share.
type (
	// Total is one line of a bill.
	Total = model.Total
	// Message tells a platform what is wrong, must be shown, or is good to know.
	Message = model.Message
	// PaymentHandler is a way to pay, as discovery offers it.
	PaymentHandler = model.PaymentHandler
)
