package langshaw

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shapes shows for each clause what an entry looks like.
var shapes = [clauseCount]string{
	who:   "who lists roles, as in `Buyer, Seller`",
	what:  "what lists keys and aims, as in `ID key, Reject or Deliver`",
	do:    "an action is written `Role: Action(attribute, ...)`",
	sayso: "a sayso is written `Role > Role: attribute, ...`",
	nono:  "a nono is two or more actions on one line, as in `Accept Reject`",
	nogo:  "a nogo is written `First -/> Then`, one on a line",
}

func errorAt(span Span, code Code, format string, arguments ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Error, Span: span, Message: fmt.Sprintf(format, arguments...)}
}

func syntaxError(span Span, format string, arguments ...any) Diagnostic {
	return errorAt(span, CodeSyntax, format, arguments...)
}

// quote shows a piece of the text in a message, cut short where it would make the message unreadable.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		cut := most
		for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	return "`" + text + "`"
}

func errorTooLong(c clause, tokens []token) Diagnostic {
	if c == noClause {
		return errorAt(tokens[0].span(), CodeTooLong,
			"more than %d words and marks and no clause: begin one with who, what, do, sayso, nono or nogo", entryTokens)
	}
	return errorAt(tokens[0].span(), CodeTooLong, "more than %d words and marks in one entry of %s: split it", entryTokens, c)
}

// errorOutside is about all that stands between the name and the first clause.
func errorOutside(tokens []token) Diagnostic {
	return syntaxError(tokens[0].span(), "%s stands in no clause: begin one with who, what, do, sayso, nono or nogo",
		quote(tokens[0].text))
}

func errorMisspelt(t token, meant clause) Diagnostic {
	d := syntaxError(t.span(), "%s is no entry and no clause: write %s", quote(t.text), meant)
	d.Suggestion = meant.String()
	return d
}

func errorReservedWord(t token) Diagnostic {
	return errorAt(t.span(), CodeReservedWord, "%s begins a clause and cannot be a name: choose another", quote(t.text))
}

func errorCharacter(c clause, t token) Diagnostic {
	first, _ := utf8.DecodeRuneInString(t.text)
	shown := fmt.Sprintf("%q", first)
	if first > '~' {
		shown += fmt.Sprintf(" (%U)", first)
	}
	message := "means nothing here: names are letters, digits, _, - and @"
	switch {
	case strings.HasSuffix(t.text, ">"):
		shown, message = quote(t.text), "means nothing here: "+shapes[nogo]
	case strings.ContainsRune("_-@", first) && len(t.text) > 1:
		message = "cannot begin a name: begin it with a letter or a digit"
	case c == nogo:
		message = "means nothing here: " + shapes[nogo]
	}
	return errorAt(t.span(), CodeCharacter, "%s %s", shown, message)
}

// errorSyntax says what is wrong with an entry and what to do, given the place of the token that does not fit; the
// number of tokens when there are too few.
func errorSyntax(c clause, tokens []token, at int) Diagnostic {
	if isLoose(c, tokens, at) {
		at++
	}
	e := flawed{clause: c, tokens: tokens, at: at}
	e.last = tokens[max(0, min(at-1, len(tokens)-1))]
	e.bad = token{kind: endOfText, start: e.last.end()}
	if at < len(tokens) {
		e.bad = tokens[at]
	}
	message := e.explainList()
	if message == "" {
		switch c {
		case what:
			message = e.explainWhat()
		case do:
			message = e.explainAction()
		case sayso:
			message = e.explainSayso()
		case nono:
			message = e.explainNono()
		case nogo:
			message = e.explainNogo()
		}
	}
	if message == "" {
		message = e.explainShape()
	}
	span := e.bad.span()
	if e.bad.kind == endOfText {
		span = e.last.span()
	}
	return syntaxError(span, "%s", message)
}

// isLoose tells whether the token in the way is a separator that could stand there if a name came after it: then it is
// what comes after it that is wrong.
func isLoose(c clause, tokens []token, at int) bool {
	if at == 0 || at >= len(tokens) || at+1 < len(tokens) && tokens[at+1].kind == word {
		return false
	}
	if before := tokens[at-1].kind; before != word && before != keyMark {
		return false
	}
	switch tokens[at].kind {
	case comma:
		return c != nono && c != nogo
	case greater:
		return c == sayso
	default:
		return tokens[at].kind == orMark
	}
}

// flawed is an entry that does not fit its production.
type flawed struct {
	clause clause
	tokens []token
	at     int
	// last is the last token that fits, or the first of all if none does; bad is the one after it, or endOfText.
	last, bad token
}

func (e flawed) explainShape() string {
	switch {
	case e.bad.kind == endOfText:
		return fmt.Sprintf("something is missing after %s: %s", quote(e.last.text), shapes[e.clause])
	case e.at == 0:
		return fmt.Sprintf("%s begins no entry: %s", quote(e.bad.text), shapes[e.clause])
	default:
		return fmt.Sprintf("%s cannot follow %s: %s", quote(e.bad.text), quote(e.last.text), shapes[e.clause])
	}
}

// explainList finds what goes wrong around commas, the same in all lists.
func (e flawed) explainList() string {
	switch {
	case e.at == 0 || e.clause == nono || e.clause == nogo:
		return ""
	case e.last.kind == comma && e.bad.kind == endOfText:
		return "a name is missing after the comma: add it or remove the comma"
	case e.last.kind == comma && e.bad.kind != word:
		return fmt.Sprintf("a name is missing between `,` and %s: add it or remove the comma", quote(e.bad.text))
	case e.last.kind == opening && e.bad.kind == comma:
		return "a name is missing between `(` and `,`: add it or remove the comma"
	default:
		return ""
	}
}

func (e flawed) explainWhat() string {
	switch {
	case e.bad.kind == keyMark && e.at == 0:
		return "key stands after the name of the attribute, as in `ID key`"
	case e.bad.kind == orMark && e.at == 0, e.last.kind == orMark:
		return "an alternative is missing beside or: it joins two, as in `Reject or Deliver`"
	case e.last.kind == keyMark && e.bad.kind == keyMark:
		return "key stands twice: once is enough"
	default:
		return ""
	}
}

func (e flawed) explainAction() string {
	switch {
	case e.bad.kind == greater:
		return "`>` ranks roles in a sayso, and this is do: is the line `sayso` missing above?"
	case e.bad.kind == arrow:
		return "`-/>` belongs to a nogo, and this is do: is the line `nogo` missing above?"
	case e.at == 0 && e.bad.kind == closing:
		return "`)` closes nothing: remove it"
	case e.at == 0 && e.bad.kind == comma:
		return "actions stand one after the other: remove the comma"
	case e.at == 0:
		return ""
	case e.at == 1 && e.bad.kind == opening:
		return fmt.Sprintf("the role that performs %s is missing: write `Role: %s(...)`",
			quote(e.last.text), strings.Trim(quote(e.last.text), "`"))
	case e.at == 1 && e.bad.kind == word:
		return fmt.Sprintf("a colon is missing between %s and %s: %s", quote(e.last.text), quote(e.bad.text), shapes[do])
	case e.at == 2:
		return fmt.Sprintf("the action of %s is missing after the colon: %s", quote(e.tokens[0].text), shapes[do])
	case e.at == 3:
		return fmt.Sprintf("the list of attributes in parentheses is missing after %s: %s", quote(e.last.text), shapes[do])
	case e.at > 3 && e.bad.kind == word:
		return fmt.Sprintf("a comma is missing between %s and %s", quote(e.last.text), quote(e.bad.text))
	case e.at > 3 && e.bad.kind == endOfText:
		return fmt.Sprintf("the parenthesis after %s is not closed: add `)` after the last attribute", quote(e.tokens[2].text))
	case e.at > 3:
		return fmt.Sprintf("%s cannot stand between parentheses: attributes are names, separated by commas", quote(e.bad.text))
	default:
		return ""
	}
}

func (e flawed) explainSayso() string {
	ranked := false
	for _, t := range e.tokens[:min(e.at, len(e.tokens))] {
		ranked = ranked || t.kind == colon
	}
	switch {
	case e.bad.kind == opening:
		return "parentheses belong to an action, and this is sayso: is the line `do` missing above?"
	case e.bad.kind == arrow:
		return "`-/>` belongs to a nogo, and this is sayso: is the line `nogo` missing above?"
	case e.at == 0:
		return ""
	case e.last.kind == greater && e.bad.kind != word:
		return "a role is missing after `>`: " + shapes[sayso]
	case e.last.kind == colon && e.bad.kind != word:
		return "an attribute is missing after the colon: " + shapes[sayso]
	case !ranked && e.bad.kind == comma:
		return "roles are ranked by `>`, not listed with commas: " + shapes[sayso]
	case !ranked && e.bad.kind == endOfText:
		return fmt.Sprintf("a colon and attributes, or a comma before it, are missing at %s: %s", quote(e.last.text), shapes[sayso])
	default:
		return ""
	}
}

func (e flawed) explainNono() string {
	switch e.bad.kind {
	case comma:
		return "the actions of a nono stand side by side: remove the comma"
	case arrow:
		return "`-/>` belongs to a nogo, and this is nono: is the line `nogo` missing above?"
	default:
		return ""
	}
}

func (e flawed) explainNogo() string {
	switch {
	case e.at == 1:
		return fmt.Sprintf("`-/>` is missing after %s: %s", quote(e.last.text), shapes[nogo])
	case e.at == 2 && e.bad.kind == endOfText:
		return "the action that is blocked is missing after the arrow: " + shapes[nogo]
	case e.at == 3 && e.bad.kind == arrow:
		return "a nogo is one pair of actions: write the next pair on a line of its own"
	default:
		return ""
	}
}
