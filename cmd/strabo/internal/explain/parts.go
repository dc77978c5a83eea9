package explain

import (
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// action explains one action: what it refers to, what it needs, and what it binds (semantics sections 3 and 4).
func (x *explainer) action(a *langshaw.Action) Action {
	e := Action{
		Action: a.Name(), Role: a.Role(), OncePer: x.scope(a.Name()),
		After: []Reference{}, Needs: []Need{}, Binds: []string{}, BindsIfOpen: []string{}, Repeats: []string{},
		NewKeys: []string{}, KnownKeys: []string{}, NotOnce: []string{}, SeenBy: x.sights(a),
	}
	e.Begins = x.begins[a.Name()]
	if len(slices.Collect(a.Keys())) == 0 {
		e.Never = "it carries no key"
		return e
	}
	for name := range a.Attributes() {
		if _, isAction := x.protocol.Action(name); isAction {
			e.After = append(e.After, Reference{Action: name, Same: x.same(a, x.find(name))})
			continue
		}
		x.carried(a, name, &e)
	}
	for other := range x.protocol.Actions() {
		if x.protocol.Excludes(a.Name(), other.Name()) || x.protocol.Blocks(other.Name(), a.Name()) {
			e.NotOnce = append(e.NotOnce, other.Name())
		}
	}
	return e
}

// carried explains one attribute that an action carries.
func (x *explainer) carried(a *langshaw.Action, name string, e *Action) {
	attribute, _ := x.protocol.Attribute(name)
	told := x.toldBefore(a, name)
	binders := x.binders(attribute)
	switch {
	case attribute.IsKey() && slices.Contains(x.root, name):
		if !e.Begins && !told && !attribute.MayBind(a.Role()) && len(binders) == 0 {
			e.Never = "nobody may bind " + name
		}
	case attribute.IsKey() && attribute.MayBind(a.Role()) && !told:
		e.NewKeys = append(e.NewKeys, name)
	case attribute.IsKey():
		e.KnownKeys = append(e.KnownKeys, name)
	case told:
		e.Repeats = append(e.Repeats, name)
	case !attribute.MayBind(a.Role()):
		e.Needs = append(e.Needs, Need{Attribute: name, From: some(binders)})
		if len(binders) == 0 {
			e.Never = "nobody may bind " + name
		}
	case x.mayBeBound(a, name, binders) || len(x.scope(name)) < len(e.OncePer):
		e.BindsIfOpen = append(e.BindsIfOpen, name)
	default:
		e.Binds = append(e.Binds, name)
	}
}

// toldBefore tells whether an action that must have happened carries the attribute, so that its value is known. That
// action may be one that is referred to by one that is referred to, as long as each carries the keys by which the
// attribute is bound: otherwise the value might be that of other keys.
func (x *explainer) toldBefore(a *langshaw.Action, name string) bool {
	scope := x.scope(name)
	seen := make(map[string]bool)
	var told func(a *langshaw.Action) bool
	told = func(a *langshaw.Action) bool {
		for reference := range a.Attributes() {
			before, ok := x.protocol.Action(reference)
			if !ok || seen[reference] {
				continue
			}
			seen[reference] = true
			if before.Carries(name) {
				return true
			}
			if !slices.ContainsFunc(scope, func(key string) bool { return !before.Carries(key) }) && told(before) {
				return true
			}
		}
		return false
	}
	return told(a)
}

// mayBeBound tells whether an action other than the given one may have bound an attribute before. One that keeps the
// given one from happening, for all values of keys for which it binds the attribute, has not.
func (x *explainer) mayBeBound(a *langshaw.Action, name string, binders []string) bool {
	return slices.ContainsFunc(binders, func(binder string) bool {
		stops := x.protocol.Excludes(a.Name(), binder) || x.protocol.Blocks(binder, a.Name())
		return binder != a.Name() && (!stops || len(x.same(a, x.find(binder))) > len(x.scope(name)))
	})
}

// binders lists the actions by which an attribute can be bound: those whose role may, and which do not come after one
// that has bound it.
func (x *explainer) binders(attribute *langshaw.Attribute) []string {
	if binders, ok := x.bindings[attribute.Name()]; ok {
		return binders
	}
	var binders []string
	for carrier := range attribute.Carriers() {
		if attribute.MayBind(carrier.Role()) && !x.toldBefore(carrier, attribute.Name()) {
			binders = append(binders, carrier.Name())
		}
	}
	x.bindings[attribute.Name()] = binders
	return binders
}

// sights says what each role but the actor sees of an action (semantics section 7).
func (x *explainer) sights(a *langshaw.Action) []Sight {
	sights := []Sight{}
	for role := range x.protocol.Roles() {
		sees, hidden := x.rules.Sight(role, a.Name())
		sight := Sight{Role: role, Any: sees, All: sees && len(hidden) == 0, Attributes: []string{}}
		for name := range a.Attributes() {
			if _, isAction := x.protocol.Action(name); sees && !isAction && !slices.Contains(hidden, name) {
				sight.Attributes = append(sight.Attributes, name)
			}
		}
		sights = append(sights, sight)
	}
	return sights
}

// attribute explains a key or a value.
func (x *explainer) attribute(attribute *langshaw.Attribute) Attribute {
	e := Attribute{
		Attribute: attribute.Name(), Key: attribute.IsKey(), Secret: x.rules.Secret(attribute.Name()),
		DecidedBy: some(slices.Collect(attribute.Sayso())), OncePer: x.scope(attribute.Name()), CarriedBy: []string{}, SeenBy: []SeenIn{},
	}
	for carrier := range attribute.Carriers() {
		e.CarriedBy = append(e.CarriedBy, carrier.Name())
	}
	for role := range x.protocol.Roles() {
		seen := SeenIn{Role: role}
		for _, carrier := range e.CarriedBy {
			if sees, hidden := x.rules.Sight(role, carrier); sees && !slices.Contains(hidden, attribute.Name()) {
				seen.In = append(seen.In, carrier)
			}
		}
		if len(seen.In) > 0 {
			seen.Everywhere = len(seen.In) == len(e.CarriedBy)
			e.SeenBy = append(e.SeenBy, seen)
		}
	}
	return e
}

// exclusions explains one nono: as a whole if the actions agree in the same keys, else pair by pair.
func (x *explainer) exclusions(actions []string) []Exclusion {
	if len(x.keys) == 0 {
		return []Exclusion{{Actions: actions, Same: []string{}}}
	}
	var pairs []Exclusion
	uniform := true
	for i := range actions {
		for j := i + 1; j < len(actions); j++ {
			pair := Exclusion{Actions: []string{actions[i], actions[j]}, Same: x.same(x.find(actions[i]), x.find(actions[j]))}
			pairs = append(pairs, pair)
			uniform = uniform && slices.Equal(pair.Same, pairs[0].Same)
		}
	}
	if uniform && len(pairs) > 0 {
		return []Exclusion{{Actions: actions, Same: pairs[0].Same}}
	}
	return pairs
}

func (x *explainer) block(nogo *langshaw.Nogo) Block {
	first, then := x.find(nogo.First()), x.find(nogo.Then())
	return Block{First: first.Name(), Then: then.Name(), Same: x.same(first, then), Crossing: first.Role() != then.Role()}
}

// spread finds actions that can never happen since others never do.
func spread(actions []Action) {
	never := make(map[string]bool)
	for again := true; again; {
		again = false
		for i := range actions {
			a := &actions[i]
			for _, r := range a.After {
				if a.Never == "" && never[r.Action] {
					a.Never = "it comes after " + r.Action + ", which never happens"
				}
			}
			for _, need := range a.Needs {
				if a.Never == "" && !slices.ContainsFunc(need.From, func(from string) bool { return !never[from] }) {
					a.Never = "nobody can bind " + need.Attribute
				}
			}
			again = again || a.Never != "" && !never[a.Action]
			never[a.Action] = never[a.Action] || a.Never != ""
		}
	}
}

// part is a conjunct explained, with the actions that meet it.
type part struct {
	goal Goal
	key  bool
	met  map[string]bool
}

// implies tells whether a part is met whenever another is, so that only the other need be told. Of two that are met
// alike the one that is no key is told, or the first.
func (p part) implies(other part, first bool) bool {
	switch {
	case len(p.met) == 0 || !within(p.met, other.met):
		return false
	case len(p.met) < len(other.met):
		return true
	case p.key != other.key:
		return other.key
	default:
		return first
	}
}

// goals explains the parts of what. A key that every action carries, and what is met whenever something else is, need
// not be told. It gives too the keys besides the root key in which the actions that meet different parts have to agree.
func (x *explainer) goals() (goals []Goal, same []string) {
	var parts, told []part
	for conjunct := range x.protocol.What() {
		parts = append(parts, x.part(conjunct))
	}
	all := part{met: make(map[string]bool)}
	for action := range x.protocol.Actions() {
		if len(slices.Collect(action.Keys())) > 0 {
			all.met[action.Name()] = true
		}
	}
	for i := range parts {
		implied := parts[i].key && within(all.met, parts[i].met)
		for j := range parts {
			implied = implied || i != j && parts[j].implies(parts[i], j < i)
		}
		if !implied {
			told = append(told, parts[i])
			goals = append(goals, parts[i].goal)
		}
	}
	for _, key := range x.keys {
		carrying := 0
		for _, p := range told {
			for name := range p.met {
				if x.find(name).Carries(key) {
					carrying++
					break
				}
			}
		}
		if carrying > 1 {
			same = append(same, key)
		}
	}
	return goals, some(same)
}

// within tells whether all that is in one set is in another.
func within(a, b map[string]bool) bool {
	for name := range a {
		if !b[name] {
			return false
		}
	}
	return true
}

func (x *explainer) part(conjunct *langshaw.Conjunct) part {
	p := part{key: conjunct.IsKey(), met: make(map[string]bool)}
	for name := range conjunct.Alternatives() {
		attribute, _ := x.protocol.Attribute(name)
		for carrier := range attribute.Carriers() {
			if len(slices.Collect(carrier.Keys())) > 0 {
				p.met[carrier.Name()] = true
			}
		}
		by := []string{name}
		if !attribute.IsAction() {
			by = some(x.binders(attribute)) // the first action to carry it is one that binds it
		}
		p.goal.AnyOf = append(p.goal.AnyOf, Alternative{Name: name, Action: attribute.IsAction(), By: by})
	}
	return p
}
