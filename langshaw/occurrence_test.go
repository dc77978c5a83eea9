package langshaw_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/langshaw"
)

// told gives occurrences as line:column kind name, with a star where the name is declared.
func told(text string) []string {
	var out []string
	for _, o := range langshaw.Occurrences([]byte(text)) {
		star := ""
		if o.Declares {
			star = "*"
		}
		out = append(out, fmt.Sprintf("%v %s %s%s", o.Start, o.Kind, o.Name, star))
	}
	return out
}

func TestOccurrences(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"each clause", "P q\nwho A, B\nwhat ID key, Two or z\ndo\nA: One(ID, x)\nB: Two(ID, One)\nsayso A > B: x, ID\nnono One Two\nnogo\nOne -/> Two\n", []string{
			"1:1 protocol P q*", "2:1 clause who*", "2:5 role A*", "2:8 role B*", "3:1 clause what*", "3:6 attribute ID*",
			"3:14 action Two", "3:21 attribute z*", "4:1 clause do*", "5:1 role A", "5:4 action One*", "5:8 attribute ID",
			"5:12 attribute x", "6:1 role B", "6:4 action Two*", "6:8 attribute ID", "6:12 action One", "7:1 clause sayso*",
			"7:7 role A", "7:11 role B", "7:14 attribute x*", "7:17 attribute ID", "8:1 clause nono*", "8:6 action One",
			"8:10 action Two", "9:1 clause nogo*", "10:1 action One", "10:9 action Two",
		}},
		{"what nothing declares", "P\ndo A: One(y, y)", []string{
			"1:1 protocol P*", "2:1 clause do*", "2:4 role A", "2:7 action One*", "2:11 attribute y*", "2:14 attribute y",
		}},
		{"what is left out", "P\nwho A B\ndo\nA: One(ID x\nB Two(ID)\nsayso\nA > : x\nA B > C\nnogo\nOne ->", []string{
			"1:1 protocol P*", "2:1 clause who*", "2:5 role A*", "2:7 role B*", "3:1 clause do*", "4:1 role A", "4:4 action One*",
			"4:8 attribute ID*", "4:11 attribute x", "5:1 role B", "5:3 action Two*", "5:7 attribute ID", "6:1 clause sayso*",
			"7:1 role A", "7:7 attribute x*", "8:1 attribute A*", "8:3 role B", "8:7 role C", "9:1 clause nogo*", "10:1 action One",
		}},
		{"no action", "P\ndo A: One(x)\nnono x y", []string{
			"1:1 protocol P*", "2:1 clause do*", "2:4 role A", "2:7 action One*", "2:11 attribute x*", "3:1 clause nono*",
			"3:6 attribute x", "3:8 action y",
		}},
		{"outside clauses", "P\nmore words\nwho A", []string{"1:1 protocol P*", "3:1 clause who*", "3:5 role A*"}},
		{"wide", "\xff\xfeP", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { require.Empty(t, cmp.Diff(test.want, told(test.text))) })
	}
}

// requireOccurrences checks what is promised of the occurrences in any text: they are words of it in its order, and
// every name of the model is declared once.
func requireOccurrences(t require.TestingT, text []byte, p *langshaw.Protocol, clean bool) {
	end := 0
	declared := make(map[string]int)
	for _, o := range langshaw.Occurrences(text) {
		require.GreaterOrEqual(t, o.Start.Offset, end)
		end = o.End.Offset
		require.Equal(t, o.Name, string(text[o.Start.Offset:end]))
		if o.Declares {
			declared[string(o.Kind)+" "+o.Name]++
		}
	}
	require.LessOrEqual(t, end, len(text))
	once := func(kind langshaw.OccurrenceKind, name string) {
		count := declared[string(kind)+" "+name]
		require.Positive(t, count, "%s %s in %q", kind, name, text)
		require.True(t, count == 1 || !clean, "%s %s in %q", kind, name, text)
	}
	for role := range p.Roles() {
		once(langshaw.RoleName, role)
	}
	for a := range p.Attributes() {
		if a.IsAction() {
			once(langshaw.ActionName, a.Name())
		} else if _, isAction := declared["action "+a.Name()]; !isAction {
			once(langshaw.AttributeName, a.Name())
		}
	}
}

func TestOccurrencesAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(drawEntries(t).odd(t))
		protocol, diagnostics := langshaw.Parse(text)
		requireOccurrences(t, text, protocol, !diagnostics.HasErrors())
	})
	for _, file := range corpus(t, "*/*.lsh") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := read(t, file)
			protocol, diagnostics := langshaw.Parse(text)
			requireOccurrences(t, text, protocol, !diagnostics.HasErrors())
		})
	}
}

func TestPlaceAt(t *testing.T) {
	const head = "P\nwho A, B\nwhat ID key, One\ndo\n A: One(ID, x)\n"
	tests := []struct {
		text string // | is the place
		want string // clause, word, what fits, marks
	}{
		{"|", " [] [] []"},
		{"Purch|ase", " [Purchase] [] []"},
		{"# who |", " [] [] []"},
		{"P\n|", " [] [clause] []"},
		{"P\nwh|o", " [who] [clause] []"},
		{"P\nx wh|", " [wh] [] []"},
		{"P\nwho |", "who [] [role] []"},
		{"P\nwho A,|B", "who [B] [role] []"},
		{"P\nwho A |", "who [] [] []"},
		{"P\nwho A\n|", "who [] [clause] []"},
		{"P\nwhat |", "what [] [attribute action] []"},
		{"P\nwhat ID |", "what [] [] [key or]"},
		{"P\nwhat ID key\n wh|", "what [wh] [clause] []"},
		{"P\nwhat A or|", "what [or] [] [key or]"},
		{"P\nwhat A or |B", "what [B] [attribute action] []"},
		{head + "|", "do [] [clause role] []"},
		{head + " B|", "do [B] [clause role] []"},
		{head + " B:|", "do [] [action] []"},
		{head + " B: Two(|", "do [] [attribute action] []"},
		{head + " B: Two(ID,\n |", "do [] [attribute action] []"},
		{head + " B: Two(ID |", "do [] [] []"},
		{head + " B: Two(ID) # |", " [] [] []"},
		{head + "sayso\n|", "sayso [] [clause role] []"},
		{head + "sayso\nA |", "sayso [] [] [>]"},
		{head + "sayso\nA > |: x", "sayso [] [role] []"},
		{head + "sayso\nA: |", "sayso [] [attribute] []"},
		{head + "sayso\nA: x,|", "sayso [] [attribute] []"},
		{head + "sayso\nA: x\n|", "sayso [] [clause role] []"},
		{head + "nono |", "nono [] [action] []"},
		{head + "nono One |", "nono [] [action] []"},
		{head + "nono One Two\n|", "nono [] [clause action] []"},
		{head + "nogo\nOne |", "nogo [] [] [-/>]"},
		{head + "nogo\nOne-/>Tw|", "nogo [Tw] [action] []"},
		{head + "nogo\nOne -/> Two |", "nogo [] [] []"},
		{"P\nwho É|té-x, B", "who [Été-x] [role] []"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			offset := strings.Index(test.text, "|")
			text := strings.Replace(test.text, "|", "", 1)
			p := langshaw.PlaceAt([]byte(text), offset)
			require.Equal(t, test.want, fmt.Sprintf("%s [%s] %v %v", p.Clause, text[p.From:p.To], p.Fits, p.Marks))
		})
	}
}

func TestPlaceAtGivesTheEntry(t *testing.T) {
	p := langshaw.PlaceAt([]byte("P\ndo A: One(ID, x"), 99)
	require.Equal(t, []string{"A", ":", "One", "(", "ID", ","}, p.Entry)
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"A", "order-id", "9", "Été", "WHO", "a_b"} {
		require.NoError(t, langshaw.CheckName(name), name)
	}
	for _, name := range []string{"", "who", "nogo", "or", "key", "a b", "-a", "a@B", "a(", "a-/>b", "\xff", " a"} {
		require.ErrorIs(t, langshaw.CheckName(name), langshaw.ErrName, name)
	}
}
