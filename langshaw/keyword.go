package langshaw

// misspelt gives the clause that a word at the start of a line was probably meant to open, or noClause. It finds one
// only where the word fits no entry, so that no good text is read differently; without it, one wrong letter in a
// keyword would be reported once for each entry of the clause.
func (c *cutter) misspelt(t token) clause {
	if t.kind != word || !t.first || c.inside || c.goesOn() {
		return noClause
	}
	meant := clauseOf(nearestKeyword(t.text))
	if meant == noClause || c.fits(c.lookAhead()) {
		return noClause
	}
	return meant
}

// goesOn tells whether the entry so far ends in something that a name must follow, on this line or the next.
func (c *cutter) goesOn() bool {
	if len(c.entry) == 0 {
		return false
	}
	switch c.entry[len(c.entry)-1].kind {
	case comma, colon, greater, arrow, opening, orMark:
		return true
	default:
		return false
	}
}

// lookAhead gives the tokens that come next, line ends left out.
func (c *cutter) lookAhead() [3]token {
	ahead := *c.scanner
	ahead.comment = nil
	var next [3]token
	for i := range next {
		next[i] = ahead.next()
		for next[i].kind == lineEnd {
			next[i] = ahead.next()
		}
		next[i].first = next[i].first || next[i].kind == endOfText
	}
	return next
}

// fits tells whether a word at the start of a line may begin an entry of the clause that is open or go on with one,
// by what comes after it, or at least looks so much like a flawed one that it should be reported as such.
func (c *cutter) fits(next [3]token) bool {
	alone := next[0].first
	heading := !alone && next[0].kind == colon && next[1].first
	sentence := !alone && next[0].kind == word && next[1].kind != opening && next[1].kind != colon
	switch c.clause {
	case noClause:
		return false
	case who, what:
		return len(c.entry) == 0 || !alone && !heading && !sentence
	case do:
		switch {
		case alone:
			return next[0].kind == colon
		case heading:
			return next[1].kind == word && next[2].kind == opening
		default:
			return !sentence
		}
	case sayso:
		switch {
		case alone:
			return next[0].kind == colon || next[0].kind == greater
		case heading:
			return next[1].kind != word || next[2].first || next[2].kind == comma
		default:
			return !sentence
		}
	default:
		return !alone && !heading
	}
}
