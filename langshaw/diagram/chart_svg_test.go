package diagram_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/diagram"
	"github.com/strabo-engine/strabo/protocols"
)

// picture is what the tests read of an SVG.
type picture struct {
	texts []string
	boxes [][4]float64 // of actions: left, top, right, bottom
	width float64
}

func look(t require.TestingT, p *langshaw.Protocol) picture {
	var out bytes.Buffer
	chart, err := diagram.Draw(p, diagram.Options{})
	require.NoError(t, err)
	require.NoError(t, chart.WriteSVG(&out))
	require.NotContains(t, out.String(), "NaN")
	require.NotContains(t, out.String(), "Inf")
	var seen picture
	for decoder := xml.NewDecoder(&out); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return seen
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				seen.texts = append(seen.texts, text)
			}
		case xml.StartElement:
			number := make(map[string]float64)
			for _, a := range token.Attr {
				number[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
			}
			switch {
			case token.Name.Local == "svg":
				seen.width = number["width"]
			case token.Name.Local == "rect" && number["rx"] > 0:
				seen.boxes = append(seen.boxes, [4]float64{
					number["x"], number["y"], number["x"] + number["width"], number["y"] + number["height"],
				})
			}
		}
	}
}

// requireReadable checks that everything is there, inside, and apart.
func requireReadable(t require.TestingT, p *langshaw.Protocol) {
	seen := look(t, p)
	require.Len(t, seen.boxes, p.ActionCount())
	for a := range p.Actions() {
		require.Contains(t, seen.texts, a.Name())
		require.Contains(t, seen.texts, a.Role())
	}
	for i, a := range seen.boxes {
		require.True(t, a[0] > 0 && a[2] < seen.width)
		for _, b := range seen.boxes[i+1:] {
			require.True(t, a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1], "%v and %v", a, b)
		}
	}
}

func TestShippedProtocolsAsPictures(t *testing.T) {
	for _, name := range protocols.Names() {
		text, err := protocols.Source(name)
		require.NoError(t, err)
		p := parse(t, string(text))
		requireReadable(t, p)
		require.Equal(t, look(t, p), look(t, p))
	}
	golden(t, "purchase.svg", draw(t, parse(t, purchase), diagram.Options{}).WriteSVG)
}

// TestDrawnProtocolsAsPictures tries protocols in which anything may be tied to anything, in circles too.
func TestDrawnProtocolsAsPictures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 14).Draw(t, "actions")
		action := func() string { return fmt.Sprintf("Act%d", rapid.IntRange(0, count-1).Draw(t, "action")) }
		role := rapid.SampledFrom([]string{"A", "Bob", "Cid-the-third"})
		text := "Drawn\nwho A, Bob, Cid-the-third\nwhat ID key, Act0\ndo\n"
		for i := range count {
			text += fmt.Sprintf("  %s: Act%d(ID", role.Draw(t, "role"), i)
			for v := range 3 {
				if rapid.Bool().Draw(t, "carries") {
					text += fmt.Sprintf(", value%d", v)
				}
			}
			if to := action(); rapid.Bool().Draw(t, "refers") && to != fmt.Sprintf("Act%d", i) {
				text += ", " + to
			}
			text += ")\n"
		}
		text += "sayso\n  A: value0\n  Bob > A: value1\nnono\n"
		for range rapid.IntRange(0, 3).Draw(t, "nonos") {
			text += "  " + strings.Join(rapid.SliceOfNDistinct(rapid.Custom(func(*rapid.T) string { return action() }), 2, min(count, 6), rapid.ID).Draw(t, "nono"), " ") + "\n"
		}
		text += "nogo\n"
		for range rapid.IntRange(0, 4).Draw(t, "nogos") {
			if a, b := action(), action(); a != b {
				text += "  " + a + " -/> " + b + "\n"
			}
		}
		requireReadable(t, parse(t, text))
	})
}

func TestCorpusAsPictures(t *testing.T) {
	folder := os.Getenv("STRABO_CORPUS")
	if folder == "" {
		folder = "../../../shared/corpus"
	}
	files, err := filepath.Glob(filepath.Join(folder, "langshaw", "*", "*.lsh"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no corpus at %s: set STRABO_CORPUS to check against it", folder)
	}
	for _, file := range files {
		if p, diagnostics := langshaw.Parse(readFile(t, file)); !diagnostics.HasErrors() {
			requireReadable(t, p)
		}
	}
}

func TestNamesOfAllKinds(t *testing.T) {
	p := parse(t, "A \"name\" <b>&amp; \\N \x01\nwho graph, 値\nwhat ID key, node\ndo\n  graph: node(ID)\n  値: 値段(ID, node)\n  graph: edge-1(ID, node, strict)\nsayso graph: strict\n")
	requireReadable(t, p)
	require.Contains(t, look(t, p).texts, `A "name" <b>&amp; \N `+"\ufffd")
}

func TestPictureTooLarge(t *testing.T) {
	text := "Large\nwho A\nwhat ID key, Act0\ndo\n"
	for i := range 1001 {
		text += fmt.Sprintf("  A: Act%d(ID)\n", i)
	}
	require.ErrorIs(t, draw(t, parse(t, text), diagram.Options{}).WriteSVG(io.Discard), diagram.ErrTooLarge)
}

func BenchmarkChartAsSVG(b *testing.B) {
	text, err := protocols.Source("simple-ucp")
	require.NoError(b, err)
	p, _ := langshaw.Parse(text)
	b.ReportAllocs()
	for b.Loop() {
		chart, err := diagram.Draw(p, diagram.Options{})
		require.NoError(b, err)
		require.NoError(b, chart.WriteSVG(io.Discard))
	}
}
