package lsp

import (
	"bytes"

	"github.com/strabo-engine/strabo/langshaw"
)

// outline lists what the text declares, by clause: roles, keys, actions, and attributes where their sayso stands. The
// protocol holds the clauses if it has a name.
func (d *document) outline() []documentSymbol {
	var clauses []documentSymbol
	var title *documentSymbol
	for _, o := range d.names() {
		switch {
		case o.Kind == langshaw.ProtocolName:
			title = &documentSymbol{
				Name: o.Name, Kind: symbolModule, Range: d.span(o.Start.Offset, len(d.bytes)), SelectionRange: d.spanOf(o.Span),
			}
		case o.Kind == langshaw.ClauseName:
			d.end(clauses, o.Start.Offset)
			clauses = append(clauses, documentSymbol{
				Name: o.Name, Kind: symbolNamespace, Range: d.spanOf(o.Span), SelectionRange: d.spanOf(o.Span),
			})
		case o.Declares && len(clauses) > 0:
			clause := &clauses[len(clauses)-1]
			clause.Children = append(clause.Children, d.symbol(o))
		}
	}
	d.end(clauses, len(d.bytes))
	if title == nil {
		return clauses
	}
	title.Children = clauses
	return []documentSymbol{*title}
}

// end makes the last of the clauses reach to a place, blanks before it left out.
func (d *document) end(clauses []documentSymbol, at int) {
	if len(clauses) > 0 {
		clauses[len(clauses)-1].Range.End = d.position(len(bytes.TrimRight(d.bytes[:at], " \t\r\n")))
	}
}

func (d *document) symbol(o langshaw.Occurrence) documentSymbol {
	s := documentSymbol{Name: o.Name, Range: d.spanOf(o.Span), SelectionRange: d.spanOf(o.Span)}
	p, _ := d.parse()
	switch o.Kind {
	case langshaw.RoleName:
		s.Kind = symbolClass
	case langshaw.ActionName:
		s.Kind = symbolMethod
		if a, ok := p.Action(o.Name); ok {
			s.Detail = a.Role()
			if a.Span().Start == o.Start {
				s.Range = d.spanOf(a.Span())
			}
		}
	default:
		s.Kind = symbolProperty
		if p.IsKey(o.Name) {
			s.Kind, s.Detail = symbolKey, "key"
		}
	}
	return s
}

// flatten gives an outline to a client that knows no trees.
func (d *document) flatten(symbols []documentSymbol, container string) []symbolInformation {
	var flat []symbolInformation
	for _, s := range symbols {
		flat = append(flat, symbolInformation{s.Name, s.Kind, location{d.uri, s.Range}, container})
		flat = append(flat, d.flatten(s.Children, s.Name)...)
	}
	return flat
}
