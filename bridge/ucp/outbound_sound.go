package ucp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostValues is how many values an answer of a shop may have. A checkout of 500 lines has a tenth of it. Whatever is done with
// an answer costs something for each, and a shop must not have it cost whatever it likes.
const mostValues = 50_000

// sound tells whether an answer of a shop, a JSON text, says one thing to whoever reads it: no object has a member twice, of
// which one reader takes the first and another the last; and whether it is of a size that a checkout has. What else is wrong
// with it does not matter here, for the public servers are read as they are.
func sound(text []byte) error {
	reading := json.NewDecoder(bytes.NewReader(text))
	reading.UseNumber()
	type open struct {
		members map[string]bool // nil for an array
		value   bool            // a member was named, and its value is next
	}
	var around []open
	for values := 0; ; {
		token, err := reading.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return nil // No JSON, from which nothing is concluded.
		}
		delimiter, isDelimiter := token.(json.Delim)
		if isDelimiter && (delimiter == '}' || delimiter == ']') {
			around = around[:len(around)-1]
			continue
		}
		if len(around) > 0 {
			here := &around[len(around)-1]
			if here.members != nil && !here.value {
				name, _ := token.(string)
				if here.members[name] {
					return fmt.Errorf("it has the member %s twice", shortly(name))
				}
				here.members[name], here.value = true, true
				continue
			}
			here.value = false
		}
		if values++; values > mostValues {
			return fmt.Errorf("it has more than %d values", mostValues)
		}
		if isDelimiter {
			next := open{}
			if delimiter == '{' {
				next.members = make(map[string]bool)
			}
			around = append(around, next)
		}
	}
}
