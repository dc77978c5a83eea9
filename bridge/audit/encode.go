package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is written down of one call, in bytes. What is longer is cut off, with a mark that says how long it was.
const (
	// MaxBody bounds Request and Response.
	MaxBody = 64 << 10
	// MaxText bounds every other text.
	MaxText = 4 << 10
	// MaxSources bounds the number of sources.
	MaxSources = 100
)

// Encode gives a record as one line of JSON without the line's end, cut to the bounds. All sinks write this.
func Encode(r Record) ([]byte, error) {
	if r.Kind == "" {
		return nil, errors.New("audit: a record has no kind")
	}
	r.At = r.At.UTC()
	for _, text := range []*string{
		&r.Action, &r.Step, &r.Operation, &r.Scope, &r.Risk, &r.Subject, &r.Approval, &r.KeyHash, &r.BodyDigest, &r.Method, &r.URL,
		&r.Outcome, &r.Detail,
	} {
		*text = cut(*text, MaxText)
	}
	r.Request, r.Response = cut(r.Request, MaxBody), cut(r.Response, MaxBody)
	r.Sources = boundSources(r.Sources)
	line, err := appendRecord(make([]byte, 0, 1024+len(r.Request)+len(r.Response)), &r)
	if err != nil {
		return nil, fmt.Errorf("audit: encode record: %w", err)
	}
	return line, nil
}

// Decode reads a line that [Encode] wrote. Members that it does not know are ignored.
func Decode(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("audit: not a record: %w", err)
	}
	if r.Kind == "" {
		return Record{}, errors.New("audit: not a record: it has no kind")
	}
	return r, nil
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:end], "\uFFFD"), len(text))
}

func boundSources(sources map[string]string) map[string]string {
	within := len(sources) <= MaxSources
	for name, source := range sources {
		within = within && len(name) <= MaxText && len(source) <= MaxText
	}
	if within {
		return sources
	}
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	bounded := make(map[string]string, len(names))
	for _, name := range names[:min(len(names), MaxSources)] {
		bounded[cut(name, MaxText)] = cut(sources[name], MaxText)
	}
	return bounded
}
