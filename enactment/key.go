package enactment

import (
	"encoding/json"
	"fmt"
)

// Key says which enactment of a protocol is meant: the values of its root key as one canonical JSON object, such as
// {"cid":"c1"}. Keys are equal when the enactments are the same. A protocol without a root key has the one enactment
// {}. The empty Key stands for none, where a malformed attempt does not say.
type Key string

// Values gives the root key values.
func (k Key) Values() Values {
	if k == "" {
		return nil
	}
	values, err := ParseValues([]byte(k))
	if err != nil {
		panic(fmt.Sprintf("enactment: Key %q was not made by KeyOf: %v", string(k), err))
	}
	return values
}

// MarshalJSON gives the object, or null for the empty Key.
func (k Key) MarshalJSON() ([]byte, error) {
	if k == "" {
		return []byte("null"), nil
	}
	return []byte(k), nil
}

// UnmarshalJSON reads the object, in any spelling, or null.
func (k *Key) UnmarshalJSON(text []byte) error {
	value, err := ParseValue(text)
	if err != nil {
		return err
	}
	switch value.text[0] {
	case 'n':
		*k = ""
	case '{':
		*k = Key(value.canonical)
	default:
		return &json.UnsupportedValueError{Str: "an enactment's key is an object, not " + value.text}
	}
	return nil
}

// KeyOf says which enactment an attempt belongs to. When it belongs to none, because a root key value is missing or not
// scalar, there is no such action or the action carries no key, the rejection is what [Judge] would answer.
func (r *Rules) KeyOf(a Attempt) (Key, *Rejection) {
	rule, ok := r.byName[a.Action]
	if !ok || len(rule.keys) == 0 {
		return "", r.nowhere(a)
	}
	key := append(make([]byte, 0, 64), '{')
	for i, name := range r.root {
		value := a.Values[name]
		if !value.IsScalar() {
			return "", r.nowhere(a)
		}
		if i > 0 {
			key = append(key, ',')
		}
		key = append(appendString(key, name), ':')
		key = append(key, value.canonical...)
	}
	return Key(append(key, '}')), nil
}

// nowhere refuses an attempt that belongs to no enactment, with the first reason that applies.
func (r *Rules) nowhere(a Attempt) *Rejection {
	_, rejection := r.NewState("").check(&a)
	return rejection
}
