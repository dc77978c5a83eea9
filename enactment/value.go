package enactment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Value is one JSON value: immutable, and compared as semantics section 3 says. The zero Value is none at all: absent,
// or hidden from whoever looks. JSON null is a value like any other.
type Value struct {
	// text is the value as it was given, without insignificant white space.
	text string
	// canonical is the same for equal values and different for others.
	canonical string
}

// ParseValue reads one JSON value. Numbers keep their digits, however many. It returns a [*Rejection] with code
// [Malformed] for anything that is not JSON, and for duplicate members, lone surrogates, text that is not UTF-8, and
// nesting deeper than 1,000.
func ParseValue(text []byte) (Value, error) {
	if canonical(text) {
		same := string(text)
		return Value{text: same, canonical: same}, nil
	}
	s := newScanner(text)
	defer s.free()
	s.space()
	canonical, err := s.value(0, s.room)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Value{}, &Rejection{Code: Malformed, Detail: err.Error()}
	}
	return newValue(s.compact, canonical), nil
}

// newValue makes a value of its two forms, which are one where they are equal.
func newValue(compact, canonical []byte) Value {
	v := Value{text: string(compact)}
	if bytes.Equal(compact, canonical) {
		v.canonical = v.text
	} else {
		v.canonical = string(canonical)
	}
	return v
}

// canonical tells of the commonest values that they are their own canonical form: strings of printable ASCII without
// escapes, and integers of few digits.
func canonical(text []byte) bool {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return unescaped(text[1:len(text)-1]) == len(text)-2
	}
	if len(text) == 0 || len(text) >= plainZeros || text[0] == '0' && len(text) > 1 {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// unescaped is how many bytes at the beginning are characters of ASCII that stand for themselves in a string.
func unescaped[T string | []byte](text T) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}

// ValueOf makes a value of anything that encoding/json can encode. A Value and a json.RawMessage are taken as they
// are. Errors are those of ParseValue and of encoding/json.
func ValueOf(v any) (Value, error) {
	switch v := v.(type) {
	case Value:
		return v, nil
	case json.RawMessage:
		return ParseValue(v)
	case string:
		if !utf8.ValidString(v) {
			return Value{}, &Rejection{Code: Malformed, Detail: "the string is not UTF-8"}
		}
		text := string(appendString(nil, v))
		return Value{text: text, canonical: text}, nil
	case int:
		return integer(int64(v)), nil
	case int64:
		return integer(v), nil
	case bool:
		text := strconv.FormatBool(v)
		return Value{text: text, canonical: text}, nil
	}
	if value, ok := written(v); ok {
		return value, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return Value{}, fmt.Errorf("enactment: not a JSON value: %w", err)
	}
	return ParseValue(out.Bytes())
}

func integer(i int64) Value {
	text := strconv.FormatInt(i, 10)
	return Value{text: text, canonical: string(appendNumber(nil, []byte(text)))}
}

// MustValue is ValueOf for constants and tests; it panics where ValueOf gives an error.
func MustValue(v any) Value {
	value, err := ValueOf(v)
	if err != nil {
		panic(err)
	}
	return value
}

// IsZero tells whether there is no value at all. JSON null is not zero.
func (v Value) IsZero() bool { return v.text == "" }

// Equal compares as JSON: the order of members does not matter, and numbers are equal when they are the same number
// however they are written.
func (v Value) Equal(w Value) bool { return v.canonical == w.canonical }

// IsScalar tells whether the value may be the value of a key: a string, a number or a boolean.
func (v Value) IsScalar() bool {
	return v.text != "" && v.text[0] != '{' && v.text[0] != '[' && v.text[0] != 'n'
}

// kind says what a value that is no scalar is.
func (v Value) kind() string {
	switch v.text[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	default:
		return "null"
	}
}

// String gives the JSON text, empty for the zero Value.
func (v Value) String() string { return v.text }

// MarshalJSON gives the JSON text as it was read; null for the zero Value.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsZero() {
		return []byte("null"), nil
	}
	return []byte(v.text), nil
}

// UnmarshalJSON reads as ParseValue does.
func (v *Value) UnmarshalJSON(text []byte) error {
	parsed, err := ParseValue(text)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Decode stores the value in what into points to, as encoding/json does, but numbers that go into an interface become
// json.Number and so lose nothing. The zero Value cannot be decoded, and the error says that there is none.
func (v Value) Decode(into any) error {
	if v.IsZero() {
		return errors.New("enactment: decode value: there is none: it is absent, or hidden")
	}
	switch into := into.(type) {
	case *string:
		if len(v.text) > 1 && v.text[0] == '"' && !strings.ContainsRune(v.text, '\\') {
			*into = v.text[1 : len(v.text)-1]
			return nil
		}
	case *int64:
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			*into = n
			return nil
		}
	}
	if keepsDigits(reflect.TypeOf(into)) {
		if err := json.Unmarshal([]byte(v.text), into); err != nil {
			return fmt.Errorf("enactment: decode value: %w", err)
		}
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(v.text)))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("enactment: decode value: %w", err)
	}
	return nil
}

// digitsKept remembers what keepsDigits has found out, by reflect.Type.
var digitsKept sync.Map

// keepsDigits tells whether nothing of a type is an interface, so that encoding/json loses no digits of a number.
func keepsDigits(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if known, ok := digitsKept.Load(t); ok {
		return known.(bool)
	}
	found := withoutInterfaces(t, make(map[reflect.Type]bool))
	digitsKept.Store(t, found)
	return found
}

func withoutInterfaces(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return withoutInterfaces(t.Elem(), seen)
	case reflect.Map:
		return withoutInterfaces(t.Key(), seen) && withoutInterfaces(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if !withoutInterfaces(t.Field(i).Type, seen) {
				return false
			}
		}
	}
	return true
}

// Values are values by attribute name.
type Values map[string]Value

// ValuesOf makes values as [ValueOf] does, and says which attribute an error is about.
func ValuesOf(m map[string]any) (Values, error) {
	values := make(Values, len(m))
	for name, v := range m {
		value, err := ValueOf(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

// ParseValues reads a JSON object, each member as ParseValue does; its errors are the same.
func ParseValues(text []byte) (Values, error) {
	s := newScanner(text)
	defer s.free()
	s.space()
	if s.peek() != '{' {
		if _, err := ParseValue(text); err != nil {
			return nil, err
		}
		return nil, &Rejection{Code: Malformed, Detail: "not a JSON object"}
	}
	canonical, err := s.members(0, s.room)
	members := s.found
	if err == nil {
		err = s.end()
	}
	if err == nil {
		slices.SortStableFunc(members, byName)
		err = s.distinct(members)
	}
	if err != nil {
		return nil, &Rejection{Code: Malformed, Detail: err.Error()}
	}
	values := make(Values, len(members))
	for _, m := range members {
		values[string(m.name)] = newValue(s.compact[m.text:m.textEnd], canonical[m.canonicalValue:m.canonicalEnd])
	}
	return values, nil
}
