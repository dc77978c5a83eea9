package main

import (
	"encoding/json"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/acc"
)

// accCommand has the commands about agent capability contracts.
type accCommand struct {
	Lint accLintCommand `cmd:"" help:"Review contracts in OpenAPI documents."`
	Show accShowCommand `cmd:"" help:"Print what contracts mean, and where each value comes from."`
}

func (accCommand) examples() string { return accLintCommand{}.examples() + accShowCommand{}.examples() }

// readContracts reads the files in the order given and hands each document to a function. One that cannot be read does
// not keep the others from it.
func readContracts(s *streams, files []string, each func(name string, text []byte, document *acc.Document, found acc.Diagnostics) error) error {
	var result error
	for _, file := range files {
		name, text, err := readProtocol(s, file)
		if err != nil {
			fmt.Fprintf(s.err, "strabo: %v\n", err)
			result = errSaid
			continue
		}
		document, found := acc.Parse(text)
		if err := each(name, text, document, found); err != nil {
			return fmt.Errorf("cannot print the answer: %w", err)
		}
		if found.HasErrors() && result == nil {
			result = errNo
		}
	}
	return result
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
