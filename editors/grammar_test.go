// Package editors_test holds the grammar for syntax colouring to what the language's own reader says of texts.
package editors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

func readGrammar(t *testing.T) *grammar {
	t.Helper()
	text, err := os.ReadFile("strabo.tmLanguage.json")
	require.NoError(t, err)
	var g grammar
	require.NoError(t, json.Unmarshal(text, &g))
	g.compile(t)
	require.Equal(t, "source.langshaw", g.ScopeName)
	require.Equal(t, []string{"lsh"}, g.FileTypes)
	return &g
}

// expected gives the scopes that a name may have. What stands in parentheses or in what is coloured as an attribute,
// which the name of an action is too: a grammar cannot know the actions.
func expected(o langshaw.Occurrence, text string) []string {
	const attribute = "variable.parameter.attribute.langshaw"
	switch o.Kind {
	case langshaw.ProtocolName:
		return []string{"entity.name.section.protocol.langshaw"}
	case langshaw.ClauseName:
		return []string{"keyword.control.clause.langshaw"}
	case langshaw.RoleName:
		return []string{"entity.name.type.role.langshaw"}
	case langshaw.ActionName:
		clause := langshaw.PlaceAt([]byte(text), o.Start.Offset).Clause
		inside := clause == "do" && !o.Declares
		if inside || clause == "what" {
			return []string{attribute}
		}
		return []string{"entity.name.function.action.langshaw"}
	default:
		return []string{attribute}
	}
}

func requireColoured(t *testing.T, g *grammar, name, text string) {
	t.Helper()
	scopes := g.scopes(t, text)
	require.Len(t, scopes, len(text))
	for _, o := range langshaw.Occurrences([]byte(text)) {
		for at := o.Start.Offset; at < o.Start.Offset+len(o.Name); at++ {
			require.Contains(t, expected(o, text), scopes[at], "%s:%s %s %s", name, o.Start, o.Kind, o.Name)
		}
	}
	for line, at := range lineStarts(text) {
		if comment := strings.Index(text[at:lineEnd(text, at)], "#"); comment >= 0 {
			for i := at + comment; i < lineEnd(text, at); i++ {
				require.Equal(t, "comment.line.number-sign.langshaw", scopes[i], "%s:%d", name, line+1)
			}
		}
	}
	for _, arrow := range []string{"-/>", "↛"} {
		for at := strings.Index(text, arrow); at >= 0 && scopes[at] != "comment.line.number-sign.langshaw"; at = -1 {
			require.Equal(t, "keyword.operator.arrow.langshaw", scopes[at], name)
		}
	}
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i, c := range []byte(text) {
		if c == '\n' && i+1 < len(text) {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func lineEnd(text string, at int) int {
	if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(text)
}

func TestShippedProtocolsAreColoured(t *testing.T) {
	g := readGrammar(t)
	for _, name := range protocols.Names() {
		text, err := protocols.Source(name)
		require.NoError(t, err)
		requireColoured(t, g, name, string(text))
	}
}

func TestOddTextsAreColoured(t *testing.T) {
	g := readGrammar(t)
	for _, text := range []string{
		"Who and what to do, colons: and (marks)  # name\nwho: A,B what: ID key, orbit or key-word do: A: doing(ID,\n# c\n orbit) B:who-ever(ID)\nsayso: A>B:orbit A : keyed nono:\n doing who-ever\nnogo: doing-/>who-ever\n doing ↛ who-ever",
		"\ufeffSale\n\n\twho 値, Ünal\n\twhat\n\t  1D key,\n\t  or1 or 値段\n\tdo\n\t  値: 値段(1D, a_b, c-d) Ünal: or1(1D)\n",
		"# c\n  Sale 2\ndo\nwho A\nnono\nwhat x key\ndo A: a(x) # do\nA: b(x)\n",
	} {
		requireColoured(t, g, text, text)
	}
}

func TestCorpusIsColoured(t *testing.T) {
	folder := os.Getenv("STRABO_CORPUS")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(folder, "langshaw", "[ep]*", "*.lsh"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no corpus at %s: set STRABO_CORPUS to check against it", folder)
	}
	g := readGrammar(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if _, diagnostics := langshaw.Parse(text); diagnostics.HasErrors() {
			g.scopes(t, string(text))
			continue
		}
		requireColoured(t, g, filepath.Base(file), strings.ReplaceAll(string(text), "\r", " "))
	}
}
