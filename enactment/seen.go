package enactment

import "slices"

// seenKeys are the values that keys outside the root key have in the instances that one role sees.
type seenKeys struct {
	byKey map[*attributeRule]*sightings
	// looked is how many instances were looked through.
	looked int
}

// sightings are the values seen of one key.
type sightings struct {
	all []*Value
	// with lists them by the values of the other keys of the key's scope.
	with map[string][]*Value
	// tuples holds each value together with those of the other keys of the scope.
	tuples map[string]bool
	// distinct holds each value of all.
	distinct map[string]bool
}

// rememberFrom is how many instances there are at least where what was seen of keys is remembered from one look to the next.
// Fewer are looked through as fast, and there are many more enactments that have few.
const rememberFrom = 16

// seenKeys gives what a role has seen of keys. It is not changed as long as nothing is applied to the state.
func (s *State) seenKeys(role string) *seenKeys {
	rank := s.rules.roleRank[role]
	if len(s.instances) < rememberFrom {
		seen := &seenKeys{byKey: make(map[*attributeRule]*sightings)}
		seen.look(s.instances, rank)
		return seen
	}
	s.seenMu.Lock()
	defer s.seenMu.Unlock()
	if s.seen == nil {
		s.seen = make([]*seenKeys, len(s.rules.roleRank))
	}
	seen := s.seen[rank]
	if seen == nil {
		seen = &seenKeys{byKey: make(map[*attributeRule]*sightings)}
		s.seen[rank] = seen
	}
	seen.look(s.instances, rank)
	return seen
}

// look looks through the instances that it has not looked through.
func (seen *seenKeys) look(instances []Instance, rank int) {
	var tuple, others []byte
	for ; seen.looked < len(instances); seen.looked++ {
		i := &instances[seen.looked]
		if !i.rule.sight[rank].any {
			continue
		}
		for _, at := range i.rule.residual {
			p, value := &i.rule.parameters[at], &i.values[at]
			of := seen.byKey[p.attribute]
			if of == nil {
				of = &sightings{with: make(map[string][]*Value), tuples: make(map[string]bool), distinct: make(map[string]bool)}
				seen.byKey[p.attribute] = of
			}
			tuple, _ = appendTuple(tuple[:0], i.values, p.scope)
			if of.tuples[string(tuple)] {
				continue
			}
			of.tuples[string(tuple)] = true
			others, _ = appendTuple(others[:0], i.values, p.others)
			of.with[string(others)] = append(of.with[string(others)], value)
			if !of.distinct[value.canonical] {
				of.distinct[value.canonical] = true
				of.all = append(of.all, value)
			}
		}
	}
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
	var buffer [96]byte
	others, ok := o.tuple(buffer[:0], p.others)
	if !ok {
		return nil
	}
	return of.with[string(others)]
}

// together tells whether the key at a position is known with the other keys of its scope, all of which are chosen.
func (seen *seenKeys) together(o *option, at int) bool {
	p := &o.rule.parameters[at]
	var buffer [96]byte
	tuple, ok := o.tuple(buffer[:0], p.scope)
	return ok && seen.byKey[p.attribute].tuples[string(tuple)]
}

func without(positions []int, at int) []int {
	return slices.DeleteFunc(slices.Clone(positions), func(other int) bool { return other == at })
}
