package langshaw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

func rendered(t *testing.T, text string) string {
	t.Helper()
	_, diagnostics := langshaw.Parse([]byte(text))
	var out strings.Builder
	require.NoError(t, langshaw.WriteText(&out, "file.lsh", []byte(text), diagnostics))
	return out.String()
}

// TestFixtures compares what is said about each fixture with the text file beside it. With STRABO_UPDATE set it
// rewrites those files.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.lsh")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := rendered(t, string(read(t, file)))
			golden := strings.TrimSuffix(file, ".lsh") + ".txt"
			if os.Getenv("STRABO_UPDATE") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			require.Empty(t, cmp.Diff(string(read(t, golden)), got))
		})
	}
}

func TestSnippets(t *testing.T) {
	const head = "S\nwho A\nwhat ID key, One\ndo A: One(ID)\n"
	long := strings.Repeat("One, ", 48)
	tests := []struct {
		name, line string
		want       []string
	}{
		{"tabs", "nono\tOne\tTwo\t\tThree", []string{
			"    nono    One Two     Three",
			"                ^^^",
			"    nono    One Two     Three",
			"                        ^^^^^",
		}},
		{"wide characters", "nono 動作 One # 動作", []string{
			"    nono 動作 One # 動作",
			"         ^^^^",
		}},
		{"combining characters before", "nono One ? # e\u0301", []string{
			"    nono One ? # e\u0301",
			"             ^",
		}},
		{"what moves the cursor or turns text", "nono One \x1b[31m\u202e", []string{
			"    nono One \ufffd[31m\ufffd",
			"             ^^^^^^",
		}},
		{"a tab within the marks", "nono One ?\tTwo", []string{
			"    nono One ?  Two",
			"             ^",
		}},
		{"long line, at the end", "what " + long + "Two", []string{
			"    ..." + (" " + long)[len(long)+1-97:] + "Two",
			strings.Repeat(" ", 4+3+97) + "^^^",
		}},
		{"long line, at the start", "what Two, " + long + "One", []string{
			"    what Two, " + long[:90] + "...",
			"         ^^^",
		}},
		{"long line, in the middle", "what " + long + "Two, " + long + "One", []string{
			"    ..." + (" " + long)[len(long)+1-50:] + "Two, " + long[:45] + "...",
			strings.Repeat(" ", 4+3+50) + "^^^",
		}},
		{"long name", "nono One " + strings.Repeat("x", 200), []string{
			"    nono One " + strings.Repeat("x", 91) + "...",
			strings.Repeat(" ", 4+9) + strings.Repeat("^", 91),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(rendered(t, head+test.line)) {
				if strings.HasPrefix(line, "    ") {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			require.GreaterOrEqual(t, len(got), len(test.want))
			require.Empty(t, cmp.Diff(test.want, got[:len(test.want)]))
		})
	}
}

func TestSpanOverLinesIsMarkedOnItsFirst(t *testing.T) {
	got := rendered(t, "S\nwho A\nwhat ID key, One\ndo A: One(\n  x)\nsayso A: x\n")
	require.Contains(t, got, "    do A: One(\n          ^^^^\n")
}

func TestManyDiagnostics(t *testing.T) {
	text := base + "nono\n" + strings.Repeat(" One One\n", langshaw.MostShown-1) + " One Two Three\n Two Two\nsayso A: x\n"
	got := rendered(t, text)
	require.Equal(t, langshaw.MostShown, strings.Count(got, "file.lsh:")-1)
	require.True(t, strings.HasSuffix(got, "file.lsh: 2 more (1 error, 1 warning)\n"), got[len(got)-100:])
}

func TestTooManyDiagnostics(t *testing.T) {
	for severity, line := range map[langshaw.Severity]func(int) string{
		langshaw.Error:   numbered("x%d: One(ID)\n"),
		langshaw.Warning: numbered("A: Act%d()\n"),
	} {
		t.Run(string(severity), func(t *testing.T) {
			_, diagnostics := langshaw.Parse([]byte(fill(base, 200_000, line)))
			require.Len(t, diagnostics, 10_001)
			last := diagnostics[10_000]
			require.Equal(t, diagnostics[9_999].Span, last.Span)
			require.Equal(t, langshaw.CodeTooMany, last.Code)
			require.Equal(t, severity, last.Severity)
			require.Equal(t, severity == langshaw.Error, diagnostics.HasErrors())
		})
	}
}

func TestTooManyKeys(t *testing.T) {
	for keys, want := range map[int][]string{256: nil, 257: {"260:1 error[too-many-keys]"}, 300: {"260:1 error[too-many-keys]"}} {
		text, all := "K\nwho A\nwhat Act", ""
		for i := range keys {
			text += fmt.Sprintf(",\nk%d key", i)
			all += fmt.Sprintf(", k%d", i)
		}
		protocol, diagnostics := langshaw.Parse([]byte(text + "\ndo A: Act(" + all[2:] + ")\n"))
		require.Equal(t, want, summaries(diagnostics)[:len(want)])
		require.Len(t, slices.Collect(protocol.Keys()), 256)
		require.Len(t, slices.Collect(action(t, protocol, "Act").Keys()), 256)
	}
}

func TestTooLongEntries(t *testing.T) {
	for name, text := range map[string]string{
		"nono":      fill(base+"nono", 300_000, always(" One")),
		"do":        fill(base+"A: Three(ID", 300_000, numbered(", x%d")) + ")\n",
		"no clause": fill("Base\n", 300_000, always("x ")) + base[5:],
	} {
		t.Run(name, func(t *testing.T) {
			_, diagnostics := langshaw.Parse([]byte(text))
			require.Len(t, diagnostics, 1)
			require.Equal(t, langshaw.CodeTooLong, diagnostics[0].Code)
		})
	}
}

func TestJSON(t *testing.T) {
	text := "J<S>\nwho Buyer\nwhat ID key, One\ndo Byer: One(ID)\n"
	protocol, diagnostics := langshaw.Parse([]byte(text))
	var out strings.Builder
	require.NoError(t, langshaw.WriteJSON(&out, "a.lsh", protocol, diagnostics))
	require.Equal(t, `{"file":"a.lsh","protocol":"J<S>","diagnostics":[{"code":"unknown-role","severity":"error",`+
		"\"message\":\"`Byer` is no role: add it to who\""+`,"suggestion":"Buyer",`+
		`"start":{"line":4,"column":4,"offset":35},"end":{"line":4,"column":8,"offset":39}}]}`+"\n", out.String())

	var back struct{ Diagnostics langshaw.Diagnostics }
	require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
	require.Empty(t, cmp.Diff(diagnostics, back.Diagnostics))

	out.Reset()
	require.NoError(t, langshaw.WriteJSON(&out, "-", parseGood(t, base), nil))
	require.Equal(t, `{"file":"-","protocol":"Base","diagnostics":[]}`+"\n", out.String())
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWritersFail(t *testing.T) {
	protocol, diagnostics := langshaw.Parse(nil)
	require.ErrorIs(t, langshaw.WriteText(brokenWriter{}, "f", nil, diagnostics), errBroken)
	require.ErrorIs(t, langshaw.WriteJSON(brokenWriter{}, "f", protocol, diagnostics), errBroken)
}

func TestDiagnosticsAreAnError(t *testing.T) {
	_, diagnostics := langshaw.Parse([]byte(base + "nono One One\nnono Two Two\nsayso A: x\n"))
	require.True(t, diagnostics.HasErrors())
	require.EqualError(t, diagnostics, "7:10: error[self-conflict]: `One` would exclude itself: name each action once (and 1 more error)")
	require.EqualError(t, diagnostics[2:], "no errors")
	require.False(t, diagnostics[2:].HasErrors())
}
