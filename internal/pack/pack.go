// Package pack writes and reads small binary forms: numbers as varints, and strings with their length before them. What
// is read may be anything: a [Reader] never panics, and never believes a number that the bytes cannot back.
package pack

import (
	"encoding/binary"
	"math"
)

// AppendText writes a string.
func AppendText[T string | []byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// AppendNumber writes a number.
func AppendNumber(to []byte, n uint64) []byte { return binary.AppendUvarint(to, n) }

// Reader reads a text from its beginning. What does not fit makes it bad for good, and then zeros come.
type Reader struct {
	text string
	at   int
	bad  bool
}

// NewReader reads a text. The strings that it gives share its memory.
func NewReader(text string) Reader { return Reader{text: text} }

// Left is how many bytes there are still.
func (r *Reader) Left() int { return len(r.text) - r.at }

// Bad tells whether anything did not fit.
func (r *Reader) Bad() bool { return r.bad }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.at >= len(r.text) {
		r.bad = true
		return 0
	}
	b := r.text[r.at]
	r.at++
	return b
}

// Number reads a number.
func (r *Reader) Number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.Byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.bad = true
	return 0
}

// Count reads how many things follow, each of which takes at least so many bytes.
func (r *Reader) Count(least int) int {
	n := r.Number()
	if n > uint64(r.Left()/least) || n > math.MaxInt32 {
		r.bad = true
		return 0
	}
	return int(n)
}

// Text reads a string.
func (r *Reader) Text() string {
	n := r.Number()
	if n > uint64(r.Left()) {
		r.bad = true
		return ""
	}
	return r.Bytes(int(n))
}

// Bytes reads so many bytes as they are.
func (r *Reader) Bytes(n int) string {
	if n < 0 || n > r.Left() {
		r.bad = true
		return ""
	}
	text := r.text[r.at : r.at+n]
	r.at += n
	return text
}
