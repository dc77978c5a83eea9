package langshaw

import (
	"errors"
	"fmt"
	"strings"
)

// ErrName is what CheckName gives, with the reason.
var ErrName = errors.New("no name that can be used")

// CheckName tells whether a role, an action or an attribute may have the name wherever it stands: a word that is not
// reserved (semantics section 1). The error is an ErrName that says what to do.
func CheckName(text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case clauseOf(text) != noClause:
		return fmt.Errorf("%w: %s begins a clause", ErrName, quote(text))
	case text == "or" || text == "key":
		return fmt.Errorf("%w: %s has a meaning of its own in what", ErrName, quote(text))
	case wordLength(text) != len(text):
		return fmt.Errorf("%w: in %s not all are letters, digits, _ and -, the first a letter or a digit", ErrName, quote(text))
	case strings.Contains(text, reserved):
		return fmt.Errorf("%w: %s has an @, which stands for delegation", ErrName, quote(text))
	default:
		return nil
	}
}
