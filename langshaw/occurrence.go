package langshaw

import (
	"cmp"
	"slices"
)

// OccurrenceKind says what a name stands for.
type OccurrenceKind string

// The kinds of names. Attributes and actions share one space of names, so that a name is one of the two everywhere in a
// text; roles have a space of their own.
const (
	// ProtocolName is the name of the protocol.
	ProtocolName OccurrenceKind = "protocol"
	// ClauseName is the keyword that opens a clause.
	ClauseName OccurrenceKind = "clause"
	// RoleName is a role, or a name that stands where only a role can.
	RoleName OccurrenceKind = "role"
	// ActionName is an action, wherever it stands, or a name that stands only where an action must.
	ActionName OccurrenceKind = "action"
	// AttributeName is an attribute that is no action.
	AttributeName OccurrenceKind = "attribute"
)

// Occurrence is a name at one place of a text.
type Occurrence struct {
	Name string
	Kind OccurrenceKind
	// Declares tells that the name is declared here: a role in who, an action with its attributes in do, a key in what,
	// and an attribute that is no key where its sayso stands. An attribute that has none of these is declared where it
	// first stands; a role or an action may be declared nowhere, or, by mistake, twice.
	Declares bool
	Span
}

// Occurrences lists where the names of a text stand, in the order of the text, each place once. It reads the text just
// as [Parse] does and, like it, goes on after mistakes: also the names of entries that Parse leaves out are listed, the
// kind of each being what its place in the entry asks for. Names below the place where Parse gives up are not.
//
// It takes time and memory linear in the text but for sorting, and may be called from several goroutines.
func Occurrences(text []byte) []Occurrence {
	if isWide(text) {
		return nil
	}
	var found []Occurrence
	c, r := newReading(text, newReport())
	r.outside = &found
	c.run()
	found = r.draft.appendOccurrences(found)
	slices.SortStableFunc(found, func(a, b Occurrence) int { return cmp.Compare(a.Start.Offset, b.Start.Offset) })
	// The tokens of an entry without end are forgotten but for its start, so a place may have been seen twice.
	found = slices.CompactFunc(found, func(a, b Occurrence) bool { return a.Start.Offset == b.Start.Offset })
	settle(found)
	return found
}

// appendOccurrences adds the names of the entries that have the shape of an entry.
func (d *draft) appendOccurrences(found []Occurrence) []Occurrence {
	add := func(kind OccurrenceKind, declares bool, names ...name) {
		for _, n := range names {
			found = append(found, Occurrence{Name: n.text, Kind: kind, Declares: declares, Span: n.span()})
		}
	}
	if d.name.text != "" {
		add(ProtocolName, true, d.name)
	}
	add(RoleName, true, d.roles...)
	keys := make(map[string]bool)
	for _, c := range d.what {
		for _, n := range c.alternatives {
			keys[n.text] = keys[n.text] || c.keys > 0
		}
	}
	for i, o := range found {
		found[i].Declares = o.Declares && !(o.Kind == AttributeName && keys[o.Name])
	}
	for _, c := range d.what {
		add(AttributeName, c.keys > 0, c.alternatives...)
	}
	for _, a := range d.actions {
		add(RoleName, false, a.role)
		add(ActionName, true, a.name)
		add(AttributeName, false, a.attributes...)
	}
	for _, s := range d.saysos {
		add(RoleName, false, s.roles...)
		for _, n := range s.attributes {
			add(AttributeName, !keys[n.text], n)
		}
	}
	for _, n := range d.nonos {
		add(ActionName, false, n.actions...)
	}
	for _, n := range d.nogos {
		add(ActionName, false, n.first, n.then)
	}
	return found
}

// appendLeftOut adds the names of an entry that is left out, told by the marks around them.
func appendLeftOut(found []Occurrence, c clause, tokens []token) []Occurrence {
	if c == noClause {
		return found
	}
	e := leftOut{clause: c, tokens: tokens}
	for _, t := range tokens {
		e.ranked = e.ranked || t.kind == colon
	}
	for i, t := range tokens {
		switch t.kind {
		case colon:
			e.colonSeen = true
		case opening:
			e.inside = true
		case word:
			kind, declares := e.kindAt(i)
			found = append(found, Occurrence{Name: t.text, Kind: kind, Declares: declares, Span: t.span()})
		}
	}
	return found
}

// leftOut is an entry that is left out, with what has been seen of it so far.
type leftOut struct {
	clause clause
	tokens []token
	// ranked tells that it has a colon.
	ranked, colonSeen, inside bool
}

// is tells whether the token at a place is of a kind.
func (e *leftOut) is(i int, k kind) bool { return i >= 0 && i < len(e.tokens) && e.tokens[i].kind == k }

func (e *leftOut) kindAt(i int) (kind OccurrenceKind, declares bool) {
	switch e.clause {
	case who:
		return RoleName, true
	case do:
		switch {
		case e.is(i+1, opening):
			return ActionName, true
		case e.is(i+1, colon), e.is(i+1, word) && e.is(i+2, opening):
			// Maybe the parenthesis of the action before was never closed.
			e.inside, e.colonSeen = false, false
			return RoleName, false
		case e.inside:
			return AttributeName, false
		case e.colonSeen:
			return ActionName, true
		default:
			return RoleName, false
		}
	case sayso:
		if e.ranked && !e.colonSeen || e.is(i+1, greater) || e.is(i-1, greater) {
			return RoleName, false
		}
		return AttributeName, true
	case nono, nogo:
		return ActionName, false
	default:
		return AttributeName, false
	}
}

// settle tells actions from other attributes, and sees to it that each attribute is declared.
func settle(found []Occurrence) {
	actions, attributes, declared := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, o := range found {
		switch o.Kind {
		case ActionName:
			actions[o.Name] = actions[o.Name] || o.Declares
		case AttributeName:
			attributes[o.Name] = true
			declared[o.Name] = declared[o.Name] || o.Declares
		}
	}
	for i := range found {
		o := &found[i]
		switch {
		case o.Kind != ActionName && o.Kind != AttributeName:
		case actions[o.Name]:
			o.Declares = o.Declares && o.Kind == ActionName
			o.Kind = ActionName
		case attributes[o.Name]:
			o.Kind = AttributeName
			o.Declares = o.Declares || !declared[o.Name]
			declared[o.Name] = true
		}
	}
}
