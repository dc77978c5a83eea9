package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/strabo-engine/strabo/bridge/acc"
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
	// found is what there is to say of the file, and ofPolicy of the runtime, when it governs this document.
	found, ofPolicy acc.Diagnostics
	// governed are the operations under the runtime; nil without one, and if it does not fit.
	governed []*acc.Governed
}

// readContracts reads the files in the order given and hands each to a function. One that cannot be read does not keep
// the others from it. What a file refers to is read from its folder.
func (f *policyFlags) readContracts(s *streams, files []string, fail func(error), each func(runtimeText []byte, c *contracts) error) error {
	var runtime *acc.Runtime
	var runtimeText []byte
	var ofRuntime acc.Diagnostics
	if f.Policy != "" {
		var err error
		if _, runtimeText, err = readProtocol(s, f.Policy); err != nil {
			fail(err)
			return err
		}
		runtime, ofRuntime = acc.ParseRuntime(runtimeText)
	}
	return eachFile(s, files, fail, func(name string, text []byte) (fine bool, err error) {
		c := &contracts{name: name, text: text, ofPolicy: ofRuntime}
		if c.document, c.found, err = parseContracts(name, text); err != nil {
			return false, err
		}
		if runtime != nil {
			c.governed, c.ofPolicy = runtime.Govern(c.document, name)
		}
		return !c.found.HasErrors() && !c.ofPolicy.HasErrors(), each(runtimeText, c)
	})
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

// printLine prints an answer as one line of JSON.
func printLine(s *streams, answer any) error {
	out := json.NewEncoder(s.out)
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
