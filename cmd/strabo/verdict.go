package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/sarif"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// verdicts gives what a verifier's report says against a protocol, each finding with the way that shows it.
func verdicts(p *langshaw.Protocol, report verify.Report) []sarif.Finding {
	var found []sarif.Finding
	for _, d := range report.Diagnostics(p) {
		found = append(found, sarif.Finding{Diagnostic: d})
	}
	add := func(code langshaw.Code, severity langshaw.Severity, span langshaw.Span, witness [][]string, format string, arguments ...any) {
		found = append(found, sarif.Finding{
			Diagnostic: langshaw.Diagnostic{Code: code, Severity: severity, Span: span, Message: fmt.Sprintf(format, arguments...)},
			Path:       pathOf(p, witness),
		})
	}
	what := whatSpan(p)
	switch report.Live {
	case verify.No:
		add(sarif.CodeNotLive, langshaw.Error, what, report.LiveWitness, "%s is not live: %s nothing is enabled and the enactment is not complete: %s",
			p.Name(), afterSteps(report.LiveWitness), strings.Join(trimAll(report.Stuck), "; "))
	case verify.Unknown:
		add(sarif.CodeUnknown, langshaw.Warning, what, nil, "it is not known whether %s is live: the limit was met after %d states", p.Name(), report.States)
	}
	switch report.Safe {
	case verify.No:
		add(sarif.CodeNotSafe, langshaw.Error, nonoSpan(p, report.Pair), report.SafeWitness, "%s is not safe: %s both %s and %s are enabled, which exclude each other, "+
			"and neither role has authority over the other", p.Name(), afterSteps(report.SafeWitness), report.Pair[0], report.Pair[1])
	case verify.Unknown:
		add(sarif.CodeUnknown, langshaw.Warning, what, nil, "it is not known whether %s is safe: the limit was met after %d states", p.Name(), report.States)
	}
	for _, answer := range report.Answers {
		switch {
		case answer.Err != nil:
			add(sarif.CodeQuery, langshaw.Error, what, nil, "%v", answer.Err)
		case answer.Holds == verify.No && len(answer.Witness) > 0:
			add(sarif.CodeQuery, langshaw.Error, what, answer.Witness, "%s: no, %s it is not so", answer.Query, afterSteps(answer.Witness))
		case answer.Holds == verify.No:
			add(sarif.CodeQuery, langshaw.Error, what, nil, "%s: no", answer.Query)
		case answer.Holds == verify.Unknown:
			add(sarif.CodeUnknown, langshaw.Warning, what, nil, "%s: unknown, the limit was met after %d states", answer.Query, report.States)
		}
	}
	return found
}

// afterSteps tells a witness in half a sentence.
func afterSteps(witness [][]string) string {
	if len(witness) == 0 {
		return "at the very start"
	}
	steps := make([]string, len(witness))
	for i, step := range witness {
		steps[i] = strings.Join(step, " with ")
	}
	return "after " + strings.Join(steps, ", ")
}

func trimAll(lines []string) []string {
	var trimmed []string
	for _, line := range lines {
		trimmed = append(trimmed, strings.TrimSpace(line))
	}
	return trimmed
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

// nonoSpan is where the text says that two actions exclude each other.
func nonoSpan(p *langshaw.Protocol, pair [2]string) langshaw.Span {
	first, _, _ := strings.Cut(pair[0], "[")
	second, _, _ := strings.Cut(pair[1], "[")
	for nono := range p.Nonos() {
		names := slices.Collect(nono.Actions())
		if slices.Contains(names, first) && slices.Contains(names, second) {
			return nono.Span()
		}
	}
	return whatSpan(p)
}
