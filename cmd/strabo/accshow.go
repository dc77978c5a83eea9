package main

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/langshaw"
)

type accShowCommand struct {
	policyFlags
	JSON  bool     `name:"json" help:"Print one JSON object for each file, on a line."`
	Files []string `arg:"" name:"file" help:"OpenAPI documents, as YAML or JSON; - is standard input."`
}

// Help is shown by strabo acc show --help.
func (accShowCommand) Help() string {
	return `Prints the effective contract of each operation that has one (x-agent-capability, ACC version 1): every value, and ` +
		`whether it is declared (with the place), inferred (only risk ever is) or the default of what is not said. Operations ` +
		`whose contract cannot be used are listed as skipped, and why is said on standard error. With --policy it prints what ` +
		`holds when a runtime.yaml tightens the contracts, with what that says of retries, limits and the like; local is what ` +
		`comes from there. If that does not fit, it is said on standard error, and no operation is printed.

Exit status: 0 when all contracts can be used, 1 when not, 2 when a file cannot be read.`
}

func (accShowCommand) examples() string {
	return `  strabo acc show shop.yaml            What may an agent do at this shop, and how?
  strabo acc show --policy runtime.yaml shop.yaml
                                       And what of it, under this runtime?
  strabo acc show --json shop.yaml     For a program: file, operations, skipped and diagnostics as JSON.
`
}

// accShowAnswer is what show says of one file to a program.
type accShowAnswer struct {
	File        string             `json:"file"`
	Operations  []accShowOperation `json:"operations"`
	Skipped     []acc.Reference    `json:"skipped"`
	Diagnostics acc.Diagnostics    `json:"diagnostics"`
	Policy      *accPolicyAnswer   `json:"policy,omitempty"`
}

type accShowOperation struct {
	acc.Reference
	Inputs   []string     `json:"inputs"`
	Contract acc.Contract `json:"contract"`
	// Calls is how calls are made under a runtime.
	Calls *acc.CallPolicy `json:"calls,omitempty"`
}

// Run shows the files in the order given.
func (c *accShowCommand) Run(s *streams) error {
	g, result := c.readContracts(s, c.Files, func(error) {}, func(read *contracts, g *governing) error {
		operations := c.operations(read)
		if c.JSON {
			return printLine(s, accShowAnswer{
				File: read.name, Operations: notNil(operations), Skipped: notNil(read.document.Skipped), Diagnostics: notNil(read.found),
				Policy: c.answer(g),
			})
		}
		out := bufio.NewWriter(s.out)
		shown := &contractWriter{out: out, file: read.name, policy: c.Policy}
		for _, operation := range operations {
			shown.operation(operation)
		}
		for _, skipped := range read.document.Skipped {
			showHeading(out, read.name, skipped)
			fmt.Fprintf(out, "  skipped: never to be exposed\n\n")
		}
		if err := out.Flush(); err != nil {
			return err
		}
		return langshaw.WriteText(s.err, read.name, read.text, read.found)
	})
	if g != nil && !c.JSON {
		if err := langshaw.WriteText(s.err, c.Policy, g.text, g.found); err != nil {
			return err
		}
	}
	return result
}

// operations are those to be shown: as they are declared, or governed by a runtime.
func (c *accShowCommand) operations(read *contracts) (operations []accShowOperation) {
	if c.Policy != "" {
		for _, g := range read.governed {
			operations = append(operations, accShowOperation{g.Reference, notNil(g.Input.Names()), g.Merged, &g.Policy})
		}
		return operations
	}
	for _, o := range read.document.Operations {
		operations = append(operations, accShowOperation{o.Reference, notNil(o.Input.Names()), o.Contract(), nil})
	}
	return operations
}

func showHeading(out io.Writer, file string, reference acc.Reference) {
	fmt.Fprintf(out, "%s", printable(reference.String()))
	if reference.ID != "" {
		fmt.Fprintf(out, " (%s)", printable(reference.ID))
	}
	fmt.Fprintf(out, "  %s:%s\n", file, reference.Span.Start)
}

// contractWriter prints contracts, a value on a line, with where each comes from.
type contractWriter struct {
	out io.Writer
	// file is the document; policy the runtime, empty where there is none.
	file, policy string
	table        *tabwriter.Writer
}

func (w *contractWriter) operation(o accShowOperation) {
	showHeading(w.out, w.file, o.Reference)
	w.table = tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	w.contract(&o.Contract)
	if o.Calls != nil {
		w.calls(o.Calls, o.Contract.Retry.Value, len(o.Contract.Limits) > 0)
	}
	w.table.Flush()
	fmt.Fprintln(w.out)
}

func (w *contractWriter) contract(c *acc.Contract) {
	setting(w, "enabled", c.Enabled, "")
	setting(w, "scope", c.Scope, "")
	setting(w, "risk", c.Risk, "")
	setting(w, "subject required", c.SubjectRequired, "")
	setting(w, "approval required", c.ApprovalRequired, "")
	for _, condition := range c.When {
		text := condition.Value.String()
		if condition.Value.Label != "" {
			text += " (" + condition.Value.Label + ")"
		}
		setting(w, "  asked when", condition, text)
	}
	setting(w, "audit sensitive", c.AuditSensitive, "")
	setting(w, "readonly", c.Readonly, "")
	setting(w, "idempotent", c.Idempotent, "")
	timeout := "the runtime's"
	if c.Timeout.Value > 0 {
		timeout = c.Timeout.Value.String()
	}
	setting(w, "timeout", c.Timeout, timeout)
	for _, limit := range c.Limits {
		setting(w, "rate limit", limit, limit.Value.String())
	}
	if len(c.Limits) == 0 {
		setting(w, "rate limit", acc.Setting[string]{Value: "none", Origin: acc.Default}, "")
	}
	setting(w, "retry", c.Retry, "")
}

// calls prints how calls are made, which contracts say nothing of.
func (w *contractWriter) calls(p *acc.CallPolicy, retried, limited bool) {
	value := func(name, field, text string) {
		s := acc.Setting[string]{Value: text, Origin: acc.Default}
		if span, ok := p.Places[field]; ok {
			s.Origin, s.Span = acc.Local, &span
		}
		setting(w, name, s, "")
	}
	if retried {
		value("  attempts", "retries.attempts", fmt.Sprint(p.Retries.Attempts))
		value("  earned by a call", "retries.budget.ratio", fmt.Sprint(p.Retries.Ratio))
		value("  saved up to", "retries.budget.reserve", fmt.Sprint(p.Retries.Reserve))
		value("  first wait", "retries.backoff.first", p.Retries.First.String())
		value("  longest wait", "retries.backoff.longest", p.Retries.Longest.String())
	}
	if limited {
		exceeded := string(p.Limits.OnExceed)
		if p.Limits.MaxWait > 0 {
			exceeded += " for " + p.Limits.MaxWait.String()
		}
		value("limit exceeded", "rate_limit.on_exceed", exceeded)
		value("  counts retries", "rate_limit.count_retries", fmt.Sprint(p.Limits.CountRetries))
		value("  shared", "rate_limit.shared", fmt.Sprint(p.Limits.Shared))
	}
	repetition := "not recognised"
	if i := p.Idempotency; i != nil {
		repetition = "by the header " + i.Header
		if i.Native {
			repetition = "natively: " + i.Note
		}
		if i.Expires > 0 {
			repetition += ", for " + i.Expires.String()
		}
	}
	value("repetition", "idempotency", repetition)
	breaker := "none"
	if p.Breaker != nil {
		breaker = fmt.Sprintf("after %d failures, for %s", p.Breaker.Failures, p.Breaker.Cooldown)
	}
	value("breaker", "breaker", breaker)
	expires := "never"
	if p.ApprovalExpires > 0 {
		expires = p.ApprovalExpires.String()
	}
	value("approval expires", "approval.expires", expires)
	value("audit required", "audit.required", fmt.Sprint(p.AuditRequired))
	for _, path := range p.Redact {
		value("  redacted", "audit.redact", path)
	}
}

// setting prints a value, as the text given if there is one, and where it comes from.
func setting[T any](w *contractWriter, name string, value acc.Setting[T], text string) {
	if text == "" {
		text = fmt.Sprint(value.Value)
	}
	origin := string(value.Origin)
	if value.Origin == acc.Local && w.policy != "" {
		origin += " " + w.policy
	}
	if value.Span != nil {
		separator := " "
		if value.Origin == acc.Local {
			separator = ":"
		}
		origin += separator + value.Span.Start.String()
	}
	fmt.Fprintf(w.table, "  %s\t%s\t%s\n", name, printable(text), origin)
}

// printable keeps what comes from elsewhere from moving the cursor or breaking the line, and to a length.
func printable(text string) string {
	const most = 120
	return story.Short(text, most)
}
