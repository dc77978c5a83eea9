package enactment_test

import (
	"fmt"
	"slices"
	"strings"
)

// enabled lists what a role may do as feasibleText writes it, sorted (semantics section 4): one entry for each
// combination of key values that are known from what the role sees, or left open.
func (o *oracle) enabled(role string) []string {
	var texts []string
	for _, action := range o.actions {
		if action.role != role || len(o.keysOf(action)) == 0 {
			continue
		}
		for _, assignment := range o.assignments(role, o.keysOf(action)) {
			if text, ok := o.feasible(action, assignment); ok {
				texts = append(texts, text)
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// openKey stands for a value not used before: plain writes nothing like it.
const openKey = "?"

// assignments gives the combinations of values for keys, each either seen by the role or open where the role may bind
// the key. The root key of an enactment of which the role sees anything is not open.
func (o *oracle) assignments(role string, keys []string) []map[string]string {
	assignments := []map[string]string{{}}
	for _, key := range keys {
		var choices []string
		for _, f := range o.seenBy(role) {
			if value, ok := f.values[key]; ok && !slices.Contains(choices, value) {
				choices = append(choices, value)
			}
		}
		fixed := slices.Contains(o.rootKey(), key) && len(o.seenBy(role)) > 0
		if o.mayBind(role, key) && !fixed {
			choices = append(choices, openKey)
		}
		var longer []map[string]string
		for _, assignment := range assignments {
			for _, choice := range choices {
				next := map[string]string{key: choice}
				for k, v := range assignment {
					next[k] = v
				}
				longer = append(longer, next)
			}
		}
		assignments = longer
	}
	return assignments
}

// feasible tells whether an action is enabled for an assignment of which every value is known, and writes it.
func (o *oracle) feasible(action oracleAction, keys map[string]string) (string, bool) {
	candidate := fact{action: action, values: keys}
	if o.alreadyHappened(candidate) || len(o.excluders(candidate)) > 0 || len(o.blockers(candidate)) > 0 {
		return "", false
	}
	var known, open []string
	for _, name := range action.carries {
		if o.isAction(name) {
			if !o.happenedBeside(name, candidate) {
				return "", false
			}
			continue
		}
		value, bound := o.known(name, candidate)
		if o.isKey(name) {
			value, bound = keys[name], o.seenTogether(name, candidate)
		}
		switch {
		case o.isKey(name) && keys[name] != openKey && !bound:
			return "", false // used elsewhere, but not with the other keys of its scope
		case bound:
			known = append(known, name+"="+value)
		case !o.mayBind(action.role, name):
			return "", false
		case len(o.sayso[name]) == 0:
			open = append(open, fmt.Sprintf("%s:key:0", name))
		default:
			open = append(open, fmt.Sprintf("%s:sayso:%d", name, o.rank(action.role, name)))
		}
	}
	slices.Sort(known)
	slices.Sort(open)
	return fmt.Sprintf("%s(%s; %s)", action.name, strings.Join(known, ", "), strings.Join(open, ", ")), true
}

// seenTogether tells whether the role of a candidate sees the value of a key with those of the other keys of its scope.
func (o *oracle) seenTogether(key string, candidate fact) bool {
	return slices.ContainsFunc(o.seenBy(candidate.action.role), func(f fact) bool {
		return f.action.carriesIt(key) && sameOn(o.scope(key), f, candidate)
	})
}
