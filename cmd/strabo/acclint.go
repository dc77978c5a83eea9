package main

import (
	"errors"
	"slices"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

type accLintCommand struct {
	reportFlags
	policyFlags
	Files []string `arg:"" name:"file" help:"OpenAPI documents, as YAML or JSON; - is standard input."`
}

// Help is shown by strabo acc lint --help.
func (accLintCommand) Help() string {
	return `Reads OpenAPI documents (3.0 or 3.1) and reports what is wrong with the contracts (x-agent-capability, ACC version 1) of ` +
		`their operations, and what a reviewer wants to know of them: a GET that does not say whether it only reads, a DELETE that ` +
		`does, an idempotent change without a key, retries and the like that a contract cannot declare, limits of which the ` +
		`runtime must be told per what they count, high risk without approval. An operation with an error must not be exposed, ` +
		`and is skipped by whatever runs the others. With --policy it also reports what does not fit in a runtime.yaml, above ` +
		`all what is looser than the contracts. Parameters, bodies and schemas may be in other documents in the folder of the ` +
		`file. Without findings it prints nothing.

Exit status: 0 without errors (there may be warnings), 1 with errors, 2 when a file cannot be read.`
}

func (accLintCommand) examples() string {
	return `  strabo acc lint shop.yaml            Review the contracts of one document.
  strabo acc lint --policy runtime.yaml shop.yaml
                                       And what the operator wants of them.
  strabo acc lint --json api/*.json    For a program: file, operations, skipped and diagnostics as JSON.
  strabo acc lint --format sarif shop.yaml > strabo.sarif
                                       For a code host.
`
}

// accLintAnswer is what lint says of one file to a program.
type accLintAnswer struct {
	File        string          `json:"file"`
	Operations  int             `json:"operations"`
	Skipped     []acc.Reference `json:"skipped"`
	Diagnostics acc.Diagnostics `json:"diagnostics"`
	// Policy is what there is to say of the runtime under which all documents were looked at, in its file.
	Policy *accPolicyAnswer `json:"policy,omitempty"`
}

type accPolicyAnswer struct {
	File        string          `json:"file"`
	Diagnostics acc.Diagnostics `json:"diagnostics"`
}

func (f *policyFlags) answer(g *governing) *accPolicyAnswer {
	if f.Policy == "" {
		return nil
	}
	return &accPolicyAnswer{File: f.Policy, Diagnostics: notNil(g.found)}
}

// Run reviews the files in the order given.
func (c *accLintCommand) Run(s *streams) error {
	log, err := c.log()
	if err != nil {
		return err
	}
	g, result := c.readContracts(s, c.Files, log.Fail, func(read *contracts, g *governing) error {
		all := append(slices.Clip(read.found), acc.Lint(read.document)...)
		slices.SortStableFunc(all, func(a, b acc.Diagnostic) int { return a.Start.Offset - b.Start.Offset })
		if c.Policy != "" {
			// The runtime says it.
			all = slices.DeleteFunc(all, func(d acc.Diagnostic) bool { return d.Code == acc.CodeLimitWithoutDimension })
		}
		switch {
		case log != nil:
			log.AddDiagnostics(read.name, all)
			return nil
		case c.isJSON():
			return printLine(s, accLintAnswer{
				File: read.name, Operations: len(read.document.Operations), Skipped: notNil(read.document.Skipped),
				Diagnostics: notNil(all), Policy: c.answer(g),
			})
		}
		return langshaw.WriteText(s.out, read.name, read.text, all)
	})
	switch {
	case g == nil:
	case log != nil:
		log.AddDiagnostics(c.Policy, g.found)
	case !c.isJSON():
		err = langshaw.WriteText(s.out, c.Policy, g.text, g.found)
	}
	if err := errors.Join(err, writeLog(s, log)); err != nil {
		return err
	}
	return result
}
