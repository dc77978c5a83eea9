package mcp

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// operation is an operation in both transports.
type operation struct {
	tool wire.Operation
	// method and suffix are of the REST operation; the path is /collection, or /collection/{id} and the suffix.
	method, collection, suffix string
	identified                 bool
	// payload is the argument that has the body; empty for none.
	payload     string
	key         bool // an idempotency key is required (UCP 2026-04-08, checkout MCP binding, request metadata)
	description string
}

var operations = []operation{
	{
		tool: wire.CreateCheckout, method: http.MethodPost, collection: "checkout-sessions", payload: "checkout",
		description: "Create a checkout session.",
	},
	{
		tool: wire.GetCheckout, method: http.MethodGet, collection: "checkout-sessions", identified: true,
		description: "Get a checkout session.",
	},
	{
		tool: wire.UpdateCheckout, method: http.MethodPut, collection: "checkout-sessions", identified: true, payload: "checkout",
		description: "Update a checkout session. What is sent replaces what was sent before.",
	},
	{
		tool: wire.CompleteCheckout, method: http.MethodPost, collection: "checkout-sessions", identified: true,
		suffix: "/complete", payload: "checkout", key: true,
		description: "Pay and place the order.",
	},
	{
		tool: wire.CancelCheckout, method: http.MethodPost, collection: "checkout-sessions", identified: true,
		suffix: "/cancel", key: true, description: "Cancel a checkout session.",
	},
	{
		tool: wire.GetOrder, method: http.MethodGet, collection: "orders", identified: true, description: "Get an order.",
	},
}

func operationOf(tool string) (operation, bool) {
	for _, o := range operations {
		if string(o.tool) == tool {
			return o, true
		}
	}
	return operation{}, false
}

// path is the path of the REST request.
func (o operation) path(id string) string {
	path := "/" + o.collection
	if o.identified {
		path += "/" + url.PathEscape(id)
	}
	return path + o.suffix
}

// match finds the operation of a REST request, whose URL ends in the operation's path, and the id in it.
func match(method, target string) (operation, string, bool) {
	u, err := url.Parse(target)
	if err != nil {
		return operation{}, "", false
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for _, o := range operations {
		if o.method != method {
			continue
		}
		rest := parts
		if o.suffix != "" {
			if len(rest) == 0 || "/"+rest[len(rest)-1] != o.suffix {
				continue
			}
			rest = rest[:len(rest)-1]
		}
		id := ""
		if o.identified {
			if len(rest) == 0 {
				continue
			}
			id, err = url.PathUnescape(rest[len(rest)-1])
			if err != nil {
				continue
			}
			rest = rest[:len(rest)-1]
		}
		if len(rest) > 0 && rest[len(rest)-1] == o.collection {
			return o, id, true
		}
	}
	return operation{}, "", false
}
