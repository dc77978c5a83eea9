// Package read puts the contents of UCP's messages into variables. It is stricter than encoding/json where that would take
// something for what was not said, and reads text that is known to be sound, so that it does little more than to copy.
//
// It knows no message: what there is a place for is said by the types. Start reading at [Into].
package read

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/compact"
)

// Error says what is wrong with a value, and where it stands.
type Error struct {
	// Path is the JSONPath of the value.
	Path string
	// Must says what the value has to be, such as "be a string".
	Must string
}

// Error gives a sentence.
func (e *Error) Error() string { return e.Path + " must " + e.Must + "." }

// Into reads a value into what into points to, as encoding/json does but for three things, so that what is read is what
// was said: names of members count with their case; a number that goes into an integer counts by its value, so that
// 1e1 is 10 (semantics, section 3); and a null is no member of an array, for nobody could say what it stands for.
// A member that into has no place for is left out, a null where no array is around it is nothing at all. The error is
// the [*Error] that says where, below path, which is a JSONPath; or says that there is no way to read a type: those that
// can be read are strings, int64, booleans, structs, slices, maps by strings, pointers to those, and structs that read
// themselves ([json.Unmarshaler]).
func Into(value enactment.Value, path string, into any) error {
	wrong := fill(value.String(), reflect.ValueOf(into).Elem())
	switch {
	case wrong == nil:
		return nil
	case wrong.cause != nil:
		return fmt.Errorf("read: %s: %w", wrong.path(path), wrong.cause)
	}
	return &Error{wrong.path(path), wrong.must}
}

// fault says what is wrong, and where. Few values are wrong, so the way to the place is put together on the way back.
type fault struct {
	must  string
	cause error    // in the place of must
	steps []string // from the outermost value to the place, the last one first
}

func must(what string) *fault { return &fault{must: what} }

// in tells of a fault that it was found in a member, or an element, of what is looked at now.
func (f *fault) in(step string) *fault {
	f.steps = append(f.steps, step)
	return f
}

func (f *fault) path(path string) string {
	for _, step := range slices.Backward(f.steps) {
		path += step
	}
	return path
}

func element(index int) string  { return "[" + strconv.Itoa(index) + "]" }
func member(name string) string { return "." + name }

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	readsItself = reflect.TypeFor[json.Unmarshaler]()
)

// fill puts the value with a text into a variable, as far as there is a place for it.
func fill(text string, into reflect.Value) *fault {
	if text == "null" {
		return nil
	}
	if into.Type() == rawMessage {
		into.SetBytes([]byte(text))
		return withoutNulls(text)
	}
	switch into.Kind() {
	case reflect.String:
		said, ok := compact.String(text)
		if !ok {
			return must("be a string")
		}
		into.SetString(said)
	case reflect.Int64:
		whole, err := int64(0), errNotWhole
		if compact.IsNumber(text) {
			whole, err = Whole(text)
		}
		if err != nil {
			return must("be a whole number")
		}
		into.SetInt(whole)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return must("be true or false")
		}
		into.SetBool(text == "true")
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		into.Set(target)
		return fill(text, target.Elem())
	case reflect.Slice:
		return fillArray(text, into)
	case reflect.Map:
		return fillMap(text, into)
	case reflect.Struct:
		return fillObject(text, into)
	default:
		return &fault{cause: fmt.Errorf("there is no way to read %s", into.Type())}
	}
	return nil
}

func fillArray(text string, into reflect.Value) *fault {
	if !compact.IsArray(text) {
		return must("be an array")
	}
	into.SetZero()
	n := 0
	for text := range compact.Elements(text) {
		if text == "null" {
			return must("not be null").in(element(n))
		}
		if n == into.Cap() {
			into.Grow(1)
		}
		into.SetLen(n + 1)
		if wrong := fill(text, into.Index(n)); wrong != nil {
			return wrong.in(element(n))
		}
		n++
	}
	if n == 0 {
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	}
	return nil
}

func fillMap(text string, into reflect.Value) *fault {
	if !compact.IsObject(text) {
		return must("be an object")
	}
	into.Set(reflect.MakeMap(into.Type()))
	for name, text := range compact.Members(text) {
		filled := reflect.New(into.Type().Elem()).Elem()
		if wrong := fill(text, filled); wrong != nil {
			return wrong.in(member(name))
		}
		into.SetMapIndex(reflect.ValueOf(name), filled)
	}
	return nil
}

// fieldNames remembers the names that the fields of a struct have in JSON, by reflect.Type; nil for a type that reads
// itself.
var fieldNames sync.Map

func namesOf(of reflect.Type) []string {
	if known, ok := fieldNames.Load(of); ok {
		return known.([]string)
	}
	var names []string
	if !reflect.PointerTo(of).Implements(readsItself) {
		names = make([]string, of.NumField())
		for i := range names {
			names[i], _, _ = strings.Cut(of.Field(i).Tag.Get("json"), ",")
		}
	}
	fieldNames.Store(of, names)
	return names
}

func fillObject(text string, into reflect.Value) *fault {
	names := namesOf(into.Type())
	if names == nil {
		if err := into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte(text)); err != nil {
			return &fault{cause: err}
		}
		return nil
	}
	if !compact.IsObject(text) {
		return must("be an object")
	}
	for name, text := range compact.Members(text) {
		if i := slices.Index(names, name); i >= 0 {
			if wrong := fill(text, into.Field(i)); wrong != nil {
				return wrong.in(member(name))
			}
		}
	}
	return nil
}

// withoutNulls fails if an array anywhere in a value has a null in it. It looks at each byte once, however deep the value
// is nested.
func withoutNulls(text string) *fault {
	if !strings.Contains(text, "null") {
		return nil
	}
	type level struct {
		array bool
		index int
		name  string
	}
	var around []level // arrays and objects that are not closed
	for i := 0; i < len(text); i++ {
		var here *level
		if len(around) > 0 {
			here = &around[len(around)-1]
		}
		switch text[i] {
		case '[', '{':
			around = append(around, level{array: text[i] == '['})
		case ']', '}':
			around = around[:len(around)-1]
		case ',':
			here.index++
		case '"':
			end := i + compact.Quoted(text[i:])
			if here != nil && !here.array && end < len(text) && text[end] == ':' {
				here.name, _ = compact.String(text[i:end])
			}
			i = end - 1
		case 'n':
			if here == nil || !here.array {
				continue
			}
			wrong := must("not be null")
			for _, l := range slices.Backward(around) {
				if l.array {
					wrong.in(element(l.index))
				} else {
					wrong.in(member(l.name))
				}
			}
			return wrong
		}
	}
	return nil
}

var errNotWhole = errors.New("not a whole number of 64 bits")

// mostDigits is how many digits an integer of 64 bits can have.
const mostDigits = 19

// Whole reads a JSON number by its value, digit for digit: 35e2 and 3500.0 are 3500. The error says that it is not a whole
// number of 64 bits. It never writes out what an exponent stands for.
func Whole(number string) (int64, error) {
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
