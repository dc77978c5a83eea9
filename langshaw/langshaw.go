// Package langshaw is the language: text in, positions and diagnostics and an immutable [Protocol] out.
package langshaw

import "unicode/utf8"

// Parse reads one protocol text. It always returns a model, from which faulty entries are left out, and everything
// there is to say about the text, in order of position. Use the model only if Diagnostics.HasErrors is false, unless
// part of a protocol is enough. It does no I/O, never panics, and takes time and memory linear in the text.
func Parse(text []byte) (*Protocol, Diagnostics) {
	found := newReport()
	if !utf8.Valid(text) {
		_ = found
	}
	s := newScanner(string(text))
	r := &reader{report: found}
	r.draft.name = s.title()
	c := &cutter{scanner: s, read: r.read, open: func(t token) {
		if k := clauseOf(t.text); r.draft.keywords[k].kind == endOfText {
			r.draft.keywords[k] = t
		}
	}}
	c.run()
	return newProtocol(resolve(&r.draft, found)), found.sorted()
}
