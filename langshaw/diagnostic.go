package langshaw

import (
	"fmt"
	"slices"
)

// Severity says how much a diagnostic weighs. The zero value is invalid.
type Severity string

const (
	// Error marks what makes the protocol unusable; the entry it is about is left out of the model.
	Error Severity = "error"
	// Warning marks what has a meaning, but hardly the one that was wanted.
	Warning Severity = "warning"
)

// Diagnostic says what is wrong at one place of a protocol text, and what to do. As JSON it has the keys code,
// severity, message, suggestion, start and end.
type Diagnostic struct {
	// Code is stable: tools may match on it.
	Code Code `json:"code"`
	// Severity is Error or Warning.
	Severity Severity `json:"severity"`
	// Message is one sentence for a person. Its wording may change.
	Message string `json:"message"`
	// Suggestion is the name that was probably meant, or empty.
	Suggestion string `json:"suggestion"`
	// Span is the text that the diagnostic is about. It is empty where something is missing.
	Span
}

// String gives line:column: severity[code]: message.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s[%s]: %s", d.Span.Start, d.Severity, d.Code, d.Message)
}

// Diagnostics are all findings of one text, in order of position.
type Diagnostics []Diagnostic

// HasErrors tells whether any finding is an [Error].
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Error gives the first error and how many more there are, so that Diagnostics serve as an error.
func (ds Diagnostics) Error() string {
	count, first := 0, ""
	for _, d := range ds {
		if d.Severity != Error {
			continue
		}
		if count == 0 {
			first = d.String()
		}
		count++
	}
	switch count {
	case 0:
		return "no errors"
	case 1:
		return first
	case 2:
		return first + " (and 1 more error)"
	default:
		return fmt.Sprintf("%s (and %d more errors)", first, count-1)
	}
}
