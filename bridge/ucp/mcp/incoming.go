package mcp

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// incoming is a JSON-RPC message that somebody has sent. ID is empty for a notification.
type incoming struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// served are the methods of MCP that there is something behind; the library has answers to some more.
var served = map[string]bool{
	"initialize": true, "ping": true, "tools/list": true, "tools/call": true, "server/discover": true,
}

// readMessage reads one JSON-RPC request or notification. The failure is the error that JSON-RPC 2.0 has for it (section
// 5.1). An id that is not a string or a whole number of 64 bits is refused, for it could not be sent back as it is. So is
// what another reader, the library behind this one or whoever stands in front, could take for another message: one with a
// member twice, or that is no Unicode. Names count with their case.
func readMessage(body []byte) (incoming, *failure) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case !json.Valid(body):
		return incoming{}, &failure{Code: -32700, Message: "The message is not sound JSON."}
	case trimmed[0] == '[':
		// MCP has none since 2025-06-18, and thousands of calls would be one request to whoever counts requests.
		return incoming{}, &failure{Code: -32600, Message: "Batches of messages are not answered."}
	case trimmed[0] != '{':
		return incoming{}, noRequest
	}
	members, err := enactment.ParseValues(body)
	if err != nil {
		return incoming{}, &failure{Code: -32600, Message: "The message has a member twice, is no Unicode, or is nested too deep."}
	}
	raw := func(name string) json.RawMessage {
		if value, ok := members[name]; ok {
			return json.RawMessage(value.String())
		}
		return nil
	}
	said := incoming{ID: raw("id"), Params: raw("params")}
	if members["jsonrpc"].String() != `"2.0"` || json.Unmarshal(raw("method"), &said.Method) != nil || said.Method == "" {
		return incoming{}, noRequest
	}
	if id := string(said.ID); id != "" && id[0] != '"' {
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			return incoming{}, &failure{Code: -32600, Message: "The id of the message is neither a string nor a whole number of 64 bits."}
		}
	}
	return said, nil
}

var noRequest = &failure{Code: -32600, Message: "The message is no request of JSON-RPC 2.0."}

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
