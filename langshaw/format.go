package langshaw

import "strings"

// Format writes a protocol text in its canonical layout and gives the diagnostics of the text as [Parse] does. A text
// with errors is not formatted: the result is nil, since what a faulty entry means is not known.
//
// Only the layout changes: blanks, line ends, blank lines, the colon after a keyword, and `↛`, which becomes `-/>`. The
// order of clauses, entries and names stays, so the model is the same but for positions. Every comment is kept, in
// order, beside or above what it stood beside or above; blanks at its end go. A text so written is not changed again.
//
//   - The name, then the clauses, a blank line before each. Of several blank lines elsewhere one stays.
//   - who and what stand on one line with what they list, if it fits and has no comment inside; otherwise each item
//     has a line of its own. In the other clauses each entry has a line of its own, indented by two.
//   - An entry that is wider than [FormatWidth] cells or has a comment inside is broken after the parenthesis or colon
//     and after each comma. Entries of nono and nogo end with the line and are never broken.
//   - Comments at the ends of consecutive lines begin in one column.
//
// It does no I/O, never panics, takes time and memory linear in the text, and may be called from several goroutines.
func Format(text []byte) ([]byte, Diagnostics) {
	_, diagnostics := Parse(text)
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	o := &outline{}
	c := &cutter{scanner: newScanner(string(text)), taker: o}
	c.scanner.comment = func(t token) { o.comments = append(o.comments, t) }
	title := c.scanner.title()
	c.run()
	l := &layout{comments: o.comments, starts: o.starts(title)}
	l.addTitle(title)
	for _, p := range o.parts {
		l.addPart(p)
	}
	l.end()
	return l.text(), diagnostics
}

// FormatWidth is how many cells of a terminal a line that [Format] writes has at most, comments aside, if its entry can
// be broken.
const FormatWidth = 100

// outline is a text without errors, cut into its parts.
type outline struct {
	parts    []part
	comments []token
}

// part is a clause: its keyword and its entries.
type part struct {
	clause  clause
	keyword token
	entries [][]token
}

func (*outline) isFull() bool { return false }

func (o *outline) open(keyword token) {
	o.parts = append(o.parts, part{clause: clauseOf(keyword.text), keyword: keyword})
}

// openMisspelt is not called for a text without errors.
func (*outline) openMisspelt(token, clause) {}

func (o *outline) read(_ clause, tokens []token, _ bool) {
	if len(o.parts) == 0 {
		return // An entry in no clause is an error.
	}
	last := &o.parts[len(o.parts)-1]
	last.entries = append(last.entries, append([]token(nil), tokens...))
}

// starts gives the offsets at which the name and all tokens but the colons after keywords start, in order.
func (o *outline) starts(title name) []int {
	starts := []int{title.start.Offset}
	for _, p := range o.parts {
		starts = append(starts, p.keyword.start.Offset)
		for _, entry := range p.entries {
			for _, t := range entry {
				starts = append(starts, t.start.Offset)
			}
		}
	}
	return starts
}

// spelling gives the canonical spelling of a token.
func (t token) spelling() string {
	if t.kind == arrow {
		return asciiArrow
	}
	return t.text
}

// isSpaced tells whether a blank stands between two tokens of an entry.
func isSpaced(before, after token) bool {
	switch after.kind {
	case comma, colon, opening, closing:
		return false
	default:
		return before.kind != opening
	}
}

// spell writes tokens of an entry on one line.
func spell(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && isSpaced(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		b.WriteString(t.spelling())
	}
	return b.String()
}
