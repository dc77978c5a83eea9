package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// spoken is what an endpoint has answered.
type spoken struct {
	status int
	header http.Header
	raw    string
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code   string          `json:"code"`
			Status json.RawMessage `json:"status"`
			Errors []struct {
				Code, Message, Severity, Path string
			} `json:"errors"`
		} `json:"data"`
	} `json:"error"`
}

func speak(t *testing.T, url, method, body string, headers ...string) spoken {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	out := spoken{status: response.StatusCode, header: response.Header, raw: string(text)}
	if len(text) > 0 {
		require.Equal(t, "application/json", response.Header.Get("Content-Type"), out.raw)
		require.NoError(t, json.Unmarshal(text, &out), out.raw)
	}
	return out
}

// Whatever is sent is answered in JSON-RPC 2.0, with its codes, and with the id that was sent.
func TestJSONRPC(t *testing.T) {
	server := httptest.NewServer(mcp.NewHandler(answering(http.StatusOK, checkout), wire.April2026, "shop", "1", nil))
	defer server.Close()
	for name, test := range map[string]struct {
		body             string
		status, code     int
		id               string
		method, accept   string
		media, wantAllow string
	}{
		"no JSON":                        {body: `{`, status: 400, code: -32700},
		"nothing":                        {body: ``, status: 400, code: -32700},
		"no object":                      {body: `7`, status: 400, code: -32600},
		"a batch":                        {body: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, status: 400, code: -32600},
		"another version":                {body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, status: 400, code: -32600},
		"no version":                     {body: `{"id":1,"method":"ping"}`, status: 400, code: -32600},
		"no method":                      {body: `{"jsonrpc":"2.0","id":1}`, status: 400, code: -32600},
		"a method in capitals":           {body: `{"jsonrpc":"2.0","id":7,"METHOD":"ping"}`, status: 400, code: -32600},
		"another method in capitals":     {body: `{"jsonrpc":"2.0","id":7,"method":"ping","METHOD":"tools/list"}`, status: 200, id: "7"},
		"a member twice":                 {body: `{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}`, status: 400, code: -32600},
		"an argument twice":              {body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_checkout","arguments":{"id":"chk_1","id":"chk_2"}}}`, status: 400, code: -32600},
		"no Unicode":                     {body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\ud800"}}`, status: 400, code: -32600},
		"an id that is null":             {body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, code: -32600},
		"an id that is a list":           {body: `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, status: 400, code: -32600},
		"an id with a fraction":          {body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, status: 400, code: -32600},
		"an id that is too large":        {body: `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, status: 400, code: -32600},
		"an id that is a text":           {body: `{"jsonrpc":"2.0","id":"\u00e4","method":"ping"}`, status: 200, id: `"ä"`},
		"an id that is empty":            {body: `{"jsonrpc":"2.0","id":"","method":"ping"}`, status: 200, id: `""`},
		"an id that is 0":                {body: `{"jsonrpc":"2.0","id":0,"method":"ping"}`, status: 200, id: `0`},
		"a notification":                 {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
		"a call without an id":           {body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_checkout"}}`, status: 400, code: -32600},
		"an operation without an id":     {body: `{"jsonrpc":"2.0","method":"cancel_checkout","params":{"id":"chk_1"}}`, status: 400, code: -32600},
		"an unknown method":              {body: `{"jsonrpc":"2.0","id":7,"method":"buy/all"}`, status: 404, code: -32601, id: "7"},
		"an unknown tool":                {body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"steal"}}`, status: 200, code: -32602, id: "7"},
		"a call without parameters":      {body: `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, status: 400, code: -32600, id: "7"},
		"arguments that are a list":      {body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_checkout","arguments":[]}}`, status: 400, code: -32602, id: "7"},
		"a client that takes JSON alone": {body: `{"jsonrpc":"2.0","id":7,"method":"ping"}`, accept: "application/json", status: 200, id: "7"},
		"a client that takes anything":   {body: `{"jsonrpc":"2.0","id":7,"method":"ping"}`, accept: "text/html, */*;q=0.1", status: 200, id: "7"},
		"a client that takes no JSON":    {body: `{"jsonrpc":"2.0","id":7,"method":"ping"}`, accept: "text/html", status: 400, code: -32600, id: "7"},
		"another media type":             {body: `{"jsonrpc":"2.0","id":7,"method":"ping"}`, media: "text/plain", status: 415, code: -32600, id: "7"},
		"listening":                      {method: "GET", status: 405, code: -32600, wantAllow: "POST"},
		"the end of a session":           {method: "DELETE", status: 405, code: -32600, wantAllow: "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Accept", test.accept}
			if test.media != "" {
				headers = append(headers, "Content-Type", test.media)
			}
			if test.method == "" {
				test.method = "POST"
			}
			got := speak(t, server.URL, test.method, test.body, headers...)
			require.Equal(t, test.status, got.status, got.raw)
			require.Equal(t, test.code, got.Error.Code, got.raw)
			require.Equal(t, test.wantAllow, got.header.Get("Allow"))
			switch {
			case test.status == 202:
				require.Empty(t, got.raw)
			case test.id == "":
				require.JSONEq(t, "null", string(got.ID), got.raw)
			default:
				require.JSONEq(t, test.id, string(got.ID), got.raw)
			}
		})
	}
}

// Names of arguments count with their case, whatever encoding/json makes of them: who looks through a message in front of the
// shop and the shop itself read the same.
func TestArgumentsCountWithTheirCase(t *testing.T) {
	const meta = `"meta":{"ucp-agent":{"profile":"https://p.example"},"idempotency-key":"k"}`
	for _, test := range []struct{ name, tool, arguments, says, path, body string }{
		{"in capitals", "create_checkout", `{` + meta + `,"Checkout":{"line_items":[]}}`, "checkout is missing", "", ""},
		{"beside the right one", "create_checkout", `{` + meta + `,"checkout":{"line_items":[1]},"CHECKOUT":{"line_items":[2]}}`, "", "/checkout-sessions", `{"line_items":[1]}`},
		{"an id in capitals", "cancel_checkout", `{` + meta + `,"ID":"chk_1"}`, "id is missing", "", ""},
		{"another id in capitals", "cancel_checkout", `{` + meta + `,"id":"chk_1","ID":"chk_2"}`, "", "/checkout-sessions/chk_1/cancel", ""},
		{"meta in capitals", "get_checkout", `{"Meta":{"ucp-agent":{"profile":"https://p.example"}},"id":"chk_1"}`, "no ucp-agent", "", ""},
		{"a profile in capitals", "get_checkout", `{"meta":{"ucp-agent":{"Profile":"https://p.example"}},"id":"chk_1"}`, "no ucp-agent", "", ""},
		{"a key in capitals", "cancel_checkout", `{"meta":{"ucp-agent":{"profile":"https://p.example"},"Idempotency-Key":"k"},"id":"chk_1"}`, "no idempotency-key", "", ""},
		{"an id that is a number", "cancel_checkout", `{` + meta + `,"id":7}`, "cannot be read", "", ""},
		{"arguments in capitals", "get_checkout", ``, "no ucp-agent", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rest := answering(http.StatusOK, checkout)
			server := httptest.NewServer(mcp.NewHandler(rest, wire.April2026, "shop", "1", nil))
			defer server.Close()
			arguments := `"arguments":` + test.arguments
			if test.arguments == "" {
				arguments = `"arguments":{"id":"chk_1"},"Arguments":{"id":"chk_2",` + meta + `}`
			}
			got := speak(t, server.URL, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+test.tool+`",`+arguments+`}}`)
			if test.says != "" {
				require.Contains(t, got.Error.Message, test.says, got.raw)
				require.Empty(t, rest.asked, "the shop is asked nothing")
				return
			}
			require.Zero(t, got.Error.Code, got.raw)
			require.Equal(t, test.path, rest.last(t).Path)
			require.Equal(t, test.body, rest.last(t).Body)
		})
	}
}

// Tools say what they take and give, and what they give is what they say.
func TestToolsSayWhatTheyGive(t *testing.T) {
	server := httptest.NewServer(mcp.NewHandler(answering(http.StatusOK, checkout), wire.April2026, "shop", "1", nil))
	defer server.Close()
	got := speak(t, server.URL, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var listed struct {
		Tools []struct {
			Name                      string
			InputSchema, OutputSchema struct {
				Type, Description string
				Required          []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(got.Result, &listed), got.raw)
	require.Len(t, listed.Tools, 6)
	for _, tool := range listed.Tools {
		require.Equal(t, "object", tool.InputSchema.Type, tool.Name)
		require.Contains(t, tool.InputSchema.Required, "meta", tool.Name)
		require.Equal(t, "object", tool.OutputSchema.Type, tool.Name)
		require.Contains(t, tool.OutputSchema.Description, "https://ucp.dev/2026-04-08/schemas/shopping/", tool.Name)
		require.Equal(t, []string{"ucp"}, tool.OutputSchema.Required)
	}
}

// Before 2026-04-08 a no is an error whose data has the status "error" and errors.
func TestErrorsOfOlderReleases(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_checkout","arguments":{"id":"chk_1","meta":{"ucp-agent":{"profile":"https://p.example"}}}}}`
	body := `{"code":"OUT_OF_STOCK","detail":"None left.","messages":[{"type":"error","code":"out_of_stock","content":"None left.","severity":"recoverable","path":"$.line_items[0]"}]}`
	for release, errors := range map[wire.Release]int{wire.January23: 1, wire.April2026: 0} {
		server := httptest.NewServer(mcp.NewHandler(answering(http.StatusBadRequest, body), release, "shop", "1", nil))
		got := speak(t, server.URL, "POST", call)
		server.Close()
		require.Equal(t, http.StatusBadRequest, got.status, got.raw)
		require.Len(t, got.Error.Data.Errors, errors, got.raw)
		if errors > 0 {
			require.JSONEq(t, `"error"`, string(got.Error.Data.Status))
			first := got.Error.Data.Errors[0]
			require.Equal(t, "out_of_stock None left. recoverable $.line_items[0]", strings.Join([]string{first.Code, first.Message, first.Severity, first.Path}, " "))
		}
	}
	server := httptest.NewServer(mcp.NewHandler(answering(http.StatusOK, checkout), wire.January23, "shop", "1", nil))
	defer server.Close()
	got := speak(t, server.URL, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_checkout","arguments":{"id":"chk_1"}}}`)
	require.Equal(t, -32001, got.Error.Code, got.raw)
	require.Equal(t, "invalid_profile_url", got.Error.Data.Code)
	require.Equal(t, "invalid_profile_url", got.Error.Data.Errors[0].Code)
}

// The example of UCP 2026-01-23 is understood: the business has said no, and why.
func TestTheNoOfAnotherShop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"status":"error","errors":[
		  {"code":"MERCHANDISE_NOT_AVAILABLE","message":"It is gone.","severity":"requires_buyer_input"}]}}}`)
	}))
	defer server.Close()
	caller := mcp.NewCaller(server.URL, wire.January23, bridge.NewHTTPCaller(server.Client(), 0, 0))
	response, err := caller.Call(t.Context(), restRequest("GET", "checkout-sessions/chk_1", ""))
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, response.Status)
	require.JSONEq(t, `{"code":"MERCHANDISE_NOT_AVAILABLE","content":"It is gone."}`, string(response.Body))
}
