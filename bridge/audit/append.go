package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// appendRecord appends what encoding/json makes of a record, without escapes for HTML. It is written out since a record
// is made of every call, and reflection and the sorting of a map's values would be most of what a call costs.
func appendRecord(line []byte, r *Record) ([]byte, error) {
	at, err := appendTime(append(line, `{"at":`...), r.At)
	if err != nil {
		return nil, err
	}
	line = appendString(append(at, `,"kind":`...), string(r.Kind))
	key, err := r.Enactment.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if line, err = appendCompact(append(line, `,"enactment":`...), key); err != nil {
		return nil, err
	}
	text := func(name, value string) {
		if value != "" {
			line = appendString(append(line, name...), value)
		}
	}
	number := func(name string, value int64) {
		if value != 0 {
			line = strconv.AppendInt(append(line, name...), value, 10)
		}
	}
	text(`,"action":`, r.Action)
	text(`,"step":`, r.Step)
	text(`,"operation":`, r.Operation)
	text(`,"scope":`, r.Scope)
	text(`,"risk":`, r.Risk)
	text(`,"subject":`, r.Subject)
	text(`,"approval":`, r.Approval)
	text(`,"key_hash":`, r.KeyHash)
	text(`,"body_digest":`, r.BodyDigest)
	number(`,"attempt":`, int64(r.Attempt))
	text(`,"method":`, r.Method)
	text(`,"url":`, r.URL)
	text(`,"request":`, r.Request)
	text(`,"response":`, r.Response)
	number(`,"status":`, int64(r.Status))
	text(`,"outcome":`, r.Outcome)
	number(`,"latency_ns":`, int64(r.Latency))
	if r.Inferred {
		line = append(line, `,"inferred":true`...)
	}
	text(`,"detail":`, r.Detail)
	if len(r.Sources) > 0 {
		line = appendSources(append(line, `,"sources":`...), r.Sources)
	}
	return append(line, '}'), nil
}

func appendSources(line []byte, sources map[string]string) []byte {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	before := byte('{')
	for _, name := range names {
		line = appendString(append(line, before), name)
		line = appendString(append(line, ':'), sources[name])
		before = ','
	}
	return append(line, '}')
}

func appendTime(line []byte, at time.Time) ([]byte, error) {
	text, err := at.MarshalJSON()
	return append(line, text...), err
}

func appendCompact(line, text []byte) ([]byte, error) {
	out := bytes.NewBuffer(line)
	err := json.Compact(out, text)
	return out.Bytes(), err
}

// appendString appends a text as JSON: as it is where nothing in it needs an escape.
func appendString(line []byte, text string) []byte {
	begun := len(line)
	line = append(line, '"')
	from := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			line = append(append(line, text[from:i]...), '\\', c)
			from = i + 1
		case c < ' ' || c > '~':
			return appendOdd(line[:begun], text)
		}
	}
	return append(append(line, text[from:]...), '"')
}

// appendOdd appends a text that may not be ASCII, or not printable.
func appendOdd(line []byte, text string) []byte {
	out := bytes.NewBuffer(line)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // A string in memory is always written.
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
