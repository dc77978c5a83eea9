package langshaw

import "strings"

// readPieces reads a list of who or what that has a mistake in it part by part, so that one mistake costs one part.
func (r *reader) readPieces(c clause, tokens []token) {
	tokens = r.cutForeign(c, tokens)
	from := 0
	for i, t := range tokens {
		if r.report.isFull() {
			return
		}
		switch {
		case t.kind == comma:
			r.readPiece(c, tokens, from, i)
			from = i + 1
		case t.kind == word && endsItem(tokens[from:i]) && c == what && isCapital(t.text):
			d := syntaxError(t.span(), "%s is written in small letters", quote(t.text))
			d.Suggestion = strings.ToLower(t.text)
			r.report.add(d)
			tokens[i].text = d.Suggestion
			tokens[i].kind = kindInWhat(tokens[i])
		case t.kind == word && endsItem(tokens[from:i]):
			r.report.add(syntaxError(t.span(), "a comma is missing between %s and %s", quote(tokens[i-1].text), quote(t.text)))
			r.readPiece(c, tokens, from, i)
			from = i
		}
	}
	if len(tokens) > 0 {
		r.readPiece(c, tokens, from, len(tokens))
	}
}

// isCapital tells whether a word is one with a meaning inside what, but for capital letters.
func isCapital(text string) bool {
	return strings.EqualFold(text, "key") || strings.EqualFold(text, "or")
}

// endsItem tells whether nothing but a comma or an alternative may follow the tokens of an item.
func endsItem(tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	last := tokens[len(tokens)-1].kind
	return last == word || last == keyMark && len(tokens) > 1
}

// cutForeign leaves out the end of a list from the line on that has a mark which no list has: then most likely the
// keyword of the next clause is missing, and every line to come would be reported.
func (r *reader) cutForeign(c clause, tokens []token) []token {
	for i, t := range tokens {
		switch t.kind {
		case word, comma, orMark, keyMark, stray, keyword:
			continue
		}
		from := i
		for from > 0 && !tokens[from].first {
			from--
		}
		r.leaveOut(c, tokens[from:])
		if from == 0 {
			r.report.add(syntaxError(t.span(), "%s cannot stand in %s: %s", quote(t.text), c, shapes[c]))
		} else {
			r.report.add(syntaxError(tokens[from].span(), "a line with %s is no part of %s: is the keyword of another clause missing above?",
				quote(t.text), c))
		}
		return tokens[:from]
	}
	return tokens
}

func (r *reader) readPiece(c clause, tokens []token, from, to int) {
	piece := tokens[from:to]
	if len(piece) == 0 {
		r.draft.faulty[c] = true
		r.report.add(errorNoName(tokens, from))
		return
	}
	for _, t := range piece {
		if t.kind == stray || t.kind == keyword {
			// Reported by isClean.
			r.leaveOut(c, piece)
			return
		}
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

// errorNoName is about a comma with nothing beside it; at is the place where a name should be.
func errorNoName(tokens []token, at int) Diagnostic {
	if at > 0 {
		return syntaxError(tokens[at-1].span(), "a name is missing after the comma: add it or remove the comma")
	}
	return syntaxError(tokens[at].span(), "a name is missing before the comma: add it or remove the comma")
}
