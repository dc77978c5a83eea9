package lsp

import (
	"bytes"
	"encoding/json"
)

// message is what comes in: a request if it has an id and a method, a notification if it has a method only.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	// broken says what is wrong with it as a message.
	broken *failure
}

// failure is an error as JSON-RPC gives it. It is an error.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// The codes of failures, of JSON-RPC and of LSP.
const (
	parseError       = -32700
	invalidRequest   = -32600
	methodNotFound   = -32601
	invalidParams    = -32602
	notInitialized   = -32002
	requestFailed    = -32803
	requestCancelled = -32800
)

// answer is a response.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// refusal is a response that says why there is no answer.
type refusal struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *failure        `json:"error"`
}

// notification is sent without being asked.
type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// nullID stands for the id of a request whose id is not known.
var nullID = json.RawMessage("null")

// isRequest tells whether an answer is to be sent.
func (m message) isRequest() bool { return m.ID != nil && m.Method != "" }

// decode reads a message. One that is none is broken, with the reason; so is one with an id that cannot be one.
func decode(content []byte) message {
	var m message
	if err := json.Unmarshal(content, &m); err != nil {
		m = message{broken: &failure{invalidRequest, "this is no request, no notification and no response"}}
		if !json.Valid(content) {
			m.broken = &failure{parseError, "this is no JSON"}
		}
		return m
	}
	m.ID = bytes.TrimSpace(m.ID)
	if len(m.ID) == 0 || bytes.Equal(m.ID, nullID) {
		m.ID = nil
	}
	switch {
	case m.ID != nil && (len(m.ID) > longestID || !bytes.ContainsRune([]byte(`"-0123456789`), rune(m.ID[0]))):
		m = message{broken: &failure{invalidRequest, "an id is a number or a short string"}}
	case m.JSONRPC != "2.0":
		m.broken = &failure{invalidRequest, "this is not JSON-RPC 2.0"}
	}
	return m
}

// longestID is the most bytes of the id of a request.
const longestID = 1000

// params reads what a method was called with. Left out, they are the zero value.
func params[P any](m message) (P, error) {
	var p P
	if len(m.Params) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return p, &failure{invalidParams, "the parameters of " + m.Method + " are not as the protocol says"}
	}
	return p, nil
}
