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

	"github.com/strabo-engine/strabo/enactment"
)

// readAs reads a value into what into points to, as encoding/json does but for three things, so that what is read is what
// was said: names of members count with their case; a number that goes into an integer counts by its value, so that
// 1e1 is 10 (semantics, section 3); and a null is no member of an array, for nobody could say what it stands for.
// A member that into has no place for is left out, a null where no array is around it is nothing at all. The error is
// the [*problem] that says where, below path, which is a JSONPath.
func readAs(asked enactment.Value, path string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(asked.String()))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return invalid(path, "%s is not sound JSON.", path)
	}
	return fill(value, reflect.ValueOf(into).Elem(), path)
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// fill puts into a variable what it has a place for.
func fill(value any, into reflect.Value, path string) error {
	if value == nil {
		return nil
	}
	if into.Type() == rawMessage {
		if err := withoutNulls(value, path); err != nil {
			return err
		}
		text, err := plainJSON(value)
		into.SetBytes(text)
		return err
	}
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		into.Set(target)
		return fill(value, target.Elem(), path)
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return invalid(path, "%s must be a string.", path)
		}
		into.SetString(text)
	case reflect.Int64:
		whole, err := wholeNumber(value, path)
		into.SetInt(whole)
		return err
	case reflect.Slice:
		return fillArray(value, into, path)
	case reflect.Map:
		return fillMap(value, into, path)
	case reflect.Struct:
		return fillObject(value, into, path)
	default:
		return fmt.Errorf("ucp: inbound: there is no way to read %s", into.Type())
	}
	return nil
}

func plainJSON(value any) (json.RawMessage, error) {
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("ucp: inbound: %w", err)
	}
	return plain.Bytes(), nil
}

func fillArray(value any, into reflect.Value, path string) error {
	members, ok := value.([]any)
	if !ok {
		return invalid(path, "%s must be an array.", path)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(members), len(members)))
	for i, member := range members {
		at := path + "[" + strconv.Itoa(i) + "]"
		if member == nil {
			return isNull(at)
		}
		if err := fill(member, into.Index(i), at); err != nil {
			return err
		}
	}
	return nil
}

func fillMap(value any, into reflect.Value, path string) error {
	members, ok := value.(map[string]any)
	if !ok {
		return invalid(path, "%s must be an object.", path)
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(members)))
	for name, member := range members {
		filled := reflect.New(into.Type().Elem()).Elem()
		if err := fill(member, filled, path+"."+name); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(name), filled)
	}
	return nil
}

func fillObject(value any, into reflect.Value, path string) error {
	members, ok := value.(map[string]any)
	if !ok {
		return invalid(path, "%s must be an object.", path)
	}
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		if given, ok := members[name]; ok {
			if err := fill(given, into.Field(i), path+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
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
func wholeNumber(value any, path string) (int64, error) {
	if number, ok := value.(json.Number); ok {
		if whole, err := wholeOf(number.String()); err == nil {
			return whole, nil
		}
	}
	return 0, invalid(path, "%s must be a whole number.", path)
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
