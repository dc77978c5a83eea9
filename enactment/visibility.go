package enactment

import "maps"

// sight is how much of an action's instances a role sees (semantics section 7).
type sight struct {
	any bool
	// values tells for each parameter whether its value is visible; nil when all are.
	values []bool
}

func (r *Rules) compileSight() {
	named := make(map[string]bool) // what `what` names, keys left out
	for conjunct := range r.protocol.What() {
		if conjunct.IsKey() {
			continue
		}
		for name := range conjunct.Alternatives() {
			if !r.protocol.IsKey(name) {
				named[name] = true
			}
		}
	}
	for _, role := range r.roles {
		needs, refers := maps.Clone(named), make(map[string]bool)
		related := make(map[*actionRule]bool)
		for _, rule := range r.byRole[role] {
			if len(rule.keys) == 0 {
				continue // it never happens, so it needs nothing
			}
			for _, p := range rule.parameters {
				if p.attribute == nil || !p.attribute.key || !p.bindable {
					needs[p.name] = true
				}
				if p.attribute == nil {
					refers[p.name] = true
				}
			}
			for _, c := range rule.exclusions {
				related[c.with] = true
			}
			for _, c := range rule.blocks {
				related[c.with] = true
			}
		}
		for nogo := range r.protocol.Nogos() {
			if first := r.byName[nogo.First()]; first.role == role && len(first.keys) > 0 {
				related[r.byName[nogo.Then()]] = true
			}
		}
		for _, rule := range r.actions {
			if rule.role == role || refers[rule.name] {
				rule.sight = append(rule.sight, sight{any: true})
				continue
			}
			rule.sight = append(rule.sight, r.partly(rule, needs, related[rule] || named[rule.name]))
		}
	}
}

// partly says what a role sees of an action that is not its own and that none of its actions refers to.
func (r *Rules) partly(rule *actionRule, needs map[string]bool, concerned bool) sight {
	values := make([]bool, len(rule.parameters))
	for at, p := range rule.parameters {
		values[at] = needs[p.name] || r.protocol.IsKey(p.name)
		concerned = concerned || needs[p.name]
	}
	return sight{any: concerned, values: values}
}

// Project gives what a role sees of an instance, hidden values taken out; false when it sees nothing of it. What a
// role sees suffices to compute [State.Enabled] for it exactly (semantics section 7). The result shares no memory that
// could be changed with the instance.
func (r *Rules) Project(role string, i Instance) (Instance, bool) {
	rank, ok := r.roleRank[role]
	if !ok {
		return Instance{}, false
	}
	seen := i.rule.sight[rank]
	if !seen.any {
		return Instance{}, false
	}
	i.Parties = maps.Clone(i.Parties)
	if seen.values == nil {
		return i, true
	}
	values := make([]Value, len(i.values))
	for at, visible := range seen.values {
		if visible {
			values[at] = i.values[at]
		}
	}
	i.values = values
	return i, true
}

// Sight says what a role sees of an action: whether it learns of its instances at all, and which attributes stay
// hidden from it.
func (r *Rules) Sight(role, action string) (any bool, hidden []string) {
	rule, ok := r.byName[action]
	rank, known := r.roleRank[role]
	if !ok || !known {
		return false, nil
	}
	seen := rule.sight[rank]
	for at, p := range rule.parameters {
		if p.attribute != nil && (!seen.any || seen.values != nil && !seen.values[at]) {
			hidden = append(hidden, p.name)
		}
	}
	return seen.any, hidden
}
