package langshaw

// addEntries adds the entries of a clause whose keyword has just been added.
func (l *layout) addEntries(p part) {
	l.first = true
	if p.clause == who || p.clause == what {
		// All that one of these lists is one entry.
		for _, tokens := range p.entries {
			l.addList(p.clause, tokens)
		}
	} else {
		l.addTrailing(l.takeTrailing(p.keyword.start))
		for _, tokens := range p.entries {
			l.addComments(entryIndent, l.before(tokens[0].start.Offset))
			l.addEntry(l.takeEntry(p.clause, tokens))
		}
	}
	l.first = false
}

// addList adds what who or what lists: on the line of the keyword if it can stand there, otherwise below it.
func (l *layout) addList(c clause, tokens []token) {
	above := l.addTrailing(l.before(tokens[0].start.Offset))
	keyword := &l.lines[len(l.lines)-1]
	e := l.takeEntry(c, tokens)
	flat := keyword.code + " " + spell(tokens)
	if len(above) > 0 || keyword.comment != "" || e.isCommented(0) || cells.StringWidth(flat) > FormatWidth {
		l.addComments(entryIndent, above)
		e.breakList()
		l.addEntry(e)
		return
	}
	keyword.code = flat
	l.sourceLine = max(l.sourceLine, tokens[len(tokens)-1].start.Line)
	l.first = false
	l.addComments(entryIndent, l.addTrailing(e.after[len(tokens)-1]))
}

// laidEntry is an entry with its comments.
type laidEntry struct {
	clause clause
	tokens []token
	// after has the comments after each token; those after the last stand on its line.
	after [][]token
	// breaks tells after which tokens a line ends.
	breaks []bool
}

// takeEntry takes the comments of an entry. A comment moves behind a mark or key that follows it, so that a line can end
// where it stands; for no line begins with those.
func (l *layout) takeEntry(c clause, tokens []token) *laidEntry {
	last := len(tokens) - 1
	e := &laidEntry{clause: c, tokens: tokens, after: make([][]token, len(tokens)), breaks: make([]bool, len(tokens))}
	for i := range tokens {
		var comments []token
		if i < last {
			comments = l.before(tokens[i+1].start.Offset)
		} else {
			comments = l.takeTrailing(tokens[i].start)
		}
		e.after[i] = append(e.after[i], comments...)
		if i < last && tokens[i+1].kind != word && tokens[i+1].kind != closing {
			e.after[i], e.after[i+1] = nil, e.after[i]
		}
		e.breaks[i] = i < last && len(e.after[i]) > 0
	}
	return e
}

// isCommented tells whether there are comments inside the entry, from a token on.
func (e *laidEntry) isCommented(from int) bool {
	for _, b := range e.breaks[from:] {
		if b {
			return true
		}
	}
	return false
}

// list gives the place of the token after which the list of the entry begins.
func (e *laidEntry) list() int {
	for i, t := range e.tokens {
		if e.clause == do && t.kind == opening || e.clause == sayso && t.kind == colon {
			return i
		}
	}
	return 0
}

// breakList ends a line where an item of the list ends, and in what is still too wide also within.
func (e *laidEntry) breakList() {
	from := e.list()
	for i, t := range e.tokens[:len(e.tokens)-1] {
		next := e.tokens[i+1].kind
		switch {
		case i < from || t.kind == opening && next == closing:
		case t.kind == comma, t.kind == opening, e.clause == sayso && t.kind == colon, next == closing:
			e.breaks[i] = true
		}
	}
	for from := 0; from < len(e.tokens); {
		to := e.lineEnd(from)
		if e.indent(from)+cells.StringWidth(spell(e.tokens[from:to])) > FormatWidth {
			for i := from; i < to-1; i++ {
				e.breaks[i] = e.tokens[i].kind == orMark || e.tokens[i].kind == greater
			}
		}
		from = to
	}
}

// lineEnd gives the place behind the last token of the line that begins with a token.
func (e *laidEntry) lineEnd(from int) int {
	for i := from; i < len(e.tokens)-1; i++ {
		if e.breaks[i] {
			return i + 1
		}
	}
	return len(e.tokens)
}

// indent says how far a line is indented that begins with a token.
func (e *laidEntry) indent(first int) int {
	switch {
	case first == 0, first < len(e.tokens) && e.tokens[first].kind == closing,
		e.clause == who, e.clause == what && e.tokens[first-1].kind == comma:
		return entryIndent
	default:
		return 2 * entryIndent
	}
}

// addEntry adds an entry, on one line if it can stand there.
func (l *layout) addEntry(e *laidEntry) {
	switch e.clause {
	case do, sayso:
		if e.isCommented(e.list()) || entryIndent+cells.StringWidth(spell(e.tokens)) > FormatWidth {
			e.breakList()
		}
	}
	for from := 0; from < len(e.tokens); {
		to := e.lineEnd(from)
		l.add(e.indent(from), spell(e.tokens[from:to]), e.tokens[from].start.Line)
		l.sourceLine = max(l.sourceLine, e.tokens[to-1].start.Line)
		rest := l.addTrailing(e.after[to-1])
		switch l.inside = to < len(e.tokens); {
		case !l.inside:
			l.addComments(entryIndent, rest)
		case e.tokens[to].kind == closing:
			l.addComments(2*entryIndent, rest)
		default:
			l.addComments(e.indent(to), rest)
		}
		from = to
	}
}
