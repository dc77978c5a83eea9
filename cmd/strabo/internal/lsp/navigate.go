package lsp

import (
	"fmt"

	"github.com/strabo-engine/strabo/langshaw"
)

// definition gives where the name at a place is declared.
func (d *document) definition(p position) []location {
	at, ok := d.nameAt(p)
	if !ok {
		return nil
	}
	var found []location
	for _, o := range d.names() {
		if o.Declares && isSame(o, at) && (o.Kind != langshaw.ClauseName || o == at) {
			found = append(found, location{d.uri, d.spanOf(o.Span)})
		}
	}
	return found
}

// references gives where the name at a place stands, with or without its declarations.
func (d *document) references(p position, declarations bool) []location {
	var found []location
	for _, o := range d.sameAs(p) {
		if declarations || !o.Declares {
			found = append(found, location{d.uri, d.spanOf(o.Span)})
		}
	}
	return found
}

// highlights are references for an editor that marks them: declarations as written, the others as read.
func (d *document) highlights(p position) []documentHighlight {
	const read, write = 2, 3
	var found []documentHighlight
	for _, o := range d.sameAs(p) {
		kind := read
		if o.Declares {
			kind = write
		}
		found = append(found, documentHighlight{d.spanOf(o.Span), kind})
	}
	return found
}

func (d *document) sameAs(p position) []langshaw.Occurrence {
	at, ok := d.nameAt(p)
	if !ok {
		return nil
	}
	var found []langshaw.Occurrence
	for _, o := range d.names() {
		if isSame(o, at) {
			found = append(found, o)
		}
	}
	return found
}

// renamed gives the name at a place that can be changed, or says why it cannot.
func (d *document) renamed(p position) (langshaw.Occurrence, error) {
	at, ok := d.nameAt(p)
	if !ok {
		return at, refuse("there is no name here")
	}
	switch at.Kind {
	case langshaw.ProtocolName, langshaw.ClauseName:
		return at, refuse("only roles, actions and attributes can be renamed")
	}
	if _, diagnostics := d.parse(); isCutShort(diagnostics) {
		return at, refuse("not all of the text could be read, so that not all places are known: mend it first")
	}
	return at, nil
}

// isCutShort tells whether names of the text may not have been read.
func isCutShort(diagnostics langshaw.Diagnostics) bool {
	for _, diagnostic := range diagnostics {
		switch diagnostic.Code {
		case langshaw.CodeTooMany, langshaw.CodeTooLong, langshaw.CodeEncoding:
			return true
		}
	}
	return false
}

func refuse(format string, arguments ...any) error {
	return &failure{requestFailed, fmt.Sprintf(format, arguments...)}
}

// rename gives the edits that change the name at a place everywhere. It refuses a name that is reserved or taken, and
// whatever would make another text of it than the same with a name changed.
func (d *document) rename(p position, to string) ([]textEdit, error) {
	at, err := d.renamed(p)
	switch {
	case err != nil:
		return nil, err
	case to == at.Name:
		return []textEdit{}, nil
	}
	if err := langshaw.CheckName(to); err != nil {
		return nil, refuse("%v", err)
	}
	for _, o := range d.names() {
		if o.Name == to && collides(at.Kind, o.Kind) {
			return nil, refuse("%s is the name of a thing already: the %s on line %d", to, o.Kind, o.Start.Line)
		}
	}
	edits := []textEdit{}
	var after []byte
	from := 0
	for _, o := range d.names() {
		if isSame(o, at) {
			edits = append(edits, textEdit{d.spanOf(o.Span), to})
			after = append(append(after, d.bytes[from:o.Start.Offset]...), to...)
			from = o.End.Offset
		}
	}
	if !d.isRenamed(append(after, d.bytes[from:]...), at, to) {
		return nil, refuse("with the name %s the text would be read differently: choose another", to)
	}
	return edits, nil
}

// collides tells whether a thing of one kind may not have the name of one of the other.
func collides(kind, other langshaw.OccurrenceKind) bool {
	switch other {
	case langshaw.RoleName:
		return kind != langshaw.AttributeName
	case langshaw.ActionName:
		return true
	case langshaw.AttributeName:
		return kind != langshaw.RoleName
	default:
		return false
	}
}

// isRenamed tells whether a text has the same names at the same places in their order, but for one that is changed.
func (d *document) isRenamed(after []byte, at langshaw.Occurrence, to string) bool {
	before, now := d.names(), langshaw.Occurrences(after)
	if len(before) != len(now) {
		return false
	}
	for i, o := range before {
		if isSame(o, at) {
			o.Name = to
		}
		if o.Name != now[i].Name || o.Kind != now[i].Kind || o.Declares != now[i].Declares {
			return false
		}
	}
	_, diagnostics := d.parse()
	_, found := langshaw.Parse(after)
	return diagnostics.HasErrors() || !found.HasErrors()
}
