package enactment

import (
	"iter"
	"slices"
)

// Why says why a role may bind an attribute.
type Why string

const (
	// Sayso: the role stands in the attribute's sayso entry.
	Sayso Why = "sayso"
	// OpenKey: the attribute is a key that nobody has sayso over. An open key stands for a value not used before.
	OpenKey Why = "key"
)

// Feasible is an action that is enabled: what is known of it, and what is left to bind.
type Feasible struct {
	// Action is the action's name.
	Action string
	// Known are the values that are bound already; an attempt may leave out those that are no keys.
	Known Values
	// Open are the attributes that the attempt must bind.
	Open []Open
}

// Open is an attribute still to bind.
type Open struct {
	// Attribute is its name.
	Attribute string
	// Why says why the role may bind it.
	Why Why
	// Rank is the role's place in the sayso entry, 0 the highest; 0 too for an open key without one.
	Rank int
}

// Enabled lists what a role may do now: each action of the role that is attemptable and not blocked, once for each
// combination of key values that are known, from instances that the role sees, or left open (semantics section 4).
// Guards are not asked, since they judge whole instances. An action that may start an enactment is listed for an empty
// state, with the root key open.
//
// It gives the same on the whole state and on a state folded from what the role sees. Combinations multiply, so stop
// when enough. The state must not change while the iterator runs.
func (s *State) Enabled(role string) iter.Seq[Feasible] {
	return s.EnabledOf(role, func(string) bool { return true })
}

// EnabledOf is Enabled for those actions alone that are wanted, so that nothing is worked out for the others.
func (s *State) EnabledOf(role string, wanted func(action string) bool) iter.Seq[Feasible] {
	return func(yield func(Feasible) bool) {
		var known *seenKeys
		begun := s.seesAny(role)
		for _, rule := range s.rules.byRole[role] {
			if len(rule.keys) == 0 || !wanted(rule.name) || !s.prepared(rule) {
				continue
			}
			if known == nil && len(rule.residual) > 0 {
				known = s.seenKeys(role)
			}
			o := option{state: s, rule: rule, known: known, yield: yield, values: make([]*Value, len(rule.parameters))}
			if o.root(begun) && !o.choose(rule.residualOrder()) {
				return
			}
		}
	}
}

// prepared tells whether every action that the rule refers to has happened somewhere, without which there is nothing to
// look for.
func (s *State) prepared(rule *actionRule) bool {
	for _, to := range rule.refers {
		if s.counts == nil || s.counts[to.index] == 0 {
			return false
		}
	}
	return true
}

// Starts lists the actions with which the role may start an enactment, their keys open.
func (r *Rules) Starts(role string) iter.Seq[Feasible] { return r.NewState("").Enabled(role) }

// option is an action under an assignment of values to its keys; those without a value are open.
type option struct {
	state  *State
	rule   *actionRule
	known  *seenKeys
	yield  func(Feasible) bool
	values []*Value // by parameter; only those of keys are used
}

// seesAny tells whether a role sees anything that has happened. A role that does not may start an enactment, for all
// that it knows.
func (s *State) seesAny(role string) bool {
	rank := s.rules.roleRank[role]
	return slices.ContainsFunc(s.instances, func(i Instance) bool { return i.rule.sight[rank].any })
}

// root fills in the root key of an enactment that has begun; it is false when that would have to be bound and the role
// may not.
func (o *option) root(begun bool) bool {
	for _, at := range o.rule.keys {
		p := &o.rule.parameters[at]
		if !p.attribute.root {
			continue
		}
		if begun {
			o.values[at] = o.state.bound[p.attribute.slot]
		} else if !p.bindable {
			return false
		}
	}
	return true
}

// residualOrder gives the keys outside the root key, those of smaller scope first, so that most are chosen when the
// keys that they depend on are.
func (rule *actionRule) residualOrder() []int {
	if len(rule.residual) < 2 {
		return rule.residual
	}
	order := slices.Clone(rule.residual)
	slices.SortStableFunc(order, func(a, b int) int {
		return len(rule.parameters[a].scope) - len(rule.parameters[b].scope)
	})
	return order
}

// choose goes through the combinations of the keys that are left; false when the consumer has had enough.
func (o *option) choose(left []int) bool {
	if len(left) == 0 {
		return o.offer()
	}
	at := left[0]
	for _, value := range o.known.candidates(o, at, left[1:]) {
		o.values[at] = value
		if o.consistent(left[1:]) && !o.choose(left[1:]) {
			return false
		}
	}
	o.values[at] = nil
	return !o.rule.parameters[at].bindable || !o.consistent(left[1:]) || o.choose(left[1:])
}

// consistent tells whether each key that is chosen is known together with the other keys of its scope, as far as those
// are chosen already.
func (o *option) consistent(left []int) bool {
	for _, at := range o.rule.residual {
		scope := o.rule.parameters[at].scope
		if o.values[at] != nil && !overlap(scope, left) && !o.known.together(o, at) {
			return false
		}
	}
	return true
}

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(at int) bool { return slices.Contains(b, at) })
}

// offer yields the action if it is enabled under the assignment; false when the consumer has had enough.
func (o *option) offer() bool {
	rule := o.rule
	if o.exists(rule.happened) || o.stopped(rule.exclusions) || o.stopped(rule.blocks) {
		return true
	}
	for at := range rule.parameters {
		p := &rule.parameters[at]
		if p.attribute == nil && !o.exists(p.reference) {
			return true
		}
		if p.attribute != nil && !p.bindable && o.value(at) == nil {
			return true
		}
	}
	f := Feasible{Action: rule.name, Known: make(Values, len(rule.parameters))}
	for at := range rule.parameters {
		p := &rule.parameters[at]
		if p.attribute == nil {
			continue
		}
		switch value := o.value(at); {
		case value != nil:
			f.Known[p.name] = *value
		case p.attribute.ruled:
			f.Open = append(f.Open, Open{Attribute: p.name, Why: Sayso, Rank: p.rank})
		default:
			f.Open = append(f.Open, Open{Attribute: p.name, Why: OpenKey})
		}
	}
	return o.yield(f)
}

func (o *option) stopped(by []conflict) bool {
	for i := range by {
		if o.exists(by[i].agree) {
			return true
		}
	}
	return false
}

// value is what is known of a parameter under the assignment, nil if nothing is.
func (o *option) value(at int) *Value {
	p, s := &o.rule.parameters[at], o.state
	switch {
	case p.attribute.key:
		return o.values[at]
	case s.bound == nil:
		return nil
	case p.attribute.single:
		return s.bound[p.attribute.slot]
	}
	var buffer [96]byte
	tuple, ok := o.tuple(buffer[:0], p.scope)
	if !ok {
		return nil
	}
	return s.boundBy(p.attribute, s.rules.scoped(p.attribute, tuple), tuple)
}

// exists tells whether there is an instance that the lookup leads to. An open key has a value that no instance has.
func (o *option) exists(l lookup) bool {
	switch {
	case o.state.first == nil:
		return false
	case len(l.positions) == 0:
		return o.state.first[l.index.slot] != 0
	}
	var buffer [96]byte
	tuple, ok := o.tuple(buffer[:0], l.positions)
	if ok {
		_, ok = o.state.entry(l.index, o.state.rules.indexed(l.index, tuple), tuple)
	}
	return ok
}

// tuple writes the keys at the positions as appendTuple does; false when one is open.
func (o *option) tuple(to []byte, positions []int) ([]byte, bool) {
	for _, at := range positions {
		if o.values[at] == nil {
			return nil, false
		}
		to = append(append(to, o.values[at].canonical...), ',')
	}
	return to, true
}
