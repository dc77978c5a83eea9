package lsp

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// encoding is the unit in which the characters of a line are counted.
type encoding string

// The encodings of LSP.
const (
	utf8Encoding  encoding = "utf-8"
	utf16Encoding encoding = "utf-16"
	utf32Encoding encoding = "utf-32"
)

// negotiate takes the first encoding that the client offers and the server knows. Without an offer it is UTF-16.
func negotiate(offered []string) encoding {
	for _, name := range offered {
		switch e := encoding(name); e {
		case utf8Encoding, utf16Encoding, utf32Encoding:
			return e
		}
	}
	return utf16Encoding
}

func (e encoding) units(r rune, size int) int {
	switch {
	case e == utf8Encoding:
		return size
	case e == utf16Encoding && r > 0xffff:
		return 2
	default:
		return 1
	}
}

// text is a text with the starts of its lines. A line ends with LF, CRLF or a lone CR, in LSP as in Langshaw.
type text struct {
	bytes    []byte
	encoding encoding
	starts   []int
	// marks are characters some way apart, with how many units stand before each: lines may be very long, and have many
	// names. There are none where a byte is a unit.
	marks []mark
}

// mark is a character.
type mark struct{ offset, units int }

// markDistance is about how many bytes marks are apart.
const markDistance = 512

func newText(content []byte, e encoding) *text {
	t := &text{bytes: content, encoding: e, starts: []int{0}}
	for i, b := range content {
		if b == '\n' || b == '\r' && (i+1 == len(content) || content[i+1] != '\n') {
			t.starts = append(t.starts, i+1)
		}
	}
	if e == utf8Encoding || !bytes.ContainsFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return t
	}
	units := 0
	for at := 0; at < len(content); {
		if len(t.marks) == 0 || at-t.marks[len(t.marks)-1].offset >= markDistance {
			t.marks = append(t.marks, mark{at, units})
		}
		r, size := utf8.DecodeRune(content[at:])
		units += e.units(r, size)
		at += size
	}
	return t
}

// units counts the units before a place.
func (t *text) units(offset int) int {
	after := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].offset > offset })
	if after == 0 {
		return offset
	}
	m := t.marks[after-1]
	for m.offset < offset {
		r, size := utf8.DecodeRune(t.bytes[m.offset:])
		m.units += t.encoding.units(r, size)
		m.offset += size
	}
	return m.units
}

// line gives a line without its end, and the offset where it starts.
func (t *text) line(number int) (line []byte, start int) {
	start = t.starts[number]
	end := len(t.bytes)
	if number+1 < len(t.starts) {
		end = t.starts[number+1]
	}
	return bytes.TrimRight(t.bytes[start:end], "\r\n"), start
}

// offset gives the place of a position. One beyond the end of its line is taken for the end, one below the text for the
// end of the text, and one within a character for the start of the character.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.starts) {
		return len(t.bytes)
	}
	line, start := t.line(p.Line)
	at, units := 0, 0
	for at < len(line) {
		r, size := utf8.DecodeRune(line[at:])
		units += t.encoding.units(r, size)
		if units > p.Character {
			break
		}
		at += size
	}
	return start + at
}

// position gives the position of a place.
func (t *text) position(offset int) position {
	number := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset }) - 1
	return position{Line: number, Character: t.units(offset) - t.units(t.starts[number])}
}

// span gives the range between two places.
func (t *text) span(from, to int) span { return span{t.position(from), t.position(to)} }

// replace gives the text with a range replaced.
func (t *text) replace(s span, by string) *text {
	from, to := t.offset(s.Start), t.offset(s.End)
	if to < from {
		from, to = to, from
	}
	content := make([]byte, 0, len(t.bytes)-(to-from)+len(by))
	content = append(content, t.bytes[:from]...)
	content = append(content, by...)
	return newText(append(content, t.bytes[to:]...), t.encoding)
}
