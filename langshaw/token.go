package langshaw

import "unicode/utf8"

// kind says what a token is. The words or and key are plain words outside what, so the scanner gives them as words
// and only the reader of a what entry turns them into orMark and keyMark.
type kind int8

const (
	endOfText kind = iota
	word
	keyword
	comma
	colon
	opening
	closing
	greater
	arrow
	lineEnd
	orMark
	keyMark
	// stray is a run of characters that belong to no token.
	stray
)

// clause names the part of a protocol that an entry stands in.
type clause int8

const (
	noClause clause = iota
	who
	what
	do
	sayso
	nono
	nogo
	clauseCount
)

var clauseNames = [clauseCount]string{who: "who", what: "what", do: "do", sayso: "sayso", nono: "nono", nogo: "nogo"}

func (c clause) String() string { return clauseNames[c] }

// clauseOf gives the clause that a keyword opens, or noClause for any other word.
func clauseOf(text string) clause {
	switch text {
	case "who":
		return who
	case "what":
		return what
	case "do":
		return do
	case "sayso":
		return sayso
	case "nono":
		return nono
	case "nogo":
		return nogo
	default:
		return noClause
	}
}

// token is a piece of one line. It does not know the text around it, so that a text is read without holding all of
// its tokens.
type token struct {
	kind kind
	// first tells that nothing but blanks stands before it on its line.
	first bool
	text  string
	start Position
}

func (t token) end() Position { return advance(t.start, t.text) }

func (t token) span() Span { return Span{Start: t.start, End: t.end()} }

// name is a word as it stands at one place.
type name struct {
	text  string
	start Position
}

func (n name) span() Span { return Span{Start: n.start, End: advance(n.start, n.text)} }

// advance gives the place after a text that holds no line end.
func advance(p Position, text string) Position {
	return Position{Line: p.Line, Column: p.Column + utf8.RuneCountInString(text), Offset: p.Offset + len(text)}
}
