package langshaw

// entryTokens is the most tokens that one entry may have. It bounds the memory that reading takes at a time.
const entryTokens = 1 << 16

// taker takes what a cutter cuts: a reader, or the outline of a text that is to be formatted.
type taker interface {
	// isFull tells that no more need be cut.
	isFull() bool
	// open takes the keyword that opens a clause, openMisspelt a word that stands where a keyword was meant.
	open(keyword token)
	openMisspelt(t token, meant clause)
	// read takes one entry, whose tokens are valid during the call only.
	read(c clause, tokens []token, tooLong bool)
}

// cutter cuts the tokens of a text into entries and hands each to a taker. It needs no grammar, only what the start
// of an entry looks like, so that a mistake in one entry does not reach the next.
type cutter struct {
	scanner *scanner
	taker   taker

	// clause is the one that is open, entry what has been found of its entry so far. The tokens are reused.
	clause clause
	entry  []token
	// tooLong tells that the entry has lost tokens.
	tooLong bool
	// inside tells that a parenthesis is open, in do.
	inside bool
	// ranked tells that a sayso entry has had its colon.
	ranked bool
	// bare tells that the token before is the keyword of the clause, so that a colon may follow it.
	bare bool
}

// newReading makes a cutter that has taken the name of the protocol, and the reader to which it hands the entries.
func newReading(text []byte, found *report) (*cutter, *reader) {
	r := newReader(found)
	c := &cutter{scanner: newScanner(string(text)), taker: r}
	r.draft.name = c.scanner.title()
	return c, r
}

// run cuts until the end of the text, or until there is more to say than can be said.
func (c *cutter) run() {
	if c.runOpen() {
		c.flush()
	}
}

// runOpen is run, but leaves the last entry open. It tells whether it got to the end of the text.
func (c *cutter) runOpen() bool {
	for !c.taker.isFull() {
		t := c.scanner.next()
		if t.kind == endOfText {
			return true
		}
		c.take(t)
	}
	return false
}

func (c *cutter) take(t token) {
	bare := c.bare
	c.bare = false
	switch {
	case t.kind == lineEnd:
		c.endLine()
	case t.kind == colon && bare:
	case t.kind == keyword && !c.isMisplaced(t):
		c.openClause(clauseOf(t.text))
		c.taker.open(t)
	default:
		if meant := c.misspelt(t); meant != noClause {
			c.openClause(meant)
			c.taker.openMisspelt(t, meant)
			return
		}
		c.add(t)
	}
}

func (c *cutter) openClause(opened clause) {
	c.flush()
	c.clause = opened
	c.bare = true
}

// isMisplaced tells whether a keyword stands where only a name can: then it opens no clause, but is a name badly
// chosen. In a list, a keyword after a comma with a name after it is no name: there is a comma too many.
func (c *cutter) isMisplaced(t token) bool {
	switch {
	case t.first || !c.inside && !c.goesOn():
		return false
	case c.clause == who || c.clause == what:
		return c.entry[len(c.entry)-1].kind != comma || kindInWhat(c.lookAhead()[0]) != word
	default:
		return true
	}
}

// endLine ends entries where a line is one. In the other clauses entries go on until the next one starts.
func (c *cutter) endLine() {
	if c.clause == nono || c.clause == nogo {
		c.flush()
	}
}

func (c *cutter) add(t token) {
	switch c.clause {
	case what:
		t.kind = kindInWhat(t)
	case do:
		c.cutDo(t)
	case sayso:
		c.cutSayso(t)
	}
	c.push(t)
	if c.clause != do {
		return
	}
	switch t.kind {
	case opening:
		c.inside = true
	case closing:
		c.flush()
	}
}

// kindInWhat turns the words that have a meaning inside what only into the tokens that they are there.
func kindInWhat(t token) kind {
	switch {
	case t.kind == word && t.text == "or":
		return orMark
	case t.kind == word && t.text == "key":
		return keyMark
	default:
		return t.kind
	}
}

// cutDo begins an action at the word before a colon, and at a line that cannot go on with what the line before has. If
// a parenthesis was never closed, it begins one at a line that starts like one. (An action also ends where its
// parenthesis is closed.)
func (c *cutter) cutDo(t token) {
	last := len(c.entry) - 1
	switch {
	case t.kind == colon:
		// A ranking is a sayso in the wrong place, and one mistake; so is an attribute with a type.
		if last > 0 && c.entry[last-1].kind != greater && (!c.inside || c.entry[last].first) {
			c.cutBeforeLast()
		}
	case t.kind == word && t.first && !c.inside && last >= 0 && !c.goesOn():
		c.flush()
	}
}

// cutSayso begins an entry where two words meet, at a line that cannot go on with what the line before has, and at
// the word before a second ranking.
func (c *cutter) cutSayso(t token) {
	last := len(c.entry) - 1
	switch {
	case t.kind == word && last >= 0 && (c.entry[last].kind == word || t.first && !c.goesOn()):
		c.flush()
	case c.ranked && (t.kind == colon || t.kind == greater):
		if t.first {
			c.flush()
		}
		c.cutBeforeLast()
	}
	c.ranked = c.ranked || t.kind == colon
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
		c.taker.read(c.clause, c.entry, c.tooLong)
	}
	c.entry, c.tooLong, c.inside, c.ranked = c.entry[:0], false, false, false
}
