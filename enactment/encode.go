package enactment

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Most values are made of the same few types again and again. What such a type has in it is found out once; then both
// forms of a value are written at once, instead of being read again from what encoding/json has written. The text is
// that of encoding/json without escaping for HTML. What is out of the ordinary is left to encoding/json.

// form says which of its two forms of a value is written.
type form bool

const (
	textual   form = false // members in the order of the type
	canonized form = true  // members in the order of their names
)

// writer appends a form of a value of one type; false if encoding/json has to do it.
type writer func(to []byte, v reflect.Value, as form) ([]byte, bool)

// writers remembers the writer of each type by reflect.Type; nil where there is none.
var writers sync.Map

// rooms are buffers to write into.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// written makes a value of something of an ordinary type; false if encoding/json has to do it.
func written(v any) (Value, bool) {
	of := reflect.ValueOf(v)
	if !of.IsValid() {
		return Value{}, false
	}
	write := writerOf(of.Type())
	if write == nil {
		return Value{}, false
	}
	room := rooms.Get().(*[]byte)
	defer func() {
		if cap(*room) <= largestRoom {
			rooms.Put(room)
		}
	}()
	text, ok := write((*room)[:0], of, textual)
	if !ok {
		return Value{}, false
	}
	both, ok := write(text, of, canonized)
	if !ok {
		return Value{}, false
	}
	*room = both
	return newValue(both[:len(text)], both[len(text):]), true
}

func writerOf(t reflect.Type) writer {
	if known, ok := writers.Load(t); ok {
		return known.(writer)
	}
	write := newWriter(t, nil)
	writers.Store(t, write)
	return write
}

var (
	valueType      = reflect.TypeFor[Value]()
	numberType     = reflect.TypeFor[json.Number]()
	marshaler      = reflect.TypeFor[json.Marshaler]()
	textMarshalers = reflect.TypeFor[encoding.TextMarshaler]()
)

// newWriter makes the writer of a type that is within others; nil if there is none: the type encodes itself, or is of a
// kind that is rare, or is within itself.
func newWriter(t reflect.Type, within []reflect.Type) writer {
	switch t {
	case valueType:
		return writeValue
	case numberType: // a string that is written without quotes
		return nil
	}
	if p := reflect.PointerTo(t); p.Implements(marshaler) || p.Implements(textMarshalers) || slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clip(within), t)
	switch t.Kind() {
	case reflect.String:
		return writeText
	case reflect.Int, reflect.Int64:
		return writeInteger
	case reflect.Bool:
		return writeBool
	case reflect.Pointer:
		return pointerWriter(t, within)
	case reflect.Slice:
		return sliceWriter(t, within)
	case reflect.Struct:
		return structWriter(t, within)
	}
	return nil
}

func writeValue(to []byte, v reflect.Value, as form) ([]byte, bool) {
	text := v.Field(0).String()
	if as == canonized {
		text = v.Field(1).String()
	}
	if text == "" {
		text = "null"
	}
	return append(to, text...), true
}

func writeText(to []byte, v reflect.Value, _ form) ([]byte, bool) {
	text := v.String()
	if plain := unescaped(text); plain < len(text) {
		// encoding/json escapes more than has to be, and mends what is no UTF-8.
		if strings.ContainsFunc(text[plain:], func(r rune) bool {
			return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029'
		}) || !utf8.ValidString(text) {
			return nil, false
		}
	}
	return append(append(append(to, '"'), text...), '"'), true
}

func writeInteger(to []byte, v reflect.Value, _ form) ([]byte, bool) {
	return strconv.AppendInt(to, v.Int(), 10), true
}

func writeBool(to []byte, v reflect.Value, _ form) ([]byte, bool) {
	return strconv.AppendBool(to, v.Bool()), true
}

func pointerWriter(t reflect.Type, within []reflect.Type) writer {
	write := newWriter(t.Elem(), within)
	if write == nil {
		return nil
	}
	return func(to []byte, v reflect.Value, as form) ([]byte, bool) {
		if v.IsNil() {
			return append(to, "null"...), true
		}
		return write(to, v.Elem(), as)
	}
}

func sliceWriter(t reflect.Type, within []reflect.Type) writer {
	write := newWriter(t.Elem(), within)
	if write == nil {
		return nil
	}
	return func(to []byte, v reflect.Value, as form) ([]byte, bool) {
		if v.IsNil() {
			return append(to, "null"...), true
		}
		to = append(to, '[')
		for i := range v.Len() {
			if i > 0 {
				to = append(to, ',')
			}
			var ok bool
			if to, ok = write(to, v.Index(i), as); !ok {
				return nil, false
			}
		}
		return append(to, ']'), true
	}
}

// field is a field of a struct that is a member of an object.
type field struct {
	at       int
	name     string
	prefix   string // the name in quotes, and a colon
	optional bool   // left out where it is empty
	write    writer
}

func structWriter(t reflect.Type, within []reflect.Type) writer {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous, option != "" && option != "omitempty":
			return nil
		case !f.IsExported(), tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		known := slices.ContainsFunc(fields, func(other field) bool { return other.name == name })
		write := newWriter(f.Type, within)
		if known || write == nil || strings.ContainsFunc(name, func(r rune) bool { return !isPlain(r) }) {
			return nil
		}
		fields = append(fields, field{i, name, `"` + name + `":`, option == "omitempty", write})
	}
	sorted := slices.SortedFunc(slices.Values(fields), func(a, b field) int { return strings.Compare(a.name, b.name) })
	return func(to []byte, v reflect.Value, as form) ([]byte, bool) {
		members := fields
		if as == canonized {
			members = sorted
		}
		to = append(to, '{')
		first := true
		for i := range members {
			f := &members[i]
			member := v.Field(f.at)
			if f.optional && isEmpty(member) {
				continue
			}
			if !first {
				to = append(to, ',')
			}
			first = false
			var ok bool
			if to, ok = f.write(append(to, f.prefix...), member, as); !ok {
				return nil, false
			}
		}
		return append(to, '}'), true
	}
}

// isPlain tells of a character that it stands for itself in a name.
func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// isEmpty tells what omitempty leaves out of the kinds that there are writers for.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
