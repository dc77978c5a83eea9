package enactment_test

import (
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// fact is an instance as the oracle keeps it: the values as plain writes them.
type fact struct {
	action  oracleAction
	party   string
	values  map[string]string
	parties map[string]string
}

// oracle is a second implementation of semantics sections 3 to 7, naive and slow, that the properties compare the
// package with. Its state is a list.
type oracle struct {
	*oracleProtocol
	root  map[string]string // the enactment's root key values
	facts []fact
}

func (o *oracle) factOf(i enactment.Instance) fact {
	action, _ := o.action(i.Action)
	f := fact{action: action, party: i.Party, values: make(map[string]string), parties: i.Parties}
	for name, value := range i.Values() {
		f.values[name] = plain(value)
	}
	return f
}

// agree tells whether two facts have the same value for every key that both carry.
func (o *oracle) agree(a, b fact) bool {
	for _, key := range o.keys {
		if a.action.carriesIt(key) && b.action.carriesIt(key) && a.values[key] != b.values[key] {
			return false
		}
	}
	return true
}

// sameOn tells whether two facts have equal values for the keys.
func sameOn(keys []string, a, b fact) bool {
	for _, key := range keys {
		if a.values[key] != b.values[key] {
			return false
		}
	}
	return true
}

// known gives the value that an attribute has for the keys of a candidate.
func (o *oracle) known(attribute string, candidate fact) (string, bool) {
	for _, f := range o.facts {
		if f.action.carriesIt(attribute) && sameOn(o.scope(attribute), f, candidate) {
			return f.values[attribute], true
		}
	}
	return "", false
}

func (o *oracle) alreadyHappened(candidate fact) bool {
	for _, f := range o.facts {
		if f.action.name == candidate.action.name && sameOn(o.scope(f.action.name), f, candidate) {
			return true
		}
	}
	return false
}

// excluders and blockers name what has happened that excludes or blocks a candidate.
func (o *oracle) excluders(candidate fact) []string {
	var by []string
	for _, f := range o.facts {
		if o.nono(f.action.name, candidate.action.name) && o.agree(f, candidate) {
			by = append(by, f.action.name)
		}
	}
	return by
}

func (o *oracle) blockers(candidate fact) []string {
	var by []string
	for _, f := range o.facts {
		if o.nogo(f.action.name, candidate.action.name) && o.agree(f, candidate) {
			by = append(by, f.action.name)
		}
	}
	return by
}

func (o *oracle) happenedBeside(action string, candidate fact) bool {
	for _, f := range o.facts {
		if f.action.name == action && o.agree(f, candidate) {
			return true
		}
	}
	return false
}

// partyOf says who plays a role (semantics section 3).
func (o *oracle) partyOf(role string) (string, bool) {
	if len(o.configured[role]) == 1 {
		return o.configured[role][0], true
	}
	for _, f := range o.facts {
		if party, named := f.parties[role]; named {
			return party, true
		}
		if f.action.role == role {
			return f.party, true
		}
	}
	return "", false
}

func (o *oracle) mayPlay(role, party string) bool {
	if has, taken := o.partyOf(role); taken {
		return party == has
	}
	return len(o.configured[role]) == 0 || slices.Contains(o.configured[role], party)
}

// refusal is why an attempt is refused: the code, and all the names of which the rejection has to give one, where it
// has to give any.
type refusal struct {
	code  enactment.Code
	about []string
}

// candidateOf gives what would happen by an attempt, as far as it is said or known.
func (o *oracle) candidateOf(a enactment.Attempt) fact {
	action, _ := o.action(a.Action)
	candidate := fact{action: action, party: a.Party, values: make(map[string]string), parties: a.Parties}
	for name, value := range a.Values {
		candidate.values[name] = plain(value)
	}
	for _, name := range action.carries {
		if value, ok := o.known(name, candidate); ok && !o.isKey(name) && !o.isAction(name) {
			candidate.values[name] = value
		}
	}
	return candidate
}

// refuse gives the first reason of semantics section 5 that applies to an attempt on its own; no code if none does.
func (o *oracle) refuse(a enactment.Attempt) refusal {
	action, exists := o.action(a.Action)
	switch {
	case o.shapeless(a):
		return refusal{code: enactment.Malformed}
	case !exists:
		return refusal{code: enactment.UnknownAction}
	case o.misshapen(a, action):
		return refusal{code: enactment.Malformed}
	case a.Role != action.role:
		return refusal{code: enactment.WrongRole}
	case !o.mayPlay(a.Role, a.Party) || o.misnamed(a):
		return refusal{code: enactment.WrongParty}
	case len(o.keysOf(action)) == 0:
		return refusal{code: enactment.NotEnabled}
	}
	candidate := o.candidateOf(a)
	var different, unsaid, unmet, missing []string
	for _, name := range action.carries {
		if o.isAction(name) {
			if !o.happenedBeside(name, candidate) {
				unmet = append(unmet, name)
			}
			continue
		}
		given, said := a.Values[name]
		bound, known := o.known(name, candidate)
		switch {
		case known && said && plain(given) != bound:
			different = append(different, name)
		case known:
		case said && !o.mayBind(action.role, name):
			unsaid = append(unsaid, name)
		case !said && !o.mayBind(action.role, name):
			unmet = append(unmet, name)
		case !said:
			missing = append(missing, name)
		}
	}
	switch {
	case o.alreadyHappened(candidate):
		return refusal{code: enactment.AlreadyHappened}
	case len(different) > 0:
		return refusal{enactment.BoundDifferently, different}
	case len(unsaid) > 0:
		return refusal{enactment.NoSayso, unsaid}
	case len(unmet) > 0:
		return refusal{enactment.NotEnabled, unmet}
	case len(o.excluders(candidate)) > 0:
		return refusal{enactment.Excluded, o.excluders(candidate)}
	case len(o.blockers(candidate)) > 0:
		return refusal{enactment.Blocked, o.blockers(candidate)}
	case len(missing) > 0:
		return refusal{enactment.Missing, missing}
	}
	for _, guard := range o.guards {
		if guard.action == action.name && len(o.seenBy(action.role)) >= guard.limit {
			return refusal{code: enactment.GuardRefused}
		}
	}
	if a.Late {
		return refusal{code: enactment.Expired}
	}
	return refusal{}
}

// shapeless tells what is malformed whatever the action.
func (o *oracle) shapeless(a enactment.Attempt) bool {
	for _, value := range a.Values {
		if value.IsZero() {
			return true
		}
	}
	for role := range a.Parties {
		if !slices.Contains(o.roles, role) {
			return true
		}
	}
	return a.ID == ""
}

// misshapen tells whether an attempt has not the shape of its action, or belongs to another enactment.
func (o *oracle) misshapen(a enactment.Attempt, action oracleAction) bool {
	for name := range a.Values {
		if !slices.Contains(action.carries, name) || o.isAction(name) {
			return true
		}
	}
	for _, key := range o.keysOf(action) {
		value, said := a.Values[key]
		if !said || !scalar(plain(value)) {
			return true
		}
		if root, ok := o.root[key]; ok && plain(value) != root {
			return true
		}
	}
	return false
}

// misnamed tells whether an attempt names a party that it may not.
func (o *oracle) misnamed(a enactment.Attempt) bool {
	for role, party := range a.Parties {
		_, taken := o.partyOf(role)
		switch {
		case role == a.Role && party != a.Party:
			return true
		case !o.mayPlay(role, party):
			return true
		case role != a.Role && !taken && len(o.facts) > 0:
			return true
		}
	}
	return false
}

// seenBy lists what a role sees of what has happened.
func (o *oracle) seenBy(role string) []fact {
	var seen []fact
	for _, f := range o.facts {
		attributes, delivered := o.sees(role, f.action)
		if !delivered {
			continue
		}
		visible := f
		visible.values = maps.Clone(f.values)
		maps.DeleteFunc(visible.values, func(name, _ string) bool { return !slices.Contains(attributes, name) })
		seen = append(seen, visible)
	}
	return seen
}

// complete tries all choices of one instance a conjunct (semantics section 6).
func (o *oracle) complete() bool {
	return len(o.facts) > 0 && o.completeFrom(0, nil)
}

func (o *oracle) completeFrom(conjunct int, chosen []fact) bool {
	if conjunct == len(o.what) {
		return true
	}
	for _, f := range o.facts {
		satisfies := slices.ContainsFunc(o.what[conjunct], f.action.carriesIt)
		agrees := !slices.ContainsFunc(chosen, func(other fact) bool { return !o.agree(f, other) })
		if satisfies && agrees && o.completeFrom(conjunct+1, append(slices.Clone(chosen), f)) {
			return true
		}
	}
	return false
}
