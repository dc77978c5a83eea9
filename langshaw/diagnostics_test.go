package langshaw_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

// base is a good protocol of six lines; cases add to it, or replace its parts.
const base = `Base
who A, B
what ID key, Two
do
  A: One(ID)
  B: Two(ID, One)
`

// diagnosticCase is a text, and what is said about it as line:column severity[code] suggestion.
type diagnosticCase struct {
	name string
	text string
	want []string
}

func replace(oldAndNew ...string) string { return strings.NewReplacer(oldAndNew...).Replace(base) }

var ruleCases = []diagnosticCase{
	{"nothing", "", []string{"1:1 error[missing-name]"}},
	{"only blanks and comments", "\n  # a\n\t", []string{"3:2 error[missing-name]"}},
	{"no name", strings.TrimPrefix(base, "Base\n"), []string{"1:1 error[missing-name]"}},
	{"only a name", "  Base", []string{"1:3 error[missing-who]", "1:3 error[missing-what]", "1:3 error[missing-do]"}},
	{"no who", replace("who A, B\n", ""), []string{"1:1 error[missing-who]"}},
	{"empty who", replace("who A, B", "who"), []string{"2:1 error[missing-who]"}},
	{"no what", replace("what ID key, Two\n", ""), []string{"1:1 error[missing-what]"}},
	{"empty what", replace("ID key, Two", ""), []string{"3:1 error[missing-what]"}},
	{"no key", replace("ID key", "ID"), []string{"3:1 error[missing-key]"}},
	{"no do", "Base\nwho A\nwhat ID key, x\nsayso A: x\nnono One Two\n", []string{"1:1 error[missing-do]"}},
	{"empty do", "Base\nwho A\ndo\nwhat ID key\n", []string{"3:1 error[missing-do]"}},

	{"role twice", replace("A, B", "A, B, A, A"), []string{"2:11 error[duplicate-role]"}},
	{"role twice in two clauses", base + "who C, A\n", []string{"7:8 error[duplicate-role]"}},
	{"action twice", base + "A: One(ID) B: One(ID)\n", []string{"7:4 error[duplicate-action]"}},
	{"attribute twice", replace("One(ID)", "One(ID, ID)"), []string{"5:14 error[duplicate-attribute]"}},
	{"attribute thrice", replace("One(ID)", "One(ID, ID, ID)"), []string{"5:14 error[duplicate-attribute]", "5:18 error[duplicate-attribute]"}},
	{
		"sayso twice", replace("One(ID)", "One(ID, x)") + "sayso\n A: x\n A: x\n",
		[]string{"9:5 error[duplicate-sayso]"},
	},
	{"sayso twice in one entry", replace("One(ID)", "One(ID, x)") + "sayso A: x, x\n", []string{"7:13 error[duplicate-sayso]"}},
	{"role twice in a sayso", replace("One(ID)", "One(ID, x)") + "sayso A > A: x\n", []string{"7:11 error[duplicate-sayso-role]"}},

	{"unknown actor", base + "Carrier: Three(ID)\nCarrier: Four(ID)\n", []string{"7:1 error[unknown-role]"}},
	{
		"unknown actor with suggestion", "B\nwho Buyer, Seller\nwhat ID key, Two\ndo Byer: Two(ID)\n",
		[]string{"4:4 error[unknown-role] Buyer"},
	},
	{"unknown sayso role", replace("One(ID)", "One(ID, x)") + "sayso Q > A: x\n", []string{"7:7 error[unknown-role]"}},
	{"nono of an unknown", base + "nono One Three\nnono Two Three\n", []string{"7:10 error[unknown-action]"}},
	{"nono of an attribute", base + "nono One ID\n", []string{"7:10 error[unknown-action]"}},
	{"nogo of unknowns", base + "nogo\n Onee -/> Twoo\n", []string{"8:2 error[unknown-action] One", "8:11 error[unknown-action] Two"}},
	{"role and action", replace("One", "A"), []string{"5:6 error[role-and-action]"}},
	{"key and action", replace("ID key", "ID key, One key"), []string{"3:14 error[key-action]"}},

	{"own name", replace("One(ID)", "One(ID, One)"), []string{"5:14 error[self-reference]"}},
	{"sayso over an action", base + "sayso B: One\n", []string{"7:10 error[sayso-action]"}},
	{"nono of an action and itself", base + "nono One Two One\n", []string{"7:14 error[self-conflict]"}},
	{"nogo of an action and itself", base + "nogo One -/> One\n", []string{"7:6 error[self-conflict]"}},
	{"nono of one", base + "nono One\n", []string{"7:6 error[short-nono]"}},
	{"key among alternatives", replace("ID key", "ID key or QID key"), []string{"3:6 error[key-alternative]"}},
	{"reserved attribute", replace("One(ID)", "One(ID, x, x@B)"), []string{
		"5:14 warning[unbindable]", "5:17 error[reserved-name] x",
	}[1:]},
	{"reserved everywhere", "R\nwho A, A@B\nwhat ID key, x@y\ndo A@B: One(ID) A: Two@A(ID)\nsayso A: @z\nnono Two@A q@r\n", []string{
		"2:8 error[reserved-name]", "3:14 error[reserved-name]", "4:20 error[reserved-name]", "5:10 error[character]", "6:12 error[reserved-name]",
	}},

	{"action without key", replace("One(ID)", "One()"), []string{"5:6 warning[keyless-action]"}},
	{"unbindable", replace("One(ID)", "One(ID, x)", "Two(ID,", "Two(ID, x,"), []string{"5:14 warning[unbindable]"}},
	{
		"unbindable with suggestion", replace("One(ID)", "One(ID, price)", "Two(ID,", "Two(ID, prize,") + "sayso A: price\n",
		[]string{"6:14 warning[unbindable] price"},
	},
	{"unbindable name of an action", replace("what", "what Three, ", "Two(ID, One)", "Two(ID, Onee) B: Three(ID)"), []string{"6:14 warning[unbindable] One"}},
	{"sayso over nothing", base + "sayso A: x\n", []string{"7:10 warning[unused-sayso]"}},
	{"idle sayso role", replace("One(ID)", "One(ID, x)") + "sayso A > B: x\n", []string{"7:11 warning[idle-sayso-role]"}},
	{"what nobody binds", replace("key, Two", "key, Two or x, y"), []string{"3:21 warning[unbound-what]", "3:24 warning[unbound-what]"}},
	{"what with suggestion", replace("key, Two", "key, Two or Onne"), []string{"3:21 warning[unbound-what] One"}},
	{"unused key", replace("ID key", "ID key, QID key"), []string{"3:14 warning[unused-key]"}},
	{"no root key", replace("ID key", "ID key, QID key", "Two(ID, One)", "Two(QID)"), []string{"6:6 warning[no-root-key]"}},
	{
		"narrow scope", replace("ID key", "ID key, a key, b key", "One(ID)", "One(ID, a, x)", "Two(ID, One)", "Two(ID, b, x)") + "sayso A > B: x\n",
		[]string{"5:17 warning[narrow-scope]"},
	},
	{
		"narrow scope of an action", replace("ID key", "ID key, a key, b key", "One(ID)", "One(ID, a)", "Two(ID, One)", "Two(ID, b, One)"),
		[]string{"5:6 warning[narrow-scope]"},
	},
	{"scope as narrow as one carrier", replace("ID key", "ID key, a key", "One(ID)", "One(ID, a)"), nil},
	{"key action without a key", replace("One(ID)", "One()", "(ID, One)", "(ID)"), []string{"5:6 warning[keyless-action]"}},
}

var syntaxCases = []diagnosticCase{
	{"not UTF-8", base + "# \xff\n# \xfe", []string{"7:3 error[encoding]"}},
	{"not UTF-8 in an entry", base + "nono One \xff Two\n", []string{"7:10 error[encoding]"}},
	{"not UTF-8 in the name", "\ufeffB\xe9e\r\n" + base[5:], []string{"1:2 error[encoding]"}},
	{"UTF-16", "\xff\xfeB\x00", []string{"1:1 error[encoding]"}},
	{"stray characters", replace("One(ID)", "One(ID; x)", "A, B", "A, B, $C"), []string{"2:11 error[character]", "5:12 error[character]"}},
	{"names that begin wrong", base + "nono\n _x Two\n -One Two\n @ Two\n", []string{
		"8:2 error[character]", "9:2 error[character]", "10:2 error[character]",
	}},
	{"combining character", base + "nono One Twe\u0301\n", []string{"7:13 error[character]"}},
	{"reserved words", "R\nwho A, do, B\nwhat ID key, nono or Two\ndo\n A: do(ID)\n B: Two(ID, what)\nsayso A > who: x\n", []string{
		"2:8 error[reserved-word]", "3:14 error[reserved-word]", "5:5 error[reserved-word]", "6:13 error[reserved-word]", "7:11 error[reserved-word]",
	}},

	{"outside", "Base\nroles A, B\n" + base[5:], []string{"2:1 error[syntax]"}},
	{"misspelt first clause", replace("who", "whom"), []string{"2:1 error[syntax] who"}},
	{"misspelt clauses", replace("what", "waht", "do", "DO") + "says\n A: x\nnonos:\n One Two\nnog\n One -/> Two\n", []string{
		"3:1 error[syntax] what", "4:1 error[syntax] do", "7:1 error[syntax] sayso", "8:5 warning[unused-sayso]", "9:1 error[syntax] nono", "11:1 error[syntax] nogo",
	}},
	{"missing do", replace("do\n", ""), []string{"1:1 error[missing-do]", "4:3 error[syntax]"}},
	{"missing sayso", base + "\n A > B: x\n", []string{"8:4 error[syntax]"}},
	{"missing nogo", base + "\n One -/> Two\n", []string{"8:6 error[syntax]"}},

	{"commas in who", replace("A, B", ",A B,,C,"), []string{"2:5 error[syntax]", "2:8 error[syntax]", "2:9 error[syntax]", "2:12 error[syntax]"}},
	{"colon in who", replace("A, B", "A: B"), []string{"2:6 error[syntax]"}},
	{
		"mistakes in what", replace("ID key", "key ID, or One, One or, Two key key, ID key One"),
		[]string{"3:6 error[syntax]", "3:14 error[syntax]", "3:26 error[syntax]", "3:38 error[syntax]", "3:50 error[syntax]"},
	},
	{"capital letters in what", replace("ID key, Two", "ID KEY, One Or Two"), []string{"3:9 error[syntax] key", "3:18 error[syntax] or"}},
	{"commas between actions", replace("One(ID)", "One(ID),"), []string{"5:13 error[syntax]"}},
	{"types of attributes", replace("One(ID)", "One(ID: string, x: int)"), []string{"5:12 error[syntax]"}},
	{"unclosed parenthesis on a line", base + "A: Three(ID A: Four(ID) A: Five(ID)\n", []string{"7:13 error[syntax]"}},
	{"unclosed parentheses", base + "A: Three(ID,\n  x\nB: Four(ID\nnono One Two\n", []string{"8:3 error[syntax]", "9:9 error[syntax]"}},
	{"unclosed parenthesis at the end", base + "A: Three(ID", []string{"7:10 error[syntax]"}},
	{
		"mistakes in actions",
		base + "A Three(ID)\nA: Four\nFive(ID)\nA: Six(ID x)\nA: Seven(ID,)\nA: Eight(,ID)\nA: Nine(ID,,x)\n: Ten(ID)\nA: (ID)\nA: Eleven(ID))\nA: Twelve((ID)\nA:\nB\n",
		[]string{
			"7:3 error[syntax]", "8:4 error[syntax]", "9:5 error[syntax]", "10:11 error[syntax]", "11:13 error[syntax]",
			"12:10 error[syntax]", "13:12 error[syntax]", "14:1 error[syntax]", "15:4 error[syntax]", "16:14 error[syntax]",
			"17:11 error[syntax]", "19:1 error[syntax]",
		},
	},
	{
		"mistakes in saysos", replace("One(ID)", "One(ID, x, y)") + "sayso\n A > : x\n > A: x\n A, B: x\n A: x,\n B: y,,z\n A(x)\n A > B\n A\n A:\nnono One Two\n",
		[]string{
			"8:6 error[syntax]", "9:2 error[syntax]", "10:3 error[syntax]", "11:6 error[syntax]", "12:7 error[syntax]",
			"13:3 error[syntax]", "14:6 error[syntax]", "15:2 error[syntax]", "16:3 error[syntax]",
		},
	},
	{"mistakes in nonos", base + "nono\n One, Two\n One -/> Two\n One: Two\n", []string{"8:5 error[syntax]", "9:6 error[syntax]", "10:5 error[syntax]"}},
	{
		"mistakes in nogos", base + "nogo\n One Two\n One -/>\n -/> Two\n One -/> Two -/> One\n One -> Two\n One -/ > Two\n One -/> Two One\n One\n",
		[]string{
			"8:6 error[syntax]", "9:6 error[syntax]", "10:2 error[syntax]", "11:14 error[syntax]", "12:6 error[character]",
			"13:6 error[character]", "14:14 error[syntax]", "15:2 error[syntax]",
		},
	},
}

// cascadeCases have one mistake, after which a less careful reader would report others.
var cascadeCases = []diagnosticCase{
	{"unread action", replace("One(ID)", "One(ID x)") + "sayso A: x\nnono One Two\nnogo One -/> Two\n", []string{"5:13 error[syntax]"}},
	{"unread role", replace("A, B", "A, B$"), []string{"2:9 error[character]"}},
	{"unread key", replace("ID key", "ID key key"), []string{"3:13 error[syntax]"}},
	{"unread sayso", replace("One(ID)", "One(ID, x)") + "sayso A, B: x\n", []string{"7:8 error[syntax]"}},
	{"actor misspelt", "M\nwho Buyer, B\nwhat ID key, One\ndo\n Buyr: One(ID, x)\n B: Two(ID, One)\nsayso Buyer: x\nnono One Two\n", []string{"5:2 error[unknown-role] Buyer"}},
	{"attribute misspelt", replace("One(ID)", "One(ID, prize)") + "sayso A: price\n", []string{"5:14 warning[unbindable] price"}},
	{"key misspelt", replace("ID key", "book key, QID key", "(ID", "(bok, QID"), []string{"3:6 warning[unused-key] bok", "5:10 warning[unbindable] book"}},
	{"duplicate action with other attributes", base + "A: One(ID, y)\nsayso A: y\n", []string{"7:4 error[duplicate-action]"}},
	{"duplicate sayso", replace("One(ID)", "One(ID, x, y)") + "sayso\n A: x\n A: x, y\n", []string{"9:5 error[duplicate-sayso]"}},
	{"action left out", replace("One(ID)", "One(ID, x, x)") + "sayso A: x\nnono One Two\n", []string{"5:17 error[duplicate-attribute]"}},
	{"key left out", replace("ID key", "ID key or x"), []string{"3:6 error[key-alternative]"}},
	{"comma before a clause", "C\nwho A, what ID key, Two,\ndo A: Two(ID)\n", []string{"2:6 error[syntax]", "2:24 error[syntax]"}},
}

func TestDiagnostics(t *testing.T) {
	said := make(map[langshaw.Code]bool)
	for group, cases := range map[string][]diagnosticCase{"rules": ruleCases, "syntax": syntaxCases, "cascades": cascadeCases} {
		for _, test := range cases {
			t.Run(group+"/"+test.name, func(t *testing.T) {
				protocol, diagnostics := langshaw.Parse([]byte(test.text))
				require.Empty(t, cmp.Diff(test.want, summaries(diagnostics)), "%v", diagnostics)
				require.NotNil(t, protocol)
				requireSound(t, test.text, diagnostics)
				for _, d := range diagnostics {
					said[d.Code] = true
				}
			})
		}
	}
	for _, code := range []langshaw.Code{
		langshaw.CodeEncoding, langshaw.CodeCharacter, langshaw.CodeSyntax, langshaw.CodeReservedWord, langshaw.CodeReservedName,
		langshaw.CodeMissingName, langshaw.CodeMissingWho, langshaw.CodeMissingWhat, langshaw.CodeMissingKey, langshaw.CodeMissingDo,
		langshaw.CodeDuplicateRole, langshaw.CodeDuplicateAction, langshaw.CodeDuplicateAttribute, langshaw.CodeDuplicateSayso,
		langshaw.CodeDuplicateSaysoRole, langshaw.CodeUnknownRole, langshaw.CodeUnknownAction, langshaw.CodeRoleAndAction,
		langshaw.CodeKeyAction, langshaw.CodeSelfReference, langshaw.CodeSaysoAction, langshaw.CodeSelfConflict, langshaw.CodeShortNono,
		langshaw.CodeKeyAlternative, langshaw.CodeKeylessAction, langshaw.CodeUnbindable, langshaw.CodeUnusedSayso,
		langshaw.CodeIdleSaysoRole, langshaw.CodeUnboundWhat, langshaw.CodeUnusedKey, langshaw.CodeNoRootKey, langshaw.CodeNarrowScope,
	} {
		require.True(t, said[code], "no case for %s", code)
	}
}

// requireSound checks what holds of the diagnostics of any text.
func requireSound(t require.TestingT, text string, diagnostics langshaw.Diagnostics) {
	last := 0
	for _, d := range diagnostics {
		require.GreaterOrEqual(t, d.Start.Offset, last, "not sorted: %v", diagnostics)
		last = d.Start.Offset
		require.GreaterOrEqual(t, d.End.Offset, d.Start.Offset)
		require.LessOrEqual(t, d.End.Offset, len(text))
		require.Equal(t, placeOf(text, d.Start.Offset), d.Start)
		require.Equal(t, placeOf(text, d.End.Offset), d.End)
		require.NotEmpty(t, d.Message)
		require.NotContains(t, d.Message, "\n")
		require.Contains(t, []langshaw.Severity{langshaw.Error, langshaw.Warning}, d.Severity)
	}
}

// placeOf finds the line and column of an offset the slow way.
func placeOf(text string, offset int) langshaw.Position {
	line, column := 1, 1
	for i, r := range text[:offset] {
		switch {
		case r == '\ufeff' && i == 0:
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
			column++
		case r == '\n' || r == '\r':
			line, column = line+1, 1
		default:
			column++
		}
	}
	return langshaw.Position{Line: line, Column: column, Offset: offset}
}

// TestIdleAmongManyRoles: of many roles with sayso over one attribute, those that have no use for it are found.
func TestIdleAmongManyRoles(t *testing.T) {
	text := "Many\nwho R0" + fill("", 1000, func(i int) string { return fmt.Sprintf(", R%d", i+1) }) + "\nwhat ID key, Act0\ndo\n"
	protocol, _ := langshaw.Parse([]byte(text))
	roles := slices.Collect(protocol.Roles())
	idle := map[int]bool{1: true, 63: true, 64: true, 100: true}
	var want []string
	for i, role := range roles {
		if idle[i] {
			want = append(want, fmt.Sprintf("idle-sayso-role of %s", role))
		} else {
			text += fmt.Sprintf("%s: Act%d(ID, x)\n", role, i)
		}
	}
	text += "sayso " + strings.Join(roles, " > ") + ": x\n"
	protocol, diagnostics := langshaw.Parse([]byte(text))
	var got []string
	for _, d := range diagnostics {
		got = append(got, fmt.Sprintf("%s of %s", d.Code, text[d.Start.Offset:d.End.Offset]))
	}
	require.Empty(t, cmp.Diff(want, got))
	rank, ok := attribute(t, protocol, "x").Rank("R100")
	require.True(t, ok)
	require.Equal(t, 100, rank)
}
