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
// can be read are strings, int64, booleans, structs, slices, maps by strings, pointers to those, and what reads itself
// ([json.Unmarshaler]).
func Into(value enactment.Value, path string, into any) error {
	return fill(value.String(), reflect.ValueOf(into).Elem(), &place{path: path})
}

// place is where a value stands, to be told if it is wrong.
type place struct {
	within  *place
	path    string // of the outermost alone
	element bool   // of an array, with an index, and not a member, with a name
	index   int
	name    string
}

// String gives the JSONPath.
func (p *place) String() string {
	switch {
	case p.within == nil:
		return p.path
	case p.element:
		return p.within.String() + "[" + strconv.Itoa(p.index) + "]"
	default:
		return p.within.String() + "." + p.name
	}
}

func (p *place) must(what string) error { return &Error{p.String(), what} }

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	readsItself = reflect.TypeFor[json.Unmarshaler]()
)

// fill puts the value with a text into a variable, as far as there is a place for it.
func fill(text string, into reflect.Value, at *place) error {
	if text == "null" {
		return nil
	}
	if into.Type() == rawMessage {
		into.SetBytes([]byte(text))
		return withoutNulls(text, at)
	}
	if reflect.PointerTo(into.Type()).Implements(readsItself) {
		if err := into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte(text)); err != nil {
			return fmt.Errorf("read: %s: %w", at, err)
		}
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		into.Set(target)
		return fill(text, target.Elem(), at)
	case reflect.String:
		said, ok := compact.String(text)
		if !ok {
			return at.must("be a string")
		}
		into.SetString(said)
	case reflect.Int64:
		whole, err := int64(0), errNotWhole
		if compact.IsNumber(text) {
			whole, err = wholeOf(text)
		}
		if err != nil {
			return at.must("be a whole number")
		}
		into.SetInt(whole)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return at.must("be true or false")
		}
		into.SetBool(text == "true")
	case reflect.Slice:
		return fillArray(text, into, at)
	case reflect.Map:
		return fillMap(text, into, at)
	case reflect.Struct:
		return fillObject(text, into, at)
	default:
		return fmt.Errorf("read: there is no way to read %s", into.Type())
	}
	return nil
}

func fillArray(text string, into reflect.Value, at *place) error {
	if !compact.IsArray(text) {
		return at.must("be an array")
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, 1))
	n := 0
	for element := range compact.Elements(text) {
		here := place{within: at, element: true, index: n}
		if element == "null" {
			return here.must("not be null")
		}
		if n == into.Cap() {
			into.Grow(1)
		}
		into.SetLen(n + 1)
		if err := fill(element, into.Index(n), &here); err != nil {
			return err
		}
		n++
	}
	return nil
}

func fillMap(text string, into reflect.Value, at *place) error {
	if !compact.IsObject(text) {
		return at.must("be an object")
	}
	into.Set(reflect.MakeMap(into.Type()))
	for name, member := range compact.Members(text) {
		filled := reflect.New(into.Type().Elem()).Elem()
		if err := fill(member, filled, &place{within: at, name: name}); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(name), filled)
	}
	return nil
}

// fieldNames remembers the names that the fields of a struct have in JSON, by reflect.Type.
var fieldNames sync.Map

func namesOf(of reflect.Type) []string {
	if known, ok := fieldNames.Load(of); ok {
		return known.([]string)
	}
	names := make([]string, of.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(of.Field(i).Tag.Get("json"), ",")
	}
	fieldNames.Store(of, names)
	return names
}

func fillObject(text string, into reflect.Value, at *place) error {
	if !compact.IsObject(text) {
		return at.must("be an object")
	}
	names := namesOf(into.Type())
	for name, member := range compact.Members(text) {
		if i := slices.Index(names, name); i >= 0 {
			if err := fill(member, into.Field(i), &place{within: at, name: name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutNulls fails if an array anywhere in a value has a null in it. It looks at each byte once, however deep the value
// is nested.
func withoutNulls(text string, at *place) error {
	if !strings.Contains(text, "null") {
		return nil
	}
	var around []*place // of arrays and objects that are not closed
	for i := 0; i < len(text); i++ {
		var here *place
		if len(around) > 0 {
			here = around[len(around)-1]
		}
		switch text[i] {
		case '[', '{':
			within := at
			if here != nil {
				within = here
			}
			around = append(around, &place{within: within, element: text[i] == '['})
		case ']', '}':
			around = around[:len(around)-1]
		case ',':
			here.index++
		case '"':
			end := i + compact.Quoted(text[i:])
			if here != nil && !here.element && end < len(text) && text[end] == ':' {
				here.name, _ = compact.String(text[i:end])
			}
			i = end - 1
		case 'n':
			if here != nil && here.element {
				return here.must("not be null")
			}
		}
	}
	return nil
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
