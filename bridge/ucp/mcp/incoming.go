package mcp

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// incoming is a JSON-RPC message that somebody has sent. ID is empty for a notification.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// served are the methods of MCP that there is something behind; the library has answers to some more.
var served = map[string]bool{
	"initialize": true, "ping": true, "tools/list": true, "tools/call": true, "server/discover": true,
}

// readMessage reads one JSON-RPC request or notification. The failure is the error that JSON-RPC 2.0 has for it (section
// 5.1). An id that is not a string or a whole number of 64 bits is refused, for it could not be sent back as it is.
func readMessage(body []byte) (incoming, *failure) {
	var said struct {
		incoming
		Version string `json:"jsonrpc"`
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case !json.Valid(body):
		return incoming{}, &failure{Code: -32700, Message: "The message is not sound JSON."}
	case trimmed[0] == '[':
		// MCP has none since 2025-06-18, and thousands of calls would be one request to whoever counts requests.
		return incoming{}, &failure{Code: -32600, Message: "Batches of messages are not answered."}
	case json.Unmarshal(body, &said) != nil || said.Version != "2.0" || said.Method == "":
		return incoming{}, &failure{Code: -32600, Message: "The message is no request of JSON-RPC 2.0."}
	}
	if id := string(said.ID); id != "" && id[0] != '"' {
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			return incoming{}, &failure{Code: -32600, Message: "The id of the message is neither a string nor a whole number of 64 bits."}
		}
	}
	return said.incoming, nil
}

// refuseMessage answers a message with a JSON-RPC error; no id is null.
func refuseMessage(w http.ResponseWriter, id json.RawMessage, status, code int, content string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(envelope{Version: "2.0", ID: id, Error: &failure{Code: code, Message: content}})
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // Nobody is there to be told.
}

// takesJSON tells whether a client that accepts what the lines of its Accept say, or says nothing, can be answered in JSON.
func takesJSON(lines []string) bool {
	if len(lines) == 0 {
		return true
	}
	for wanted := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		switch media, _, err := mime.ParseMediaType(wanted); {
		case err != nil:
		case media == "application/json", media == "application/*", media == "*/*":
			return true
		}
	}
	return false
}
