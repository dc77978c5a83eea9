package svg_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/diagram"
	"github.com/strabo-engine/strabo/langshaw/diagram/svg"
	"github.com/strabo-engine/strabo/protocols"
)

func write(t *testing.T, text string) (string, error) {
	t.Helper()
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v", diagnostics)
	chart, err := diagram.Draw(p, diagram.Options{})
	require.NoError(t, err)
	var out bytes.Buffer
	err = svg.Write(context.Background(), &out, chart)
	return out.String(), err
}

func TestShippedProtocols(t *testing.T) {
	for _, name := range protocols.Names() {
		text, err := protocols.Source(name)
		require.NoError(t, err)
		picture, err := write(t, string(text))
		require.NoError(t, err)
		texts := textsOf(t, picture)
		p, _ := langshaw.Parse(text)
		for a := range p.Actions() {
			require.Contains(t, texts, a.Name())
		}
		for role := range p.Roles() {
			require.Contains(t, texts, role)
		}
		if name == "purchase" {
			again, err := write(t, string(text))
			require.NoError(t, err)
			require.Equal(t, picture, again)
		}
	}
}

// textsOf lists the texts that a picture shows.
func textsOf(t *testing.T, picture string) []string {
	t.Helper()
	var texts []string
	for decoder := xml.NewDecoder(bytes.NewBufferString(picture)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return texts
		}
		require.NoError(t, err)
		if data, ok := token.(xml.CharData); ok {
			texts = append(texts, string(data))
		}
	}
}

func TestNamesThatGraphvizKnows(t *testing.T) {
	picture, err := write(t, "A \"name\" <b>&amp; \\N \x01\nwho graph, 値\nwhat ID key, node\ndo\n  graph: node(ID)\n  値: subgraph(ID, node)\n  graph: edge-1(ID, node, strict)\nsayso graph: strict\n")
	require.NoError(t, err)
	for _, shown := range []string{`A "name" <b>&amp; \N ` + "\ufffd", "graph", "値", "node", "subgraph", "edge-1", "strict"} {
		require.Contains(t, textsOf(t, picture), shown)
	}
}

func TestTooLarge(t *testing.T) {
	text := "Large\nwho A\nwhat ID key, Act0\ndo\n"
	for i := range 1001 {
		text += fmt.Sprintf("  A: Act%d(ID)\n", i)
	}
	_, err := write(t, text)
	require.ErrorIs(t, err, diagram.ErrTooLarge)
}

func BenchmarkWrite(b *testing.B) {
	text, err := protocols.Source("simple-ucp")
	require.NoError(b, err)
	p, _ := langshaw.Parse(text)
	chart, err := diagram.Draw(p, diagram.Options{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, svg.Write(context.Background(), io.Discard, chart))
	}
}
