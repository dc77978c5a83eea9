package langshaw

import "strings"

// reserved marks a name that stands for delegation.
const reserved = "@"

// isAllowed reports a name that may not be used and tells that there is nothing to report.
func (r *resolver) isAllowed(n name) bool {
	before, after, found := strings.Cut(n.text, reserved)
	if !found {
		return true
	}
	d := errorAt(n.span(), CodeReservedName, "%s is reserved: name@Role stands for delegation; write a name without @", quote(n.text))
	if meant := r.symbols[before]; meant != nil && meant.carried && after != "" {
		d.Suggestion = before
	}
	r.once(r.symbol(n.text), d)
	return false
}

func (r *resolver) checkRoles() {
	for _, n := range r.draft.roles {
		s := r.symbol(n.text)
		switch {
		case !r.isAllowed(n):
			r.leaveOut(who)
		case s.roleSeen:
			r.leaveOut(who)
			r.once(s, errorAt(n.span(), CodeDuplicateRole, "the role %s is declared twice, first on line %d: remove one",
				quote(n.text), s.roleLine))
		default:
			s.roleSeen = true
			r.out.roles = append(r.out.roles, n.text)
		}
	}
}

func (r *resolver) checkWhat() {
	for i := range r.draft.what {
		c := &r.draft.what[i]
		if c.kept = r.isFineConjunct(*c) && r.hasRoom(*c); !c.kept {
			r.leaveOut(what)
			continue
		}
		r.out.what = append(r.out.what, &Conjunct{alternatives: textsOf(c.alternatives), key: c.keys > 0, span: c.span})
	}
}

// hasRoom counts the keys and tells whether the conjunct is none too many.
func (r *resolver) hasRoom(c draftConjunct) bool {
	if c.keys == 0 {
		return true
	}
	if r.keys++; r.keys == mostKeys+1 {
		r.report.add(errorAt(c.span, CodeTooManyKeys, "this is key %d, and a protocol has at most %d: make the others plain attributes",
			r.keys, mostKeys))
	}
	return r.keys <= mostKeys
}

func (r *resolver) isFineConjunct(c draftConjunct) bool {
	fine := true
	for _, n := range c.alternatives {
		fine = r.isAllowed(n) && fine
	}
	switch {
	case c.keys == 0 || !fine:
	case len(c.alternatives) > 1:
		r.report.add(errorAt(c.span, CodeKeyAlternative,
			"a key cannot be one of several alternatives: declare each key by itself, as in `ID key, Reject or Deliver`"))
		fine = false
	case r.symbol(c.alternatives[0].text).isAction():
		s := r.symbol(c.alternatives[0].text)
		r.once(s, errorAt(c.span, CodeKeyAction,
			"%s is an action (line %d) and so has no value that could be a key: make an attribute the key", quote(s.text), s.actionLine))
		fine = false
	}
	return fine
}

func (r *resolver) checkActions() {
	for i := range r.draft.actions {
		a := &r.draft.actions[i]
		if a.kept = r.isFineAction(*a); !a.kept {
			r.leaveOut(do)
			continue
		}
		r.symbol(a.name.text).kept = true
		r.out.actions = append(r.out.actions, declaredAction{
			name: a.name.text, role: a.role.text, attributes: textsOf(a.attributes), span: a.span,
		})
	}
}

func (r *resolver) isFineAction(a draftAction) bool {
	fine := r.isKnownRole(a.role)
	s := r.symbol(a.name.text)
	switch {
	case !r.isAllowed(a.name):
		fine = false
	case s.actionSeen:
		r.once(s, errorAt(a.name.span(), CodeDuplicateAction, "the action %s is declared twice, first on line %d: rename or remove one",
			quote(s.text), s.actionLine))
		return false
	case s.isRole():
		r.once(s, errorAt(a.name.span(), CodeRoleAndAction, "%s is a role too (line %d): rename one of them", quote(s.text), s.roleLine))
		fine = false
	}
	s.actionSeen = true
	known := r.symbol(a.role.text).isRole()
	r.entry++
	for _, n := range a.attributes {
		listed := r.symbol(n.text)
		listed.mistaken = listed.mistaken || !known
		again := r.isAgain(listed)
		switch {
		case !r.isAllowed(n):
			fine = false
		case n.text == a.name.text:
			r.once(s, errorAt(n.span(), CodeSelfReference, "%s lists its own name, so it would have to happen before itself: remove it here",
				quote(n.text)))
			fine = false
		case again:
			r.report.add(errorAt(n.span(), CodeDuplicateAttribute, "%s lists %s twice: remove one", quote(a.name.text), quote(n.text)))
			fine = false
		}
	}
	return fine
}

// isKnownRole reports a role that is not in who, and tells whether it is.
func (r *resolver) isKnownRole(n name) bool {
	s := r.symbol(n.text)
	switch {
	case !r.isAllowed(n):
		return false
	case s.isRole():
		return true
	case r.isDoubtful(who, n.text) || len(r.draft.roles) == 0:
		return false
	}
	d := errorAt(n.span(), CodeUnknownRole, "%s is no role: add it to who", quote(n.text))
	r.suggest(&d, n.text, rolesKind)
	r.once(s, d)
	return false
}

func (r *resolver) checkSaysos() {
	for _, entry := range r.draft.saysos {
		fine := true
		r.entry++
		for _, n := range entry.roles {
			if r.isAgain(r.symbol(n.text)) {
				r.report.add(errorAt(n.span(), CodeDuplicateSaysoRole, "%s is ranked twice: keep the higher rank", quote(n.text)))
				fine = false
				continue
			}
			fine = r.isKnownRole(n) && fine
		}
		ranking := newRanking(textsOf(entry.roles))
		for _, n := range entry.attributes {
			if !r.isFineSayso(n) || !fine {
				r.leaveOut(sayso)
				r.draft.doubt(sayso, n.text)
				continue
			}
			r.out.saysos = append(r.out.saysos, declaredSayso{ranking: ranking, attribute: n.text})
			s := &ranked{ranking: ranking, names: entry.roles, attribute: n}
			r.symbol(n.text).ranked = s
			r.ranked = append(r.ranked, s)
		}
	}
}

func (r *resolver) isFineSayso(n name) bool {
	s := r.symbol(n.text)
	switch {
	case !r.isAllowed(n):
		return false
	case s.isAction():
		r.once(s, errorAt(n.span(), CodeSaysoAction, "%s is an action (line %d), which needs no sayso: its role alone performs it; remove it here",
			quote(n.text), s.actionLine))
		return false
	case s.saysoLine > 0:
		r.once(s, errorAt(n.span(), CodeDuplicateSayso, "the sayso over %s is declared twice, first on line %d: join them, as in `Role > Role: %s`",
			quote(n.text), s.saysoLine, strings.Trim(quote(n.text), "`")))
		return false
	default:
		s.saysoLine = n.start.Line
		return true
	}
}

func (r *resolver) checkConflicts() {
	for _, entry := range r.draft.nonos {
		fine, known := true, true
		r.entry++
		for _, n := range entry.actions {
			if r.isAgain(r.symbol(n.text)) {
				r.report.add(errorAt(n.span(), CodeSelfConflict, "%s would exclude itself: name each action once", quote(n.text)))
				fine = false
			}
			known = r.isKnownAction(n, nono) && known
		}
		if len(entry.actions) == 1 {
			r.report.add(errorAt(entry.span, CodeShortNono, "%s stands alone: %s", quote(entry.actions[0].text), shapes[nono]))
			fine = false
		}
		if fine && known {
			r.out.nonos = append(r.out.nonos, &Nono{actions: textsOf(entry.actions), span: entry.span})
		}
	}
	for _, entry := range r.draft.nogos {
		known := r.isKnownAction(entry.first, nogo)
		known = r.isKnownAction(entry.then, nogo) && known
		if entry.first.text == entry.then.text {
			r.report.add(errorAt(entry.span, CodeSelfConflict, "%s would block itself, and happens once anyway: name two actions",
				quote(entry.first.text)))
			continue
		}
		if known {
			r.out.nogos = append(r.out.nogos, &Nogo{first: entry.first.text, then: entry.then.text, span: entry.span})
		}
	}
}

// isKnownAction reports a name that is no action, and tells whether it is one in the model.
func (r *resolver) isKnownAction(n name, c clause) bool {
	s := r.symbol(n.text)
	switch {
	case !r.isAllowed(n):
		return false
	case s.isAction() || r.isDoubtful(do, n.text) || len(r.draft.actions) == 0:
		return s.kept
	}
	d := errorAt(n.span(), CodeUnknownAction, "%s is no action: %s names actions that do declares", quote(n.text), c)
	r.suggest(&d, n.text, actionsKind)
	r.once(s, d)
	return false
}
