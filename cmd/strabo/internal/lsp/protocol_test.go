package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/lsp"
)

const notSafe = "N\nwho A, B\nwhat ID key, One or Two, Three\ndo\nA: One(ID)\nB: Two(ID)\nB: Three(ID)\nnono One Two\nnogo One -/> Three\n"

func TestVerdicts(t *testing.T) {
	c := begin(t)
	c.open(uri, notSafe)
	_, found := c.diagnostics(uri)
	require.Empty(t, found)
	_, found = c.diagnostics(uri)
	require.Equal(t, []string{"2 not-live 2:25-2:30", "2 not-safe 7:5-7:12"}, found)
	c.change(uri, 2, edit(5, 0, 1, "C"))
	version, found := c.diagnostics(uri)
	require.Equal(t, 2, version)
	require.Equal(t, []string{"1 unknown-role 5:0-5:1"}, found, "a text with errors is not verified")
	c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
	_, found = c.diagnostics(uri)
	require.Empty(t, found, "what is closed has no diagnostics")
	c.finish()
}

// slow is a protocol of which the verification takes longer than reading a message.
func slow() string {
	var b strings.Builder
	b.WriteString("Slow\nwho R0")
	for i := 1; i < 120; i++ {
		fmt.Fprintf(&b, ", R%d", i)
	}
	b.WriteString("\nwhat ID key, A0\ndo\n")
	for i := range 120 {
		fmt.Fprintf(&b, "R%d: A%d(ID)\n", i, i)
	}
	b.WriteString("nono")
	for i := range 120 {
		fmt.Fprintf(&b, " A%d", i)
	}
	return b.String()
}

func TestEditsWhileVerifying(t *testing.T) {
	c := begin(t)
	const other = "file:///other.lsh"
	c.open(uri, slow())
	version, _ := c.diagnostics(uri)
	require.Equal(t, 1, version)
	c.open(other, notSafe)
	c.change(uri, 2, object{"text": notSafe})
	c.change(uri, 3, edit(8, 0, 18, ""))
	seen := 1
	for {
		version, found := c.diagnostics(uri)
		require.GreaterOrEqual(t, version, seen, "no verdict on an older text")
		seen = version
		if version == 3 && len(found) > 0 {
			require.Equal(t, []string{"2 not-safe 7:5-7:12"}, found)
			break
		}
	}
	for {
		if _, found := c.diagnostics(other); len(found) > 0 {
			require.Len(t, found, 2)
			break
		}
	}
	c.open(uri, slow())
	c.finish()
}

// TestDebounce checks that a text is looked at once it rests, in time that is not real.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, lsp.Options{Debounce: time.Second})
		c.initialize()
		begun := time.Now()
		c.open(uri, "P")
		for version := range 5 {
			time.Sleep(900 * time.Millisecond)
			c.change(uri, version+2, object{"text": "P\nwho A" + strings.Repeat(", B", version)})
		}
		version, _ := c.diagnostics(uri)
		require.Equal(t, 6, version)
		require.Equal(t, 5*900*time.Millisecond+time.Second, time.Since(begun))
		c.finish()
	})
}

func TestCancelledRequest(t *testing.T) {
	c := begin(t)
	c.open(uri, purchase)
	// The server waits until its first answer is read, and has read the cancellation once it takes what comes after.
	first := c.request("textDocument/hover", at(uri, 0, 0))
	second := c.request("textDocument/hover", at(uri, 0, 0))
	c.notify("$/cancelRequest", object{"id": second})
	c.notify("$/cancelRequest", object{"id": "unknown"})
	c.notify("$/cancelRequest", object{"id": []int{}})
	c.notify("$/cancelRequest", 7)
	third := c.request("textDocument/hover", at(uri, 0, 0))
	require.Nil(t, c.answer(first).Error)
	require.Equal(t, -32800, c.answer(second).Error.Code)
	require.Nil(t, c.answer(third).Error)
	c.finish()
}

func TestWrongMessages(t *testing.T) {
	c := start(t, lsp.Options{})
	code, _ := c.refused("textDocument/hover", at(uri, 0, 0))
	require.Equal(t, -32002, code)
	c.open(uri, purchase)
	c.initialize()
	code, _ = c.refused("textDocument/hover", at(uri, 0, 0))
	require.Equal(t, -32602, code, "opened before initialize")
	code, _ = c.refused("initialize", object{})
	require.Equal(t, -32600, code)
	code, message := c.refused("no/such", nil)
	require.Equal(t, -32601, code)
	require.Equal(t, `there is no "no/such" here`, message)
	for _, params := range []any{7, []int{1}, object{"position": 7}, object{"position": object{"line": 1e30}}, nil, object{}} {
		code, _ = c.refused("textDocument/hover", params)
		require.Equal(t, -32602, code)
	}
	for _, method := range []string{
		"no/such", "$/setTrace", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "initialized", "",
	} {
		c.notify(method, 7)
		c.notify(method, object{})
	}
	for content, code := range map[string]int{
		"":                                       -32700,
		"{":                                      -32700,
		"[1]":                                    -32600,
		"7":                                      -32600,
		`{"jsonrpc":"1.0","method":"x"}`:         -32600,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`: -32600,
		`{"jsonrpc":"2.0","id":[],"method":"x"}`: -32600,
		`{"id":"` + strings.Repeat("x", 2000) + `","method":"x"}`: -32600,
		strings.Repeat("[", 100_000):                              -32700,
	} {
		c.write(frame(content))
		m := c.receive()
		require.Nil(t, m.ID)
		require.Equal(t, code, m.Error.Code, "%.50s", content)
	}
	c.write(frame(`{"jsonrpc":"2.0","id":99,"result":null}`))
	for _, position := range [][2]int{{-1, -1}, {1 << 40, 1 << 40}, {0, -5}} {
		c.open(uri, purchase)
		var any any
		c.call("textDocument/completion", at(uri, position[0], position[1]), &any)
		c.change(uri, 2, object{"text": "x", "range": object{
			"start": object{"line": position[1], "character": position[0]}, "end": object{"line": 0, "character": 0},
		}})
	}
	var nothing any
	c.call("shutdown", nil, &nothing)
	code, _ = c.refused("textDocument/hover", at(uri, 0, 0))
	require.Equal(t, -32600, code)
	c.notify("exit", nil)
	require.NoError(t, c.end())
}

func TestTooLarge(t *testing.T) {
	c := begin(t)
	c.open(uri, "P\n#"+strings.Repeat("x", 5<<20))
	require.Equal(t, "window/showMessage", c.receive().Method)
	code, _ := c.refused("textDocument/hover", at(uri, 0, 0))
	require.Equal(t, -32602, code)
	c.write(frame(strings.Repeat(" ", 9<<20)))
	require.Equal(t, -32600, c.receive().Error.Code)
	c.open(uri, purchase)
	require.Equal(t, "RFQ Quote Reject Deliver", c.labels(uri, 14, 9))
	c.finish()
}

func TestEndings(t *testing.T) {
	for _, test := range []struct {
		name, input string
		want        error
	}{
		{"nothing", "", lsp.ErrNoShutdown},
		{"exit first", frame(`{"jsonrpc":"2.0","method":"exit"}`), lsp.ErrNoShutdown},
		{"cut short", "Content-Length: 10\r\n\r\n{}", lsp.ErrFrame},
		{"cut short in the header", "Content-Le", lsp.ErrFrame},
		{"no length", "Content-Type: x\r\n\r\n{}", lsp.ErrFrame},
		{"no header", "{}\n\n", lsp.ErrFrame},
		{"negative", "Content-Length: -1\r\n\r\n", lsp.ErrFrame},
		{"no number", "Content-Length: 0x10\r\n\r\n", lsp.ErrFrame},
		{"beyond all numbers", "Content-Length: 99999999999999999999\r\n\r\n", lsp.ErrFrame},
		{"huge", "Content-Length: 9000000000000000000\r\n\r\n", lsp.ErrFrame},
		{"large and cut short", "Content-Length: 1000000000\r\n\r\nx", lsp.ErrFrame},
		{"endless header", strings.Repeat("x", 1<<20), lsp.ErrFrame},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := lsp.Serve(context.Background(), strings.NewReader(test.input), io.Discard, lsp.Options{})
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestOutputFails(t *testing.T) {
	broken := errors.New("the editor is gone")
	in := strings.NewReader(frame(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`))
	out := writerFunc(func([]byte) (int, error) { return 0, broken })
	require.ErrorIs(t, lsp.Serve(context.Background(), in, out, lsp.Options{}), broken)
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in, write := io.Pipe()
	require.ErrorIs(t, lsp.Serve(ctx, in, io.Discard, lsp.Options{}), context.Canceled)
	require.NoError(t, write.Close())
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// FuzzServe feeds bytes as an editor that has lost its mind, in frames and as they are: the server ends, and what it
// writes is well framed.
func FuzzServe(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"), []byte(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`))
	f.Add([]byte("\r\n\r\n"), []byte(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"u","text":"P\nwho A"}}}`))
	f.Add([]byte(""), []byte(`{"jsonrpc":"2.0","id":"a","method":"textDocument/completion","params":{"textDocument":{"uri":"u"},"position":{"line":1,"character":2}}}`))
	f.Fuzz(func(t *testing.T, raw, content []byte) {
		opening := frame(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`) +
			frame(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"u","text":"P\nwho A\nwhat ID key\ndo A: One(ID)"}}}`)
		var out strings.Builder
		err := lsp.Serve(context.Background(), strings.NewReader(opening+frame(string(content))+string(raw)), &out, lsp.Options{})
		require.True(t, err == nil || errors.Is(err, lsp.ErrNoShutdown) || errors.Is(err, lsp.ErrFrame), "%v", err)
		for rest := out.String(); rest != ""; {
			var length int
			_, err := fmt.Sscanf(rest, "Content-Length: %d\r\n\r\n", &length)
			require.NoError(t, err)
			_, rest, _ = strings.Cut(rest, "\r\n\r\n")
			require.GreaterOrEqual(t, len(rest), length)
			rest = rest[length:]
		}
	})
}
