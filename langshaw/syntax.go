package langshaw

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shapes shows for each clause what an entry looks like.
var shapes = [clauseCount]string{
	who:   "`who` lists roles: Buyer, Seller",
	what:  "`what` lists keys and aims: ID key, Reject or Deliver",
	do:    "an action is written Role: Action(attribute, ...)",
	sayso: "a sayso is written Role > Role: attribute, ...",
	nono:  "a nono is two or more actions on one line: Accept Reject",
	nogo:  "a nogo is written First -/> Then, one on a line",
}

func syntaxError(span Span, format string, arguments ...any) Diagnostic {
	return Diagnostic{Code: CodeSyntax, Severity: Error, Span: span, Message: fmt.Sprintf(format, arguments...)}
}

func errorTooLong(c clause, tokens []token) Diagnostic {
	message := fmt.Sprintf("more than %d words and marks in one entry: split it", entryTokens)
	if c == noClause {
		message = fmt.Sprintf("more than %d words and marks before the first clause: is this a protocol?", entryTokens)
	}
	return Diagnostic{Code: CodeTooLong, Severity: Error, Span: tokens[0].span(), Message: message}
}

// errorOutside is about all that stands between the name and the first clause.
func errorOutside(tokens []token) Diagnostic {
	d := syntaxError(tokens[0].span(), "%s stands in no clause: after the name comes who, what, do, sayso, nono or nogo",
		describe(tokens[0]))
	d.Suggestion = nearestKeyword(tokens[0].text)
	return d
}

// isClean reports the tokens that no entry may have, and tells that there are none. An entry with such a token is
// not parsed: what else is wrong with it would mostly follow.
func (r *reader) isClean(c clause, tokens []token) bool {
	clean := true
	for _, t := range tokens {
		switch t.kind {
		case stray:
			clean = false
			if r0, _ := utf8.DecodeRuneInString(t.text); r0 != utf8.RuneError {
				r.report.add(errorCharacter(c, t))
			}
		case keyword:
			clean = false
			r.draft.faulty[clauseOf(t.text)] = true
			r.report.add(Diagnostic{
				Code: CodeReservedWord, Severity: Error, Span: t.span(),
				Message: fmt.Sprintf("`%s` is reserved for the clause of that name: choose another name", t.text),
			})
		}
	}
	return clean
}

func errorCharacter(c clause, t token) Diagnostic {
	first, _ := utf8.DecodeRuneInString(t.text)
	message := fmt.Sprintf("%q (%U) means nothing here: names are letters, digits, _, - and @", first, first)
	switch {
	case strings.ContainsRune("_-@", first):
		message = fmt.Sprintf("a name begins with a letter or a digit, not with %q", first)
	case c == nogo:
		message = fmt.Sprintf("%s, so %q (%U) means nothing here", shapes[nogo], first, first)
	}
	return Diagnostic{Code: CodeCharacter, Severity: Error, Span: t.span(), Message: message}
}

// describe names a token for a message.
func describe(t token) string { return "`" + shorten(t.text) + "`" }

// shorten keeps messages readable when a name is not.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// errorSyntax says what is wrong with an entry, given the place of the token that does not fit.
func errorSyntax(c clause, tokens []token, at int) Diagnostic {
	if at >= len(tokens) {
		return errorUnfinished(c, tokens)
	}
	t := tokens[at]
	if at == 0 {
		return syntaxError(t.span(), "%s begins no entry: %s", describe(t), shapes[c])
	}
	before := tokens[at-1]
	return syntaxError(t.span(), "%s after %s: %s", describe(t), describe(before), shapes[c])
}

// errorUnfinished is about an entry that lacks something at its end.
func errorUnfinished(c clause, tokens []token) Diagnostic {
	last := tokens[len(tokens)-1]
	return syntaxError(last.span(), "something is missing after %s: %s", describe(last), shapes[c])
}

// readPieces reads a list that has a mistake in it part by part, so that one mistake costs one part only.
func (r *reader) readPieces(c clause, tokens []token) {
	from := 0
	for i, t := range tokens {
		if t.kind == comma {
			r.readPiece(c, tokens, from, i)
			from = i + 1
		}
	}
	r.readPiece(c, tokens, from, len(tokens))
}

func (r *reader) readPiece(c clause, tokens []token, from, to int) {
	piece := tokens[from:to]
	if len(piece) == 0 {
		at := min(from, len(tokens)-1)
		r.report.add(syntaxError(tokens[at].span(), "a name is missing beside the comma"))
		r.draft.faulty[c] = true
		return
	}
	ok, failedAt := false, 0
	if c == who {
		ok, failedAt = r.readRoles(piece)
	} else {
		ok, failedAt = r.readWhat(piece)
	}
	if !ok {
		r.leaveOut(c, piece)
		r.report.add(errorSyntax(c, piece, failedAt))
	}
}
