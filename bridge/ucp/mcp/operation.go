package mcp

import (
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// operation is an operation as a tool.
type operation struct {
	tool       wire.Operation
	identified bool
	// payload is the argument that has the body; empty for none.
	payload     string
	reads       bool
	key         bool // an idempotency key is required (UCP 2026-04-08, checkout MCP binding, request metadata)
	description string
}

var operations = []operation{
	{tool: wire.CreateCheckout, payload: "checkout", description: "Create a checkout session."},
	{tool: wire.GetCheckout, identified: true, reads: true, description: "Get a checkout session."},
	{
		tool: wire.UpdateCheckout, identified: true, payload: "checkout",
		description: "Update a checkout session. What is sent replaces what was sent before.",
	},
	{
		tool: wire.CompleteCheckout, identified: true, payload: "checkout", key: true,
		description: "Pay and place the order.",
	},
	{tool: wire.CancelCheckout, identified: true, key: true, description: "Cancel a checkout session."},
	{tool: wire.GetOrder, identified: true, reads: true, description: "Get an order."},
}

func operationOf(tool string) (operation, bool) {
	for _, o := range operations {
		if string(o.tool) == tool {
			return o, true
		}
	}
	return operation{}, false
}
