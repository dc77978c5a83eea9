package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frames writes messages as an editor sends them.
func frames(contents ...string) string {
	var b strings.Builder
	for _, content := range contents {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(content), content)
	}
	return b.String()
}

const (
	lspInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	lspOpen       = `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///p","version":1,"text":"P\nwho A"}}}`
	lspShutdown   = `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`
	lspExit       = `{"jsonrpc":"2.0","method":"exit"}`
)

// TestLSP runs the command as an editor does, over pipes.
func TestLSP(t *testing.T) {
	in, editor := io.Pipe()
	screen, out := io.Pipe()
	codes := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		codes <- run([]string{"lsp", "--stdio", "--debounce", "0s"}, in, out, &stderr)
		out.Close()
	}()
	go fmt.Fprint(editor, frames(lspInitialize, lspOpen))
	said := ""
	buffer := make([]byte, 1<<16)
	for !strings.Contains(said, "missing-what") {
		n, err := screen.Read(buffer)
		require.NoError(t, err)
		said += string(buffer[:n])
	}
	require.Contains(t, said, `"serverInfo":{"name":"strabo"`)
	go fmt.Fprint(editor, frames(lspShutdown, lspExit))
	rest, err := io.ReadAll(screen)
	require.NoError(t, err)
	require.Equal(t, frames(`{"jsonrpc":"2.0","id":2,"result":null}`+"\n"), string(rest))
	require.Equal(t, exitFine, <-codes)
	require.Empty(t, stderr.String())
}

func TestLSPEnds(t *testing.T) {
	code, _, err := runStrabo(frames(lspInitialize, lspShutdown, lspExit), "lsp")
	require.Equal(t, exitFine, code)
	require.Empty(t, err)
	code, _, err = runStrabo(frames(lspInitialize), "lsp")
	require.Equal(t, exitNo, code)
	require.Empty(t, err)
	code, out, err := runStrabo("who A\n\n", "lsp")
	require.Equal(t, exitWrongUse, code)
	require.Empty(t, out)
	require.Equal(t, "strabo: lsp: not a message of the language server protocol: a header line without a colon\n", err)
	code, _, err = runStrabo(frames("{"), "lsp")
	require.Equal(t, exitNo, code)
	require.Contains(t, err, "a message cannot be understood")
}
