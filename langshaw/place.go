package langshaw

import (
	"bytes"
	"unicode/utf8"
)

// Place says what may be written at a place of a text.
type Place struct {
	// Clause is the keyword of the clause that is open; empty before the first.
	Clause string
	// Entry are the words and marks of the entry that is open, as far as they stand before the place.
	Entry []string
	// From and To are the offsets around the word that the place is in or touches; both are that of the place where
	// there is no such word.
	From, To int
	// Fits are the kinds of names that may stand there, with the word there left out of account. RoleName in who and
	// ActionName after the colon of do are names yet to be declared.
	Fits []OccurrenceKind
	// Marks are the marks and words of the language that may, but for commas, colons and parentheses.
	Marks []string
}

// PlaceAt gives the place at a byte offset of a text. It reads the text up to there just as [Parse] does, in time linear
// in it. Nothing fits in a comment and where the name of the protocol stands. An offset outside the text is taken for
// the nearest one inside.
func PlaceAt(text []byte, offset int) Place {
	offset = max(0, min(offset, len(text)))
	p := Place{From: wordStart(text[:offset])}
	p.To = p.From + wordLength(string(text[p.From:wordEnd(text, offset)]))
	if p.To < offset {
		p.From, p.To = offset, offset
	}
	before := text[:p.From]
	if isWide(text) || isComment(before) {
		return p
	}
	c, r := newReading(before, newReport())
	if !c.runOpen() {
		return p
	}
	p.Clause = c.clause.String()
	for _, t := range c.entry {
		p.Entry = append(p.Entry, t.text)
	}
	c.fit(&p, r.draft.name.text != "")
	return p
}

// fit tells what may come next, given whether the protocol has its name.
func (c *cutter) fit(p *Place, named bool) {
	first, last := c.scanner.fresh, endOfText
	if len(c.entry) > 0 {
		last = c.entry[len(c.entry)-1].kind
	}
	fits := func(kinds ...OccurrenceKind) { p.Fits = append(p.Fits, kinds...) }
	if first && !c.inside && !c.goesOn() && named {
		fits(ClauseName)
	}
	switch c.clause {
	case who:
		if last == endOfText || last == comma {
			fits(RoleName)
		}
	case what:
		switch last {
		case endOfText, comma, orMark:
			fits(AttributeName, ActionName)
		case word:
			p.Marks = []string{"key", "or"}
		}
	case do:
		switch {
		case c.inside && (last == opening || last == comma):
			fits(AttributeName, ActionName)
		case c.inside:
		case last == colon:
			fits(ActionName)
		case last == endOfText || first:
			fits(RoleName)
		}
	case sayso:
		switch {
		case c.ranked && (last == colon || last == comma):
			fits(AttributeName)
		case last == endOfText, last == greater, c.ranked && first:
			fits(RoleName)
		case !c.ranked && last == word:
			p.Marks = []string{">"}
		}
	case nono:
		fits(ActionName)
	case nogo:
		switch {
		case last == endOfText, last == arrow:
			fits(ActionName)
		case len(c.entry) == 1:
			p.Marks = []string{asciiArrow}
		}
	}
}

// isComment tells whether what comes after the text stands in a comment.
func isComment(text []byte) bool {
	return bytes.IndexByte(text[bytes.LastIndexAny(text, "\r\n")+1:], '#') >= 0
}

// wordStart gives the start of the word that the text ends with, or its length.
func wordStart(text []byte) int {
	start := len(text)
	for at := len(text); at > 0; {
		r, size := utf8.DecodeLastRune(text[:at])
		at -= size
		switch {
		case isLetterOrDigit(r):
			start = at
		case r == '_' || r == '@' || r == '-':
		default:
			return start
		}
	}
	return start
}

// wordEnd gives where the characters that a word may have end, from the offset on.
func wordEnd(text []byte, offset int) int {
	for offset < len(text) {
		r, size := utf8.DecodeRune(text[offset:])
		if !isLetterOrDigit(r) && r != '_' && r != '@' && r != '-' {
			break
		}
		offset += size
	}
	return offset
}
