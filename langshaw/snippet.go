package langshaw

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const (
	// snippetWidth is how many cells of a line are shown, and tabWidth how far apart tab stops are.
	snippetWidth = 100
	tabWidth     = 4
	ellipsis     = "..."
)

// cells measures text as a terminal shows it, whatever the locale of the process is.
var cells = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// snippet gives the line where a span begins and the marks to put under it. Of a long line it gives the part around
// the marks; it does not look at the rest, so that it costs the same for a line of any length.
func snippet(text []byte, span Span) (line, marks string) {
	start := min(span.Start.Offset, len(text))
	before, cutBefore := takeBefore(text[:start], snippetWidth)
	after, cutAfter := takeAfter(text[start:], snippetWidth)
	if cutBefore || cutAfter || width(before)+width(after) > snippetWidth {
		room := max(snippetWidth/2, snippetWidth-width(before))
		if short, cut := takeAfter(after, room); cut {
			after, cutAfter = short, true
		}
		if short, cut := takeBefore(before, snippetWidth-width(after)); cut {
			before, cutBefore = short, true
		}
	}
	marked := after[:min(max(span.End.Offset-start, 0), len(after))]

	var out strings.Builder
	if cutBefore {
		out.WriteString(ellipsis)
	}
	show(&out, before)
	from := cells.StringWidth(out.String())
	show(&out, marked)
	to := cells.StringWidth(out.String())
	show(&out, after[len(marked):])
	line = out.String()
	if cutAfter {
		line += ellipsis
	} else {
		line = strings.TrimRight(line, " ")
	}
	return line, strings.Repeat(" ", from) + strings.Repeat("^", max(to-from, 1))
}

// takeBefore gives the end of the text, back to the start of its line or as far as fits; cut tells that not all did.
func takeBefore(text []byte, room int) (end []byte, cut bool) {
	at := len(text)
	if at == 0 || isLineEnd(text[at-1]) {
		return nil, false
	}
	for at > 0 && !isLineEnd(text[at-1]) {
		r, size := utf8.DecodeLastRune(text[:at])
		if room -= cellsOf(r); room < 0 {
			return text[at:], true
		}
		at -= size
	}
	return bytes.TrimPrefix(text[at:], []byte(byteOrderMark)), false
}

// takeAfter gives the start of the text, up to the end of its line or as far as fits; cut tells that not all did.
func takeAfter(text []byte, room int) (start []byte, cut bool) {
	at := 0
	for at < len(text) && !isLineEnd(text[at]) {
		r, size := utf8.DecodeRune(text[at:])
		if room -= cellsOf(r); room < 0 {
			return text[:at], true
		}
		at += size
	}
	return text[:at], false
}

func isLineEnd(b byte) bool { return b == '\n' || b == '\r' }

func width(text []byte) int {
	sum := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		sum += cellsOf(r)
		text = text[size:]
	}
	return sum
}

// cellsOf is what one code point takes at most. Marks that take no cell count too, so that a line of nothing else is
// cut as well.
func cellsOf(r rune) int {
	if r == '\t' {
		return tabWidth
	}
	return max(1, cells.RuneWidth(visible(r)))
}

// visible replaces what would move the cursor, hide text or turn its direction.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		return utf8.RuneError
	}
	return r
}

// show writes text with tabs as blanks.
func show(out *strings.Builder, text []byte) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\t' {
			at := cells.StringWidth(out.String())
			out.WriteString(strings.Repeat(" ", tabWidth-at%tabWidth))
		} else {
			out.WriteRune(visible(r))
		}
		text = text[size:]
	}
}
