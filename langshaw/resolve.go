package langshaw

import (
	"slices"
	"strings"
)

// symbol is what is known of one name.
type symbol struct {
	text string
	// mentioned is where the name first stands as an attribute or an action.
	mentioned Position
	// The lines where the name is first declared as a role, an action and a key, and where the sayso over it stands;
	// 0 if nowhere. A declaration counts also when its entry is left out for another fault.
	roleLine, actionLine, keyLine, saysoLine int
	// roleSeen and actionSeen tell that the first declaration has been checked, so that the next is one too many.
	roleSeen, actionSeen bool
	// kept tells that the action is in the model.
	kept bool
	// carried tells that an action carries it, also one that is left out.
	carried bool
	// ranked is the sayso over it that is in the model, if any.
	ranked *ranked
	// mistaken tells that an action carries it, or would if it were written right, whose role or attributes are not
	// known well enough to say that none does.
	mistaken bool
	// entry is the last entry that was checked for names that stand in it twice, and holds this one.
	entry int
	// reported lists what has been reported of the name, so that it is said once.
	reported []Code
}

func (s *symbol) isRole() bool   { return s.roleLine > 0 }
func (s *symbol) isAction() bool { return s.actionLine > 0 }
func (s *symbol) isKey() bool    { return s.keyLine > 0 }

// resolver applies the static rules (semantics section 2) to a draft. It reports what breaks them, and gives the
// declarations that do not.
type resolver struct {
	draft   *draft
	report  *report
	symbols map[string]*symbol
	// order lists the symbols as they come.
	order     []*symbol
	suggester *suggester
	kinds     [kindCount]*candidates
	// out collects what goes into the model.
	out declarations
	// keyed tells that some key is declared, also one whose entry is left out.
	keyed bool
	// keys counts the keys that are in the model.
	keys int
	// dropped tells in which clauses an entry of the draft, or of the text before it, is left out.
	dropped [clauseCount]bool
	// entry counts the entries that are checked for names that stand in them twice.
	entry int
	// ranked are the saysos in the model.
	ranked []*ranked
}

// ranked is the sayso over one attribute.
type ranked struct {
	*ranking
	names     []name
	attribute name
	// used are the ranks of the roles of which an action carries the attribute: as bits up to 64, usedMore the others.
	// There may be many roles and many attributes in one entry, so there is no place for each pair of them.
	used     uint64
	usedMore map[int]bool
}

func (r *ranked) use(rank int) {
	switch {
	case rank < 64:
		r.used |= 1 << rank
	case r.usedMore == nil:
		r.usedMore = map[int]bool{rank: true}
	default:
		r.usedMore[rank] = true
	}
}

func (r *ranked) isUsed(rank int) bool {
	if rank < 64 {
		return r.used&(1<<rank) != 0
	}
	return r.usedMore[rank]
}

// resolve builds the model of what is right in a draft, and tells the report what is wrong and what is odd.
func resolve(d *draft, found *report) *Protocol {
	r := &resolver{
		draft: d, report: found, symbols: make(map[string]*symbol), suggester: newSuggester(),
		dropped: d.faulty,
	}
	r.out.name = strings.ToValidUTF8(d.name.text, "\ufffd")
	r.declare()
	r.checkRoles()
	r.checkWhat()
	r.checkActions()
	r.checkSaysos()
	r.checkConflicts()
	r.checkMissing()
	r.warn()
	r.out.span = func(text string) Span { return name{text, r.symbols[text].mentioned}.span() }
	p := newProtocol(r.out)
	if !r.dropped[do] && !r.dropped[what] {
		warnOfKeys(p, found)
	}
	return p
}

func (r *resolver) symbol(text string) *symbol {
	s, ok := r.symbols[text]
	if !ok {
		s = &symbol{text: text}
		r.symbols[text] = s
		r.order = append(r.order, s)
	}
	return s
}

// mention notes a name that stands as an attribute.
func (r *resolver) mention(n name) *symbol {
	s := r.symbol(n.text)
	if s.mentioned.Line == 0 || n.start.Offset < s.mentioned.Offset {
		s.mentioned = n.start
	}
	return s
}

// declare notes what all entries declare before any is checked, since clauses come in any order.
func (r *resolver) declare() {
	for _, n := range r.draft.roles {
		declareAt(&r.symbol(n.text).roleLine, n)
	}
	for _, c := range r.draft.what {
		for _, n := range c.alternatives {
			s := r.mention(n)
			if c.keys > 0 {
				declareAt(&s.keyLine, n)
				r.keyed = true
			}
		}
	}
	for _, a := range r.draft.actions {
		s := r.mention(a.name)
		s.carried = true
		declareAt(&s.actionLine, a.name)
		for _, n := range a.attributes {
			r.mention(n).carried = true
		}
	}
	for _, entry := range r.draft.saysos {
		for _, n := range entry.attributes {
			r.mention(n)
		}
	}
}

// declareAt keeps the line of the first declaration. Names come in the order of the text.
func declareAt(line *int, n name) {
	if *line == 0 {
		*line = n.start.Line
	}
}

// once reports an error about a name, unless the same was reported of it before.
func (r *resolver) once(s *symbol, d Diagnostic) {
	if !slices.Contains(s.reported, d.Code) {
		s.reported = append(s.reported, d.Code)
		r.report.add(d)
	}
}

// isAgain tells whether the name was given to it before since the entry began.
func (r *resolver) isAgain(s *symbol) bool {
	again := s.entry == r.entry
	s.entry = r.entry
	return again
}

// isDoubtful tells whether the name stands in an entry of the clause that is left out: it may be declared there.
func (r *resolver) isDoubtful(c clause, text string) bool { return r.draft.doubtful[c][text] }

// leaveOut notes that an entry of the draft does not come into the model.
func (r *resolver) leaveOut(c clause) { r.dropped[c] = true }

func textsOf(names []name) []string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.text
	}
	return texts
}
