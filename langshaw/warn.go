package langshaw

import (
	"fmt"
	"strings"
)

func warningAt(span Span, code Code, format string, arguments ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Warning, Span: span, Message: fmt.Sprintf(format, arguments...)}
}

// nameKind is a kind of name to suggest.
type nameKind int8

const (
	rolesKind nameKind = iota
	actionsKind
	// boundKind are the names that some role may bind: keys, actions and what a sayso is over.
	boundKind
	// carriedKind are the names that some action carries, valueKind those of them that are no key and no action.
	carriedKind
	valueKind
	kindCount
)

func (k nameKind) includes(s *symbol) bool {
	switch k {
	case rolesKind:
		return s.isRole()
	case actionsKind:
		return s.isAction()
	case boundKind:
		return s.isKey() || s.isAction() || s.saysoLine > 0
	case valueKind:
		return s.carried && !s.isKey() && !s.isAction()
	default:
		return s.carried
	}
}

// suggest adds the nearest name of the kind to a diagnostic about a name.
func (r *resolver) suggest(d *Diagnostic, text string, kind nameKind) {
	if r.report.isFull() {
		return
	}
	if r.kinds[kind] == nil {
		var names []string
		for _, s := range r.order {
			if kind.includes(s) && !strings.Contains(s.text, reserved) {
				names = append(names, s.text)
			}
		}
		r.kinds[kind] = newCandidates(names)
	}
	d.Suggestion = r.suggester.nearest(text, r.kinds[kind])
}

// warn reports what is odd about the entries that are kept. What may only seem odd because an entry is left out is
// not reported.
func (r *resolver) warn() {
	for _, a := range r.draft.actions {
		r.noteUse(a)
		if a.kept {
			r.warnOfKeyless(a)
			r.warnOfUnbindable(a)
		}
	}
	// Without actions everything else would be of no use, and that has been said.
	if len(r.draft.actions) == 0 {
		return
	}
	for _, s := range r.ranked {
		r.warnOfSayso(s)
	}
	for _, c := range r.draft.what {
		if c.kept {
			r.warnOfWhat(c)
		}
	}
}

// noteUse notes of which saysos the action makes use.
func (r *resolver) noteUse(a draftAction) {
	for _, n := range a.attributes {
		if s := r.symbol(n.text).ranked; s != nil {
			if rank, ok := s.of(a.role.text); ok {
				s.use(rank)
			}
		}
	}
}

func (r *resolver) warnOfKeyless(a draftAction) {
	if !r.keyed {
		return
	}
	for _, n := range a.attributes {
		if r.symbol(n.text).isKey() || r.isDoubtful(what, n.text) {
			return
		}
	}
	r.report.add(warningAt(a.span, CodeKeylessAction,
		"%s carries no key, so it belongs to no enactment and is never enabled: add a key to its attributes", quote(a.name.text)))
}

// warnOfUnbindable is silent where no key is declared: the attribute may be meant to be the key.
func (r *resolver) warnOfUnbindable(a draftAction) {
	for _, n := range a.attributes {
		s := r.symbol(n.text)
		if !r.keyed || s.isKey() || s.isAction() || s.saysoLine > 0 ||
			r.isDoubtful(what, n.text) || r.isDoubtful(do, n.text) || r.isDoubtful(sayso, n.text) {
			continue
		}
		d := warningAt(n.span(), CodeUnbindable,
			"nobody has sayso over %s, so no action that carries it is ever enabled: say who binds it, as in `%s: %s`",
			quote(n.text), a.role.text, strings.Trim(quote(n.text), "`"))
		r.suggest(&d, n.text, boundKind)
		if meant := r.symbols[d.Suggestion]; meant != nil {
			meant.mistaken = true
		}
		r.once(s, d)
	}
}

func (r *resolver) warnOfSayso(entry *ranked) {
	n := entry.attribute
	s := r.symbol(n.text)
	switch {
	case s.mistaken || r.isDoubtful(do, n.text):
	case !s.carried:
		d := warningAt(n.span(), CodeUnusedSayso, "no action carries %s, so the sayso over it is of no use: remove it, or add it to an action",
			quote(n.text))
		r.suggest(&d, n.text, carriedKind)
		r.report.add(d)
	default:
		for rank, role := range entry.names {
			if r.report.isFull() {
				return
			}
			if !entry.isUsed(rank) {
				r.report.add(warningAt(role.span(), CodeIdleSaysoRole,
					"no action of %s carries %s, so its sayso is of no use: remove the role here, or let one of its actions carry %[2]s",
					quote(role.text), quote(n.text)))
			}
		}
	}
}

func (r *resolver) warnOfWhat(c draftConjunct) {
	for _, n := range c.alternatives {
		s := r.symbol(n.text)
		if s.carried || r.isDoubtful(do, n.text) {
			continue
		}
		code, kind, message := CodeUnboundWhat, carriedKind, "%s is no action and no action carries it, so it never comes about: remove it, or add it to an action"
		if c.keys > 0 {
			code, kind, message = CodeUnusedKey, valueKind, "no action carries the key %s: remove it, or add it to the actions"
		}
		d := warningAt(n.span(), code, message, quote(n.text))
		r.suggest(&d, n.text, kind)
		r.once(s, d)
	}
}
