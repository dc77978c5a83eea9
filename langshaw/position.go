package langshaw

import "fmt"

// Position is a place in a protocol text.
type Position struct {
	// Line counts from 1; a line ends with LF, CRLF or a lone CR.
	Line int `json:"line"`
	// Column counts Unicode code points from 1; a tab is one, a byte that is not UTF-8 is one, and a byte-order mark
	// before the text is none.
	Column int `json:"column"`
	// Offset counts bytes from 0 in the text as given, byte-order mark included.
	Offset int `json:"offset"`
}

// String gives line:column.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Span is a stretch of text from Start up to, not including, End.
type Span struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}
