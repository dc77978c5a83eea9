package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Caller makes tool calls of REST requests. It is a [bridge.Caller]: what it promises of requests that were not sent is
// what the caller below it promises.
type Caller struct {
	endpoint string
	release  wire.Release
	below    bridge.Caller

	mu      sync.Mutex
	greeted bool
	session string
}

// protocolVersion is the newest revision of MCP that has a handshake.
const protocolVersion = "2025-11-25"

// NewCaller makes a caller for a business's MCP endpoint, which sends by another caller: over HTTP, with whatever policy
// is above that, in the form of a release. It takes the requests of a mapping for REST, whose URL may be anything that ends in the operation's path;
// the headers UCP-Agent and Idempotency-Key become the metadata of the tool call. The same request is always the same
// bytes. The first call greets the endpoint, which takes one or two requests more; one that wants no greeting is fine, and
// 2026-01-11, which is JSON-RPC without MCP's tools, has none.
//
// The endpoint's answer comes back as REST would have it: a result with status 200 (201 for create_checkout), an error
// with the status that UCP has for its code.
func NewCaller(endpoint string, release wire.Release, below bridge.Caller) *Caller {
	return &Caller{endpoint: endpoint, release: release, below: below}
}

// Call implements [bridge.Caller].
func (c *Caller) Call(ctx context.Context, request bridge.Request) (bridge.Response, error) {
	tool, id, ok := wire.OperationOf(request.Method, request.URL)
	o, known := operationOf(string(tool))
	if !ok || !known {
		return bridge.Response{}, &bridge.NotSentError{Err: fmt.Errorf("ucp: mcp: no tool for %s %s", request.Method, request.URL)}
	}
	encode := o.call
	if c.release == wire.January11 {
		encode = o.plainCall
	}
	body, err := encode(id, request)
	if err != nil {
		return bridge.Response{}, &bridge.NotSentError{Err: err}
	}
	for again := false; ; again = true {
		session, err := c.greet(ctx, request)
		if err != nil {
			return bridge.Response{}, &bridge.NotSentError{Err: fmt.Errorf("ucp: mcp: greet %s: %w", c.endpoint, err)}
		}
		response, err := c.below.Call(ctx, c.request(request, body, session))
		if err != nil {
			return bridge.Response{}, err
		}
		// MCP, Streamable HTTP, session management: the endpoint has forgotten the session and so has done nothing.
		if response.Status == http.StatusNotFound && session != "" && !again {
			c.forget(session)
			continue
		}
		return o.answer(response), nil
	}
}

// call makes the JSON-RPC message of a request.
func (o operation) call(id string, request bridge.Request) ([]byte, error) {
	m := meta{Key: request.Header.Get("Idempotency-Key")}
	if agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent")); err == nil {
		m.Agent.Profile = agent.Profile
	}
	a := arguments{Meta: &m, ID: id}
	if o.payload != "" {
		var members map[string]json.RawMessage // Digit for digit.
		if err := json.Unmarshal(request.Body, &members); err != nil {
			return nil, fmt.Errorf("ucp: mcp: the body of %s is no JSON object", o.tool)
		}
		// The id stands beside the checkout and not in it (UCP 2026-01-23 and later, checkout MCP binding, identifiers).
		delete(members, "id")
		checkout, err := json.Marshal(members)
		if err != nil {
			return nil, fmt.Errorf("ucp: mcp: %w", err)
		}
		a.Checkout = checkout
	}
	text, err := json.Marshal(envelope{
		Version: "2.0", ID: json.RawMessage("1"), Method: "tools/call",
		Params: map[string]any{"name": o.tool, "arguments": a},
	})
	if err != nil {
		return nil, fmt.Errorf("ucp: mcp: %w", err)
	}
	return text, nil
}

// plainCall makes the JSON-RPC message of a request in 2026-01-11: the tool is the method, the profile stands in _meta, and
// the members of the checkout beside it (UCP 2026-01-11, checkout MCP binding).
func (o operation) plainCall(id string, request bridge.Request) ([]byte, error) {
	params := map[string]any{}
	if o.payload != "" {
		var members map[string]json.RawMessage // Digit for digit.
		if err := json.Unmarshal(request.Body, &members); err != nil {
			return nil, fmt.Errorf("ucp: mcp: the body of %s is no JSON object", o.tool)
		}
		for name, member := range members {
			params[name] = member
		}
	}
	if agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent")); err == nil {
		params["_meta"] = map[string]any{"ucp": map[string]string{"profile": agent.Profile}}
	}
	if key := request.Header.Get("Idempotency-Key"); key != "" {
		params["idempotency_key"] = key
	}
	if o.identified {
		params["id"] = id
	}
	text, err := json.Marshal(envelope{Version: "2.0", ID: json.RawMessage("1"), Method: string(o.tool), Params: params})
	if err != nil {
		return nil, fmt.Errorf("ucp: mcp: %w", err)
	}
	return text, nil
}

func (c *Caller) request(from bridge.Request, body []byte, session string) bridge.Request {
	out := from
	out.Method, out.URL, out.Body = http.MethodPost, c.endpoint, body
	out.Header = from.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header.Set("Content-Type", "application/json")
	out.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		out.Header.Set("Mcp-Session-Id", session)
	}
	out.Header.Set("Mcp-Protocol-Version", protocolVersion)
	return out
}

// greet makes the handshake of MCP once and gives the session, empty for none. An endpoint that knows no handshake
// answers that it does not, which is an answer.
func (c *Caller) greet(ctx context.Context, about bridge.Request) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.greeted || c.release == wire.January11 {
		return c.session, nil
	}
	about.Query = true // It changes nothing.
	about.Header = about.Header.Clone()
	about.Header.Del("Idempotency-Key")
	hello, err := json.Marshal(envelope{Version: "2.0", ID: json.RawMessage("0"), Method: "initialize", Params: map[string]any{
		"protocolVersion": protocolVersion, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "strabo", "version": string(wire.Newest)},
	}})
	if err != nil {
		return "", err
	}
	request := c.request(about, hello, "")
	request.Header.Del("Mcp-Protocol-Version")
	response, err := c.below.Call(ctx, request)
	if err != nil {
		return "", err
	}
	if response.Status >= http.StatusInternalServerError || response.Status == http.StatusTooManyRequests {
		return "", fmt.Errorf("status %d", response.Status)
	}
	session := response.Header.Get("Mcp-Session-Id")
	if session != "" {
		ready, err := json.Marshal(envelope{Version: "2.0", Method: "notifications/initialized"})
		if err != nil {
			return "", err
		}
		if _, err := c.below.Call(ctx, c.request(about, ready, session)); err != nil {
			return "", err
		}
	}
	c.greeted, c.session = true, session
	return session, nil
}

func (c *Caller) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.greeted, c.session = false, ""
	}
}

// answer makes a REST response of the endpoint's. What is no JSON-RPC message stays what it is, so that nothing is
// concluded from it.
func (o operation) answer(response bridge.Response) bridge.Response {
	text, ok := message(response)
	if !ok {
		return response
	}
	var said struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *failure        `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil {
		return response
	}
	switch {
	case !answers(said.ID) && (said.Error == nil || !nobody(said.ID)):
		// The answer to another message says nothing of this one. (Who could not read the id answers with none.)
	case said.Error != nil:
		response.Status = said.Error.status()
		response.Body = said.Error.body()
		if said.Error.Data != nil && len(said.Error.Data.RetryAfter) > 0 {
			response.Header = response.Header.Clone()
			response.Header.Set("Retry-After", strings.Trim(string(said.Error.Data.RetryAfter), `"`))
		}
	case len(said.Result) > 0 && response.Status < http.StatusBadRequest:
		body, isError := content(said.Result)
		if body == nil {
			return response
		}
		response.Body, response.Status = body, http.StatusOK
		if isError && !bytes.Contains(body, []byte(`"ucp"`)) {
			response.Status = http.StatusUnprocessableEntity
		} else if o.tool == wire.CreateCheckout {
			response.Status = http.StatusCreated
		}
	}
	return response
}

// body is the body of the REST answer that a failure stands for.
func (f *failure) body() []byte {
	if f.Data != nil && len(f.Data.Body) > 0 {
		return f.Data.Body
	}
	said := failureData{Content: f.Message}
	if f.Data != nil {
		said.Code, said.ContinueURL = f.Data.Code, f.Data.ContinueURL
		if len(f.Data.Errors) > 0 && said.Code == "" {
			said.Code, said.Content = f.Data.Errors[0].Code, f.Data.Errors[0].Message
		}
		if f.Data.Content != "" {
			said.Content = f.Data.Content
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		return nil
	}
	return text
}

// content finds the resource in a result: structuredContent, else the text of the content, else the result itself, as in
// 2026-01-11. It is nil if there is none.
func content(result json.RawMessage) (body json.RawMessage, isError bool) {
	var tool struct {
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Content    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		UCP json.RawMessage `json:"ucp"`
	}
	if json.Unmarshal(result, &tool) != nil {
		return nil, false
	}
	if len(tool.Structured) > 0 && !bytes.Equal(tool.Structured, []byte("null")) {
		return tool.Structured, tool.IsError
	}
	for _, part := range tool.Content {
		if part.Type == "text" && json.Valid([]byte(part.Text)) {
			return json.RawMessage(part.Text), tool.IsError
		}
	}
	if len(tool.UCP) > 0 {
		return result, false
	}
	if len(tool.Content) > 0 && tool.IsError {
		text, err := json.Marshal(failureData{Content: tool.Content[0].Text})
		return text, err == nil
	}
	return nil, false
}

// answers tells whether an id is the one that every message has here, each in a request of its own; nobody, whether it is
// none.
func answers(id json.RawMessage) bool { return string(id) == "1" || string(id) == `"1"` }
func nobody(id json.RawMessage) bool  { return len(id) == 0 || string(id) == "null" }

// message gives the JSON-RPC answer of a response: its body, or the one of the events in it that is an answer.
func message(response bridge.Response) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "text/event-stream" {
		return response.Body, json.Valid(response.Body)
	}
	lines := bufio.NewReader(bytes.NewReader(response.Body))
	var data []byte
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(append(data, strings.TrimPrefix(rest, " ")...), '\n')
		}
		if line == "" || err != nil {
			var found struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(data, &found) == nil && answers(found.ID) && found.Method == "" {
				return data, true
			}
			data = data[:0]
		}
		if err != nil { // The end: there is no other error in memory.
			return nil, false
		}
	}
}
