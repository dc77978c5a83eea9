package lsp

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// hover says what the name at a place means; nil where there is none.
func (d *document) hover(p position, markdown bool) *hover {
	at, ok := d.nameAt(p)
	if !ok {
		return nil
	}
	protocol, _ := d.parse()
	w := &writer{document: d, protocol: protocol}
	switch at.Kind {
	case langshaw.ProtocolName:
		w.aboutProtocol()
	case langshaw.ClauseName:
		w.line("**%s** %s", at.Name, clauses[at.Name].long)
	case langshaw.RoleName:
		w.aboutRole(at.Name)
	case langshaw.ActionName:
		w.aboutAction(at.Name)
	case langshaw.AttributeName:
		w.aboutAttribute(at.Name)
	}
	h := &hover{Contents: markup{"markdown", w.text.String()}, Range: d.spanOf(at.Span)}
	if !markdown {
		h.Contents = markup{"plaintext", strings.NewReplacer("**", "", "`", "").Replace(w.text.String())}
	}
	return h
}

// writer writes what is to be said about one name, in Markdown.
type writer struct {
	*document
	protocol *langshaw.Protocol
	text     strings.Builder
}

func (w *writer) line(format string, arguments ...any) {
	fmt.Fprintf(&w.text, format+"\n", arguments...)
}

func (w *writer) item(format string, arguments ...any) { w.line("- "+format, arguments...) }

// mostNamed is how many names a list in a hover has at most.
const mostNamed = 20

// list writes names, the last joined by a word.
func list(names []string, last string) string {
	var shown []string
	for _, name := range names[:min(len(names), mostNamed)] {
		shown = append(shown, "`"+name+"`")
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	if len(shown) < 2 {
		return strings.Join(shown, "")
	}
	return strings.Join(shown[:len(shown)-1], ", ") + " " + last + " " + shown[len(shown)-1]
}

func (w *writer) aboutProtocol() {
	p := w.protocol
	w.line("**%s**, a protocol between %s\n", strings.NewReplacer("*", "", "`", "").Replace(p.Name()), list(slices.Collect(p.Roles()), "and"))
	if root := slices.Collect(p.RootKey()); len(root) > 0 {
		w.item("one enactment for each value of %s", list(root, "and"))
	} else {
		w.item("one enactment in all: no key is carried by every action")
	}
	var aims []string
	for c := range p.What() {
		if !c.IsKey() {
			aims = append(aims, list(slices.Collect(c.Alternatives()), "or"))
		}
	}
	if len(aims) > 0 {
		w.item("complete with %s", strings.Join(aims, ", and "))
	}
	w.item("%d actions", p.ActionCount())
}

func (w *writer) aboutRole(role string) {
	if !w.protocol.HasRole(role) {
		w.line("`%s` stands for a role, and `who` does not list it.", role)
		return
	}
	w.line("**%s**, a role\n", role)
	var does, decides, whole, part []string
	for a := range w.protocol.Actions() {
		if a.Role() == role {
			does = append(does, a.Name())
			continue
		}
		if rules := w.sight(); rules != nil {
			any, hidden := rules.Sight(role, a.Name())
			switch {
			case !any:
			case len(hidden) == 0:
				whole = append(whole, a.Name())
			default:
				part = append(part, a.Name())
			}
		}
	}
	for a := range w.protocol.Attributes() {
		if _, ranked := a.Rank(role); ranked {
			decides = append(decides, a.Name())
		}
	}
	w.listed("does", does, "and")
	w.listed("has sayso over", decides, "and")
	w.listed("sees all of", whole, "and")
	w.listed("sees parts of", part, "and")
}

// listed is an item about a list that is not empty.
func (w *writer) listed(what string, names []string, last string) {
	if len(names) > 0 {
		w.item("%s %s", what, list(names, last))
	}
}

func (w *writer) aboutAction(name string) {
	a, ok := w.protocol.Action(name)
	if !ok {
		w.line("`%s` stands for an action, and `do` declares none that is free of errors.", name)
		return
	}
	w.line("**%s**, an action of `%s`\n\n`%s`\n", name, a.Role(), signature(a))
	own, _ := w.protocol.Attribute(name)
	w.scope("happens once", own.Scope())
	var after, binds, needs []string
	for carried := range a.Attributes() {
		attribute, _ := w.protocol.Attribute(carried)
		switch {
		case attribute.IsAction():
			after = append(after, carried)
		case attribute.MayBind(a.Role()):
			binds = append(binds, carried)
		default:
			needs = append(needs, carried)
		}
	}
	w.listed("comes after", after, "and")
	w.listed("needs to know", needs, "and")
	w.listed("may bind", binds, "and")
	w.stops(a)
	w.seen(func(role string) (any, all bool) {
		sees, hidden := w.sight().Sight(role, name)
		return sees, len(hidden) == 0
	}, a.Role())
}

// scope says for which key values something happens or is bound once.
func (w *writer) scope(what string, keys iter.Seq[string]) {
	if scope := slices.Collect(keys); len(scope) > 0 {
		w.item("%s for each value of %s", what, list(scope, "and"))
	} else {
		w.item("%s in all", what)
	}
}

// stops says what excludes and stops an action, and what it stops, with the lines that say so.
func (w *writer) stops(a *langshaw.Action) {
	for nono := range w.protocol.Nonos() {
		actions := slices.Collect(nono.Actions())
		if slices.Contains(actions, a.Name()) {
			others := slices.DeleteFunc(actions, func(name string) bool { return name == a.Name() })
			w.item("excluded by %s (nono, line %d)", list(others, "and"), nono.Span().Start.Line)
		}
	}
	for nogo := range w.protocol.Nogos() {
		switch a.Name() {
		case nogo.Then():
			w.item("stopped by `%s` (nogo, line %d)", nogo.First(), nogo.Span().Start.Line)
		case nogo.First():
			w.item("stops `%s` (nogo, line %d)", nogo.Then(), nogo.Span().Start.Line)
		}
	}
}

func (w *writer) aboutAttribute(name string) {
	a, ok := w.protocol.Attribute(name)
	if !ok {
		w.line("`%s` stands for an attribute, in an entry with an error.", name)
		return
	}
	kind := "an attribute"
	if a.IsKey() {
		kind = "a key"
	}
	w.line("**%s**, %s\n", name, kind)
	var carriers []string
	for carrier := range a.Carriers() {
		carriers = append(carriers, carrier.Name())
	}
	switch {
	case hasSayso(a):
		w.item("sayso: `%s`", ranks(a))
	case a.IsKey():
		w.item("sayso: any role that acts with it, since nobody has sayso over this key")
	default:
		w.item("sayso: nobody, so actions that carry it never happen")
	}
	if len(carriers) == 0 {
		w.item("carried by no action")
		return
	}
	if !a.IsKey() {
		w.scope("bound once", a.Scope())
	}
	w.listed("carried by", carriers, "and")
	w.seen(func(role string) (any, all bool) {
		return w.sees(role, a), true
	}, "")
}

// sees tells whether a role sees an attribute in some action that carries it.
func (w *writer) sees(role string, a *langshaw.Attribute) bool {
	for carrier := range a.Carriers() {
		if any, hidden := w.sight().Sight(role, carrier.Name()); any && !slices.Contains(hidden, a.Name()) {
			return true
		}
	}
	return false
}

// seen says which roles but one see something, and which do not.
func (w *writer) seen(sight func(role string) (any, all bool), but string) {
	if w.sight() == nil {
		return
	}
	var whole, part, none []string
	for role := range w.protocol.Roles() {
		any, all := sight(role)
		switch {
		case role == but:
		case !any:
			none = append(none, role)
		case all:
			whole = append(whole, role)
		default:
			part = append(part, role)
		}
	}
	w.listed("seen by", whole, "and")
	w.listed("seen in part by", part, "and")
	w.listed("not seen by", none, "and")
}
