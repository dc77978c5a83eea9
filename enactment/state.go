package enactment

import (
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"github.com/strabo-engine/strabo/internal/index"
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
	// counts are how many instances there are of each action.
	counts []int32
	// bound has the value of each attribute that is bound once an enactment, and within the values of instances, so that
	// it costs a pointer.
	bound []*Value
	// placed has, for the other indexes, the numbers by the values of their keys; and for the other attributes the numbers
	// of the instances that bind them, by the values of their scope keys, where a key is bound to itself.
	placed index.Index
	// seen has what each role has seen of keys, by the rank of the role, where that is remembered; seenMu guards it, since
	// several may read the state at once.
	seenMu sync.Mutex
	seen   []*seenKeys
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

// Len is how many instances have happened.
func (s *State) Len() int { return len(s.instances) }

// Instance gives one of them, by its place in the order from 0. It panics if there are not so many.
func (s *State) Instance(place int) Instance { return s.instances[place] }

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
	for role, party := range i.Parties {
		s.sit(role, party)
	}
	s.sit(i.Role, i.Party)
	s.instances = append(s.instances, i)
	s.placed.Reserve(i.rule.places)
	s.enter(len(s.instances) - 1)
}

// prepare makes the indexes, with room for instances of which there are so many of each action.
func (s *State) prepare(count []int) {
	numbers := make([]int32, len(s.rules.indexes)+len(s.rules.actions))
	s.first, s.counts = numbers[:len(s.rules.indexes):len(s.rules.indexes)], numbers[len(s.rules.indexes):]
	s.bound = make([]*Value, len(s.rules.attributes))
	if s.rules.flat {
		return
	}
	bind := make([]int, len(s.rules.attributes)) // how many instances may bind each attribute
	room := 0
	for at, n := range count {
		rule := s.rules.actions[at]
		for _, index := range rule.indexes {
			if len(index.positions) > 0 {
				room += n
			}
		}
		for at := range rule.parameters {
			if a := rule.parameters[at].attribute; a != nil && !a.single {
				bind[a.slot] = max(bind[a.slot], n)
			}
		}
	}
	for _, n := range bind {
		room += n
	}
	s.placed.Reserve(room)
}

// enter puts an instance into the indexes.
func (s *State) enter(number int) {
	if s.first == nil {
		s.prepare(nil)
	}
	i := &s.instances[number]
	s.counts[i.rule.index]++
	var buffer [96]byte
	for _, index := range i.rule.indexes {
		if len(index.positions) == 0 {
			if s.first[index.slot] == 0 {
				s.first[index.slot] = int32(number) + 1
			}
			continue
		}
		if tuple, ok := appendTuple(buffer[:0], i.values, index.positions); ok {
			hash := s.rules.indexed(index, tuple)
			if _, taken := s.entry(index, hash, tuple); !taken {
				s.placed.Add(hash, number)
			}
		}
	}
	for at := range i.rule.parameters {
		p := &i.rule.parameters[at]
		if p.attribute == nil || i.values[at].IsZero() {
			continue
		}
		if p.attribute.single {
			if s.bound[p.attribute.slot] == nil {
				s.bound[p.attribute.slot] = &i.values[at]
			}
			continue
		}
		if tuple, ok := appendTuple(buffer[:0], i.values, p.scope); ok {
			hash := s.rules.scoped(p.attribute, tuple)
			if s.boundBy(p.attribute, hash, tuple) == nil {
				s.placed.Add(hash, number)
			}
		}
	}
}

// indexed is the hash of the values of an index's keys among all that is placed, scoped that of the values of an
// attribute's scope keys.
func (r *Rules) indexed(x *indexRule, tuple []byte) uint64 { return r.hashed(2*x.slot, tuple) }

func (r *Rules) scoped(a *attributeRule, tuple []byte) uint64 { return r.hashed(2*a.slot+1, tuple) }

func (r *Rules) hashed(of int, tuple []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15 // spreads small numbers over all bits
	return maphash.Bytes(r.seed, tuple) + uint64(of)*odd
}

// entry finds the first instance in an index under the values of its keys.
func (s *State) entry(x *indexRule, hash uint64, tuple []byte) (number int, ok bool) {
	return s.placed.Find(hash, func(number int) bool {
		return s.instances[number].rule == x.of && s.carries(number, x.positions, tuple)
	})
}

// boundBy finds the value of an attribute under the values of its scope keys, nil if it is not bound there.
func (s *State) boundBy(a *attributeRule, hash uint64, tuple []byte) *Value {
	number, ok := s.placed.Find(hash, func(number int) bool {
		i := &s.instances[number]
		at := i.rule.bySlot[a.slot]
		return at >= 0 && !i.values[at].IsZero() && s.carries(number, i.rule.parameters[at].scope, tuple)
	})
	if !ok {
		return nil
	}
	i := &s.instances[number]
	return &i.values[i.rule.bySlot[a.slot]]
}

// carries tells whether an instance has the values at the positions.
func (s *State) carries(number int, positions []int, tuple []byte) bool {
	var buffer [96]byte
	its, ok := appendTuple(buffer[:0], s.instances[number].values, positions)
	return ok && string(its) == string(tuple)
}

func (s *State) sit(role, party string) {
	if _, taken := s.Party(role); !taken {
		s.seats = append(s.seats, seat{role, party})
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
	var buffer [96]byte
	tuple, ok := appendTuple(buffer[:0], values, p.scope)
	if !ok {
		return nil
	}
	return s.boundBy(p.attribute, s.rules.scoped(p.attribute, tuple), tuple)
}

// find gives an instance that the lookup leads to from the values, nil where there is none.
func (s *State) find(l lookup, values []Value) *Instance {
	if s.first == nil {
		return nil
	}
	if len(l.positions) == 0 {
		if number := s.first[l.index.slot]; number > 0 {
			return &s.instances[number-1]
		}
		return nil
	}
	var buffer [96]byte
	if tuple, ok := appendTuple(buffer[:0], values, l.positions); ok {
		if number, ok := s.entry(l.index, s.rules.indexed(l.index, tuple), tuple); ok {
			return &s.instances[number]
		}
	}
	return nil
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
