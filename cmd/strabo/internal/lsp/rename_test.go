package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

// corpus gives the protocols of the project and, where it is, of the shared corpus.
func corpus(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..")
	files, err := filepath.Glob(filepath.Join(root, "protocols", "*.lsh"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	shared := os.Getenv("STRABO_CORPUS")
	if shared == "" {
		shared = filepath.Join(root, "..", "shared", "corpus")
	}
	// The generated ones are all of one kind.
	more, err := filepath.Glob(filepath.Join(shared, "langshaw", "[ep]*", "*.lsh"))
	require.NoError(t, err)
	if len(more) == 0 {
		t.Logf("no corpus at %s: set STRABO_CORPUS to check against it", shared)
	}
	return append(files, more...)
}

// TestRenameEverything renames every name of many protocols, and checks that the new name stands as often as the text
// has grown by. It also asks everything else at every name.
func TestRenameEverything(t *testing.T) {
	c := begin(t, "utf-8")
	for _, file := range corpus(t) {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text := strings.ToValidUTF8(string(content), "?")
		c.open(file, text)
		var raw json.RawMessage
		c.call("textDocument/documentSymbol", at(file, 0, 0), &raw)
		lines := lineStarts(text)
		renamed := make(map[string]bool)
		for _, o := range langshaw.Occurrences([]byte(text)) {
			if renamed[o.Name] {
				continue
			}
			renamed[o.Name] = true
			line := sort.SearchInts(lines, o.Start.Offset+1) - 1
			place := with(at(file, line, o.Start.Offset-lines[line]), "context", object{"includeDeclaration": true})
			for _, method := range []string{"hover", "definition", "references", "completion", "documentHighlight"} {
				c.call("textDocument/"+method, place, &raw)
				require.True(t, method == "definition" || method == "completion" || string(raw) != "null", "%s of %s in %s", method, o.Name, file)
			}
			m := c.answer(c.request("textDocument/rename", with(place, "newName", "Renamed")))
			if o.Kind == langshaw.ProtocolName || o.Kind == langshaw.ClauseName {
				require.NotNil(t, m.Error)
				continue
			}
			require.Nil(t, m.Error, "%s in %s", o.Name, file)
			after := apply(t, text, lines, m.Result)
			count := 0
			for _, now := range langshaw.Occurrences([]byte(after)) {
				if now.Name == "Renamed" {
					count++
				}
			}
			require.Positive(t, count)
			require.Equal(t, len(text)+count*(len("Renamed")-len(o.Name)), len(after), "%s in %s", o.Name, file)
		}
		c.notify("textDocument/didClose", object{"textDocument": object{"uri": file}})
	}
	c.finish()
}

// lineStarts gives where the lines of a text start.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i:], "\r\n") {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// apply makes the edits of a rename, the last first; positions are in bytes.
func apply(t *testing.T, text string, lines []int, result json.RawMessage) string {
	t.Helper()
	type place struct{ Line, Character int }
	var edit struct {
		Changes map[string][]struct {
			Range   struct{ Start, End place }
			NewText string
		}
	}
	require.NoError(t, json.Unmarshal(result, &edit))
	require.Len(t, edit.Changes, 1)
	for _, edits := range edit.Changes {
		for i := len(edits) - 1; i >= 0; i-- {
			from := lines[edits[i].Range.Start.Line] + edits[i].Range.Start.Character
			to := lines[edits[i].Range.End.Line] + edits[i].Range.End.Character
			text = text[:from] + edits[i].NewText + text[to:]
		}
	}
	return text
}
