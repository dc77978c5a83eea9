package langshaw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// scanner cuts a text into tokens, one at a time.
type scanner struct {
	text string
	at   Position
	// fresh tells that no token has been found on this line yet.
	fresh bool
	// comment is called with each comment, as a token without a kind, if it is not nil.
	comment func(token)
}

func newScanner(text string) *scanner {
	s := &scanner{text: text, at: Position{Line: 1, Column: 1}, fresh: true}
	if strings.HasPrefix(text, byteOrderMark) {
		s.at.Offset = len(byteOrderMark)
	}
	return s
}

// title takes the protocol's name: the first line that holds more than blanks and a comment; blanks around it and the
// comment are cut off. A line that begins with a clause keyword is no name; it is left to be read as a clause, and
// the result is empty.
func (s *scanner) title() name {
	for s.at.Offset < len(s.text) {
		s.skipBlanks()
		start := s.at
		rest := s.text[start.Offset:]
		if end := strings.IndexAny(rest, "#\r\n"); end >= 0 {
			rest = rest[:end]
		}
		title := strings.TrimRightFunc(rest, isBlank)
		if title == "" {
			s.skipComment()
			if s.next().kind == endOfText {
				break
			}
			continue
		}
		if clauseOf(title[:wordLength(title)]) != noClause {
			return name{start: start}
		}
		s.at = advance(start, title)
		s.fresh = false
		return name{text: title, start: start}
	}
	return name{start: s.at}
}

// next gives the next token; at the end of the text it gives endOfText again and again.
func (s *scanner) next() token {
	s.skipBlanks()
	s.skipComment()
	t := token{start: s.at, first: s.fresh}
	rest := s.text[s.at.Offset:]
	if rest == "" {
		return t
	}
	s.fresh = false
	if t.kind = lineEnding(rest); t.kind == lineEnd {
		length := 1
		if strings.HasPrefix(rest, "\r\n") {
			length = 2
		}
		s.at = Position{Line: s.at.Line + 1, Column: 1, Offset: s.at.Offset + length}
		s.fresh = true
		return t
	}
	length := 0
	if t.kind, length = mark(rest); length == 0 {
		if length = wordLength(rest); length > 0 {
			t.kind = word
			if clauseOf(rest[:length]) != noClause {
				t.kind = keyword
			}
		} else {
			t.kind, length = stray, strayLength(rest)
		}
	}
	t.text = rest[:length]
	s.at = t.end()
	return t
}

func lineEnding(rest string) kind {
	if rest[0] == '\n' || rest[0] == '\r' {
		return lineEnd
	}
	return endOfText
}

func (s *scanner) skipBlanks() {
	for s.at.Offset < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at.Offset:])
		if !isBlank(r) {
			return
		}
		s.at.Offset += size
		s.at.Column++
	}
}

// skipComment goes to the end of the line if a comment starts here.
func (s *scanner) skipComment() {
	rest := s.text[s.at.Offset:]
	if !strings.HasPrefix(rest, "#") {
		return
	}
	if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	if s.comment != nil {
		s.comment(token{first: s.fresh, text: rest, start: s.at})
	}
	s.at = advance(s.at, rest)
}

// mark recognises punctuation at the start of the text.
func mark(rest string) (kind, int) {
	switch rest[0] {
	case ',':
		return comma, 1
	case ':':
		return colon, 1
	case '(':
		return opening, 1
	case ')':
		return closing, 1
	case '>':
		return greater, 1
	case '-':
		if strings.HasPrefix(rest, asciiArrow) {
			return arrow, len(asciiArrow)
		}
	case unicodeArrow[0]:
		if strings.HasPrefix(rest, unicodeArrow) {
			return arrow, len(unicodeArrow)
		}
	}
	return endOfText, 0
}

const (
	asciiArrow   = "-/>"
	unicodeArrow = "↛"
)

// wordLength measures the word at the start of the text, in bytes; zero if none starts here. A hyphen belongs to
// the word unless it begins an arrow, so that One-/>Two is three tokens.
func wordLength(rest string) int {
	length := 0
	for length < len(rest) {
		r, size := rune(rest[length]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(rest[length:])
		}
		switch {
		case isLetterOrDigit(r):
		case length > 0 && (r == '_' || r == '@' || r == '-' && !strings.HasPrefix(rest[length:], asciiArrow)):
		default:
			return length
		}
		length += size
	}
	return length
}

// strayLength measures the characters from here on that can start no token. Word characters are taken along, so that
// _price is one mistake, and so is the end of an arrow of another language.
func strayLength(rest string) int {
	length := 0
	for length < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[length:])
		if isBlank(r) || r == '\n' || r == '\r' || r == '#' {
			break
		}
		if length > 0 && !(r == '>' && strings.ContainsRune("-=/", rune(rest[length-1]))) {
			if _, marked := mark(rest[length:]); marked > 0 {
				break
			}
		}
		length += size
	}
	return length
}

func isLetterOrDigit(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf || r == utf8.RuneError:
		return false
	default:
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	}
}

func isBlank(r rune) bool { return r != '\n' && r != '\r' && unicode.IsSpace(r) }
