package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

type verifyCommand struct {
	reportFlags
	Query     []string `name:"query" sep:"none" help:"A question about the order of actions; may be given several times." placeholder:"QUESTION"`
	Finalize  string   `name:"finalize" enum:"batch,immediate" default:"batch" help:"How attempts are finalised: batch or immediate."`
	Keys      int      `name:"keys" default:"1" help:"How many values of each key outside the root key to tell apart."`
	MaxStates int      `name:"max-states" default:"1000000" help:"Give up on what takes more states: it is then unknown."`
	Files     []string `arg:"" name:"file" help:"Protocol files, or names of protocols that ship with strabo; - is standard input."`
}

// Help is shown by strabo verify --help.
func (verifyCommand) Help() string {
	return `Decides for each file whether the protocol is live (nobody is ever stuck before the enactment is complete) and safe ` +
		`(no two roles can ever do at once what excludes each other), which actions are dead, which race, and what is asked ` +
		`with --query. An answer of no comes with a witness: who did what, in which order. Entries that are faulty are ` +
		`left out, and said so. Guards, which a companion file names, are not looked at: they refuse some of what is found possible.

Questions, with actions for A, B and C:

  never A                  never A before B         always A before B
  never A and B            never A after B          never A between B and C

and possible in place of never.

Exit status: 0 when all is proved, 1 when the text has errors, something is not so or is unknown, 2 for wrong use.`
}

func (verifyCommand) examples() string {
	return `  strabo verify purchase.lsh                                   Live? Safe?
  strabo verify --query 'always Created before Complete' \
      simple-ucp.lsh                                           One question more.
  strabo verify --finalize immediate purchase.lsh              Attempts are decided one by one.
  strabo verify --json protocols/*.lsh                         For a program.
`
}

// Run verifies the files in the order given. A file that cannot be read does not keep the others from being verified.
func (c *verifyCommand) Run(ctx context.Context, s *streams) error {
	if c.Keys < 1 || c.MaxStates < 1 {
		return fmt.Errorf("--keys and --max-states must be at least 1")
	}
	options := verify.Options{MaxStates: c.MaxStates, Immediate: c.Finalize == "immediate", Keys: c.Keys}
	for _, text := range c.Query {
		query, err := verify.ParseQuery(text)
		if err != nil {
			return err
		}
		options.Queries = append(options.Queries, query)
	}
	log, err := c.log()
	if err != nil {
		return err
	}
	result := eachFile(s, readOpen, c.Files, log.Fail, func(name string, text []byte) (fine bool, err error) {
		protocol, diagnostics := langshaw.Parse(text)
		report := verify.Verify(ctx, protocol, options)
		// Without a key nothing can ever happen, so each action is dead, and to say so of each would hide what is wrong.
		keyless := diagnostics.HasErrors() && noKey(protocol)
		switch {
		case log != nil:
			log.AddDiagnostics(name, diagnostics)
			if !keyless {
				log.Add(name, verdicts(protocol, report)...)
			}
		case keyless && !c.isJSON():
			err = langshaw.WriteText(s.out, name, text, diagnostics)
			if err == nil {
				_, err = fmt.Fprintf(s.out, "%s: not verified, since nothing can happen without a key\n", name)
			}
		default:
			err = c.print(s, name, text, protocol, diagnostics, report)
		}
		return !diagnostics.HasErrors() && report.Proved(), err
	})
	if err := writeLog(s, log); err != nil {
		return err
	}
	return result
}

func (c *verifyCommand) print(s *streams, name string, text []byte, p *langshaw.Protocol, diagnostics langshaw.Diagnostics, report verify.Report) error {
	faults := 0
	for _, d := range diagnostics {
		if d.Severity == langshaw.Error {
			faults++
		}
	}
	if c.isJSON() {
		return report.WriteJSON(s.out, name, p, faults)
	}
	all := append(diagnostics, report.Diagnostics(p)...)
	slices.SortStableFunc(all, func(a, b langshaw.Diagnostic) int { return a.Start.Offset - b.Start.Offset })
	if err := langshaw.WriteText(s.out, name, text, all); err != nil {
		return err
	}
	if faults > 0 {
		fmt.Fprintf(s.out, "%s: has errors; what follows is about the protocol without the faulty entries\n", name)
	}
	return report.WriteText(s.out, p)
}

func noKey(p *langshaw.Protocol) bool {
	for range p.Keys() {
		return false
	}
	return true
}
