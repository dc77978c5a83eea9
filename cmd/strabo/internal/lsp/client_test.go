package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/lsp"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/testspeed"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	leak.Main(m)
}

type object = map[string]any

// received is any message of the server.
type received struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// client is an editor at the other end of two pipes.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *io.PipeReader
	read *textproto.Reader
	next int
	// early are messages that came before they were waited for.
	early []received
	ended chan error
}

func start(t *testing.T, options lsp.Options) *client {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	c := &client{t: t, in: in, out: out, read: textproto.NewReader(bufio.NewReader(out)), ended: make(chan error, 1)}
	go func() {
		c.ended <- lsp.Serve(context.Background(), serverIn, serverOut, options)
		serverIn.Close()
		serverOut.Close()
	}()
	return c
}

// begin starts a session in which positions are counted in the units given, UTF-16 if none are.
func begin(t *testing.T, encodings ...string) *client {
	c := start(t, lsp.Options{Version: "test"})
	c.initialize(encodings...)
	return c
}

func (c *client) initialize(encodings ...string) (result object) {
	c.call("initialize", object{"capabilities": object{
		"general": object{"positionEncodings": encodings},
		"textDocument": object{
			"hover":          object{"contentFormat": []string{"markdown"}},
			"documentSymbol": object{"hierarchicalDocumentSymbolSupport": true},
			"codeAction":     object{"codeActionLiteralSupport": object{}},
		},
	}}, &result)
	c.notify("initialized", object{})
	return result
}

func (c *client) write(frame string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, frame)
	require.NoError(c.t, err)
}

func frame(content string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}

func (c *client) send(m object) {
	c.t.Helper()
	m["jsonrpc"] = "2.0"
	content, err := json.Marshal(m)
	require.NoError(c.t, err)
	c.write(frame(string(content)))
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	c.send(object{"method": method, "params": params})
}

// request asks without waiting for the answer.
func (c *client) request(method string, params any) (id int) {
	c.t.Helper()
	c.next++
	c.send(object{"id": c.next, "method": method, "params": params})
	return c.next
}

func (c *client) receive() received {
	c.t.Helper()
	header, err := c.read.ReadMIMEHeader()
	require.NoError(c.t, err)
	length, err := strconv.Atoi(header.Get("Content-Length"))
	require.NoError(c.t, err)
	content := make([]byte, length)
	_, err = io.ReadFull(c.read.R, content)
	require.NoError(c.t, err)
	var m received
	require.NoError(c.t, json.Unmarshal(content, &m))
	return m
}

// wait gives the first message that is wanted.
func (c *client) wait(wanted func(received) bool) received {
	c.t.Helper()
	for i, m := range c.early {
		if wanted(m) {
			c.early = append(c.early[:i:i], c.early[i+1:]...)
			return m
		}
	}
	for {
		m := c.receive()
		if wanted(m) {
			return m
		}
		c.early = append(c.early, m)
	}
}

func (c *client) answer(id int) received {
	c.t.Helper()
	return c.wait(func(m received) bool { return m.ID != nil && *m.ID == id && m.Method == "" })
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	m := c.answer(c.request(method, params))
	require.Nil(c.t, m.Error, method)
	require.NoError(c.t, json.Unmarshal(m.Result, result))
}

func (c *client) refused(method string, params any) (code int, message string) {
	c.t.Helper()
	m := c.answer(c.request(method, params))
	require.NotNil(c.t, m.Error, "%s gave %s", method, m.Result)
	return m.Error.Code, m.Error.Message
}

type published struct {
	URI         string `json:"uri"`
	Version     int    `json:"version"`
	Diagnostics []struct {
		Range    json.RawMessage `json:"range"`
		Severity int             `json:"severity"`
		Code     string          `json:"code"`
		Message  string          `json:"message"`
	} `json:"diagnostics"`
}

// diagnostics gives the next that are published for a document, as severity and code with the range.
func (c *client) diagnostics(uri string) (version int, found []string) {
	c.t.Helper()
	var p published
	c.wait(func(m received) bool {
		if m.Method != "textDocument/publishDiagnostics" {
			return false
		}
		p = published{}
		require.NoError(c.t, json.Unmarshal(m.Params, &p))
		return p.URI == uri
	})
	found = []string{}
	for _, d := range p.Diagnostics {
		found = append(found, fmt.Sprintf("%d %s %s", d.Severity, d.Code, short(d.Range)))
	}
	return p.Version, found
}

// short gives a range, or what holds one, as line:character-line:character.
func short(raw json.RawMessage) string {
	var r struct{ Start, End struct{ Line, Character int } }
	if json.Unmarshal(raw, &r) != nil {
		return string(raw)
	}
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
}

func (c *client) open(uri, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", object{"textDocument": object{"uri": uri, "languageId": "langshaw", "version": 1, "text": text}})
}

func (c *client) change(uri string, version int, changes ...object) {
	c.t.Helper()
	c.notify("textDocument/didChange", object{"textDocument": object{"uri": uri, "version": version}, "contentChanges": changes})
}

// edit is a change of a range on one line.
func edit(line, from, to int, text string) object {
	return object{"text": text, "range": object{
		"start": object{"line": line, "character": from}, "end": object{"line": line, "character": to},
	}}
}

func at(uri string, line, character int) object {
	return object{"textDocument": object{"uri": uri}, "position": object{"line": line, "character": character}}
}

func with(o object, key string, value any) object {
	o[key] = value
	return o
}

// finish ends a session as it should end.
func (c *client) finish() {
	c.t.Helper()
	var nothing any
	c.call("shutdown", nil, &nothing)
	c.notify("exit", nil)
	require.NoError(c.t, c.end())
}

// end waits for the end of the server, reading what it still says.
func (c *client) end() error {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.read.R)
	require.NoError(c.t, err)
	c.in.Close()
	return <-c.ended
}
