package langshaw

import (
	"bytes"
	"slices"
	"strings"
)

// layout lays a text out in lines. Things are added in the order of the source; where the source has a blank line
// between two of them, one stays.
type layout struct {
	// comments are those not added yet.
	comments []token
	// starts has the offsets of what comments stand behind.
	starts []int
	lines  []formatted
	// sourceLine is the line of the source on which the last thing that was added ends.
	sourceLine int
	// first tells that what is added next is the first thing of a clause, inside that an entry goes on: no blank line
	// stands before either.
	first, inside bool
	// part is the clause that is open, if any.
	part *part
}

// formatted is one line.
type formatted struct {
	// blank tells that a blank line stands before it.
	blank  bool
	indent int
	code   string
	// comment stands alone if there is no code.
	comment string
}

// entryIndent is how far entries are indented, and what is broken out of an entry further than the entry.
const entryIndent = 2

// addTitle adds the comments above the name, and the name.
func (l *layout) addTitle(title name) {
	l.addComments(0, l.before(title.start.Offset))
	l.add(0, title.text, title.start.Line)
	l.addTrailing(l.takeTrailing(title.start))
}

// addPart adds a clause.
func (l *layout) addPart(p part) {
	comments := l.before(p.keyword.start.Offset)
	if l.part != nil {
		comments = l.addTail(comments, p.keyword.start.Column)
	}
	from := len(l.lines)
	l.addComments(0, comments)
	l.add(0, p.keyword.text, p.keyword.start.Line)
	l.lines[from].blank = true
	l.part = &p
	l.addEntries(p)
}

// end adds the comments after the last entry.
func (l *layout) end() {
	if l.part == nil {
		return // A text without a clause has errors.
	}
	column := 1
	if l.part.keyword.first {
		column = l.part.keyword.start.Column
	}
	comments := l.addTail(l.comments, column)
	from := len(l.lines)
	l.addComments(0, comments)
	if len(comments) > 0 {
		l.lines[from].blank = true
	}
}

// addTail adds those of the comments after the last entry of a clause that belong to it, since they are indented further
// than a keyword, and gives the rest, which belong to the clause that follows.
func (l *layout) addTail(comments []token, column int) []token {
	count := 0
	for count < len(comments) && comments[count].start.Column > column {
		count++
	}
	l.addComments(entryIndent, comments[:count])
	return comments[count:]
}

// before takes the comments that stand before a place.
func (l *layout) before(offset int) []token {
	count := 0
	for count < len(l.comments) && l.comments[count].start.Offset < offset {
		count++
	}
	taken := l.comments[:count]
	l.comments = l.comments[count:]
	return taken
}

// add adds a line of code that begins at a line of the source.
func (l *layout) add(indent int, code string, sourceLine int) {
	l.lines = append(l.lines, formatted{blank: len(l.lines) > 0 && !l.first && !l.inside && sourceLine > l.sourceLine+1, indent: indent, code: code})
	l.sourceLine, l.first = max(l.sourceLine, sourceLine), false
}

// takeTrailing takes the comment that stands behind the token that starts at a place, on the same line, if there is one.
func (l *layout) takeTrailing(start Position) []token {
	count := 0
	if len(l.comments) > 0 && !l.comments[0].first {
		if next, _ := slices.BinarySearch(l.starts, l.comments[0].start.Offset); l.starts[next-1] == start.Offset {
			count = 1
		}
	}
	taken := l.comments[:count:count]
	l.comments = l.comments[count:]
	return taken
}

// addTrailing adds the first of the comments to the last line if it stood on the line of the source of what was before
// it, and gives the rest.
func (l *layout) addTrailing(comments []token) []token {
	if len(comments) == 0 || comments[0].first {
		return comments
	}
	l.lines[len(l.lines)-1].comment = commentText(comments[0])
	return comments[1:]
}

// addComments adds comments on lines of their own.
func (l *layout) addComments(indent int, comments []token) {
	for _, c := range comments {
		l.add(indent, "", c.start.Line)
		l.lines[len(l.lines)-1].comment = commentText(c)
	}
}

func commentText(t token) string { return strings.TrimRightFunc(t.text, isBlank) }

// text joins the lines. Comments at the ends of consecutive lines are put in one column.
func (l *layout) text() []byte {
	var out bytes.Buffer
	if strings.HasPrefix(l.lines[0].code, byteOrderMark) {
		// A name that begins with the character of the mark keeps it only behind a mark.
		out.WriteString(byteOrderMark)
	}
	for from := 0; from < len(l.lines); {
		to := from + 1
		for to < len(l.lines) && l.lines[from].isTrailed() && l.lines[to].isTrailed() && !l.lines[to].blank {
			to++
		}
		widest := 0
		for _, line := range l.lines[from:to] {
			// A line that is too wide does not push the comments of all others away.
			if width := line.width(); width <= FormatWidth {
				widest = max(widest, width)
			}
		}
		for _, line := range l.lines[from:to] {
			line.write(&out, widest)
		}
		from = to
	}
	return out.Bytes()
}

func (f formatted) isTrailed() bool { return f.code != "" && f.comment != "" }

func (f formatted) width() int { return f.indent + cells.StringWidth(f.code) }

// write writes the line, its comment behind a column.
func (f formatted) write(out *bytes.Buffer, column int) {
	if f.blank {
		out.WriteByte('\n')
	}
	writeBlanks(out, f.indent)
	out.WriteString(f.code)
	if f.isTrailed() {
		writeBlanks(out, max(column-f.width(), 0)+2)
	}
	out.WriteString(f.comment)
	out.WriteByte('\n')
}

func writeBlanks(out *bytes.Buffer, count int) {
	for range count {
		out.WriteByte(' ')
	}
}
