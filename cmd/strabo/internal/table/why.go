package table

import (
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Obstacle is why an action may not happen now, in the words of the engine.
type Obstacle struct {
	// Keys are the values of the keys outside the root key that the action was tried with.
	Keys enactment.Values
	// Rejection is what an attempt would be answered; nil if the action is enabled.
	Rejection *enactment.Rejection
}

// mostTried is how many combinations of key values Why tries.
const mostTried = 64

// Why asks the engine why an action may not happen now: it is told of an attempt that is not made. The action is tried
// with every combination of key values that have been used, but for those given; the same answer is listed once, with
// the first keys that gave it.
func (t *Table) Why(action *langshaw.Action, given enactment.Values) []Obstacle {
	var obstacles []Obstacle
	said := make(map[string]bool)
	for _, keys := range t.combinations(action, given) {
		values := maps.Clone(given)
		if values == nil {
			values = make(enactment.Values)
		}
		maps.Copy(values, keys)
		_, outcomes := enactment.Judge(t.state, enactment.Attempt{
			ID: "why", Identity: enactment.Identity{Role: action.Role()}, Action: action.Name(), Values: values,
		})
		rejection := outcomes[0].Rejection
		for name := range t.rules.Protocol().RootKey() {
			delete(keys, name)
		}
		if rejection != nil && rejection.Code == enactment.Missing {
			rejection = nil // nothing but what the actor would bind
		}
		text := ""
		if rejection != nil {
			text = rejection.Error()
		}
		if !said[text] {
			said[text] = true
			obstacles = append(obstacles, Obstacle{keys, rejection})
		}
	}
	return obstacles
}

// combinations lists values for the keys of an action: the root key's, those given, and for the others each that has
// been used, and one that has not where none has or the actor may bind a new one.
func (t *Table) combinations(action *langshaw.Action, given enactment.Values) []enactment.Values {
	all := []enactment.Values{{}}
	root := t.state.Key().Values()
	for key := range action.Keys() {
		var values []enactment.Value
		if value, ok := given[key]; ok {
			values = append(values, value)
		} else if value, ok := root[key]; ok {
			values = append(values, value)
		} else {
			values = used(t.state, key)
			if attribute, _ := t.rules.Protocol().Attribute(key); len(values) == 0 || attribute.MayBind(action.Role()) {
				values = append(values, t.unused(key, values))
			}
		}
		var longer []enactment.Values
		for _, before := range all {
			for _, value := range values[:min(len(values), max(1, mostTried/len(all)))] {
				next := maps.Clone(before)
				next[key] = value
				longer = append(longer, next)
			}
		}
		all = longer
	}
	return all
}

// unused makes up a value that a key has not had: its next sample or, where there is none left, any.
func (t *Table) unused(key string, used []enactment.Value) enactment.Value {
	for _, sample := range t.rules.Samples(key) {
		if !slices.ContainsFunc(used, sample.Equal) {
			return sample
		}
	}
	for n := 1; ; n++ {
		if value := madeUp(key, n); !slices.ContainsFunc(used, value.Equal) {
			return value
		}
	}
}

// used lists the values that a key has had, in order.
func used(state *enactment.State, key string) []enactment.Value {
	var values []enactment.Value
	for instance := range state.Instances() {
		value, ok := instance.Value(key)
		if ok && !slices.ContainsFunc(values, value.Equal) {
			values = append(values, value)
		}
	}
	return values
}
