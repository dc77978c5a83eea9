// Package lsp is a language server for Langshaw: it tells editors what is wrong with a protocol, what its names mean,
// where they stand and what may be written where, by the language server protocol (LSP 3.17).
//
// Start reading at document, which answers every question about one text and is pure: text in, answers out. [Serve] is
// the only part that has goroutines, reads and writes. The package decides nothing about protocols: what is wrong is
// said by langshaw and langshaw/verify, and who sees what by enactment.
package lsp

import (
	"sort"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// mostActions is the most actions of a protocol that is verified while it is edited, and of which it is told who sees
// what: both grow faster than the protocol.
const mostActions = 200

// document is one version of a text. It never changes; what is derived from it is derived once, when first asked for.
type document struct {
	*text
	uri     string
	version int

	parsed      bool
	protocol    *langshaw.Protocol
	diagnostics langshaw.Diagnostics
	listed      bool
	occurrences []langshaw.Occurrence
	compiled    bool
	rules       *enactment.Rules
}

func (d *document) parse() (*langshaw.Protocol, langshaw.Diagnostics) {
	if !d.parsed {
		d.protocol, d.diagnostics = langshaw.Parse(d.bytes)
		d.parsed = true
	}
	return d.protocol, d.diagnostics
}

// names lists the occurrences of names.
func (d *document) names() []langshaw.Occurrence {
	if !d.listed {
		d.occurrences = langshaw.Occurrences(d.bytes)
		d.listed = true
	}
	return d.occurrences
}

// sight gives the rules that tell who sees what, or nil for a protocol that is too large.
func (d *document) sight() *enactment.Rules {
	if p, _ := d.parse(); !d.compiled && p.ActionCount() <= mostActions {
		// Without options there is nothing to fail.
		d.rules, _ = enactment.Compile(p)
	}
	d.compiled = true
	return d.rules
}

// nameAt gives the name at a place, or just before it.
func (d *document) nameAt(p position) (langshaw.Occurrence, bool) {
	names, offset := d.names(), d.offset(p)
	after := sort.Search(len(names), func(i int) bool { return names[i].Start.Offset > offset })
	if after == 0 || names[after-1].End.Offset < offset {
		return langshaw.Occurrence{}, false
	}
	return names[after-1], true
}

// spanOf gives the range of a stretch of the text.
func (d *document) spanOf(s langshaw.Span) span { return d.span(s.Start.Offset, s.End.Offset) }

// isSame tells whether two occurrences are of one name.
func isSame(a, b langshaw.Occurrence) bool { return a.Kind == b.Kind && a.Name == b.Name }
