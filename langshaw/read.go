package langshaw

import "unicode/utf8"

// reader turns the entries of a text into a draft, and says of each that has not the shape of an entry what is wrong
// with it.
type reader struct {
	draft  draft
	report *report
	// outside collects, where it is not nil, the names that do not come into the draft: clause keywords, and the words
	// of entries that are left out.
	outside *[]Occurrence

	roles  applier[rolesProduction]
	what   applier[whatProduction]
	action applier[actionProduction]
	sayso  applier[saysoProduction]
	nono   applier[nonoProduction]
	nogo   applier[nogoProduction]
}

func newReader(found *report) *reader {
	return &reader{
		report: found,
		roles:  applier[rolesProduction]{parser: rolesParser},
		what:   applier[whatProduction]{parser: whatParser},
		action: applier[actionProduction]{parser: actionParser},
		sayso:  applier[saysoProduction]{parser: saysoParser},
		nono:   applier[nonoProduction]{parser: nonoParser},
		nogo:   applier[nogoProduction]{parser: nogoParser},
	}
}

func (r *reader) isFull() bool { return r.report.isFull() }

// open takes the keyword that opens a clause.
func (r *reader) open(keyword token) {
	if r.outside != nil {
		*r.outside = append(*r.outside, Occurrence{Name: keyword.text, Kind: ClauseName, Declares: true, Span: keyword.span()})
	}
	if c := clauseOf(keyword.text); r.draft.keywords[c].kind == endOfText {
		r.draft.keywords[c] = keyword
	}
}

// openMisspelt takes a word that stands where a keyword was meant.
func (r *reader) openMisspelt(t token, meant clause) {
	r.draft.faulty[meant] = true
	r.report.add(errorMisspelt(t, meant))
}

// read takes one entry, whose tokens are valid during the call only.
func (r *reader) read(c clause, tokens []token, tooLong bool) {
	switch {
	case tooLong:
		r.leaveOut(c, tokens)
		r.report.add(errorTooLong(c, tokens))
	case c == noClause:
		r.leaveOut(c, tokens)
		r.report.add(errorOutside(tokens))
	case r.isClean(c, tokens):
		r.parse(c, tokens)
	case c == who || c == what:
		r.readPieces(c, tokens)
	default:
		r.leaveOut(c, tokens)
	}
}

func (r *reader) parse(c clause, tokens []token) {
	ok, failedAt := false, 0
	switch c {
	case who:
		ok, failedAt = r.readRoles(tokens)
	case what:
		ok, failedAt = r.readWhat(tokens)
	case do:
		ok, failedAt = r.readAction(tokens)
	case sayso:
		ok, failedAt = r.readSayso(tokens)
	case nono:
		ok, failedAt = r.readNono(tokens)
	case nogo:
		ok, failedAt = r.readNogo(tokens)
	}
	switch {
	case ok:
	case c == who || c == what:
		r.readPieces(c, tokens)
	default:
		r.leaveOut(c, tokens)
		r.report.add(errorSyntax(c, tokens, failedAt))
	}
}

// isClean reports the tokens that no entry may have, and tells that there are none. An entry with such a token is
// not parsed: what else is wrong with it would mostly follow.
func (r *reader) isClean(c clause, tokens []token) bool {
	clean := true
	for _, t := range tokens {
		switch t.kind {
		case stray:
			clean = false
			// Bytes that are no characters are reported once for the whole text.
			if first, size := utf8.DecodeRuneInString(t.text); first != utf8.RuneError || size > 1 {
				r.report.add(errorCharacter(c, t))
			}
		case keyword:
			clean = false
			r.draft.faulty[clauseOf(t.text)] = true
			r.report.add(errorReservedWord(t))
		}
	}
	return clean
}

// leaveOut notes that an entry is not in the draft.
func (r *reader) leaveOut(c clause, tokens []token) {
	r.draft.doubtEntry(c, tokens)
	if r.outside != nil {
		*r.outside = appendLeftOut(*r.outside, c, tokens)
	}
}

func (r *reader) readRoles(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.roles.parse(tokens)
	if ok {
		r.draft.roles = append(r.draft.roles, namesOf(parsed.Roles, tokens)...)
	}
	return ok, failedAt
}

func (r *reader) readWhat(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.what.parse(tokens)
	if !ok {
		return false, failedAt
	}
	for _, c := range parsed.Conjuncts {
		conjunct := draftConjunct{alternatives: make([]name, len(c.Alternatives))}
		last := 0
		for i, a := range c.Alternatives {
			conjunct.alternatives[i] = nameOf(a.Name, tokens)
			last = a.Name.Pos.Offset
			if a.Key {
				conjunct.keys++
				last++
			}
		}
		conjunct.span = Span{Start: conjunct.alternatives[0].start, End: tokens[last].end()}
		r.draft.what = append(r.draft.what, conjunct)
	}
	return true, 0
}

func (r *reader) readAction(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.action.parse(tokens)
	if !ok {
		return false, failedAt
	}
	action := draftAction{
		role: nameOf(parsed.Role, tokens), name: nameOf(parsed.Name, tokens), attributes: namesOf(parsed.Attributes, tokens),
	}
	action.span = Span{Start: action.name.start, End: tokens[parsed.Closing.Pos.Offset].end()}
	r.draft.actions = append(r.draft.actions, action)
	return true, 0
}

func (r *reader) readSayso(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.sayso.parse(tokens)
	if ok {
		r.draft.saysos = append(r.draft.saysos, draftSayso{
			roles: namesOf(parsed.Roles, tokens), attributes: namesOf(parsed.Attributes, tokens),
		})
	}
	return ok, failedAt
}

func (r *reader) readNono(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.nono.parse(tokens)
	if ok {
		r.draft.nonos = append(r.draft.nonos, draftNono{actions: namesOf(parsed.Actions, tokens), span: spanOf(tokens)})
	}
	return ok, failedAt
}

func (r *reader) readNogo(tokens []token) (bool, int) {
	parsed, failedAt, ok := r.nogo.parse(tokens)
	if ok {
		r.draft.nogos = append(r.draft.nogos, draftNogo{
			first: nameOf(parsed.First, tokens), then: nameOf(parsed.Then, tokens), span: spanOf(tokens),
		})
	}
	return ok, failedAt
}

// spanOf is the stretch from the first to the last of the tokens, of which there is one at least.
func spanOf(tokens []token) Span {
	return Span{Start: tokens[0].start, End: tokens[len(tokens)-1].end()}
}
