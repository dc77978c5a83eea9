package enactment_test

import (
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// contender is an attempt of a window that could happen alone.
type contender struct {
	fact
	fresh []string // the attributes that it would bind
}

func (o *oracle) contenderOf(a enactment.Attempt) contender {
	c := contender{fact: o.candidateOf(a)}
	for _, name := range c.action.carries {
		if _, known := o.known(name, c.fact); !known && !o.isAction(name) {
			c.fresh = append(c.fresh, name)
		}
	}
	return c
}

// dominators gives the attributes over which a has the authority against b (semantics section 5).
func (o *oracle) dominates(a, b contender) bool {
	if a.action.role == b.action.role {
		return false
	}
	for _, name := range a.fresh {
		mine, yours := o.rank(a.action.role, name), o.rank(b.action.role, name)
		if slices.Contains(b.fresh, name) && sameOn(o.scope(name), a.fact, b.fact) && mine >= 0 && mine < yours {
			return true
		}
	}
	return false
}

// judge finalises a window: the refusals by place in the window, without a code for what is kept.
func (o *oracle) judge(window []enactment.Attempt) []refusal {
	answers := make([]refusal, len(window))
	contenders := make(map[int]contender)
	var undecided, kept []int
	for i, a := range window {
		if answers[i] = o.refuse(a); answers[i].code == "" {
			contenders[i] = o.contenderOf(a)
			undecided = append(undecided, i)
		}
	}
	dominates := func(a, b int) bool { return o.dominates(contenders[a], contenders[b]) }
	for len(undecided) > 0 {
		next := earliest(undecided, dominates)
		undecided = slices.DeleteFunc(undecided, func(i int) bool { return i == next })
		if answers[next] = o.beside(contenders[next], kept, contenders); answers[next].code != "" {
			continue
		}
		kept = append(kept, next)
		undecided = slices.DeleteFunc(undecided, func(i int) bool {
			if !dominates(next, i) {
				return false
			}
			answers[i] = refusal{enactment.Dominated, []string{contenders[next].action.role}}
			return true
		})
	}
	return answers
}

// earliest gives the earliest that no other dominates or, if there is none, the earliest in a cycle that nothing
// outside dominates: one that leads back to each that leads to it.
func earliest(undecided []int, dominates func(a, b int) bool) int {
	for _, i := range undecided {
		if !slices.ContainsFunc(undecided, func(other int) bool { return dominates(other, i) }) {
			return i
		}
	}
	for _, i := range undecided {
		fromHere := reached(i, undecided, dominates)
		inSource := true
		for _, other := range undecided {
			leadsHere := slices.Contains(reached(other, undecided, dominates), i)
			inSource = inSource && (!leadsHere || slices.Contains(fromHere, other))
		}
		if inSource {
			return i
		}
	}
	panic("no source")
}

// reached lists what domination leads to from one, in one step or more.
func reached(from int, among []int, dominates func(a, b int) bool) []int {
	var found []int
	for left := []int{from}; len(left) > 0; left = left[1:] {
		for _, next := range among {
			if dominates(left[0], next) && !slices.Contains(found, next) {
				found = append(found, next)
				left = append(left, next)
			}
		}
	}
	return found
}

// beside gives the first reason for which a contender may not happen together with those kept.
func (o *oracle) beside(c contender, kept []int, contenders map[int]contender) refusal {
	about := make(map[enactment.Code][]string)
	applies := make(map[enactment.Code]bool)
	note := func(code enactment.Code, name string) {
		applies[code] = true
		about[code] = append(about[code], name)
	}
	for _, i := range kept {
		k := contenders[i]
		for _, role := range o.roles {
			mine, claimed := claim(c.fact, role)
			if its, too := claim(k.fact, role); claimed && too && mine != its {
				note(enactment.WrongParty, role)
			}
		}
		if c.action.name == k.action.name && sameOn(o.scope(c.action.name), c.fact, k.fact) {
			note(enactment.AlreadyHappened, c.action.name)
		}
		for _, name := range c.action.carries {
			if !o.isAction(name) && k.action.carriesIt(name) && sameOn(o.scope(name), c.fact, k.fact) && c.values[name] != k.values[name] {
				note(enactment.BoundDifferently, name)
			}
		}
		if o.nono(c.action.name, k.action.name) && o.agree(c.fact, k.fact) {
			note(enactment.Excluded, k.action.name)
		}
		related := o.nogo(c.action.name, k.action.name) || o.nogo(k.action.name, c.action.name)
		if c.action.role == k.action.role && related && o.agree(c.fact, k.fact) {
			note(enactment.Blocked, k.action.name)
		}
		if o.dominates(c, k) || o.dominates(k, c) {
			note(enactment.Dominated, k.action.role)
		}
	}
	for _, code := range []enactment.Code{
		enactment.WrongParty, enactment.AlreadyHappened, enactment.BoundDifferently, enactment.Excluded, enactment.Blocked, enactment.Dominated,
	} {
		if applies[code] {
			return refusal{code, about[code]}
		}
	}
	return refusal{}
}

// claim gives the party that a contender says plays a role.
func claim(f fact, role string) (string, bool) {
	if f.action.role == role {
		return f.party, true
	}
	party, named := f.parties[role]
	return party, named
}
