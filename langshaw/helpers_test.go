package langshaw_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/langshaw"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	m.Run()
}

// corpus gives the files of a folder of the shared corpus that match, and skips the test where there is no corpus.
func corpus(t *testing.T, pattern string) []string {
	t.Helper()
	folder := os.Getenv("STRABO_CORPUS")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no corpus at %s: set STRABO_CORPUS to check against it", folder)
	}
	files, err := filepath.Glob(filepath.Join(folder, "langshaw", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// parseGood parses a text that must have no diagnostics at all.
func parseGood(t *testing.T, text string) *langshaw.Protocol {
	t.Helper()
	protocol, diagnostics := langshaw.Parse([]byte(text))
	require.Empty(t, diagnostics)
	return protocol
}

// summaries gives each diagnostic as line:column severity[code], and the suggestion after it.
func summaries(diagnostics langshaw.Diagnostics) []string {
	var out []string
	for _, d := range diagnostics {
		s := fmt.Sprintf("%s %s[%s]", d.Span.Start, d.Severity, d.Code)
		if d.Suggestion != "" {
			s += " " + d.Suggestion
		}
		out = append(out, s)
	}
	return out
}

// describe writes a model in one canonical spelling, without places.
func describe(p *langshaw.Protocol) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nwho %s\nwhat", p.Name(), strings.Join(slices.Collect(p.Roles()), ", "))
	separator := " "
	for c := range p.What() {
		b.WriteString(separator + strings.Join(slices.Collect(c.Alternatives()), " or "))
		if c.IsKey() {
			b.WriteString(" key")
		}
		separator = ", "
	}
	b.WriteString("\ndo\n")
	for a := range p.Actions() {
		fmt.Fprintf(&b, "  %s: %s(%s)\n", a.Role(), a.Name(), strings.Join(slices.Collect(a.Attributes()), ", "))
	}
	b.WriteString("sayso\n")
	for a := range p.Attributes() {
		if roles := slices.Collect(a.Sayso()); len(roles) > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", strings.Join(roles, " > "), a.Name())
		}
	}
	b.WriteString("nono\n")
	for n := range p.Nonos() {
		fmt.Fprintf(&b, "  %s\n", strings.Join(slices.Collect(n.Actions()), " "))
	}
	b.WriteString("nogo\n")
	for n := range p.Nogos() {
		fmt.Fprintf(&b, "  %s -/> %s\n", n.First(), n.Then())
	}
	return b.String()
}
