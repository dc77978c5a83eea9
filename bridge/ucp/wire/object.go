package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
)

// ErrNotObject says that a text is not one JSON object.
var ErrNotObject = errors.New("ucp: not a JSON object")

// Decode reads one JSON object, with numbers digit for digit. The error wraps [ErrNotObject].
func Decode(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object Object
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
	}
	if object == nil {
		return nil, ErrNotObject
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrNotObject)
	}
	return object, nil
}

// Encode writes an object; members are sorted, so that equal objects are the same bytes.
func Encode(object Object) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("ucp: encode: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// clone copies an object and everything below it, leaving out members that are null: no release gives null a meaning of
// its own but in selected_destination_id and selected_option_id, where it is the same as nothing, and the public servers
// write it for whatever they do not have, or refuse it. Whole numbers are written plainly in the copy.
func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			if member != nil {
				out[name] = clone(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = clone(element)
		}
		return out
	case json.Number:
		return plain(value)
	}
	return value
}

// plain writes a number whose value is whole with its digits alone. To JSON Schema 3500.0 and 35e2 are integers too, and
// there are languages that write an amount so; the model has them as whoever reads it expects them.
func plain(number json.Number) json.Number {
	text := number.String()
	if !strings.ContainsAny(text, ".eE") && text != "-0" {
		return number
	}
	if whole, err := read.Whole(text); err == nil {
		return amount(whole)
	}
	return number
}

func cloned(object Object) Object {
	if object == nil {
		return Object{}
	}
	return clone(object).(Object)
}

// object gives a member that is an object, nil otherwise.
func object(in Object, name string) Object {
	out, _ := in[name].(Object)
	return out
}

func array(in Object, name string) []any {
	out, _ := in[name].([]any)
	return out
}

// objects gives the elements of a member that are objects.
func objects(in Object, name string) []Object {
	var out []Object
	for _, element := range array(in, name) {
		if o, ok := element.(Object); ok {
			out = append(out, o)
		}
	}
	return out
}

func text(in Object, name string) string {
	out, _ := in[name].(string)
	return out
}

// number gives a member that is a whole number, as every amount is; in the model it is written plainly.
func number(in Object, name string) (int64, bool) {
	switch value := in[name].(type) {
	case json.Number:
		n, err := strconv.ParseInt(value.String(), 10, 64)
		return n, err == nil
	case int:
		return int64(value), true
	case int64:
		return value, true
	}
	return 0, false
}

func amount(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// rename gives a member another name, if it is there and the other is not.
func rename(in Object, from, to string) {
	value, there := in[from]
	if !there {
		return
	}
	delete(in, from)
	if in[to] == nil {
		in[to] = value
	}
}

// list makes an array of what it is given, never nil.
func list(elements ...any) []any { return append([]any{}, elements...) }
