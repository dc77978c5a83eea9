package ucp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// readAs reads JSON into what into points to, as encoding/json does but for three things, so that what is read is what
// was said: names of members count with their case; a number that goes into an integer counts by its value, so that
// 1e1 is 10 (semantics, section 3); and a null is no member of an array, for nobody could say what it stands for.
// A member that into has no place for is left out, a null where no array is around it is nothing at all. The error is
// the [*problem] that says where, below path, which is a JSONPath.
func readAs(text []byte, path string, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return invalid(path, "%s is not sound JSON.", path)
	}
	fitting, err := fit(value, reflect.TypeOf(into).Elem(), path)
	if err != nil {
		return err
	}
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fitting); err != nil {
		return fmt.Errorf("ucp: inbound: %w", err)
	}
	if err := json.Unmarshal(plain.Bytes(), into); err != nil {
		return invalid(path, "%s has another shape.", path)
	}
	return nil
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// fit gives what of a value a type has a place for.
func fit(value any, into reflect.Type, path string) (any, error) {
	switch {
	case value == nil:
		return nil, nil
	case into == rawMessage:
		return value, withoutNulls(value, path)
	}
	switch into.Kind() {
	case reflect.Pointer:
		return fit(value, into.Elem(), path)
	case reflect.String:
		if _, ok := value.(string); !ok {
			return nil, invalid(path, "%s must be a string.", path)
		}
	case reflect.Int64:
		return wholeNumber(value, path)
	case reflect.Slice:
		return fitArray(value, into, path)
	case reflect.Map, reflect.Struct:
		return fitObject(value, into, path)
	default:
		return nil, fmt.Errorf("ucp: inbound: there is no way to read %s", into)
	}
	return value, nil
}

func fitArray(value any, into reflect.Type, path string) (any, error) {
	members, ok := value.([]any)
	if !ok {
		return nil, invalid(path, "%s must be an array.", path)
	}
	fitting := make([]any, len(members))
	for i, member := range members {
		at := fmt.Sprintf("%s[%d]", path, i)
		if member == nil {
			return nil, isNull(at)
		}
		var err error
		if fitting[i], err = fit(member, into.Elem(), at); err != nil {
			return nil, err
		}
	}
	return fitting, nil
}

func fitObject(value any, into reflect.Type, path string) (any, error) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, invalid(path, "%s must be an object.", path)
	}
	fitting := make(map[string]any)
	take := func(name string, member reflect.Type) (err error) {
		if given, ok := members[name]; ok {
			fitting[name], err = fit(given, member, path+"."+name)
		}
		return err
	}
	if into.Kind() == reflect.Map {
		for name := range members {
			if err := take(name, into.Elem()); err != nil {
				return nil, err
			}
		}
		return fitting, nil
	}
	for i := range into.NumField() {
		field := into.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if err := take(name, field.Type); err != nil {
			return nil, err
		}
	}
	return fitting, nil
}

// withoutNulls fails if an array anywhere in a value has a null in it.
func withoutNulls(value any, path string) error {
	switch value := value.(type) {
	case []any:
		for i, member := range value {
			at := fmt.Sprintf("%s[%d]", path, i)
			if member == nil {
				return isNull(at)
			}
			if err := withoutNulls(member, at); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range value {
			if err := withoutNulls(member, path+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func isNull(path string) error { return invalid(path, "%s must not be null.", path) }

// wholeNumber gives a number that is whole, however it is written, as an integer.
func wholeNumber(value any, path string) (any, error) {
	if number, ok := value.(json.Number); ok {
		if whole, err := wholeOf(number.String()); err == nil {
			return whole, nil
		}
	}
	return nil, invalid(path, "%s must be a whole number.", path)
}

var errNotWhole = errors.New("not a whole number of 64 bits")

// mostDigits is how many digits an integer of 64 bits can have.
const mostDigits = 19

// wholeOf reads a JSON number by its value. It never writes out what an exponent stands for.
func wholeOf(number string) (int64, error) {
	mantissa, exponent := number, 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		var err error
		// What does not fit here moves the point further than there can be digits, unless they are all zeros.
		if exponent, err = strconv.Atoi(number[at+1:]); err != nil {
			exponent = math.MaxInt32
			if number[at+1] == '-' {
				exponent = -exponent
			}
		}
		mantissa = number[:at]
	}
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	trimmed := strings.TrimRight(digits, "0")
	zeros := exponent - len(after) + len(digits) - len(trimmed) // that follow the digits
	switch {
	case trimmed == "":
		return 0, nil
	case zeros < 0 || zeros > mostDigits || len(trimmed)+zeros > mostDigits:
		return 0, errNotWhole
	}
	whole, err := strconv.ParseInt(sign+trimmed+strings.Repeat("0", zeros), 10, 64)
	if err != nil {
		return 0, errNotWhole
	}
	return whole, nil
}
