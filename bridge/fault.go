package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a mapping, at its place in the file.
type Fault struct {
	// File is the name that [Load] was given.
	File string
	// Line and Column count from 1; they are those of the YAML node that is wrong.
	Line, Column int
	// Message is one sentence for a person.
	Message string
}

// Error gives file:line:column: message.
func (f Fault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// Faults are all that is wrong with a mapping, in the order of the file. [Load] reports them together, so that a
// mapping is not mended one error at a time.
type Faults []Fault

// Error gives the faults, one a line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults one by one, so that errors.As finds a [Fault].
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(fs)
}
