package enactment

import (
	"fmt"
	"iter"
)

// State is what has happened in one enactment, or what one role sees of it: the fold of its finalisations. Reading it
// from several goroutines is safe while none calls Apply.
type State struct {
	rules     *Rules
	key       Key
	sequence  uint64
	complete  bool
	seats     []seat
	instances []Instance
	// first has, for each index without residual keys, the number of the first instance plus one.
	first []int32
	// entered has the same for the other indexes, by the values of their keys.
	entered []map[string]int32
	// bound has the value of each attribute that is bound once an enactment, and within the values of instances, so that
	// it costs a pointer.
	bound []*Value
	// scoped has the others, by the values of their scope keys; a key is bound to itself.
	scoped []map[string]*Value
}

// seat says which party plays a role.
type seat struct{ role, party string }

// NewState is the state of an enactment in which nothing has happened.
func (r *Rules) NewState(key Key) *State { return &State{rules: r, key: key} }

// Rules are the rules that the state was made for.
func (s *State) Rules() *Rules { return s.rules }

// Key says which enactment it is.
func (s *State) Key() Key { return s.key }

// Sequence is that of the last finalisation applied; 0 when there is none.
func (s *State) Sequence() uint64 { return s.sequence }

// Complete tells whether the enactment is complete (semantics section 6).
func (s *State) Complete() bool { return s.complete }

// Empty tells whether nothing has happened.
func (s *State) Empty() bool { return len(s.instances) == 0 }

// Instances lists what has happened, in order.
func (s *State) Instances() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		for i := range s.instances {
			if !yield(s.instances[i]) {
				return
			}
		}
	}
}

// Party says who plays a role in this enactment; false while the role is open.
func (s *State) Party(role string) (string, bool) {
	if party, ok := s.rules.Party(role); ok {
		return party, true
	}
	for _, seat := range s.seats {
		if seat.role == role {
			return seat.party, true
		}
	}
	return "", false
}

// Sees tells whether an identity may act in the enactment and see it: its party plays the role, or the role is open and
// the party is one that may play it (semantics section 3).
func (s *State) Sees(id Identity) bool {
	if party, ok := s.Party(id.Role); ok {
		return party == id.Party
	}
	return s.rules.eligible(id)
}

// eligible tells whether the party is one of those configured for the role, if any are.
func (r *Rules) eligible(id Identity) bool {
	if _, ok := r.roleRank[id.Role]; !ok {
		return false
	}
	parties := r.parties[id.Role]
	for _, party := range parties {
		if party == id.Party {
			return true
		}
	}
	return len(parties) == 0
}

// Apply adds a finalisation: what was judged, what a log holds, or what a role sees of it. It judges nothing. Its
// sequence must be greater than that of the state; Apply panics otherwise, since a log folded twice or out of order is
// a fault of the program.
func (s *State) Apply(f Finalisation) {
	if f.Sequence <= s.sequence {
		panic(fmt.Sprintf("enactment: finalisation %d applied to %s, which is at %d", f.Sequence, s.key, s.sequence))
	}
	s.sequence = f.Sequence
	s.complete = s.complete || f.Completed
	for _, instance := range f.Instances {
		s.add(instance)
	}
}

func (s *State) add(i Instance) {
	if s.first == nil {
		s.first = make([]int32, len(s.rules.indexes))
		s.bound = make([]*Value, len(s.rules.attributes))
	}
	for role, party := range i.Parties {
		s.sit(role, party)
	}
	s.sit(i.Role, i.Party)
	s.instances = append(s.instances, i)
	number := int32(len(s.instances))
	for _, index := range i.rule.indexes {
		if len(index.positions) == 0 {
			if s.first[index.slot] == 0 {
				s.first[index.slot] = number
			}
			continue
		}
		if s.entered == nil {
			s.entered = make([]map[string]int32, len(s.rules.indexes))
		}
		if s.entered[index.slot] == nil {
			s.entered[index.slot] = make(map[string]int32)
		}
		var buffer [96]byte
		if tuple, ok := appendTuple(buffer[:0], i.values, index.positions); ok {
			if _, taken := s.entered[index.slot][string(tuple)]; !taken {
				s.entered[index.slot][string(tuple)] = number
			}
		}
	}
	for at := range i.rule.parameters {
		if p := &i.rule.parameters[at]; p.attribute != nil && !i.values[at].IsZero() {
			s.bind(p, i.values, &i.values[at])
		}
	}
}

func (s *State) sit(role, party string) {
	if _, taken := s.Party(role); !taken {
		s.seats = append(s.seats, seat{role, party})
	}
}

func (s *State) bind(p *parameter, values []Value, value *Value) {
	slot := p.attribute.slot
	if p.attribute.single {
		if s.bound[slot] == nil {
			s.bound[slot] = value
		}
		return
	}
	if s.scoped == nil {
		s.scoped = make([]map[string]*Value, len(s.rules.attributes))
	}
	if s.scoped[slot] == nil {
		s.scoped[slot] = make(map[string]*Value)
	}
	var buffer [96]byte
	if tuple, ok := appendTuple(buffer[:0], values, p.scope); ok {
		if _, taken := s.scoped[slot][string(tuple)]; !taken {
			s.scoped[slot][string(tuple)] = value
		}
	}
}

// known gives the value that an attribute has for the keys among the values, and nil where it is not bound. A key is
// known when an instance carries its value together with those of the other keys of its scope (semantics section 4).
func (s *State) known(p *parameter, values []Value) *Value {
	if s.bound == nil {
		return nil
	}
	if p.attribute.single {
		return s.bound[p.attribute.slot]
	}
	if s.scoped == nil || s.scoped[p.attribute.slot] == nil {
		return nil
	}
	var buffer [96]byte
	tuple, ok := appendTuple(buffer[:0], values, p.scope)
	if !ok {
		return nil
	}
	return s.scoped[p.attribute.slot][string(tuple)]
}

// find gives an instance that the lookup leads to from the values, nil where there is none.
func (s *State) find(l lookup, values []Value) *Instance {
	if s.first == nil {
		return nil
	}
	number := int32(0)
	if len(l.positions) == 0 {
		number = s.first[l.index.slot]
	} else if s.entered != nil && s.entered[l.index.slot] != nil {
		var buffer [96]byte
		if tuple, ok := appendTuple(buffer[:0], values, l.positions); ok {
			number = s.entered[l.index.slot][string(tuple)]
		}
	}
	if number == 0 {
		return nil
	}
	return &s.instances[number-1]
}

// appendTuple writes the values at the positions so that different ones read differently: a comma cannot end a
// canonical scalar nor stand in one outside its quotes. It is false when a value is not there.
func appendTuple(to []byte, values []Value, positions []int) ([]byte, bool) {
	for _, at := range positions {
		if values[at].IsZero() {
			return nil, false
		}
		to = append(append(to, values[at].canonical...), ',')
	}
	return to, true
}
