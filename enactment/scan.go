package enactment

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// maximumDepth bounds the nesting of values, so that hostile input cannot exhaust the stack.
const maximumDepth = 1000

// scanner reads JSON strictly. It copies the input without white space to compact, and returns the canonical form: the
// members of objects sorted by name, strings with the fewest escapes, numbers by digits and exponent. Equal values have
// the same canonical form (semantics section 3). encoding/json does not serve: it takes the last of duplicate members
// and replaces lone surrogates without a word.
type scanner struct {
	input   []byte
	at      int
	compact []byte
	found   []member // of the objects that are being consumed, those of an inner one behind those of the outer
	sorting []byte   // room to put members in order
	room    []byte   // for the canonical form
}

// scanners are scanners that are used again, for the memory that they have.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// newScanner gives a scanner, to be freed when nothing is needed any more of what it has found.
func newScanner(input []byte) *scanner {
	s := scanners.Get().(*scanner)
	s.input, s.at = input, 0
	s.compact, s.found = slices.Grow(s.compact[:0], len(input)), s.found[:0]
	s.room = slices.Grow(s.room[:0], len(input))
	return s
}

// How large the memory of a scanner may be that is kept: in bytes for each buffer, and in members.
const (
	largestRoom = 64 << 10
	mostMembers = 64
)

func (s *scanner) free() {
	s.input = nil
	if s.found = s.found[:cap(s.found)]; len(s.found) > mostMembers {
		s.found = nil
	}
	clear(s.found) // names may lie in the input
	if cap(s.compact) <= largestRoom && cap(s.room) <= largestRoom && cap(s.sorting) <= largestRoom {
		scanners.Put(s)
	}
}

// end refuses anything but space after a value.
func (s *scanner) end() error {
	if s.space(); s.at < len(s.input) {
		return s.fault("more text after the value")
	}
	return nil
}

func (s *scanner) fault(format string, arguments ...any) error {
	return fmt.Errorf("JSON at byte %d: %s", s.at, fmt.Sprintf(format, arguments...))
}

func (s *scanner) space() {
	for s.at < len(s.input) {
		switch s.input[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.input) {
		return s.input[s.at]
	}
	return 0
}

// take consumes one byte and copies it.
func (s *scanner) take() byte {
	c := s.input[s.at]
	s.at++
	s.compact = append(s.compact, c)
	return c
}

// value appends the canonical form of the next value.
func (s *scanner) value(depth int, canonical []byte) ([]byte, error) {
	if s.at >= len(s.input) {
		return nil, s.fault("a value is missing")
	}
	switch c := s.input[s.at]; {
	case (c == '{' || c == '[') && depth == maximumDepth:
		return nil, s.fault("nested deeper than %d", maximumDepth)
	case c == '{':
		return s.object(depth, canonical)
	case c == '[':
		return s.array(depth, canonical)
	case c == '"':
		if end := plainString(s.input[s.at:]); end > 0 { // the canonical form of such a string is its own
			plain := s.input[s.at : s.at+end]
			s.at += end
			s.compact = append(s.compact, plain...)
			return append(canonical, plain...), nil
		}
		text, err := s.text()
		if err != nil {
			return nil, err
		}
		return appendString(canonical, string(text)), nil
	case c == '-' || c >= '0' && c <= '9':
		return s.number(canonical)
	}
	for _, word := range words {
		if rest := s.input[s.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.at += len(word)
			s.compact = append(s.compact, word...)
			return append(canonical, word...), nil
		}
	}
	return nil, s.fault("%q does not start a value", s.input[s.at])
}

var words = [...]string{"true", "false", "null"}

func (s *scanner) array(depth int, canonical []byte) ([]byte, error) {
	canonical = append(canonical, s.take())
	s.space()
	if s.peek() == ']' {
		return append(canonical, s.take()), nil
	}
	for {
		s.space()
		var err error
		if canonical, err = s.value(depth+1, canonical); err != nil {
			return nil, err
		}
		s.space()
		switch s.peek() {
		case ',', ']':
			c := s.take()
			canonical = append(canonical, c)
			if c == ']' {
				return canonical, nil
			}
		default:
			return nil, s.fault("expected , or ]")
		}
	}
}

// member is where one member of an object is: its name, its text among what is copied, and its canonical form.
type member struct {
	name          []byte // decoded; it may lie in the input
	text, textEnd int
	// canonical is where its form with the name in front begins, canonicalValue where the value does.
	canonical, canonicalValue, canonicalEnd int
}

// object consumes an object. Its canonical form has the members in the order of their names.
func (s *scanner) object(depth int, canonical []byte) ([]byte, error) {
	base := len(s.found)
	canonical, err := s.members(depth, canonical)
	if err != nil {
		return nil, err
	}
	members := s.found[base:]
	s.found = s.found[:base]
	if len(members) == 0 || slices.IsSortedFunc(members, byName) {
		return append(canonical, '}'), s.distinct(members)
	}
	from := members[0].canonical
	as := append(s.sorting[:0], canonical[from:]...)
	s.sorting = as
	canonical = canonical[:from]
	slices.SortStableFunc(members, byName)
	for i, m := range members {
		if i > 0 {
			canonical = append(canonical, ',')
		}
		canonical = append(canonical, as[m.canonical-from:m.canonicalEnd-from]...)
	}
	return append(canonical, '}'), s.distinct(members)
}

func byName(a, b member) int { return bytes.Compare(a.name, b.name) }

// distinct refuses members of the same name, which are beside each other.
func (s *scanner) distinct(sorted []member) error {
	for i := 1; i < len(sorted); i++ {
		if bytes.Equal(sorted[i-1].name, sorted[i].name) {
			return s.fault("the member %q stands twice in one object", sorted[i].name)
		}
	}
	return nil
}

// members consumes an object and notes its members as they come behind those that were found; the canonical form lacks
// the brace that ends it.
func (s *scanner) members(depth int, canonical []byte) ([]byte, error) {
	first := len(s.found)
	canonical = append(canonical, '{')
	s.take()
	s.space()
	open := s.peek() != '}'
	for open {
		s.space()
		if s.peek() != '"' {
			return nil, s.fault("expected a member's name")
		}
		if len(s.found) > first {
			canonical = append(canonical, ',')
		}
		m := member{canonical: len(canonical)}
		var err error
		if end := plainString(s.input[s.at:]); end > 0 {
			quoted := s.input[s.at : s.at+end]
			s.at += end
			s.compact = append(s.compact, quoted...)
			m.name, canonical = quoted[1:end-1], append(canonical, quoted...)
		} else if m.name, err = s.text(); err != nil {
			return nil, err
		} else {
			canonical = appendString(canonical, string(m.name))
		}
		canonical = append(canonical, ':')
		m.canonicalValue = len(canonical)
		s.space()
		if s.peek() != ':' {
			return nil, s.fault("expected : after the member's name")
		}
		s.take()
		s.space()
		m.text = len(s.compact)
		if canonical, err = s.value(depth+1, canonical); err != nil {
			return nil, err
		}
		m.textEnd, m.canonicalEnd = len(s.compact), len(canonical)
		s.found = append(s.found, m)
		s.space()
		switch s.peek() {
		case ',':
			s.take()
		case '}':
			open = false
		default:
			return nil, s.fault("expected , or }")
		}
	}
	s.take()
	return canonical, nil
}

// plainString gives the length of the string, quotes and all, with which the input begins; 0 if it is not of plain ASCII
// without escapes.
func plainString(input []byte) int {
	for i := 1; i < len(input); i++ {
		switch c := input[i]; {
		case c == '"':
			return i + 1
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return 0
		}
	}
	return 0
}

// text consumes a string and gives it decoded.
func (s *scanner) text() ([]byte, error) {
	start := s.at
	s.at++
	var decoded []byte
	plain := s.at // where the stretch without escapes that is not yet in decoded begins
	for {
		switch c := s.peek(); {
		case s.at >= len(s.input):
			return nil, s.fault("the string does not end")
		case c == '"':
			decoded = append(decoded, s.input[plain:s.at]...)
			s.at++
			s.compact = append(s.compact, s.input[start:s.at]...)
			return decoded, nil
		case c < ' ':
			return nil, s.fault("a control character in a string must be escaped")
		case c == '\\':
			decoded = append(decoded, s.input[plain:s.at]...)
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			decoded = utf8.AppendRune(decoded, r)
			plain = s.at
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, size := utf8.DecodeRune(s.input[s.at:])
			if r == utf8.RuneError && size <= 1 {
				return nil, s.fault("the text is not UTF-8")
			}
			s.at += size
		}
	}
}

// escape consumes a backslash and what belongs to it.
func (s *scanner) escape() (rune, error) {
	s.at++
	c := s.peek()
	s.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		first, err := s.hexadecimal()
		if err != nil || !utf16.IsSurrogate(first) {
			return first, err
		}
		if bytes.HasPrefix(s.input[s.at:], []byte(`\u`)) {
			s.at += 2
			second, err := s.hexadecimal()
			if err != nil {
				return 0, err
			}
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, nil
			}
		}
		return 0, s.fault("a lone surrogate is no character")
	}
	return 0, s.fault("no such escape")
}

func (s *scanner) hexadecimal() (rune, error) {
	if s.at+4 > len(s.input) {
		return 0, s.fault("\\u needs four digits")
	}
	var r rune
	for _, c := range s.input[s.at : s.at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, s.fault("\\u needs four hexadecimal digits")
		}
	}
	s.at += 4
	return r, nil
}

// appendString appends the string in quotes with the fewest escapes.
func appendString(to []byte, text string) []byte {
	to = append(to, '"')
	plain := unescaped(text)
	to = append(to, text[:plain]...)
	for _, r := range text[plain:] {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r < ' ':
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}
