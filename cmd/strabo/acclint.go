package main

import (
	"slices"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

type accLintCommand struct {
	JSON  bool     `name:"json" help:"Print one JSON object for each file, on a line."`
	Files []string `arg:"" name:"file" help:"OpenAPI documents, as YAML or JSON; - is standard input."`
}

// Help is shown by strabo acc lint --help.
func (accLintCommand) Help() string {
	return `Reads OpenAPI documents (3.0 or 3.1) and reports what is wrong with the contracts (x-agent-capability, ACC version 1) of ` +
		`their operations, and what a reviewer wants to know of them: a GET that does not say whether it only reads, a DELETE that ` +
		`does, an idempotent change without a key, retries and the like that a contract cannot declare, limits of which the ` +
		`runtime must be told per what they count, high risk without approval. An operation with an error must not be exposed, ` +
		`and is skipped by whatever runs the others. Without findings it prints nothing.

Exit status: 0 without errors (there may be warnings), 1 with errors, 2 when a file cannot be read.`
}

func (accLintCommand) examples() string {
	return `  strabo acc lint shop.yaml            Review the contracts of one document.
  strabo acc lint --json api/*.json    For a program: file, operations, skipped and diagnostics as JSON.
`
}

// accLintAnswer is what lint says of one file to a program.
type accLintAnswer struct {
	File        string          `json:"file"`
	Operations  int             `json:"operations"`
	Skipped     []acc.Reference `json:"skipped"`
	Diagnostics acc.Diagnostics `json:"diagnostics"`
}

// Run reviews the files in the order given.
func (c *accLintCommand) Run(s *streams) error {
	return readContracts(s, c.Files, func(name string, text []byte, document *acc.Document, found acc.Diagnostics) error {
		all := append(slices.Clip(found), acc.Lint(document)...)
		slices.SortStableFunc(all, func(a, b acc.Diagnostic) int { return a.Start.Offset - b.Start.Offset })
		if c.JSON {
			return printLine(s, accLintAnswer{
				File: name, Operations: len(document.Operations), Skipped: notNil(document.Skipped), Diagnostics: notNil(all),
			})
		}
		return langshaw.WriteText(s.out, name, text, all)
	})
}
