package main

import (
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/sarif"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// verdicts gives what a verifier's report says against a protocol, each finding with the way that shows it. A verdict of no
// is an error here, as it is for the exit status.
func verdicts(p *langshaw.Protocol, report verify.Report) []sarif.Finding {
	var found []sarif.Finding
	for _, d := range report.Diagnostics(p) {
		found = append(found, sarif.Finding{Diagnostic: d})
	}
	for _, d := range report.VerdictDiagnostics(p) {
		d.Severity = langshaw.Error
		witness := report.LiveWitness
		if d.Code == verify.CodeNotSafe {
			witness = report.SafeWitness
		}
		found = append(found, sarif.Finding{Diagnostic: d, Path: pathOf(p, witness)})
	}
	add := func(code langshaw.Code, severity langshaw.Severity, witness [][]string, format string, arguments ...any) {
		found = append(found, sarif.Finding{
			Diagnostic: langshaw.Diagnostic{Code: code, Severity: severity, Span: whatSpan(p), Message: fmt.Sprintf(format, arguments...)},
			Path:       pathOf(p, witness),
		})
	}
	unknown := func(what string) {
		add(sarif.CodeUnknown, langshaw.Warning, nil, "%s: unknown, the limit was met after %d states", what, report.States)
	}
	if report.Live == verify.Unknown {
		unknown("live")
	}
	if report.Safe == verify.Unknown {
		unknown("safe")
	}
	for _, answer := range report.Answers {
		switch {
		case answer.Err != nil:
			add(sarif.CodeQuery, langshaw.Error, nil, "%v", answer.Err)
		case answer.Holds == verify.Unknown:
			unknown(answer.Query.String())
		case answer.Holds == verify.No && answer.Witness != nil:
			add(sarif.CodeQuery, langshaw.Error, answer.Witness, "%s: no, as %s", answer.Query, steps(answer.Witness))
		case answer.Holds == verify.No:
			add(sarif.CodeQuery, langshaw.Error, nil, "%s: no", answer.Query)
		}
	}
	return found
}

// steps tells a witness in half a sentence.
func steps(witness [][]string) string {
	told := make([]string, len(witness))
	for i, step := range witness {
		told[i] = strings.Join(step, " with ")
	}
	return strings.Join(told, ", then ") + " shows"
}

// pathOf gives the places of a witness in the text.
func pathOf(p *langshaw.Protocol, witness [][]string) []sarif.Step {
	var path []sarif.Step
	for i, step := range witness {
		for _, event := range step {
			name, _, _ := strings.Cut(event, "[")
			if a, ok := p.Action(name); ok {
				path = append(path, sarif.Step{Message: fmt.Sprintf("%d. %s's %s", i+1, a.Role(), event), Span: a.Span()})
			}
		}
	}
	return path
}

// whatSpan is where the text says what an enactment is complete with.
func whatSpan(p *langshaw.Protocol) langshaw.Span {
	var span langshaw.Span
	for c := range p.What() {
		if span.Start.Line == 0 {
			span = c.Span()
		}
		span.End = c.Span().End
	}
	return span
}
