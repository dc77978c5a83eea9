package enactment

import (
	"iter"
	"slices"
)

// Guard says what the language cannot: a named, pure predicate that an attempt must pass besides being enabled
// (semantics section 5). Guards are few and small, and documented with the protocol. A changed predicate needs a changed
// name, since the name stands for it in [Rules.Hash].
type Guard struct {
	// Name identifies the guard; refusals give it. The guards of an action are asked in the order of their names.
	Name string
	// Action is the action that is guarded.
	Action string
	// Allow decides. It sees what the actor sees of the enactment, and the candidate with every attribute filled in. It
	// must depend on nothing else.
	Allow func(view View, candidate Instance) bool
	// Detail is the sentence for a person when Allow says no; empty for a general one.
	Detail string
}

// View is an enactment as one role sees it (semantics section 7).
type View struct {
	state *State
	role  string
}

// Instances lists what has happened as far as the role sees it, in order.
func (v View) Instances() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		for i := range v.state.instances {
			if seen, ok := v.state.rules.Project(v.role, v.state.instances[i]); ok && !yield(seen) {
				return
			}
		}
	}
}

// Newest lists the same from the newest to the oldest, for guards that ask what the enactment has come to: so they need
// not look at all that has happened.
func (v View) Newest() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		for _, instance := range slices.Backward(v.state.instances) {
			if seen, ok := v.state.rules.Project(v.role, instance); ok && !yield(seen) {
				return
			}
		}
	}
}
