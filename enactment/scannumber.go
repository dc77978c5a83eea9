package enactment

import (
	"bytes"
	"slices"
	"strconv"
)

func (s *scanner) number(canonical []byte) ([]byte, error) {
	start := s.at
	if s.peek() == '-' {
		s.at++
	}
	leading := s.at
	if s.digits() == 0 {
		return nil, s.fault("a number needs digits")
	}
	if s.input[leading] == '0' && s.at > leading+1 {
		return nil, s.fault("a number does not start with 0")
	}
	if s.peek() == '.' {
		s.at++
		if s.digits() == 0 {
			return nil, s.fault("digits are missing after the point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if s.digits() == 0 {
			return nil, s.fault("digits are missing in the exponent")
		}
	}
	text := s.input[start:s.at]
	s.compact = append(s.compact, text...)
	return appendNumber(canonical, text), nil
}

func (s *scanner) digits() int {
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at - start
}

// plainZeros is how many zeros the canonical form writes out before it uses an exponent: enough that common numbers
// look as they were written, and few enough that 1e1000000000 costs nothing.
const plainZeros = 20

// plainInteger tells of a number whether it is an integer of so few digits that it is its own canonical form.
func plainInteger(text []byte) bool {
	if len(text) >= plainZeros {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendNumber appends the canonical form of a valid JSON number: its digits without zeros at either end, and the
// exponent of ten that goes with them.
func appendNumber(to, text []byte) []byte {
	if plainInteger(text) {
		return append(to, text...)
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	var exponentText []byte
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		text, exponentText = text[:e], text[e+1:]
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	digits := append(slices.Clone(whole), fraction...)
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	if len(trimmed) == 0 {
		return append(to, '0')
	}
	shift := int64(len(digits) - len(trimmed) - len(fraction))
	if negative {
		to = append(to, '-')
	}
	if len(exponentText) > 0 {
		below := exponentText[0] == '-'
		magnitude := bytes.TrimLeft(exponentText, "+-0")
		if len(magnitude) > exponentDigits {
			to = append(append(to, trimmed...), 'e')
			if below {
				to, shift = append(to, '-'), -shift
			}
			return appendSum(to, magnitude, shift)
		}
		exponent, _ := strconv.ParseInt(string(magnitude), 10, 64) // 0 where nothing is left
		if below {
			exponent = -exponent
		}
		shift += exponent
	}
	switch {
	case shift >= 0 && shift <= plainZeros:
		return append(append(to, trimmed...), "00000000000000000000"[:shift]...)
	case shift < 0 && shift > int64(-len(trimmed)):
		point := len(trimmed) + int(shift)
		to = append(append(to, trimmed[:point]...), '.')
		return append(to, trimmed[point:]...)
	}
	to = append(append(to, trimmed...), 'e')
	return strconv.AppendInt(to, shift, 10)
}

// exponentDigits is how many digits of an exponent are reckoned with as an integer: fewer than any sum could overflow,
// and more than any text is long.
const exponentDigits = 17

// appendSum appends the sum of a decimal number and a smaller one, digit by digit: an exponent of a million digits
// costs no more than reading it.
func appendSum(to, decimal []byte, add int64) []byte {
	sum := slices.Clone(decimal)
	for i := len(sum) - 1; i >= 0 && add != 0; i-- {
		add += int64(sum[i] - '0')
		digit := add % 10
		if digit < 0 {
			digit += 10
		}
		sum[i] = '0' + byte(digit)
		add = (add - digit) / 10
	}
	if add != 0 {
		to = strconv.AppendInt(to, add, 10)
	} else {
		sum = bytes.TrimLeft(sum, "0")
	}
	return append(to, sum...)
}
