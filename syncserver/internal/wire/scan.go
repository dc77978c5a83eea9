package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// A message is read in one pass: members are cut out here, and each is then read as what it should be. Values of the
// protocol are left to package enactment, which is strict.

var errForm = errors.New("wire: not JSON of the form that is expected")

func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// end finds the end of the value that begins at a place. It checks no more than is needed for that.
func end(text []byte, at int) (int, error) {
	depth := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '"':
			at++
			for at < len(text) && text[at] != '"' {
				if text[at] == '\\' {
					at++
				}
				at++
			}
			if at >= len(text) {
				return 0, errForm
			}
			at++
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return 0, errForm
			}
			at++
			continue
		default:
			for at < len(text) && !bytes.ContainsRune([]byte(",:]} \n\t\r"), rune(text[at])) {
				at++
			}
		}
		if depth == 0 {
			return at, nil
		}
		if depth < 0 {
			return 0, errForm
		}
	}
	return 0, errForm
}

// each cuts an object or an array into its parts. The name is nil in an array.
func each(text []byte, open, shut byte, visit func(name, value []byte) error) error {
	at := space(text, 0)
	if at >= len(text) || text[at] != open {
		return errForm
	}
	at = space(text, at+1)
	if at < len(text) && text[at] == shut {
		return atEnd(text, at+1)
	}
	for {
		var name []byte
		if open == '{' {
			if at >= len(text) || text[at] != '"' {
				return errForm
			}
			stop, err := end(text, at)
			if err != nil {
				return err
			}
			name = text[at:stop]
			if at = space(text, stop); at >= len(text) || text[at] != ':' {
				return errForm
			}
			at = space(text, at+1)
		}
		stop, err := end(text, at)
		if err != nil {
			return err
		}
		if err := visit(name, text[at:stop]); err != nil {
			return err
		}
		if at = space(text, stop); at >= len(text) {
			return errForm
		}
		switch text[at] {
		case shut:
			return atEnd(text, at+1)
		case ',':
			at = space(text, at+1)
		default:
			return errForm
		}
	}
}

func atEnd(text []byte, at int) error {
	if space(text, at) != len(text) {
		return errForm
	}
	return nil
}

// members visits the members of an object. Names that need escapes are given with them.
func members(text []byte, visit func(name string, value []byte) error) error {
	return each(text, '{', '}', func(name, value []byte) error { return visit(string(name[1:len(name)-1]), value) })
}

func elements(text []byte, visit func(value []byte) error) error {
	return each(text, '[', ']', func(_, value []byte) error { return visit(value) })
}

func readString(into *string, value []byte) error {
	if len(value) < 2 || value[0] != '"' {
		return errForm
	}
	for _, c := range value[1 : len(value)-1] {
		if c == '\\' || c < ' ' || c >= 0x80 {
			return json.Unmarshal(value, into)
		}
	}
	*into = string(value[1 : len(value)-1])
	return nil
}

func readUint(into *uint64, value []byte) (err error) {
	*into, err = strconv.ParseUint(string(value), 10, 64)
	return err
}

func readBool(into *bool, value []byte) error {
	switch string(value) {
	case "true":
		*into = true
	case "false":
		*into = false
	default:
		return errForm
	}
	return nil
}

func readTime(into *time.Time, value []byte) error {
	var text string
	if err := readString(&text, value); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if year := at.UTC().Year(); err == nil && (year < 0 || year > 9999) {
		return errForm // with another zone it could not be written any more
	}
	*into = at
	return err
}

func readStrings(into *map[string]string, value []byte) error {
	*into = make(map[string]string)
	return each(value, '{', '}', func(name, value []byte) error {
		var key, text string
		if err := errors.Join(readString(&key, name), readString(&text, value)); err != nil {
			return err
		}
		(*into)[key] = text
		return nil
	})
}

func readKey(into *enactment.Key, value []byte) error {
	// A server writes keys as they are; anything else is made canonical.
	return into.UnmarshalJSON(value)
}

// readValues reads values of the protocol. A fault of theirs is a [*enactment.Rejection].
func readValues(text []byte) (enactment.Values, error) {
	values := make(enactment.Values, 4)
	err := each(text, '{', '}', func(name, value []byte) error {
		var key string
		if bytes.IndexByte(name, '\\') >= 0 || !plainName(name) {
			spelt, err := enactment.ParseValue(name) // which refuses what is no string of Unicode
			if err != nil {
				return err
			}
			if err := spelt.Decode(&key); err != nil {
				return err
			}
		} else {
			key = string(name[1 : len(name)-1])
		}
		if _, twice := values[key]; twice {
			return &enactment.Rejection{Code: enactment.Malformed, Attribute: key, Detail: fmt.Sprintf("%q is there twice", key)}
		}
		parsed, err := enactment.ParseValue(value)
		values[key] = parsed
		return err
	})
	if errors.Is(err, errForm) {
		err = &enactment.Rejection{Code: enactment.Malformed, Detail: "the values are no JSON object"}
	}
	return values, err
}

func plainName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c >= 0x80 {
			return false
		}
	}
	return true
}
