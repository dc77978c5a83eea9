package enactment

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
)

// Instance is an action that has happened, with the values that it carries (semantics section 3).
type Instance struct {
	// Action and Role are names of the protocol, Party is who played the role.
	Action, Role, Party string
	// Attempt is the id of the attempt that made it happen.
	Attempt string
	// Parties are those that the attempt named for other roles when it started the enactment.
	Parties map[string]string

	rule   *actionRule
	values []Value // by parameter; zero for references and for what is hidden
}

// NewInstance rebuilds an instance from a log. Values lack what is hidden from whoever stored it. It checks that the
// action exists and carries the values, not that it might have happened: a log is what happened.
func (r *Rules) NewInstance(id Identity, action, attempt string, values Values, parties map[string]string) (Instance, error) {
	rule, ok := r.byName[action]
	if !ok {
		return Instance{}, r.unknownAction(action)
	}
	i := Instance{
		Action: rule.name, Role: id.Role, Party: id.Party, Attempt: attempt, Parties: maps.Clone(parties),
		rule: rule, values: make([]Value, len(rule.parameters)),
	}
	for name, value := range values {
		at, ok := rule.position[name]
		if !ok || rule.parameters[at].attribute == nil {
			return Instance{}, &Rejection{Code: Malformed, Attribute: name, Detail: fmt.Sprintf("%s carries no value %s", action, name)}
		}
		i.values[at] = value
	}
	return i, nil
}

// String says what happened and by whom, without values.
func (i Instance) String() string {
	return i.Action + " by " + Identity{Role: i.Role, Party: i.Party}.String()
}

// LogValue gives the same as String, so that no secret gets into a log.
func (i Instance) LogValue() slog.Value { return slog.StringValue(i.String()) }

// Value gives the value of an attribute; false when the action does not carry it, when it is hidden, and for the name
// of an action, which has no value.
func (i Instance) Value(attribute string) (Value, bool) {
	if i.rule == nil {
		return Value{}, false
	}
	at, ok := i.rule.position[attribute]
	if !ok || i.values[at].IsZero() {
		return Value{}, false
	}
	return i.values[at], true
}

// Values lists the values that are visible, in the order of the action.
func (i Instance) Values() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for at, value := range i.values {
			if !value.IsZero() && !yield(i.rule.parameters[at].name, value) {
				return
			}
		}
	}
}

// Hidden lists the attributes that the action carries and whose values are not visible.
func (i Instance) Hidden() iter.Seq[string] {
	return func(yield func(string) bool) {
		for at, value := range i.values {
			if value.IsZero() && i.rule.parameters[at].attribute != nil && !yield(i.rule.parameters[at].name) {
				return
			}
		}
	}
}
