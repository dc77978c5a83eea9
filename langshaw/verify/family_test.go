package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// family is a kind of protocol that grows with n.
type family struct {
	name   string
	n      int
	text   func(n int) string
	states int
	live   verify.Verdict
	safe   verify.Verdict
}

// write makes a protocol text of lines for each clause.
func write(roles int, what string, do, sayso, nono, nogo []string) string {
	var who []string
	for i := range roles {
		who = append(who, fmt.Sprintf("R%d", i))
	}
	text := "Family\nwho " + strings.Join(who, ", ") + "\nwhat ID key, " + what + "\n"
	for _, clause := range []struct {
		word  string
		lines []string
	}{{"do", do}, {"sayso", sayso}, {"nono", nono}, {"nogo", nogo}} {
		if len(clause.lines) > 0 {
			text += clause.word + "\n  " + strings.Join(clause.lines, "\n  ") + "\n"
		}
	}
	return text
}

func list(n int, format string) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return lines
}

var families = []family{
	{"independent", 64, func(n int) string {
		return write(n, strings.Join(list(n, "A#"), ", "), list(n, "R#: A#(ID)"), nil, nil, nil)
	}, 65, verify.Yes, verify.Yes},
	{"chain", 200, func(n int) string {
		do := []string{"R0: A0(ID)"}
		for i := 1; i < n; i++ {
			do = append(do, fmt.Sprintf("R%d: A%d(ID, A%d)", i%3, i, i-1))
		}
		return write(3, fmt.Sprintf("A%d", n-1), do, nil, nil, nil)
	}, 201, verify.Yes, verify.Yes},
	{"nono", 64, func(n int) string {
		return write(n, strings.Join(list(n, "A#"), " or "), list(n, "R#: A#(ID)"), nil, []string{strings.Join(list(n, "A#"), " ")}, nil)
	}, 3, verify.Yes, verify.No},
	{"pairs", 32, func(n int) string {
		return write(2*n, strings.Join(list(n, "A# or B#"), ", "), append(list(n, "R#: A#(ID, x#)"), list(n, "R#: B#(ID, x#)")...),
			list(n, "R#: x#"), list(n, "A# B#"), nil)
	}, 33, verify.Yes, verify.Yes},
	{"fan", 48, func(n int) string {
		do := append([]string{"R0: Start(ID)"}, list(n, "R#: A#(ID, Start)")...)
		return write(n, "End", append(do, "R0: End(ID, "+strings.Join(list(n, "A#"), ", ")+")"), nil, nil, nil)
	}, 51, verify.Yes, verify.Yes},
	{"sayso", 24, func(n int) string {
		return write(n, strings.Join(list(n, "A#"), ", "), list(n, "R#: A#(ID, x)"), []string{strings.Join(list(n, "R#"), " > ") + ": x"}, nil, nil)
	}, 25, verify.Yes, verify.Yes},
	{"layers", 40, func(n int) string {
		var do []string
		for i := range n {
			for j := range 3 {
				needs := ""
				if i > 0 {
					needs = fmt.Sprintf(", L%d-0, L%d-1, L%d-2", i-1, i-1, i-1)
				}
				do = append(do, fmt.Sprintf("R%d: L%d-%d(ID%s)", j, i, j, needs))
			}
		}
		return write(3, fmt.Sprintf("L%d-0, L%d-1, L%d-2", n-1, n-1, n-1), do, nil, nil, nil)
	}, 121, verify.Yes, verify.Yes},
}

func (f family) protocol(t testing.TB, n int) *langshaw.Protocol {
	p, diagnostics := langshaw.Parse([]byte(f.text(n)))
	require.False(t, diagnostics.HasErrors(), diagnostics)
	return p
}

func TestFamilies(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			r := verify.Verify(t.Context(), f.protocol(t, f.n), verify.Options{})
			require.True(t, r.Exhaustive)
			require.Equal(t, f.live, r.Live)
			require.Equal(t, f.safe, r.Safe)
			require.Equal(t, f.states, r.States)
			require.Empty(t, r.Dead)
		})
	}
}

func BenchmarkFamilies(b *testing.B) {
	for _, f := range families {
		b.Run(fmt.Sprintf("%s-%d", f.name, f.n), func(b *testing.B) {
			p := f.protocol(b, f.n)
			b.ReportAllocs()
			for b.Loop() {
				verify.Verify(b.Context(), p, verify.Options{})
			}
		})
	}
}

// BenchmarkPublic verifies the public samples, all together.
func BenchmarkPublic(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(corpus(b), "langshaw", "public", "*.lsh"))
	require.NoError(b, err)
	var protocols []*langshaw.Protocol
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(b, err)
		p, _ := langshaw.Parse(text)
		protocols = append(protocols, p)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range protocols {
			verify.Verify(b.Context(), p, verify.Options{})
		}
	}
}
