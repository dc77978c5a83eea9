package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// loadClient makes requests of a shop, one after the other. It is for one goroutine.
type loadClient interface {
	// ask makes a request, and gives the body of its answer if that is a success; until the next.
	ask(ctx context.Context, method, path string, body []byte) ([]byte, error)
	close()
}

// connect gives a client of the shop.
func (l *load) connect() loadClient {
	if l.tools != nil {
		return &loadTools{l.tools, l.endpoint.String()}
	}
	return newLoadConnection(l.endpoint)
}

// loadTools makes requests over MCP. The client of the bridge does it, so the load takes more of the processor than over
// REST.
type loadTools struct {
	caller *mcp.Caller
	base   string
}

func (t *loadTools) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	response, err := t.caller.Call(ctx, bridge.Request{Method: method, URL: t.base + path, Body: body, Header: http.Header{
		"Ucp-Agent":       {negotiation.Agent{Profile: ucp.DefaultProfile}.String()}, // No tool is called without.
		"Idempotency-Key": {uuid.NewString()}, "Content-Type": {"application/json"},
	}})
	if err != nil {
		return nil, err
	}
	if response.Status > 299 {
		return nil, fmt.Errorf("%s %s: %d %s %.200s", method, path, response.Status, http.StatusText(response.Status), response.Body)
	}
	return response.Body, nil
}

// close does nothing: the connections are those of the caller.
func (*loadTools) close() {}
