package lsp

import (
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// source names the program in diagnostics.
const source = "strabo"

// checked gives what the static rules find.
func (d *document) checked() []diagnostic {
	_, diagnostics := d.parse()
	return d.show(diagnostics)
}

func (d *document) show(found langshaw.Diagnostics) []diagnostic {
	shown := []diagnostic{}
	for _, f := range found[:min(len(found), langshaw.MostShown)] {
		shown = append(shown, d.diagnostic(f))
	}
	return shown
}

func (d *document) diagnostic(f langshaw.Diagnostic) diagnostic {
	message, severity := f.Message, severityWarning
	if f.Suggestion != "" {
		message += " (did you mean " + f.Suggestion + "?)"
	}
	if f.Severity == langshaw.Error {
		severity = severityError
	}
	return diagnostic{Range: d.spanOf(f.Span), Severity: severity, Code: string(f.Code), Source: source, Message: message}
}

// isVerifiable tells whether a verdict would be about the protocol that is meant, and may be found soon.
func (d *document) isVerifiable() bool {
	p, diagnostics := d.parse()
	return !diagnostics.HasErrors() && p.ActionCount() <= mostActions
}

// verified gives what the static rules and a verification find.
func (d *document) verified(r verify.Report) []diagnostic {
	p, diagnostics := d.parse()
	all := slices.Concat(diagnostics, r.Diagnostics(p), r.VerdictDiagnostics(p))
	slices.SortStableFunc(all, func(a, b langshaw.Diagnostic) int { return a.Start.Offset - b.Start.Offset })
	shown := d.show(all)
	if r.Live == verify.Unknown || r.Safe == verify.Unknown {
		shown = append(shown, d.unknown(fmt.Sprintf("live or safe or both are unknown after %d states: strabo verify takes longer, and tells", r.States)))
	}
	return shown
}

// unknown says at the name of the protocol that it has not been decided whether it is live and safe.
func (d *document) unknown(message string) diagnostic {
	shown := diagnostic{Severity: severityInformation, Code: "unknown", Source: source, Message: message}
	for _, o := range d.names() {
		if o.Kind == langshaw.ProtocolName {
			shown.Range = d.spanOf(o.Span)
		}
	}
	return shown
}

// fixes gives the suggestions of diagnostics that touch a range, as edits.
func (d *document) fixes(s span) []codeAction {
	from, to := d.offset(s.Start), d.offset(s.End)
	_, diagnostics := d.parse()
	actions := []codeAction{}
	for _, f := range diagnostics {
		if f.Suggestion == "" || f.Span.End.Offset < from || f.Span.Start.Offset > to {
			continue
		}
		actions = append(actions, codeAction{
			Title: "Change to " + f.Suggestion, Kind: "quickfix", Diagnostics: []diagnostic{d.diagnostic(f)}, IsPreferred: true,
			Edit: workspaceEdit{map[string][]textEdit{d.uri: {{d.spanOf(f.Span), f.Suggestion}}}},
		})
	}
	return actions
}
