// Package langshaw is the language: text in, positions and diagnostics and an immutable [Protocol] out.
package langshaw

import (
	"unicode/utf8"
)

// Parse reads one protocol text. It always returns a model, from which faulty entries are left out, and everything
// there is to say about the text, in order of position. Use the model only if Diagnostics.HasErrors is false, unless
// part of a protocol is enough. It does no I/O, never panics, and takes time and memory linear in the text.
func Parse(text []byte) (*Protocol, Diagnostics) {
	r := &reader{report: newReport()}
	switch {
	case isWide(text):
		r.report.add(errorWide())
		return newProtocol(declarations{}), r.report.sorted()
	case !utf8.Valid(text):
		r.report.add(errorEncoding(text))
	}
	scanner := newScanner(string(text))
	r.draft.name = scanner.title()
	(&cutter{scanner: scanner, reader: r}).run()
	p := resolve(&r.draft, r.report)
	return p, r.report.sorted()
}
