package langshaw_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/langshaw"
)

// TestSoup feeds texts made of the language's own words and marks in any order, which reach further than bytes do.
func TestSoup(t *testing.T) {
	pieces := []string{
		"who", "what", "do", "sayso", "nono", "nogo", "key", "or", "A", "B", "ID", "One", "Two", "x", "y@B", "dos", "whoo", "nonos",
		":", ",", "(", ")", ">", "-/>", "↛", "-", "?", "\n", "\n", "\n", "\r\n", "\r", " ", " ", "\t", "#", "\xff", "\ufeff",
		"A: One(ID, x)\n", "B: Two(ID, One)\n", "\nwho A, B\n", "\nwhat ID key, Two\n", "\ndo\n", "\nsayso\n", "A > B: x\n", "One Two\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 80).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		protocol, diagnostics := langshaw.Parse([]byte(text))
		requireSound(t, text, diagnostics)
		requireConsistent(t, protocol)
		requireOccurrences(t, []byte(text), protocol, false)
		require.NoError(t, langshaw.WriteText(io.Discard, "f", []byte(text), diagnostics))
		if !diagnostics.HasErrors() {
			again, repeated := langshaw.Parse([]byte(describe(protocol)))
			require.False(t, repeated.HasErrors(), "%v", repeated)
			require.Equal(t, describe(protocol), describe(again))
		}
	})
}

// entries is a protocol by its parts, each an entry as written.
type entries struct {
	roles, what, actions, saysos, nonos, nogos []string
}

func drawEntries(t *rapid.T) entries {
	roles := []string{"Ann", "Bob", "Cid"}
	e := entries{roles: roles, what: []string{"id key"}}
	actions := rapid.IntRange(1, 6).Draw(t, "actions")
	values := rapid.IntRange(0, 4).Draw(t, "values")
	var names []string
	for i := range actions {
		names = append(names, fmt.Sprintf("Act%d", i))
	}
	for i, name := range names {
		carried := []string{"id"}
		for v := range values {
			if rapid.Bool().Draw(t, "carried") {
				carried = append(carried, fmt.Sprintf("value%d", v))
			}
		}
		if i > 0 && rapid.Bool().Draw(t, "refers") {
			carried = append(carried, names[rapid.IntRange(0, i-1).Draw(t, "to")])
		}
		e.actions = append(e.actions, fmt.Sprintf("%s: %s(%s)", rapid.SampledFrom(roles).Draw(t, "role"), name, strings.Join(carried, ", ")))
	}
	for v := range values {
		ranked := rapid.Permutation(roles).Draw(t, "ranked")[:rapid.IntRange(1, 3).Draw(t, "ranks")]
		e.saysos = append(e.saysos, fmt.Sprintf("%s: value%d", strings.Join(ranked, " > "), v))
	}
	if actions > 1 {
		for range rapid.IntRange(0, 2).Draw(t, "nonos") {
			e.nonos = append(e.nonos, strings.Join(rapid.Permutation(names).Draw(t, "nono")[:2], " "))
			e.nogos = append(e.nogos, strings.Join(rapid.Permutation(names).Draw(t, "nogo")[:2], " -/> "))
		}
	}
	e.what = append(e.what, strings.Join(rapid.Permutation(names).Draw(t, "aims")[:rapid.IntRange(1, actions).Draw(t, "aim")], " or "))
	return e
}

func (e entries) plain() string {
	return "Drawn\nwho " + strings.Join(e.roles, ", ") + "\nwhat " + strings.Join(e.what, ", ") +
		"\ndo\n" + strings.Join(e.actions, "\n") + "\nsayso\n" + strings.Join(e.saysos, "\n") +
		"\nnono\n" + strings.Join(e.nonos, "\n") + "\nnogo\n" + strings.Join(e.nogos, "\n") + "\n"
}

// odd writes the same entries in an odd way: clauses in any order and parts, with other blanks, line ends and comments.
func (e entries) odd(t *rapid.T) string {
	lineEnd := rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n\n", " # who knows\n"})
	var parts []string
	add := func(clause, separator string, all []string) {
		for len(all) > 0 {
			count := rapid.IntRange(1, len(all)).Draw(t, "count")
			colon := rapid.SampledFrom([]string{"", ":", " :"}).Draw(t, "colon")
			part := clause + colon
			for i, entry := range all[:count] {
				if i > 0 {
					part += separator
				}
				part += rapid.SampledFrom([]string{" ", "\t", lineEnd.Draw(t, "end")}).Draw(t, "blank")
				if clause == "do" {
					entry = strings.NewReplacer(", ", rapid.SampledFrom([]string{",", " , ", ",\n"}).Draw(t, "comma"), ": ", ":").Replace(entry)
				}
				part += strings.ReplaceAll(entry, " -/> ", rapid.SampledFrom([]string{"-/>", " ↛ "}).Draw(t, "arrow"))
			}
			parts = append(parts, part)
			all = all[count:]
		}
	}
	add("who", ",", e.roles)
	add("what", ",", e.what)
	add("do", "", e.actions)
	add("sayso", "", e.saysos)
	add("nono", "\n", e.nonos)
	add("nogo", "\n", e.nogos)
	text := "Drawn"
	for _, part := range rapid.Permutation(parts).Draw(t, "order") {
		text += lineEnd.Draw(t, "end") + part
	}
	return text
}

// facts lists what a protocol says, each entry by itself, sorted.
func facts(p *langshaw.Protocol) []string {
	var out []string
	clause := ""
	for line := range strings.Lines(describe(p)) {
		list, found := strings.CutPrefix(line, "who ")
		if !found {
			list, found = strings.CutPrefix(line, "what ")
		}
		switch {
		case found:
			out = append(out, strings.Split(strings.TrimSpace(list), ", ")...)
		case strings.HasPrefix(line, " "):
			out = append(out, clause+line)
		default:
			clause = line
		}
	}
	slices.Sort(out)
	return out
}

// TestAnySpelling checks that the way of writing changes nothing but the order of what is reordered.
func TestAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntries(t)
		plain, diagnostics := langshaw.Parse([]byte(e.plain()))
		require.False(t, diagnostics.HasErrors(), "%v in\n%s", diagnostics, e.plain())
		text := e.odd(t)
		odd, diagnostics := langshaw.Parse([]byte(text))
		require.False(t, diagnostics.HasErrors(), "%v in\n%s", diagnostics, text)
		require.Equal(t, facts(plain), facts(odd), text)
	})
}

// TestMistakesStayWhereTheyAre checks that one faulty line is reported on that line only, and that everything else is
// in the model.
func TestMistakesStayWhereTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntries(t)
		plain, before := langshaw.Parse([]byte(e.plain()))
		lists := map[string]struct {
			list   *[]string
			faulty []string
		}{
			"do": {&e.actions, []string{
				"Ann: New(id", "Ann: New id)", "Ann New(id)", "New(id)", "Ann: New(id,)", "Ann: New(id id2)", "Ann: New", "Ann:", "Ann: (id)",
				"Ann: New(id, ?)", "Zoe: New(id)", "Ann: Act0( id)", "Ann: New(id, id)", "Ann: New(id, New)", "Ann: New(id, x@Bob)", "Ann: do(id)",
			}},
			"sayso": {&e.saysos, []string{
				"Ann > > Bob: new", "Ann Bob", "Ann: ", "Ann > Zoe: new", "Ann: Act0", "Ann > Ann: new", "Ann: new,", "Ann: n$w", "Ann, Bob: new",
			}},
			"nono": {&e.nonos, []string{"Act0, Act0", "Act0 Act0", "Act0", "Act0 Zzz", "Act0 -/> Act0", "Act0 (Act0", "Act0: Act0"}},
			"nogo": {&e.nogos, []string{"Act0", "Act0 Act0", "Act0 -/>", "-/> Act0", "Act0 -/> Act0", "Act0 -/> Zzz", "Act0 -> Act0"}},
		}
		clause := rapid.SampledFrom([]string{"do", "sayso", "nono", "nogo"}).Draw(t, "clause")
		list := lists[clause].list
		at := rapid.IntRange(0, len(*list)).Draw(t, "at")
		if clause == "do" && at == 0 {
			at = 1
		}
		faulty := rapid.SampledFrom(lists[clause].faulty).Draw(t, "faulty")
		if clause == "sayso" && (faulty == "Ann: " || faulty == "Ann Bob") {
			// What follows on the next line would go on with it.
			at = len(*list)
		}
		*list = slices.Insert(slices.Clone(*list), at, faulty)

		text := e.plain()
		protocol, diagnostics := langshaw.Parse([]byte(text))
		require.Equal(t, describe(plain), describe(protocol), text)
		line := 1 + strings.Count(text[:strings.Index(text+"\n", "\n"+faulty+"\n")+1], "\n")
		failures := 0
		for _, d := range diagnostics {
			if d.Severity == langshaw.Error {
				failures++
				require.Equal(t, line, d.Start.Line, "%v in\n%s", diagnostics, text)
			}
		}
		require.Positive(t, failures, text)
		require.LessOrEqual(t, failures, 2, "%v in\n%s", diagnostics, text)
		require.LessOrEqual(t, len(diagnostics)-failures, len(before), "%v in\n%s", diagnostics, text)
	})
}
