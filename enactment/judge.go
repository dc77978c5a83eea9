package enactment

import "fmt"

// Judge decides attempts that stand against each other in one window, given in order of arrival, as batch finalisation
// does (semantics section 5). Immediate finalisation is a window of one. It returns what happens, in order of arrival,
// and an outcome for each attempt; it changes nothing, so the caller appends the finalisation to the log and then
// calls [State.Apply]. Nothing happened when the finalisation has no instances.
//
// Judge is the only code that accepts or refuses. It reads ids but remembers none: see [Answers] for attempts that
// arrive again.
func Judge(s *State, window ...Attempt) (Finalisation, []Outcome) {
	f := Finalisation{Sequence: s.sequence + 1}
	outcomes := make([]Outcome, len(window))
	if len(window) == 1 {
		c, rejection := s.check(&window[0])
		if rejection != nil {
			outcomes[0] = Outcome{Rejection: rejection, Sequence: s.sequence}
			return Finalisation{Sequence: f.Sequence}, outcomes
		}
		f.Instances = []Instance{c.instance()}
		outcomes[0] = Outcome{Instance: f.Instances[0], Sequence: f.Sequence}
	} else {
		f.Instances = s.judgeWindow(window, outcomes)
		for i := range outcomes {
			outcomes[i].Sequence = f.Sequence
			if len(f.Instances) == 0 {
				outcomes[i].Sequence = s.sequence
			}
		}
	}
	f.Completed = s.completes(f.Instances)
	return f, outcomes
}

// judgeWindow fills in the outcomes and returns the instances that happen together.
func (s *State) judgeWindow(window []Attempt, outcomes []Outcome) []Instance {
	w := contest{}
	var place []int // of each candidate in the window
	for i := range window {
		c, rejection := s.check(&window[i])
		if rejection != nil {
			outcomes[i].Rejection = rejection
			continue
		}
		w.candidates = append(w.candidates, c)
		place = append(place, i)
	}
	w.settle()
	var happen []Instance
	for n := range w.candidates {
		if w.refused[n] != nil {
			outcomes[place[n]].Rejection = w.refused[n]
			continue
		}
		outcomes[place[n]].Instance = w.candidates[n].instance()
		happen = append(happen, outcomes[place[n]].Instance)
	}
	return happen
}

// contest is a window of candidates, each of which could happen alone.
type contest struct {
	candidates []candidate
	refused    []*Rejection
	// dominated lists for each candidate those that it dominates; dominators counts the undecided ones that dominate it.
	dominated  [][]int
	dominators []int
	decided    []bool
	kept       []int
}

// settle decides all candidates: of those not yet decided it takes the earliest that no undecided one dominates or, if
// there is none, the earliest in a cycle of domination that nothing outside dominates; and keeps it unless something
// that is kept stands against it.
func (w *contest) settle() {
	n := len(w.candidates)
	w.refused, w.dominated = make([]*Rejection, n), make([][]int, n)
	w.dominators, w.decided = make([]int, n), make([]bool, n)
	for a := range w.candidates {
		for b := range w.candidates {
			if _, over := dominates(&w.candidates[a], &w.candidates[b]); over {
				w.dominated[a] = append(w.dominated[a], b)
				w.dominators[b]++
			}
		}
	}
	for earliest, left := 0, n; left > 0; {
		next := -1
		for i := earliest; i < n && next < 0; i++ {
			if !w.decided[i] && w.dominators[i] == 0 {
				next = i
			}
		}
		if next < 0 {
			next = w.earliestInSource()
		}
		left -= w.decide(next)
		for earliest < n && w.decided[earliest] {
			earliest++
		}
	}
}

// decide keeps or refuses one candidate, and with a kept one refuses those that it dominates. It returns how many were
// decided.
func (w *contest) decide(next int) int {
	w.settled(next)
	if w.refused[next] = w.against(next); w.refused[next] != nil {
		return 1
	}
	count := 1
	w.kept = append(w.kept, next)
	for _, other := range w.dominated[next] {
		if !w.decided[other] {
			w.refused[other] = dominatedBy(&w.candidates[other], &w.candidates[next])
			w.settled(other)
			count++
		}
	}
	return count
}

func (w *contest) settled(candidate int) {
	w.decided[candidate] = true
	for _, other := range w.dominated[candidate] {
		w.dominators[other]--
	}
}

// dominatedBy refuses one of two candidates of which one dominates the other.
func dominatedBy(c, by *candidate) *Rejection {
	attribute, over := dominates(by, c)
	detail := "%s of %s binds %s with higher authority"
	if !over {
		// In a cycle of domination one has to be kept that is dominated itself.
		attribute, _ = dominates(c, by)
		detail = "%s of %s came first in a cycle of authority and binds %s"
	}
	return &Rejection{
		Code: Dominated, Attribute: attribute, By: by.rule.role, Beside: true,
		Detail: fmt.Sprintf(detail, by.rule.name, by.rule.role, attribute),
	}
}

// against says why a candidate may not happen beside those that are kept; nil if it may. Of several reasons it gives
// the first in the order of semantics section 5.
func (w *contest) against(next int) *Rejection {
	c := &w.candidates[next]
	var first *Rejection
	weight := len(besideOrder)
	for _, k := range w.kept {
		rejection := beside(c, &w.candidates[k])
		if rejection != nil {
			rejection.Beside = true
		}
		if rejection != nil && besideOrder[rejection.Code] < weight {
			first, weight = rejection, besideOrder[rejection.Code]
		}
	}
	return first
}

// besideOrder ranks the reasons for which two candidates of one window cannot both happen.
var besideOrder = map[Code]int{WrongParty: 0, AlreadyHappened: 1, BoundDifferently: 2, Excluded: 3, Blocked: 4, Dominated: 5}

// beside says why a candidate may not happen together with one that is kept.
func beside(c, kept *candidate) *Rejection {
	if role := seatContested(c, kept); role != "" {
		return &Rejection{Code: WrongParty, Attribute: role, Detail: fmt.Sprintf("another party takes the part of %s in this enactment", role)}
	}
	if c.rule == kept.rule && sameAt(c, kept, c.rule.happened.positions, c.rule.happened.positions) {
		return alreadyHappened(c.rule)
	}
	for at := range c.rule.parameters {
		p := &c.rule.parameters[at]
		if other, ok := kept.rule.position[p.name]; ok && p.attribute != nil && c.fresh[at] &&
			!c.values[at].Equal(kept.values[other]) && sameAt(c, kept, p.scope, kept.rule.parameters[other].scope) {
			return boundDifferently(p.name)
		}
	}
	for _, other := range c.rule.exclusions {
		if other.with == kept.rule && agree(c, kept) {
			return excluded(c.rule, kept.rule)
		}
	}
	if c.rule.role == kept.rule.role && agree(c, kept) {
		switch {
		case nogo(kept.rule, c.rule):
			return blocked(c.rule, kept.rule)
		case nogo(c.rule, kept.rule):
			return &Rejection{Code: Blocked, By: kept.rule.name, Detail: fmt.Sprintf(
				"%s goes before, and %s in the same window would have stopped it", kept.rule.name, c.rule.name)}
		}
	}
	_, over := dominates(c, kept)
	_, under := dominates(kept, c)
	if over || under {
		return dominatedBy(c, kept)
	}
	return nil
}

func nogo(first, then *actionRule) bool {
	for _, other := range then.blocks {
		if other.with == first {
			return true
		}
	}
	return false
}

// seatContested gives a role of which the two candidates say that different parties play it. Both pass against the
// state before the window, so each such role is open there.
func seatContested(c, kept *candidate) string {
	if c.rule.role == kept.rule.role && c.attempt.Party != kept.attempt.Party {
		return c.rule.role
	}
	contested := func(role, party string, other *candidate) bool {
		if role == other.rule.role && party != other.attempt.Party {
			return true
		}
		named, ok := other.attempt.Parties[role]
		return ok && named != party
	}
	worst := ""
	for role, party := range c.attempt.Parties {
		if contested(role, party, kept) && (worst == "" || role < worst) {
			worst = role
		}
	}
	if worst == "" && contested(c.rule.role, c.attempt.Party, kept) {
		worst = c.rule.role
	}
	return worst
}

// dominates tells whether a has authority over b: the roles differ, and both would bind an attribute, in the same
// scope, over which a's role ranks before b's. It gives the first such attribute.
func dominates(a, b *candidate) (attribute string, over bool) {
	if a.rule.role == b.rule.role {
		return "", false
	}
	for at := range a.rule.parameters {
		if !a.fresh[at] || a.rule.parameters[at].attribute == nil {
			continue
		}
		mine := &a.rule.parameters[at]
		other, ok := b.rule.position[mine.name]
		if !ok || !b.fresh[other] {
			continue
		}
		yours := &b.rule.parameters[other]
		_, ranked := mine.attribute.Rank(a.rule.role)
		if ranked && mine.rank < yours.rank && sameAt(a, b, mine.scope, yours.scope) {
			return mine.name, true
		}
	}
	return "", false
}

// agree tells whether two candidates have the same value for every key that both carry.
func agree(a, b *candidate) bool {
	for _, at := range a.rule.residual {
		if other, ok := b.rule.position[a.rule.parameters[at].name]; ok && !a.values[at].Equal(b.values[other]) {
			return false
		}
	}
	return true
}

// sameAt tells whether two candidates have equal values at the positions given for each.
func sameAt(a, b *candidate, mine, yours []int) bool {
	for i := range mine {
		if !a.values[mine[i]].Equal(b.values[yours[i]]) {
			return false
		}
	}
	return true
}
