package acc

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// isNumber tells whether a value is a number.
func isNumber(v enactment.Value) bool {
	text := v.String()
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9')
}

// isText tells whether a value is a string.
func isText(v enactment.Value) bool { return strings.HasPrefix(v.String(), `"`) }

// isNull tells whether a value is JSON null.
func isNull(v enactment.Value) bool { return v.String() == "null" }

// isReckonable tells whether a number, as JSON writes it, is finite for every program and short enough to reckon with.
func isReckonable(text string) bool {
	if len(text) > maximumDigits {
		return false
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[at+1:])
	return err == nil && exponent >= -maximumExponent && exponent <= maximumExponent
}

// rational gives the exact value of a number that JSON writes; false for one that is not to be reckoned with.
func rational(text string) (*big.Rat, bool) {
	if !isReckonable(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// compareNumbers orders two numbers as JSON writes them, exactly; false if one of them is not to be reckoned with.
func compareNumbers(a, b string) (int, bool) {
	// Nearly all numbers are integers of a few digits.
	if len(a) < 19 && len(b) < 19 {
		i, err := strconv.ParseInt(a, 10, 64)
		j, other := strconv.ParseInt(b, 10, 64)
		if err == nil && other == nil {
			switch {
			case i < j:
				return -1, true
			case i > j:
				return 1, true
			}
			return 0, true
		}
	}
	x, ok := rational(a)
	y, otherOK := rational(b)
	if !ok || !otherOK {
		return 0, false
	}
	return x.Cmp(y), true
}

// integer gives a number that JSON writes if it is an integer, however it is written (1e3 is one), as JSON Schema has
// it. fits tells whether it can be represented.
func integer(text string) (value int64, isInteger, fits bool) {
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value, true, true
	}
	x, ok := rational(text)
	switch {
	case !ok:
		// Beyond what is reckoned with, only a large positive exponent can make an integer.
		return 0, !strings.ContainsAny(text, ".-"), false
	case !x.IsInt():
		return 0, false, false
	case !x.Num().IsInt64():
		return 0, true, false
	}
	return x.Num().Int64(), true, true
}
