package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// asked is what a REST handler was asked.
type asked struct {
	Method, Path, Body string
	Agent, Key, ID     string
}

// business is a REST handler that answers as told and remembers what it was asked.
type business struct {
	mu     sync.Mutex
	asked  []asked
	answer func(w http.ResponseWriter, r *http.Request)
}

func (b *business) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.asked = append(b.asked, asked{
		r.Method, r.URL.EscapedPath(), string(body),
		r.Header.Get("UCP-Agent"), r.Header.Get("Idempotency-Key"), r.Header.Get("Request-Id"),
	})
	b.mu.Unlock()
	b.answer(w, r)
}

func (b *business) last(t *testing.T) asked {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotEmpty(t, b.asked)
	return b.asked[len(b.asked)-1]
}

func answering(status int, body string, header ...string) *business {
	return &business{answer: func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}}
}

const (
	agent    = `profile="https://platform.example/profile"`
	checkout = `{"ucp":{"version":"2026-04-08","status":"success"},"id":"chk_1","status":"incomplete"}`
)

func restRequest(method, path, body string) bridge.Request {
	r := bridge.Request{
		Method: method, URL: "https://shop.example/ucp/" + path,
		Header: http.Header{"Ucp-Agent": {agent}, "Request-Id": {"r1"}},
	}
	if body != "" {
		r.Body = []byte(body)
	}
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", "key-1")
	}
	return r
}

// What a platform's bridge asks over MCP arrives at a business's REST handler as if it had been asked there, and the
// answer comes back so.
func TestBothSides(t *testing.T) {
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		answer                   string
		wantPath                 string
		wantStatus               int
	}{
		{"create", "POST", "checkout-sessions", `{"line_items":[]}`, 201, checkout, "/checkout-sessions", 201},
		{"get", "GET", "checkout-sessions/chk_1", "", 200, checkout, "/checkout-sessions/chk_1", 200},
		{"update", "PUT", "checkout-sessions/chk_1", `{"line_items":[1]}`, 200, checkout, "/checkout-sessions/chk_1", 200},
		{"complete", "POST", "checkout-sessions/chk_1/complete", `{"payment":{}}`, 200, checkout, "/checkout-sessions/chk_1/complete", 200},
		{"cancel", "POST", "checkout-sessions/chk_1/cancel", "", 200, checkout, "/checkout-sessions/chk_1/cancel", 200},
		{"order", "GET", "orders/o%2F1", "", 200, `{"ucp":{},"id":"o/1"}`, "/orders/o%2F1", 200},
		{"a business outcome", "POST", "checkout-sessions", `{}`, 200, `{"ucp":{"status":"error"},"messages":[]}`, "/checkout-sessions", 201},
		{"a declined payment of an older release", "POST", "checkout-sessions/chk_1/complete", `{}`, 402, `{"code":"INSUFFICIENT_FUNDS","detail":"No."}`, "/checkout-sessions/chk_1/complete", 402},
		{"a reused key", "POST", "checkout-sessions/chk_1/cancel", "", 409, `{"code":"idempotency_conflict","content":"Used."}`, "/checkout-sessions/chk_1/cancel", 409},
		{"an unknown version", "GET", "checkout-sessions/chk_1", "", 422, `{"code":"version_unsupported","content":"No."}`, "/checkout-sessions/chk_1", 422},
		{"a busy business", "GET", "checkout-sessions/chk_1", "", 503, `{"code":"busy","content":"Later."}`, "/checkout-sessions/chk_1", 503},
		{"a broken business", "GET", "checkout-sessions/chk_1", "", 500, `{"content":"Oh."}`, "/checkout-sessions/chk_1", 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			rest := answering(test.status, test.answer, "Retry-After", "7")
			server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
			defer server.Close()
			caller := mcp.NewCaller(server.URL+"/mcp", wire.April2026, bridge.NewHTTPCaller(server.Client(), 0, 0))
			request := restRequest(test.method, test.path, test.body)
			response, err := caller.Call(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, test.wantStatus, response.Status, string(response.Body))
			require.JSONEq(t, test.answer, string(response.Body))
			if test.status == 503 {
				require.Equal(t, "7", response.Header.Get("Retry-After"))
			}
			got := rest.last(t)
			require.Equal(t, test.method, got.Method)
			require.Equal(t, test.wantPath, got.Path)
			require.Equal(t, agent, got.Agent)
			require.Equal(t, request.Header.Get("Idempotency-Key"), got.Key)
			require.Equal(t, "r1", got.ID)
			if test.body != "" {
				require.JSONEq(t, test.body, got.Body)
			} else {
				require.Empty(t, got.Body)
			}
		})
	}
}

// A client of the official library sees the tools and calls them.
func TestTheOfficialClient(t *testing.T) {
	rest := answering(http.StatusCreated, checkout)
	server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
	defer server.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: server.Client()}, nil)
	require.NoError(t, err)
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	names := []string{}
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	require.ElementsMatch(t, []string{
		"create_checkout", "get_checkout", "update_checkout", "complete_checkout", "cancel_checkout", "get_order",
	}, names)
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_checkout", Arguments: map[string]any{
		"meta":     map[string]any{"ucp-agent": map[string]any{"profile": "https://platform.example/profile"}},
		"checkout": map[string]any{"line_items": []any{}},
	}})
	require.NoError(t, err)
	require.False(t, result.IsError)
	text, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.JSONEq(t, checkout, string(text))
	require.NotEmpty(t, rest.last(t).Key, "REST wants a key, so one is made")

	_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "complete_checkout", Arguments: map[string]any{
		"meta": map[string]any{"ucp-agent": map[string]any{"profile": "https://platform.example/profile"}}, "id": "chk_1",
		"checkout": map[string]any{},
	}})
	require.ErrorContains(t, err, "idempotency-key")
	require.NoError(t, session.Close())
}

// Our caller talks to a server of the official library that insists on sessions and answers with events.
func TestAnOfficialServerWithSessions(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "theirs", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "get_checkout", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: json.RawMessage(
				`{"ucp":{},"got":` + string(call.Params.Arguments) + `}`,
			)}, nil
		})
	var mu sync.Mutex
	forgetful := false
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		lost := forgetful && r.Header.Get("Mcp-Session-Id") != ""
		forgetful = forgetful && !lost
		mu.Unlock()
		if lost {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		tools.ServeHTTP(w, r)
	}))
	defer listening.Close()
	caller := mcp.NewCaller(listening.URL, wire.April2026, bridge.NewHTTPCaller(listening.Client(), 0, 0))
	for range 2 {
		response, err := caller.Call(t.Context(), restRequest("GET", "checkout-sessions/a%2Fb", ""))
		require.NoError(t, err)
		require.Equal(t, 200, response.Status, string(response.Body))
		require.JSONEq(t, `{"ucp":{},"got":{"id":"a/b","meta":{"ucp-agent":{"profile":"https://platform.example/profile"}}}}`, string(response.Body))
		mu.Lock()
		forgetful = true // The second call finds its session gone.
		mu.Unlock()
	}
	response, err := caller.Call(t.Context(), restRequest("GET", "orders/1", ""))
	require.NoError(t, err)
	require.GreaterOrEqual(t, response.Status, 400, "there is no such tool: %s", response.Body)
}

// JSON-RPC without tools, as in 2026-01-11, with the members of the checkout beside _meta.
func TestPlainJSONRPC(t *testing.T) {
	rest := answering(http.StatusCreated, checkout)
	server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
	defer server.Close()
	post := func(body string) (int, map[string]json.RawMessage) {
		response, err := server.Client().Post(server.URL, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		var message map[string]json.RawMessage
		require.NoError(t, json.NewDecoder(response.Body).Decode(&message))
		return response.StatusCode, message
	}
	status, message := post(`{"jsonrpc":"2.0","id":"x","method":"create_checkout","params":{
	  "_meta":{"ucp":{"profile":"https://platform.example/profile"}},"line_items":[],"currency":"USD","payment":{}}}`)
	require.Equal(t, 200, status)
	require.JSONEq(t, `"x"`, string(message["id"]))
	require.JSONEq(t, checkout, string(message["result"]))
	require.JSONEq(t, `{"line_items":[],"currency":"USD","payment":{}}`, rest.last(t).Body)
	require.Equal(t, agent, rest.last(t).Agent)

	status, message = post(`{"jsonrpc":"2.0","id":1,"method":"complete_checkout","params":{
	  "_meta":{"ucp":{"profile":"https://platform.example/profile"}},"id":"chk_1","idempotency_key":"k","payment":{"instruments":[]}}}`)
	require.Equal(t, 200, status, string(message["error"]))
	require.JSONEq(t, `{"payment":{"instruments":[]}}`, rest.last(t).Body)
	require.Equal(t, "k", rest.last(t).Key)

	status, message = post(`{"jsonrpc":"2.0","id":1,"method":"cancel_checkout","params":{"_meta":{"ucp":{"profile":"https://p.example"}},"id":"chk_1"}}`)
	require.Equal(t, 400, status)
	require.Contains(t, string(message["error"]), "idempotency-key")
}

func TestHostileMessages(t *testing.T) {
	rest := answering(http.StatusOK, checkout)
	server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
	defer server.Close()
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "{", "a list": "[]",
		"no arguments":   `{"jsonrpc":"2.0","id":1,"method":"get_checkout"}`,
		"a wrong id":     `{"jsonrpc":"2.0","id":1,"method":"get_checkout","params":{"id":7}}`,
		"no id":          `{"jsonrpc":"2.0","id":1,"method":"get_checkout","params":{}}`,
		"a checkout":     `{"jsonrpc":"2.0","id":1,"method":"create_checkout","params":{"meta":{},"checkout":[]}}`,
		"no checkout":    `{"jsonrpc":"2.0","id":1,"method":"create_checkout","params":{"meta":{}}}`,
		"an unknown one": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steal"}}`,
		"too much":       `{"jsonrpc":"2.0","id":1,"method":"get_checkout","params":{"id":"` + strings.Repeat("x", mcp.MaximumRequest) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, strings.NewReader(body))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			response, err := server.Client().Do(request)
			require.NoError(t, err)
			said, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.True(t, response.StatusCode >= 400 || strings.Contains(string(said), `"error"`), "%d %s", response.StatusCode, said)
			require.Less(t, response.StatusCode, 500, string(said))
		})
	}
	require.Empty(t, rest.asked)
	// An id cannot break out of its place in the path, nor a profile out of its header.
	response, err := server.Client().Post(server.URL, "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"get_checkout","params":{"id":"../orders/1?x","meta":{"ucp-agent":{"profile":"https://p.example\"\r\nX: y"}}}}`,
	))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "/checkout-sessions/..%2Forders%2F1%3Fx", rest.last(t).Path)
	require.NotContains(t, rest.last(t).Agent, "\n")
}

func TestWhatCannotBeCalledWasNotSent(t *testing.T) {
	rest := answering(http.StatusOK, checkout)
	server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
	defer server.Close()
	caller := mcp.NewCaller(server.URL, wire.April2026, bridge.NewHTTPCaller(server.Client(), 0, 0))
	var notSent *bridge.NotSentError
	_, err := caller.Call(t.Context(), restRequest("DELETE", "checkout-sessions/1", ""))
	require.ErrorAs(t, err, &notSent)
	_, err = caller.Call(t.Context(), restRequest("POST", "checkout-sessions", "no JSON"))
	require.ErrorAs(t, err, &notSent)
	nowhere := mcp.NewCaller("http://127.0.0.1:1", wire.April2026, bridge.NewHTTPCaller(server.Client(), 0, 0))
	_, err = nowhere.Call(t.Context(), restRequest("GET", "checkout-sessions/1", ""))
	require.ErrorAs(t, err, &notSent)
	require.Empty(t, rest.asked)
}

// What is no JSON-RPC answer proves nothing, so it stays what it is.
func TestGarbageStaysGarbage(t *testing.T) {
	for _, garbage := range []string{
		"", "<html>", "{}", `{"jsonrpc":"2.0","id":1,"result":7}`,
		// The answers to other messages.
		`{"jsonrpc":"2.0","id":2,"result":{"id":"1","status":"completed"}}`, `{"jsonrpc":"2.0","result":{"id":"1"}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, garbage) }))
		caller := mcp.NewCaller(server.URL, wire.April2026, bridge.NewHTTPCaller(server.Client(), 0, 0))
		response, err := caller.Call(t.Context(), restRequest("GET", "checkout-sessions/1", ""))
		require.NoError(t, err)
		require.Equal(t, garbage, string(response.Body))
		server.Close()
	}
}

// The same request is the same bytes, so that a policy may send it again.
func TestTheSameBytes(t *testing.T) {
	var bodies []string
	below := callerFunc(func(r bridge.Request) bridge.Response {
		bodies = append(bodies, string(r.Body))
		return bridge.Response{Status: 200, Body: []byte(`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":` + checkout + `}}`)}
	})
	caller := mcp.NewCaller("https://shop.example/mcp", wire.April2026, below)
	for range 3 {
		_, err := caller.Call(t.Context(), restRequest("POST", "checkout-sessions/1/complete", `{"b":1,"a":2}`))
		require.NoError(t, err)
	}
	require.Len(t, bodies, 4) // With the greeting.
	require.Equal(t, bodies[1], bodies[2])
	require.Equal(t, bodies[2], bodies[3])
}

type callerFunc func(bridge.Request) bridge.Response

func (f callerFunc) Call(_ context.Context, r bridge.Request) (bridge.Response, error) {
	return f(r), nil
}

// A handler that panics fails the request, and nothing else: the library has no guard of its own.
func TestAPanicIsAnAnswer(t *testing.T) {
	rest := &business{answer: func(http.ResponseWriter, *http.Request) { panic("oh") }}
	server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
	defer server.Close()
	caller := mcp.NewCaller(server.URL+"/mcp", wire.April2026, bridge.NewHTTPCaller(server.Client(), 0, 0))
	for range 2 {
		response, err := caller.Call(t.Context(), restRequest("GET", "checkout-sessions/chk_1", ""))
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, response.Status)
	}
}

// In 2026-01-11 the tools are methods, the profile is in _meta and the checkout beside it; there is no greeting.
func TestTheFirstRelease(t *testing.T) {
	rest := answering(http.StatusCreated, checkout)
	handler := mcp.NewHandler(rest, wire.April2026, "shop", "1", nil)
	var messages []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		messages = append(messages, string(body))
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	caller := mcp.NewCaller(server.URL, wire.January11, bridge.NewHTTPCaller(server.Client(), 0, 0))
	response, err := caller.Call(t.Context(), restRequest("PUT", "checkout-sessions/chk_1", `{"id":"chk_1","line_items":[],"n":9007199254740993}`))
	require.NoError(t, err)
	require.JSONEq(t, checkout, string(response.Body))
	require.Len(t, messages, 1)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"update_checkout","params":{"_meta":{"ucp":{"profile":"https://platform.example/profile"}},
	  "idempotency_key":"key-1","id":"chk_1","line_items":[],"n":9007199254740993}}`, messages[0])
	require.Contains(t, messages[0], "9007199254740993")
	got := rest.last(t)
	require.Equal(t, "/checkout-sessions/chk_1", got.Path)
	require.Equal(t, agent, got.Agent)
	require.Equal(t, "key-1", got.Key)
	require.JSONEq(t, `{"id":"chk_1","line_items":[],"n":9007199254740993}`, got.Body)
}
