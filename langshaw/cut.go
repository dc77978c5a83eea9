package langshaw

// entryTokens is the most tokens that one entry may have. It bounds the memory that reading takes at a time.
const entryTokens = 1 << 16

// cutter cuts the tokens of a text into entries and hands each to read. It needs no grammar, only what the start of
// an entry looks like, so that a mistake in one entry does not reach the next.
type cutter struct {
	scanner *scanner
	// open is told of each clause keyword, read is given each entry of the clause that is open. The tokens are valid
	// during the call only.
	open func(keyword token)
	read func(c clause, tokens []token, tooLong bool)

	clause  clause
	entry   []token
	tooLong bool
	// inside tells that a parenthesis is open, in do.
	inside bool
	// ranked tells that the sayso entry has had its colon.
	ranked bool
	// bare tells that the token before is the keyword of the clause, so that a colon may follow it.
	bare bool
}

// run cuts until the end of the text.
func (c *cutter) run() {
	for {
		t := c.scanner.next()
		if t.kind == endOfText {
			c.flush()
			return
		}
		c.take(t)
	}
}

func (c *cutter) take(t token) {
	bare := c.bare
	c.bare = false
	switch {
	case t.kind == lineEnd:
		c.endLine()
	case t.kind == colon && bare:
	case t.kind == keyword && !c.isMisplaced(t):
		c.flush()
		c.clause = clauseOf(t.text)
		c.bare = true
		c.open(t)
	default:
		c.add(t)
	}
}

// isMisplaced tells whether a keyword stands where only a name can: then it is no clause, but a name badly chosen.
func (c *cutter) isMisplaced(t token) bool {
	if t.first || len(c.entry) == 0 {
		return false
	}
	if c.inside {
		return true
	}
	switch c.entry[len(c.entry)-1].kind {
	case comma, colon, greater, arrow, opening, orMark:
		return true
	default:
		return false
	}
}

// endLine ends entries of clauses where a line is an entry. In do an entry goes on until its parenthesis is closed,
// in the other clauses until something that starts an entry.
func (c *cutter) endLine() {
	switch c.clause {
	case nono, nogo:
		c.flush()
	}
}

func (c *cutter) add(t token) {
	switch c.clause {
	case what:
		t.kind = whatKind(t)
	case do:
		c.addToDo(t)
		return
	case sayso:
		c.cutSayso(t)
	}
	c.push(t)
}

// whatKind makes the words that have a meaning inside what only into the tokens that they are there.
func whatKind(t token) kind {
	switch {
	case t.kind == word && t.text == "or":
		return orMark
	case t.kind == word && t.text == "key":
		return keyMark
	default:
		return t.kind
	}
}

// addToDo ends an action at the parenthesis that closes it, and begins one at the word before a colon, even when
// the parenthesis before was never closed, and at a line that cannot go on with what the line before has.
func (c *cutter) addToDo(t token) {
	switch {
	case t.kind == colon:
		c.cutBeforeLast()
	case t.kind == word && t.first && !c.inside && len(c.entry) > 0 && c.entry[len(c.entry)-1].kind != colon:
		c.flush()
	}
	c.push(t)
	switch t.kind {
	case opening:
		c.inside = true
	case closing:
		c.flush()
	}
}

// cutSayso begins an entry where two words meet, and at the word before a second ranking.
func (c *cutter) cutSayso(t token) {
	switch t.kind {
	case word:
		if last := len(c.entry) - 1; last >= 0 && c.entry[last].kind == word {
			c.flush()
		}
	case colon, greater:
		if c.ranked {
			c.cutBeforeLast()
		}
		c.ranked = c.ranked || t.kind == colon
	}
}

// cutBeforeLast ends the entry before its last word, which begins the next.
func (c *cutter) cutBeforeLast() {
	last := len(c.entry) - 1
	if last < 1 || c.entry[last].kind != word {
		return
	}
	first := c.entry[last]
	c.entry = c.entry[:last]
	c.flush()
	c.push(first)
}

func (c *cutter) push(t token) {
	if len(c.entry) == entryTokens {
		c.tooLong = true
		c.entry = c.entry[:1]
	}
	c.entry = append(c.entry, t)
}

func (c *cutter) flush() {
	if len(c.entry) > 0 {
		c.read(c.clause, c.entry, c.tooLong)
	}
	c.entry, c.tooLong, c.inside, c.ranked = c.entry[:0], false, false, false
}
