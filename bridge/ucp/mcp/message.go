package mcp

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// envelope is a JSON-RPC message.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is the error of a JSON-RPC message, as UCP writes it.
type failure struct {
	Code    int          `json:"code"`
	Message string       `json:"message"`
	Data    *failureData `json:"data,omitempty"`
}

// failureData says what the body of the REST answer would have said.
type failureData struct {
	Code        string          `json:"code,omitempty"`
	Content     string          `json:"content,omitempty"`
	ContinueURL string          `json:"continue_url,omitempty"`
	RetryAfter  json.RawMessage `json:"retry_after,omitempty"`
	// HTTPStatus is the status that the answer would have had; it is a member of our own.
	HTTPStatus int `json:"http_status,omitempty"`
	// Status is "error", and Errors say why, before 2026-04-08 (UCP 2026-01-23, checkout MCP binding, error handling). What
	// others write there, a number for one, is read as it is.
	Status json.RawMessage `json:"status,omitempty"`
	Errors []reason        `json:"errors,omitempty"`
	// Body is the whole body, where it is more than code and content.
	Body json.RawMessage `json:"body,omitempty"`
}

// reason is one of the errors of a failure.
type reason struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Severity string `json:"severity,omitempty"`
	Path     string `json:"path,omitempty"`
}

// explain adds what releases before 2026-04-08 have: the messages of the answer, or else its code, as errors.
func (d *failureData) explain(release wire.Release, messages []reason) {
	if release == wire.April2026 {
		return
	}
	if d.Errors = messages; len(messages) == 0 {
		d.Errors = []reason{{Code: d.Code, Message: d.Content, Severity: "recoverable"}}
	}
	d.Status = json.RawMessage(`"error"`)
}

// rpcCode is the JSON-RPC code for a status (UCP 2026-04-08, overview, error codes).
func rpcCode(status int, code string) int {
	if known := negotiation.Code(code); known.Refuses() {
		return known.RPC()
	}
	switch {
	case status == http.StatusFailedDependency:
		return -32001
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return -32600
	case status == http.StatusInternalServerError:
		return -32603
	}
	return -32000
}

// status is the status that a failure stands for.
func (f *failure) status() int {
	if f.Data != nil && f.Data.HTTPStatus >= 400 && f.Data.HTTPStatus < 600 {
		return f.Data.HTTPStatus
	}
	if f.Data != nil {
		if len(f.Data.Errors) > 0 && f.Data.Code == "" {
			return http.StatusBadRequest // The business has said no; -32603 is what that release has for it.
		}
		if code := negotiation.Code(f.Data.Code); code.Refuses() {
			return code.Status()
		}
		if len(f.Data.RetryAfter) > 0 {
			return http.StatusTooManyRequests
		}
	}
	switch f.Code {
	case -32700, -32600, -32602:
		return http.StatusUnprocessableEntity
	case -32601:
		return http.StatusNotFound
	case -32000, -32001:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// meta is the metadata of a request (UCP 2026-01-23 and later).
type meta struct {
	Agent struct {
		Profile string `json:"profile"`
	} `json:"ucp-agent"`
	Key string `json:"idempotency-key,omitempty"`
}

// arguments are those of a tool call. In 2026-01-11 the profile stands in _meta and the checkout's members beside it.
type arguments struct {
	Meta     *meta           `json:"meta,omitempty"`
	ID       string          `json:"id,omitempty"`
	Checkout json.RawMessage `json:"checkout,omitempty"`
	// Of 2026-01-11 and 2026-01-23.
	Key    string `json:"idempotency_key,omitempty"`
	Legacy *struct {
		UCP struct {
			Profile string `json:"profile"`
		} `json:"ucp"`
	} `json:"_meta,omitempty"`
}

// readArguments reads the arguments of a call, and gives all of them by name. Names count with their case, like those of the
// message around them: what another reader takes for something else, such as a Checkout beside the checkout, is nothing here.
func readArguments(given json.RawMessage) (arguments, enactment.Values, error) {
	if len(given) == 0 { // A call of a tool may come without.
		return arguments{}, nil, nil
	}
	members, err := enactment.ParseValues(given)
	if err != nil {
		return arguments{}, nil, err
	}
	var a arguments
	for name, into := range map[string]any{"meta": &a.Meta, "id": &a.ID, "idempotency_key": &a.Key, "_meta": &a.Legacy} {
		if value, ok := members[name]; ok {
			if err := read.Into(value, name, into); err != nil {
				return arguments{}, nil, err
			}
		}
	}
	if checkout, ok := members["checkout"]; ok && !checkout.Equal(enactment.MustValue(nil)) {
		a.Checkout = json.RawMessage(checkout.String())
	}
	return a, members, nil
}

func (a arguments) profile() string {
	if a.Meta != nil && a.Meta.Agent.Profile != "" {
		return a.Meta.Agent.Profile
	}
	if a.Legacy != nil {
		return a.Legacy.UCP.Profile
	}
	return ""
}

func (a arguments) key() string {
	if a.Meta != nil {
		return cmp.Or(a.Meta.Key, a.Key)
	}
	return a.Key
}

// agrees tells whether the arguments say the same as the headers, which alone are signed, of who asks and under which key;
// either may say nothing.
func (a arguments) agrees(header http.Header) bool {
	if key := header.Get("Idempotency-Key"); key != "" && a.key() != "" && key != a.key() {
		return false
	}
	lines := header.Values("UCP-Agent")
	if len(lines) == 0 || a.profile() == "" {
		return true
	}
	agent, err := negotiation.ParseAgent(lines)
	return err == nil && agent.Profile == a.profile()
}
