package enactment

import (
	"fmt"
	"maps"
	"slices"
)

// candidate is an attempt made into the instance that would happen.
type candidate struct {
	attempt *Attempt
	rule    *actionRule
	values  []Value
	// fresh tells for each parameter whether the candidate would bind it.
	fresh []bool
}

// instance is what happens if the candidate is accepted.
func (c *candidate) instance() Instance {
	return Instance{
		Action: c.rule.name, Role: c.rule.role, Party: c.attempt.Party, Attempt: c.attempt.ID, Parties: maps.Clone(c.attempt.Parties),
		rule: c.rule, values: c.values,
	}
}

// check makes an attempt into a candidate, or says why it may not happen in the state: the first reason that applies,
// in the order of semantics section 5.
func (s *State) check(a *Attempt) (candidate, *Rejection) {
	c := candidate{attempt: a, rule: s.rules.byName[a.Action]}
	for _, step := range []func(*candidate) *Rejection{
		s.shape, s.identity, s.repetition, s.binding, s.enablement, s.conflict, s.missing, s.guarded,
	} {
		if rejection := step(&c); rejection != nil {
			return c, rejection
		}
	}
	if a.Late {
		return c, &Rejection{Code: Expired, Detail: "the attempt is older than answers are kept, so it may be a copy of one that was answered"}
	}
	return c, nil
}

// shape looks for `malformed` and `unknown_action`, and fills in the values that were given.
func (s *State) shape(c *candidate) *Rejection {
	a := c.attempt
	if a.ID == "" {
		return &Rejection{Code: Malformed, Detail: "the attempt has no id"}
	}
	for name, value := range a.Values {
		if value.IsZero() {
			return &Rejection{Code: Malformed, Attribute: name, Detail: fmt.Sprintf("%s is there without a value; leave it out, or say null", name)}
		}
	}
	for role := range a.Parties {
		if !s.rules.protocol.HasRole(role) {
			return &Rejection{Code: Malformed, Attribute: role, Detail: fmt.Sprintf("a party is named for %q, which is no role", role)}
		}
	}
	if c.rule == nil {
		return s.rules.unknownAction(a.Action)
	}
	c.values = make([]Value, len(c.rule.parameters))
	given := 0
	for at := range c.rule.parameters {
		p := &c.rule.parameters[at]
		value, ok := a.Values[p.name]
		if !ok {
			continue
		}
		if p.attribute == nil {
			return &Rejection{Code: Malformed, Attribute: p.name, Detail: fmt.Sprintf("%s is the name of an action and takes no value", p.name)}
		}
		given++
		c.values[at] = value
	}
	if given < len(a.Values) {
		return c.stranger()
	}
	for _, at := range c.rule.keys {
		if rejection := c.rule.faultyKey(c.rule.parameters[at].name, c.values[at]); rejection != nil {
			return rejection
		}
	}
	if len(c.rule.keys) > 0 && !s.mine(c) {
		return &Rejection{Code: Malformed, Detail: fmt.Sprintf("the attempt belongs to another enactment than %s", s.key)}
	}
	return nil
}

// stranger names a value that the action does not carry; the first by name, so that the answer is always the same.
func (c *candidate) stranger() *Rejection {
	var names []string
	for name := range c.attempt.Values {
		if _, ok := c.rule.position[name]; !ok {
			names = append(names, name)
		}
	}
	name := slices.Min(names)
	return &Rejection{Code: Malformed, Attribute: name, Detail: fmt.Sprintf("%s does not carry %s", c.rule.name, name)}
}

// mine tells whether the candidate has the root key values of the enactment.
func (s *State) mine(c *candidate) bool {
	if s.bound == nil {
		var buffer [128]byte
		return s.key == "" || string(s.rules.appendKey(buffer[:0], c)) == string(s.key)
	}
	for _, at := range c.rule.keys {
		p := &c.rule.parameters[at]
		if p.attribute.root && !s.bound[p.attribute.slot].Equal(c.values[at]) {
			return false
		}
	}
	return true
}

func (r *Rules) appendKey(to []byte, c *candidate) []byte {
	to = append(to, '{')
	for i, name := range r.root {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendString(to, name), ':')
		to = append(to, c.values[c.rule.position[name]].canonical...)
	}
	return append(to, '}')
}

// identity looks for `wrong_role` and `wrong_party`.
func (s *State) identity(c *candidate) *Rejection {
	a := c.attempt
	if a.Role != c.rule.role {
		return &Rejection{Code: WrongRole, Detail: fmt.Sprintf("%s is an action of %s, not of %q", c.rule.name, c.rule.role, a.Role)}
	}
	if !s.Sees(a.Identity) {
		return &Rejection{Code: WrongParty, Detail: fmt.Sprintf("%q does not play %s in this enactment", a.Party, a.Role)}
	}
	for _, role := range s.rules.roles {
		party, named := a.Parties[role]
		if !named {
			continue
		}
		has, taken := s.Party(role)
		switch {
		case role == a.Role && party != a.Party, taken && party != has, !taken && !s.rules.eligible(Identity{role, party}):
			return &Rejection{Code: WrongParty, Attribute: role, Detail: fmt.Sprintf("%q is not who plays %s", party, role)}
		case !taken && !s.Empty() && role != a.Role:
			return &Rejection{Code: WrongParty, Attribute: role, Detail: fmt.Sprintf("only the attempt that starts an enactment names who plays %s", role)}
		}
	}
	return nil
}

// repetition looks for `already_happened`. An action without a key is never enabled, and nothing else is said of it.
func (s *State) repetition(c *candidate) *Rejection {
	if len(c.rule.keys) == 0 {
		return &Rejection{Code: NotEnabled, Detail: fmt.Sprintf("%s carries no key, so it can never happen", c.rule.name)}
	}
	if s.find(c.rule.happened, c.values) != nil {
		return alreadyHappened(c.rule)
	}
	return nil
}

func alreadyHappened(rule *actionRule) *Rejection {
	return &Rejection{Code: AlreadyHappened, Attribute: rule.name, Detail: fmt.Sprintf("%s has happened, and happens once", rule.name)}
}

// binding fills in what is bound, and looks for `bound_differently` and `no_sayso`.
func (s *State) binding(c *candidate) *Rejection {
	c.fresh = make([]bool, len(c.rule.parameters))
	var unsaid *parameter
	for at := range c.rule.parameters {
		p := &c.rule.parameters[at]
		if p.attribute == nil {
			continue
		}
		known := s.known(p, c.values)
		given := !c.values[at].IsZero()
		switch {
		case known == nil:
			c.fresh[at] = true
			if given && !p.bindable && unsaid == nil {
				unsaid = p
			}
		case !given:
			c.values[at] = *known
		case !known.Equal(c.values[at]):
			return boundDifferently(p.name)
		}
	}
	if unsaid != nil {
		return &Rejection{Code: NoSayso, Attribute: unsaid.name, Detail: fmt.Sprintf("%s may not bind %s; %s may", c.rule.role, unsaid.name, binders(unsaid.attribute))}
	}
	return nil
}

func boundDifferently(attribute string) *Rejection {
	return &Rejection{Code: BoundDifferently, Attribute: attribute, Detail: fmt.Sprintf("%s is bound to another value, for good", attribute)}
}

// enablement looks for `not_enabled`: an action referred to that has not happened, or an attribute that is unknown and
// that the role may not bind.
func (s *State) enablement(c *candidate) *Rejection {
	for at := range c.rule.parameters {
		p := &c.rule.parameters[at]
		switch {
		case p.attribute == nil:
			if s.find(p.reference, c.values) == nil {
				by := s.rules.byName[p.name].role
				return &Rejection{Code: NotEnabled, Attribute: p.name, By: by, Detail: fmt.Sprintf("%s needs %s, which has not happened; %s may do it", c.rule.name, p.name, by)}
			}
		case c.fresh[at] && !p.bindable:
			return &Rejection{Code: NotEnabled, Attribute: p.name, Detail: fmt.Sprintf("%s needs %s, which is not known yet; %s may bind it", c.rule.name, p.name, binders(p.attribute))}
		}
	}
	return nil
}

// conflict looks for `excluded` and `blocked`.
func (s *State) conflict(c *candidate) *Rejection {
	for _, other := range c.rule.exclusions {
		if s.find(other.agree, c.values) != nil {
			return excluded(c.rule, other.with)
		}
	}
	for _, other := range c.rule.blocks {
		if s.find(other.agree, c.values) != nil {
			return blocked(c.rule, other.with)
		}
	}
	return nil
}

func excluded(rule, by *actionRule) *Rejection {
	return &Rejection{Code: Excluded, By: by.name, Detail: fmt.Sprintf("%s and %s exclude each other, and %s has happened", rule.name, by.name, by.name)}
}

func blocked(rule, by *actionRule) *Rejection {
	return &Rejection{Code: Blocked, By: by.name, Detail: fmt.Sprintf("%s may no longer happen once %s has", rule.name, by.name)}
}

// missing looks for `missing`.
func (s *State) missing(c *candidate) *Rejection {
	for at := range c.rule.parameters {
		if p := &c.rule.parameters[at]; c.fresh[at] && c.values[at].IsZero() {
			return &Rejection{Code: Missing, Attribute: p.name, Detail: fmt.Sprintf("%s must bind %s and did not", c.rule.name, p.name)}
		}
	}
	return nil
}

// guarded looks for `guard`.
func (s *State) guarded(c *candidate) *Rejection {
	for _, guard := range c.rule.guards {
		if !guard.Allow(View{s, c.rule.role}, c.instance()) {
			detail := guard.Detail
			if detail == "" {
				detail = fmt.Sprintf("the guard %s does not allow it", guard.Name)
			}
			return &Rejection{Code: GuardRefused, By: guard.Name, Detail: detail}
		}
	}
	return nil
}
