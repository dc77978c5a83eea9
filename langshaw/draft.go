package langshaw

// draft holds the entries of a text that have the shape of an entry, as written: names may be unknown, of the wrong
// kind or given twice. The static rules turn it into declarations.
type draft struct {
	name     name
	roles    []name
	what     []draftConjunct
	actions  []draftAction
	saysos   []draftSayso
	nonos    []draftNono
	nogos    []draftNogo
	keywords [clauseCount]token
	// faulty tells which clauses have an entry that was left out.
	faulty [clauseCount]bool
	// doubtful are the words of entries that were left out, by clause. What such an entry would have declared is
	// unknown, so nothing is reported that might only follow from its absence.
	doubtful [clauseCount]map[string]bool
}

type draftConjunct struct {
	alternatives []name
	// keys tells how many of the alternatives are marked as keys.
	keys int
	span Span
	// kept tells that it is in the model.
	kept bool
}

type draftAction struct {
	role, name name
	attributes []name
	span       Span
	// kept tells that it is in the model.
	kept bool
}

type draftSayso struct {
	roles, attributes []name
}

type draftNono struct {
	actions []name
	span    Span
}

type draftNogo struct {
	first, then name
	span        Span
}

// doubt notes a word of an entry that is left out.
func (d *draft) doubt(c clause, words ...string) {
	d.faulty[c] = true
	if d.doubtful[c] == nil {
		d.doubtful[c] = make(map[string]bool)
	}
	for _, w := range words {
		d.doubtful[c][w] = true
	}
}

func (d *draft) doubtEntry(c clause, tokens []token) {
	d.faulty[c] = true
	for _, t := range tokens {
		if t.kind == word {
			d.doubt(c, t.text)
		}
	}
}
