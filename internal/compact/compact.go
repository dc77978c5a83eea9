// Package compact takes JSON text apart that is known to be sound and to have no white space between its parts, as the
// text of an enactment.Value is. Nothing is decoded that nobody asks for, so that to read one member of a large object
// costs little more than to look at its bytes.
//
// It must not be given text that was not checked: of such text it makes something, without panic, and tells nobody that
// it is wrong. Start reading at [Members].
package compact

import (
	"encoding/json"
	"iter"
	"strings"
)

// Members ranges over the names and the texts of the members of an object, in the order in which they stand; over none if
// the text is no object.
func Members(object string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if !begins(object, '{') {
			return
		}
		for at := 1; at < len(object)-1; at++ {
			end := skip(object, at)
			name, ok := String(object[at:end])
			from := min(end+1, len(object))
			if at = skip(object, from); !ok || !yield(name, object[from:at]) {
				return
			}
		}
	}
}

// Member gives the text of the member with a name; false if the text is no object or has none.
func Member(object, name string) (string, bool) {
	for other, text := range Members(object) {
		if other == name {
			return text, true
		}
	}
	return "", false
}

// Elements ranges over the texts of the elements of an array; over none if the text is no array.
func Elements(array string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !begins(array, '[') {
			return
		}
		for at := 1; at < len(array)-1; at++ {
			from := at
			if at = skip(array, from); !yield(array[from:at]) {
				return
			}
		}
	}
}

// IsObject tells whether the text is an object, IsArray whether it is an array.
func IsObject(text string) bool { return begins(text, '{') }

// IsArray tells whether the text is an array.
func IsArray(text string) bool { return begins(text, '[') }

// IsNumber tells whether the text is a number.
func IsNumber(text string) bool {
	return text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9')
}

func begins(text string, with byte) bool { return text != "" && text[0] == with }

// String decodes a string; false if the text is something else.
func String(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	if plain := text[1 : len(text)-1]; !strings.Contains(plain, `\`) {
		return plain, true
	}
	var decoded string
	err := json.Unmarshal([]byte(text), &decoded)
	return decoded, err == nil
}

// Quoted gives the length of the string with which the text begins, quotes and all.
func Quoted(text string) int { return min(quoted(text, 0)+1, len(text)) }

// skip gives the place behind the value that begins at a place.
func skip(text string, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = quoted(text, at)
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}

// quoted gives the place of the quote that ends the string which begins at a place.
func quoted(text string, at int) int {
	for {
		end := strings.IndexByte(text[at+1:], '"')
		if end < 0 {
			return len(text)
		}
		at += end + 1
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}
