package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

// File is a document with contracts, and its name in errors.
type File struct {
	Name string
	Text []byte
	// Folder has the documents that this one may refer to, of which Name is the path in it: see [acc.ParseIn]. If it is
	// nil, the document may refer to none.
	Folder fs.FS
}

func (f File) parse() (*acc.Document, acc.Diagnostics) {
	if f.Folder == nil {
		return acc.Parse(f.Text)
	}
	return acc.ParseIn(f.Text, f.Name, f.Folder)
}

// Contracts are the declared contracts of operations, by operationId; an operation without one goes by its method and
// path, such as "POST /refunds". They never change.
type Contracts struct {
	operations map[string]*acc.Operation
	files      map[string]string // where an operation stands
	skipped    map[string]string // why an operation cannot be used
	documents  []acc.NamedDocument
}

// ErrNoContract says that an operation is not declared, or that its contract cannot be used.
var ErrNoContract = errors.New("policy: no usable contract")

// ReadContracts reads OpenAPI documents, 3.0 or 3.1, whose operations carry contracts: those of the business itself, or
// a companion of a mapping, which describes as much of a foreign service as the contracts need. What is declared twice
// is an error, since neither of two owners may overrule the other; to tighten is for local policy. An operation whose
// contract is not understood is left out, so that a mapping that names it is refused: fail closed.
func ReadContracts(files ...File) (*Contracts, error) {
	c := &Contracts{operations: make(map[string]*acc.Operation), files: make(map[string]string), skipped: make(map[string]string)}
	var errs []error
	for _, file := range files {
		document, diagnostics := file.parse()
		if diagnostics.HasErrors() && len(document.Operations) == 0 && len(document.Skipped) == 0 {
			errs = append(errs, fmt.Errorf("policy: %s: %w", file.Name, diagnostics))
			continue
		}
		c.documents = append(c.documents, acc.NamedDocument{Name: file.Name, Document: document})
		for _, reference := range document.Skipped {
			c.skipped[nameOf(reference)] = file.Name + ": " + reasons(diagnostics)
		}
		for _, operation := range document.Operations {
			name := nameOf(operation.Reference)
			if other, twice := c.files[name]; twice {
				errs = append(errs, fmt.Errorf("policy: operation %s is declared in %s and in %s", name, other, file.Name))
				continue
			}
			c.operations[name], c.files[name] = operation, file.Name
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func nameOf(r acc.Reference) string {
	if r.ID != "" {
		return r.ID
	}
	return r.String()
}

// reasons gives the errors among diagnostics in one line.
func reasons(diagnostics acc.Diagnostics) string {
	var lines []string
	for _, d := range diagnostics {
		if d.Severity == langshaw.Error {
			lines = append(lines, fmt.Sprintf("%s: %s", d.Span.Start, d.Message))
		}
	}
	return strings.Join(lines, "; ")
}

// find gives an operation; the error is [ErrNoContract].
func (c *Contracts) find(name string) (*acc.Operation, error) {
	if operation, ok := c.operations[name]; ok {
		return operation, nil
	}
	if why, ok := c.skipped[name]; ok {
		return nil, fmt.Errorf("%w: operation %s: %s", ErrNoContract, name, why)
	}
	names := make([]string, 0, len(c.operations))
	for known := range c.operations {
		names = append(names, known)
	}
	hint := ""
	if near := langshaw.Nearest(name, names); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return nil, fmt.Errorf("%w: operation %s is not declared%s", ErrNoContract, name, hint)
}
