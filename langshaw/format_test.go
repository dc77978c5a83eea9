package langshaw_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

var (
	words  = regexp.MustCompile(`[\p{L}\p{Nd}_@-]+`)
	arrows = strings.NewReplacer("-/>", " ", "↛", " ")
)

// requireFormatted holds what Format promises of a text without errors, and gives the result.
func requireFormatted(t require.TestingT, text string) string {
	before, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v in\n%s", diagnostics, text)
	out, found := langshaw.Format([]byte(text))
	require.Equal(t, diagnostics, found)
	formatted := string(out)
	after, again := langshaw.Parse(out)
	require.False(t, again.HasErrors(), "%v in\n%s\nof\n%s", again, formatted, text)
	require.Len(t, again, len(diagnostics), formatted)
	require.Empty(t, cmp.Diff(describe(before), describe(after)), "%s\nof\n%s", formatted, text)
	require.Equal(t, hash(t, before), hash(t, after), "%s\nof\n%s", formatted, text)
	require.Equal(t, comments(text), comments(formatted), "%s\nof\n%s", formatted, text)
	twice, _ := langshaw.Format(out)
	require.Equal(t, formatted, string(twice), "of\n%s", text)
	require.Regexp(t, `[^\n]\n$`, formatted)
	require.NotRegexp(t, regexp.MustCompile(`(?m)[ \t]$|\n\n\n|\r`), formatted)
	return formatted
}

// hash is how engines tell protocols apart.
func hash(t require.TestingT, p *langshaw.Protocol) string {
	rules, err := enactment.Compile(p)
	require.NoError(t, err)
	return rules.Hash()
}

// comments lists the comments of a text, blanks at their ends cut off, each with the name that stands before it.
func comments(text string) []string {
	var all []string
	before := ""
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		code, comment, found := strings.Cut(line, "#")
		for _, word := range words.FindAllString(arrows.Replace(code), -1) {
			if word != "key" && word != "or" {
				before = word
			}
		}
		if found {
			all = append(all, before+": "+strings.TrimRightFunc(comment, unicode.IsSpace))
		}
	}
	return all
}

func TestFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/format/*.lsh")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden := strings.TrimSuffix(file, ".lsh") + ".txt"
			formatted := requireFormatted(t, string(read(t, file)))
			if os.Getenv("STRABO_UPDATE") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(formatted), 0o644))
			}
			require.Equal(t, string(read(t, golden)), formatted)
		})
	}
}

func TestFormatRefusesErrors(t *testing.T) {
	text := []byte("Faulty\nwho A\nwhat ID key, One\ndo\n  A: One(ID\n")
	out, diagnostics := langshaw.Format(text)
	require.Nil(t, out)
	_, expected := langshaw.Parse(text)
	require.Equal(t, expected, diagnostics)
	for _, text := range []string{"", "#", "Name", "\ufeff", "\xff\xfe"} {
		out, diagnostics := langshaw.Format([]byte(text))
		require.Nil(t, out)
		require.True(t, diagnostics.HasErrors())
	}
}

func TestFormatCorpus(t *testing.T) {
	for _, folder := range []string{"public", "random", "edge"} {
		for _, file := range corpus(t, folder+"/*.lsh") {
			text := string(read(t, file))
			if _, diagnostics := langshaw.Parse([]byte(text)); diagnostics.HasErrors() {
				out, _ := langshaw.Format([]byte(text))
				require.Nil(t, out, file)
				continue
			}
			requireFormatted(t, text)
		}
	}
}

// TestFormatDrawn formats protocols written in odd ways, with comments wherever one may stand.
func TestFormatDrawn(t *testing.T) {
	gap := regexp.MustCompile(`[ \t]+|[,:()>]|\n`)
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntries(t)
		text := rapid.SampledFrom([]string{"", "\n", "# head\n", "\ufeff"}).Draw(t, "head") + e.odd(t)
		gaps := gap.FindAllStringIndex(text, -1)
		chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(gaps)-1), 0, 12, rapid.ID).Draw(t, "gaps")
		slices.Sort(chosen)
		slices.Reverse(chosen)
		for n, at := range chosen {
			comment := fmt.Sprintf(rapid.SampledFrom([]string{" # note %d\n", "#note %d \n\t", "\n# note %d\n", "\n   # note %d\n\n\n"}).Draw(t, "note"), n)
			commented := text[:gaps[at][1]] + comment + text[gaps[at][1]:]
			if _, diagnostics := langshaw.Parse([]byte(commented)); !diagnostics.HasErrors() {
				text = commented
			}
		}
		requireFormatted(t, text)
	})
}

func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{"testdata/*.lsh", "testdata/format/*.lsh", "../protocols/*.lsh"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(string(text))
		}
	}
	f.Add("\ufeff\ufeffName\nwho A what ID key do A:B(ID)#\r#\rnono")
	f.Fuzz(func(t *testing.T, text string) {
		if _, diagnostics := langshaw.Parse([]byte(text)); !diagnostics.HasErrors() {
			requireFormatted(t, text)
		}
	})
}

func BenchmarkFormat(b *testing.B) {
	text := []byte(purchase)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if out, _ := langshaw.Format(text); out == nil {
			b.Fatal("refused")
		}
	}
}
