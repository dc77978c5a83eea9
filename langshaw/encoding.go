package langshaw

import (
	"bytes"
	"unicode/utf8"
)

// isWide tells whether the text begins like UTF-16, of which nothing else could be said that makes sense.
func isWide(text []byte) bool {
	return bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff})
}

func errorWide() Diagnostic {
	at := Position{Line: 1, Column: 1}
	return errorAt(Span{Start: at, End: at}, CodeEncoding, "the text is UTF-16: save it as UTF-8")
}

// errorEncoding is about the first byte of a text that is not UTF-8. There are mostly many, for one reason.
func errorEncoding(text []byte) Diagnostic {
	at := newScanner("").at
	rest := text
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		at.Offset = len(byteOrderMark)
		rest = text[at.Offset:]
	}
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			end := Position{Line: at.Line, Column: at.Column + 1, Offset: at.Offset + 1}
			return errorAt(Span{Start: at, End: end}, CodeEncoding,
				"the byte %#02x is not UTF-8, and maybe others below: save the text as UTF-8", rest[0])
		case r == '\n', r == '\r' && !bytes.HasPrefix(rest, []byte("\r\n")):
			at = Position{Line: at.Line + 1, Column: 1, Offset: at.Offset + 1}
		default:
			at.Column++
			at.Offset += size
		}
		rest = rest[size:]
	}
	return errorAt(Span{Start: at, End: at}, CodeEncoding, "the text is not UTF-8: save it as UTF-8")
}
