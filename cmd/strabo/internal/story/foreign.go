package story

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Short gives what [Printable] does, and of a long text the beginning, with dots; most is a number of characters.
func Short(text string, most int) string {
	count := 0
	for at := range text {
		if count++; count > most {
			return Printable(text[:at]) + "..."
		}
	}
	return Printable(text)
}

// Printable gives text that somebody else wrote without what a terminal would obey: controls, and what turns the direction
// of writing, are replaced.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// EscapeJSON gives a writer to which whole JSON texts are written, and which writes to w the same JSON, with an escape for
// every character beyond ASCII that a terminal would obey. (JSON itself has escapes for those in ASCII, but for delete.)
func EscapeJSON(w io.Writer) io.Writer { return jsonEscaper{w} }

type jsonEscaper struct{ w io.Writer }

// Write writes JSON, which must not end within a character.
func (e jsonEscaper) Write(text []byte) (int, error) {
	obeyed := func(r rune) bool { return r >= unicode.MaxASCII && !unicode.IsPrint(r) && r != utf8.RuneError }
	if bytes.IndexFunc(text, obeyed) < 0 {
		return e.w.Write(text)
	}
	escaped := make([]byte, 0, len(text)+64)
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case !obeyed(r):
			escaped = append(escaped, rest[:size]...)
		case utf16.RuneLen(r) == 2:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		rest = rest[size:]
	}
	if _, err := e.w.Write(escaped); err != nil {
		return 0, err
	}
	return len(text), nil
}
