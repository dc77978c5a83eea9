package langshaw_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

const loan = `Loan
who Reader, Library
what book key, Return or Lose
do
  Reader: Ask(book, until)
  Library: Lend(book, Ask, shelf)
  Reader: Return(book, Lend)
  Reader: Lose(book, Lend, fine)
sayso
  Reader > Library: until
  Library: shelf
  Library > Reader: fine
nono
  Return Lose
nogo
  Lend -/> Ask
`

// loanQuiet is loan without the warning that the library never binds two of its attributes.
var loanQuiet = strings.NewReplacer("Reader > Library: until", "Reader: until", "Library > Reader: fine", "Reader: fine").Replace(loan)

// TestSpellings checks that texts which differ in what has no meaning have the same model and no diagnostics.
func TestSpellings(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(loanQuiet, "\n"), "\n")
	blocks := []string{ // name, who, what, do, sayso, nono, nogo
		lines[0] + "\n", lines[1] + "\n", lines[2] + "\n", strings.Join(lines[3:8], "\n") + "\n",
		strings.Join(lines[8:12], "\n") + "\n", strings.Join(lines[12:14], "\n") + "\n", strings.Join(lines[14:], "\n") + "\n",
	}
	tests := map[string]string{
		"as it is":           loanQuiet,
		"CRLF":               strings.ReplaceAll(loanQuiet, "\n", "\r\n"),
		"CR":                 strings.ReplaceAll(loanQuiet, "\n", "\r"),
		"tabs":               strings.ReplaceAll(loanQuiet, "  ", "\t"),
		"no-break spaces":    strings.ReplaceAll(loanQuiet, "  ", "\u00a0\u3000"),
		"byte-order mark":    "\ufeff" + loanQuiet,
		"no final line end":  strings.TrimSuffix(loanQuiet, "\n"),
		"blank lines":        strings.ReplaceAll(loanQuiet, "\n", "\n \n\n"),
		"trailing blanks":    strings.ReplaceAll(loanQuiet, "\n", " \t\n"),
		"comments":           "# before\n" + strings.ReplaceAll(loanQuiet, "\n", "# who ( what\n# do\n"),
		"comment at the end": loanQuiet + "#",
		"colons": strings.NewReplacer("who ", "who: ", "what ", "what : ", "do\n", "do:\n", "sayso\n", "sayso:\n", "nono\n", "nono:\n",
			"nogo\n", "nogo:\n").Replace(loanQuiet),
		"arrow":          strings.ReplaceAll(loanQuiet, "-/>", "↛"),
		"no blanks":      strings.NewReplacer(": ", ":", ", ", ",", " -/> ", "-/>", " > ", ">").Replace(loanQuiet),
		"clauses turned": blocks[0] + blocks[6] + blocks[5] + blocks[4] + blocks[3] + blocks[2] + blocks[1],
		"one clause a line": strings.ReplaceAll(strings.ReplaceAll(loanQuiet, "do\n", "do"),
			"sayso\n", "sayso"),
		"actions on one line": strings.NewReplacer("(book, until)\n", "(book, until)", "shelf)\n", "shelf)").Replace(loanQuiet),
		"saysos on one line":  strings.NewReplacer("until\n  L", "until L", "shelf\n  R", "shelf R").Replace(loanQuiet),
		"joined sayso":        strings.Replace(loanQuiet, "  Reader: fine\n", "", 1) + "sayso Reader: fine\n",
		"clauses in parts": strings.NewReplacer("who Reader, Library", "who Reader\nwho\nwho Library", "  Reader: Return", "do\n  Reader: Return",
			"book key, Return", "book key\nwhat Return").Replace(loanQuiet),
		"empty clauses":         loanQuiet + "nono\nsayso\nwho\n",
		"line ends in brackets": strings.NewReplacer("(book, ", "(\n  book\n  ,\n", ")", "\n)").Replace(loanQuiet),
		"line ends in lists": strings.NewReplacer("who Reader, Library", "who\n  Reader,\n  Library", "book key, Return or Lose",
			"book\n key\n,\nReturn\nor\nLose").Replace(loanQuiet),
		"line ends after marks": strings.NewReplacer("Reader: Ask(", "Reader:\n Ask\n(", "Library: Lend", "Library\n: Lend",
			"Reader: until", "Reader:\nuntil").Replace(loanQuiet),
		"everything on one line": strings.NewReplacer("\n", " ").Replace(strings.Join(blocks[1:5], "")),
	}
	want := describe(parseGood(t, loanQuiet))
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "everything on one line" {
				text = blocks[0] + text + "\n" + blocks[5] + blocks[6]
			}
			require.Empty(t, cmp.Diff(want, describe(parseGood(t, text))))
		})
	}
}

func TestProtocolName(t *testing.T) {
	const rest = "\nwho A\nwhat k key, X\ndo A: X(k)\n"
	for text, name := range map[string]string{
		"Loan":                       "Loan",
		"  PO Pay Cancel Ship \t# x": "PO Pay Cancel Ship",
		"\n \n# c\n\t\nLoan":         "Loan",
		"\ufeffLoan":                 "Loan",
		"Loan#x":                     "Loan",
		"do-over":                    "do-over",
		"dodo who":                   "dodo who",
		"(a) -/> b: , @":             "(a) -/> b: , @",
		"Verleih für Bücher 本":       "Verleih für Bücher 本",
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, name, parseGood(t, text+rest).Name()) })
	}
}

func TestWords(t *testing.T) {
	for _, word := range []string{"a", "A1", "1", "1-2", "a_b-c", "a-", "a--", "naïve", "本", "книга", "٣", "key", "or", "who1", "Who", "do-"} {
		t.Run(word, func(t *testing.T) {
			protocol := parseGood(t, "W\nwho "+word+"1\nwhat k key, "+word+"2\ndo "+word+"1: "+word+"2(k, "+word+")\nsayso "+word+"1:"+word)
			require.Equal(t, []string{word + "1"}, slices.Collect(protocol.Roles()))
			action, ok := protocol.Action(word + "2")
			require.True(t, ok)
			require.Equal(t, []string{"k", word}, slices.Collect(action.Attributes()))
		})
	}
}

func TestArrowAfterWord(t *testing.T) {
	for _, nogo := range []string{"One-/>Two", "One -/>Two", "One-/> Two", "One↛Two", "One -/> Two # c"} {
		protocol := parseGood(t, "N\nwho A\nwhat k key, One\ndo A: One(k) A: Two(k)\nnogo "+nogo)
		require.True(t, protocol.Blocks("One", "Two"), nogo)
	}
	protocol := parseGood(t, "N\nwho A\nwhat k key, One-\ndo A: One-(k) A: Two(k)\nnogo One--/>Two")
	require.True(t, protocol.Blocks("One-", "Two"))
}

func TestSpans(t *testing.T) {
	text := "\ufeffSpäne\r\nwho Ä, B\rwhat ß key, Zwei\n\tdo Ä: Zwei(ß,\n\t\twärme)\nsayso Ä: wärme\nnono Zwei B\n"
	protocol, diagnostics := langshaw.Parse([]byte(text))
	action, ok := protocol.Action("Zwei")
	require.True(t, ok)
	require.Equal(t, langshaw.Span{
		Start: langshaw.Position{Line: 4, Column: 8, Offset: strings.Index(text, "Zwei(")},
		End:   langshaw.Position{Line: 5, Column: 9, Offset: strings.Index(text, ")") + 1},
	}, action.Span())
	attribute, ok := protocol.Attribute("wärme")
	require.True(t, ok)
	require.Equal(t, langshaw.Position{Line: 5, Column: 3, Offset: strings.Index(text, "wärme")}, attribute.Span().Start)
	require.Equal(t, langshaw.Position{Line: 5, Column: 8, Offset: strings.Index(text, ")")}, attribute.Span().End)
	for c := range protocol.What() {
		if c.IsKey() {
			require.Equal(t, "3:6", c.Span().Start.String())
			require.Equal(t, "3:11", c.Span().End.String())
		}
	}
	require.Equal(t, []string{"7:11 error[unknown-action]"}, summaries(diagnostics))
	require.Equal(t, strings.LastIndex(text, "B"), diagnostics[0].Start.Offset)
}

// TestTextIsNotKept checks that a caller may reuse its buffer.
func TestTextIsNotKept(t *testing.T) {
	text := []byte(loanQuiet)
	protocol, _ := langshaw.Parse(text)
	clear(text)
	require.Equal(t, describe(parseGood(t, loanQuiet)), describe(protocol))
}

func TestConcurrentUse(t *testing.T) {
	shared := parseGood(t, loanQuiet)
	want := describe(shared)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				protocol, _ := langshaw.Parse([]byte(loanQuiet))
				if describe(protocol) != want || describe(shared) != want {
					t.Error("a model differs")
				}
			}
		})
	}
	group.Wait()
}
