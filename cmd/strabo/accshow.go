package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

type accShowCommand struct {
	JSON  bool     `name:"json" help:"Print one JSON object for each file, on a line."`
	Files []string `arg:"" name:"file" help:"OpenAPI documents, as YAML or JSON; - is standard input."`
}

// Help is shown by strabo acc show --help.
func (accShowCommand) Help() string {
	return `Prints the effective contract of each operation that has one (x-agent-capability, ACC version 1): every value, and ` +
		`whether it is declared (with the place), inferred (only risk ever is) or the default of what is not said. Operations ` +
		`whose contract cannot be used are listed as skipped, and why is said on standard error.

Exit status: 0 when all contracts can be used, 1 when not, 2 when a file cannot be read.`
}

func (accShowCommand) examples() string {
	return `  strabo acc show shop.yaml            What may an agent do at this shop, and how?
  strabo acc show --json shop.yaml     For a program: file, operations, skipped and diagnostics as JSON.
`
}

// accShowAnswer is what show says of one file to a program.
type accShowAnswer struct {
	File        string             `json:"file"`
	Operations  []accShowOperation `json:"operations"`
	Skipped     []acc.Reference    `json:"skipped"`
	Diagnostics acc.Diagnostics    `json:"diagnostics"`
}

type accShowOperation struct {
	acc.Reference
	Inputs   []string     `json:"inputs"`
	Contract acc.Contract `json:"contract"`
}

// Run shows the files in the order given.
func (c *accShowCommand) Run(s *streams) error {
	return readContracts(s, c.Files, func(name string, text []byte, document *acc.Document, found acc.Diagnostics) error {
		if c.JSON {
			answer := accShowAnswer{
				File: name, Operations: []accShowOperation{}, Skipped: notNil(document.Skipped), Diagnostics: notNil(found),
			}
			for _, operation := range document.Operations {
				answer.Operations = append(answer.Operations, accShowOperation{
					operation.Reference, notNil(operation.Input.Names()), operation.Contract(),
				})
			}
			return printLine(s, answer)
		}
		out := bufio.NewWriter(s.out)
		for _, operation := range document.Operations {
			showContract(out, name, operation.Reference, operation.Contract())
		}
		for _, skipped := range document.Skipped {
			showHeading(out, name, skipped)
			fmt.Fprintf(out, "  skipped: never to be exposed\n\n")
		}
		if err := out.Flush(); err != nil {
			return err
		}
		return langshaw.WriteText(s.err, name, text, found)
	})
}

func showHeading(out io.Writer, file string, reference acc.Reference) {
	fmt.Fprintf(out, "%s", printable(reference.String()))
	if reference.ID != "" {
		fmt.Fprintf(out, " (%s)", printable(reference.ID))
	}
	fmt.Fprintf(out, "  %s:%s\n", file, reference.Span.Start)
}

// showContract prints one contract, a value on a line.
func showContract(to io.Writer, file string, reference acc.Reference, c acc.Contract) {
	showHeading(to, file, reference)
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row(out, "enabled", c.Enabled, "")
	row(out, "scope", c.Scope, "")
	row(out, "risk", c.Risk, "")
	row(out, "subject required", c.SubjectRequired, "")
	row(out, "approval required", c.ApprovalRequired, "")
	for _, condition := range c.When {
		text := condition.Value.String()
		if condition.Value.Label != "" {
			text += " (" + condition.Value.Label + ")"
		}
		row(out, "  asked when", condition, text)
	}
	row(out, "audit sensitive", c.AuditSensitive, "")
	row(out, "readonly", c.Readonly, "")
	row(out, "idempotent", c.Idempotent, "")
	timeout := "the runtime's"
	if c.Timeout.Value > 0 {
		timeout = c.Timeout.Value.String()
	}
	row(out, "timeout", c.Timeout, timeout)
	for _, limit := range c.Limits {
		row(out, "rate limit", limit, limit.Value.String())
	}
	if len(c.Limits) == 0 {
		row(out, "rate limit", acc.Setting[string]{Value: "none", Origin: acc.Default}, "")
	}
	row(out, "retry", c.Retry, "")
	out.Flush()
	fmt.Fprintln(to)
}

// row prints a value, as the text given if there is one, and where it comes from.
func row[T any](out io.Writer, name string, setting acc.Setting[T], text string) {
	if text == "" {
		text = fmt.Sprint(setting.Value)
	}
	origin := string(setting.Origin)
	if setting.Span != nil {
		origin += " " + setting.Span.Start.String()
	}
	fmt.Fprintf(out, "  %s\t%s\t%s\n", name, printable(text), origin)
}

// printable keeps what comes from a file from moving the cursor or breaking the line, and to a length.
func printable(text string) string {
	const most = 120
	shown := []rune(visible(text))
	if len(shown) > most {
		return string(shown[:most]) + "..."
	}
	return string(shown)
}

// visible keeps what comes from elsewhere from moving the cursor or breaking the line.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
