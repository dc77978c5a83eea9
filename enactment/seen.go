package enactment

import "slices"

// seenKeys are the values that keys outside the root key have in the instances that one role sees.
type seenKeys struct {
	byKey map[*attributeRule]*sightings
}

// sightings are the values seen of one key.
type sightings struct {
	all []*Value
	// with lists them by the values of the other keys of the key's scope.
	with map[string][]*Value
	// tuples holds each value together with those of the other keys of the scope.
	tuples map[string]bool
}

func (s *State) seenKeys(role string) *seenKeys {
	seen := &seenKeys{byKey: make(map[*attributeRule]*sightings)}
	rank := s.rules.roleRank[role]
	distinct := make(map[string]bool)
	for n := range s.instances {
		i := &s.instances[n]
		if !i.rule.sight[rank].any {
			continue
		}
		for _, at := range i.rule.residual {
			p, value := &i.rule.parameters[at], &i.values[at]
			of := seen.byKey[p.attribute]
			if of == nil {
				of = &sightings{with: make(map[string][]*Value), tuples: make(map[string]bool)}
				seen.byKey[p.attribute] = of
			}
			tuple, _ := appendTuple(nil, i.values, p.scope)
			if of.tuples[string(tuple)] {
				continue
			}
			of.tuples[string(tuple)] = true
			others, _ := appendTuple(nil, i.values, without(p.scope, at))
			of.with[string(others)] = append(of.with[string(others)], value)
			if name := p.name + "=" + value.canonical; !distinct[name] {
				distinct[name] = true
				of.all = append(of.all, value)
			}
		}
	}
	return seen
}

// candidates are the values seen of the key at a position that may fit the keys chosen so far.
func (seen *seenKeys) candidates(o *option, at int, left []int) []*Value {
	p := &o.rule.parameters[at]
	of := seen.byKey[p.attribute]
	if of == nil {
		return nil
	}
	if overlap(p.scope, left) {
		return of.all
	}
	others, ok := o.tuple(nil, without(p.scope, at))
	if !ok {
		return nil
	}
	return of.with[string(others)]
}

// together tells whether the key at a position is known with the other keys of its scope, all of which are chosen.
func (seen *seenKeys) together(o *option, at int) bool {
	p := &o.rule.parameters[at]
	tuple, ok := o.tuple(nil, p.scope)
	return ok && seen.byKey[p.attribute].tuples[string(tuple)]
}

func without(positions []int, at int) []int {
	return slices.DeleteFunc(slices.Clone(positions), func(other int) bool { return other == at })
}
