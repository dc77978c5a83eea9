package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

// accCommand has the commands about agent capability contracts.
type accCommand struct {
	Lint accLintCommand `cmd:"" help:"Review contracts in OpenAPI documents."`
	Show accShowCommand `cmd:"" help:"Print what contracts mean, and where each value comes from."`
}

func (accCommand) examples() string { return accLintCommand{}.examples() + accShowCommand{}.examples() }

// policyFlags name the runtime that contracts are governed by.
type policyFlags struct {
	Policy string `placeholder:"FILE" help:"A runtime.yaml: what the operator wants of the operations."`
}

// contracts are what was read of one file.
type contracts struct {
	name     string
	text     []byte
	document *acc.Document
	found    acc.Diagnostics // about the file
	// governed are the operations under the runtime; nil without one, and if it does not fit.
	governed []*acc.Governed
}

// governing is what was read of a runtime.
type governing struct {
	text  []byte
	found acc.Diagnostics
}

// readContracts reads the files, and then hands each to a function in the order given. One that cannot be read does not
// keep the others from it. What a file refers to is read from its folder.
func (f *policyFlags) readContracts(s *streams, files []string, fail func(error), each func(*contracts, *governing) error) (*governing, error) {
	g := &governing{}
	var runtime *acc.Runtime
	if f.Policy != "" {
		var err error
		if f.Policy, g.text, err = readProtocol(s, f.Policy); err != nil {
			fail(err)
			return nil, err
		}
		runtime, g.found = acc.ParseRuntime(g.text)
	}
	var all []*contracts
	result := eachFile(s, readProtocol, files, fail, func(name string, text []byte) (fine bool, err error) {
		c := &contracts{name: name, text: text}
		if c.document, c.found, err = parseContracts(name, text); err != nil {
			return false, err
		}
		all = append(all, c)
		return !c.found.HasErrors(), nil
	})
	if result != nil && !errors.Is(result, errNo) && !errors.Is(result, errSaid) {
		return nil, result
	}
	if runtime != nil {
		g.govern(runtime, all)
	}
	for _, c := range all {
		if err := each(c, g); err != nil {
			return nil, fmt.Errorf("%w: %w", errPrint, err)
		}
	}
	if result == nil && g.found.HasErrors() {
		result = errNo
	}
	return g, result
}

// govern looks at all documents under a runtime.
func (g *governing) govern(runtime *acc.Runtime, all []*contracts) {
	var documents []acc.NamedDocument
	for _, c := range all {
		documents = append(documents, acc.NamedDocument{Name: c.name, Document: c.document})
	}
	governed, found := runtime.Govern(documents...)
	g.found = found
	if governed == nil {
		return
	}
	for _, c := range all { // They are in the order of the documents.
		count := len(c.document.Operations)
		c.governed, governed = governed[:count], governed[count:]
	}
}

// parseContracts reads a document, which may refer to others in its folder unless it is standard input.
func parseContracts(name string, text []byte) (*acc.Document, acc.Diagnostics, error) {
	if name == stdinName {
		document, found := acc.Parse(text)
		return document, found, nil
	}
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, nil, err
	}
	document, found := acc.ParseIn(text, filepath.Base(name), folder.FS())
	return document, found, folder.Close()
}

// printLine prints an answer as one line of JSON, in which nothing is that a terminal would obey.
func printLine(s *streams, answer any) error {
	out := json.NewEncoder(story.EscapeJSON(s.out))
	out.SetEscapeHTML(false)
	return out.Encode(answer)
}

// notNil makes an empty list of none, so that programs need not tell them apart.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
