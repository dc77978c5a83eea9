package wire

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// AppendString encodes a string as JSON.
func AppendString(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(text)
			if err != nil {
				panic(err) // a string always has a JSON form
			}
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

// appendMember writes a member whose name needs no escape.
func appendMember(to []byte, name, text string) []byte {
	to = append(append(append(to, '"'), name...), '"', ':')
	return AppendString(to, text)
}

// appendStrings writes an object of strings, in the order of its names.
func appendStrings(to []byte, members map[string]string) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	to = append(to, '{')
	for i, name := range names {
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendString(append(AppendString(to, name), ':'), members[name])
	}
	return append(to, '}')
}
