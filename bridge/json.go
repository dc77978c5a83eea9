package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// In this package a JSON value is what encoding/json makes of it with UseNumber: nil, bool, string, json.Number,
// []any and map[string]any. Numbers keep their digits; nothing here ever turns one into a float64.

// decodeJSON reads exactly one JSON value.
func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: more text after the value")
	}
	return value, nil
}

// encodeJSON gives the one text of a value: members sorted, no white space, nothing escaped that need not be. That the
// same value always gives the same bytes is what lets a request be sent again.
func encodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// plain turns whatever encoding/json can encode into a JSON value in the sense of this file.
func plain(value any) (any, error) {
	text, err := encodeJSON(value)
	if err != nil {
		return nil, err
	}
	return decodeJSON(text)
}
