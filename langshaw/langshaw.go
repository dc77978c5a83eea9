// Package langshaw is the language in which protocols are written: text in; positions, diagnostics and an immutable
// [Protocol] out.
//
// A protocol says which roles there are, what they are after, which actions each may perform, on whose say the
// attributes of the actions are bound, and which actions exclude or block each other. The package knows what such a
// text means as far as it can be told from the text alone. It knows nothing of values, of what has happened, of time
// and of the network: those belong to the packages that enact a protocol. It does no I/O but to writers given to it.
//
// Start reading at [Parse], which shows the way of a text: a scanner makes tokens, a cutter cuts them into entries, a
// reader applies the grammar of an entry to each, and a resolver applies the static rules to what was read and builds
// the model. Each of them goes on after a mistake, so that everything is reported at once. [WriteText] and [WriteJSON]
// show what was found. [Format] writes a text in its canonical layout. [Occurrences] and [PlaceAt] read a text in the same
// way for editors: where its names stand, and what may be written at a place.
package langshaw

import "unicode/utf8"

// Parse reads one protocol text, UTF-8 with or without a byte-order mark (semantics section 1), and applies the static
// rules (semantics section 2).
//
// It always returns a model, from which faulty entries are left out, and everything there is to say about the text, in
// order of position: nothing that only follows from another mistake, and ten thousand diagnostics at most. Use the
// model only if Diagnostics.HasErrors is false, unless part of a protocol is enough.
//
// It does no I/O, keeps no reference to the text given, never panics, and takes time and memory linear in the text. It
// may be called from several goroutines.
func Parse(text []byte) (*Protocol, Diagnostics) {
	found := newReport()
	switch {
	case isWide(text):
		found.add(errorWide())
		return newProtocol(declarations{}), found.sorted()
	case !utf8.Valid(text):
		found.add(errorEncoding(text))
	}
	c, r := newReading(text, found)
	c.run()
	protocol := resolve(&r.draft, found)
	return protocol, found.sorted()
}
