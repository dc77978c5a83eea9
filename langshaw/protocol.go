package langshaw

import (
	"iter"
	"slices"
)

// Protocol is the meaning of a protocol text: who may do what, on whose say, and what excludes what. It never
// changes once built, is safe for concurrent use, and answers each question in time that does not grow with the
// protocol. Lists come in the order of the text.
type Protocol struct {
	name       string
	roles      []string
	isRole     map[string]bool
	what       []*Conjunct
	actions    []*Action
	byName     map[string]*Action
	attributes []*Attribute
	attribute  map[string]*Attribute
	keys       []string
	isKey      map[string]bool
	root       meeting
	nonos      []*Nono
	nogos      []*Nogo
	conflicts  conflicts
}

// Name is the protocol's name.
func (p *Protocol) Name() string { return p.name }

// Roles lists the roles.
func (p *Protocol) Roles() iter.Seq[string] { return slices.Values(p.roles) }

// HasRole tells whether the protocol has a role of that name.
func (p *Protocol) HasRole(name string) bool { return p.isRole[name] }

// What lists the conjuncts that a complete enactment satisfies, keys included.
func (p *Protocol) What() iter.Seq[*Conjunct] { return slices.Values(p.what) }

// Actions lists the actions.
func (p *Protocol) Actions() iter.Seq[*Action] { return slices.Values(p.actions) }

// ActionCount says how many actions there are; [Action.Index] is below it.
func (p *Protocol) ActionCount() int { return len(p.actions) }

// Action finds an action by name.
func (p *Protocol) Action(name string) (*Action, bool) {
	a, ok := p.byName[name]
	return a, ok
}

// Attributes lists everything that actions carry, the actions' own names included, and then what only sayso or
// what mention.
func (p *Protocol) Attributes() iter.Seq[*Attribute] { return slices.Values(p.attributes) }

// Attribute finds an attribute by name; an action's name is an attribute too.
func (p *Protocol) Attribute(name string) (*Attribute, bool) {
	a, ok := p.attribute[name]
	return a, ok
}

// Keys lists the key attributes.
func (p *Protocol) Keys() iter.Seq[string] { return slices.Values(p.keys) }

// IsKey tells whether the attribute is a key.
func (p *Protocol) IsKey(attribute string) bool { return p.isKey[attribute] }

// RootKey lists, sorted by name, the keys that every action with a key carries; instances with the same values for
// them form one enactment. It is empty when no key is carried by all: then the whole system is one enactment
// (semantics section 3).
func (p *Protocol) RootKey() iter.Seq[string] { return p.root.set.all() }

// Nonos lists the entries of nono.
func (p *Protocol) Nonos() iter.Seq[*Nono] { return slices.Values(p.nonos) }

// Nogos lists the entries of nogo.
func (p *Protocol) Nogos() iter.Seq[*Nogo] { return slices.Values(p.nogos) }

// Excludes tells whether the two actions stand in one nono.
func (p *Protocol) Excludes(a, b string) bool { return p.conflicts.excludes(a, b) }

// Blocks tells whether there is a nogo first -/> then: once first has happened, then no longer may.
func (p *Protocol) Blocks(first, then string) bool { return p.conflicts.blocks(first, then) }

// Conjunct is one part of what: satisfied when one of its alternatives is.
type Conjunct struct {
	alternatives []string
	key          bool
	span         Span
}

// Alternatives lists the attributes and actions, any of which satisfies the conjunct.
func (c *Conjunct) Alternatives() iter.Seq[string] { return slices.Values(c.alternatives) }

// IsKey tells whether the conjunct declares a key.
func (c *Conjunct) IsKey() bool { return c.key }

// Span is where the conjunct stands.
func (c *Conjunct) Span() Span { return c.span }

// Action is something that one role may do.
type Action struct {
	index      int
	name       string
	role       string
	attributes []string
	// carries is nil where attributes is short, and looking through it no slower.
	carries map[string]bool
	keys    keySet
	span    Span
}

// Index numbers the actions of a protocol from 0 in the order of the text.
func (a *Action) Index() int { return a.index }

// Name is the action's name, which is an attribute too.
func (a *Action) Name() string { return a.name }

// Role is the role that performs the action.
func (a *Action) Role() string { return a.role }

// Attributes lists what stands in the action's parentheses: keys, attributes and names of other actions. The
// action's own name is not among them.
func (a *Action) Attributes() iter.Seq[string] { return slices.Values(a.attributes) }

// Carries tells whether the attribute stands in the action's parentheses or is its own name.
func (a *Action) Carries(attribute string) bool {
	if a.carries == nil {
		return attribute == a.name || slices.Contains(a.attributes, attribute)
	}
	return attribute == a.name || a.carries[attribute]
}

// few is up to how many names a list is searched through, since a map would be no faster and much larger.
const few = 8

// Keys lists the key attributes that the action carries, sorted by name. An action without any is never enabled.
func (a *Action) Keys() iter.Seq[string] { return a.keys.all() }

// Span is where the action stands, from its name to the closing parenthesis.
func (a *Action) Span() Span { return a.span }

// Attribute is something that actions bind: a key, a value, or an action's name.
type Attribute struct {
	name     string
	key      bool
	action   bool
	scope    meeting
	carriers []*Action
	sayso    *ranking
	span     Span
}

// Name is the attribute's name.
func (a *Attribute) Name() string { return a.name }

// IsKey tells whether it is a key.
func (a *Attribute) IsKey() bool { return a.key }

// IsAction tells whether it is the name of an action: bound, without a value, when the action happens.
func (a *Attribute) IsAction() bool { return a.action }

// Scope lists, sorted by name, the keys that every action carrying the attribute carries: it is bound once for each
// combination of their values (semantics section 3). Actions without a key do not count.
func (a *Attribute) Scope() iter.Seq[string] { return a.scope.set.all() }

// Carriers lists the actions that carry the attribute; for an action's name, that action is one of them.
func (a *Attribute) Carriers() iter.Seq[*Action] { return slices.Values(a.carriers) }

// Sayso lists the roles that may bind the attribute, highest authority first.
func (a *Attribute) Sayso() iter.Seq[string] { return slices.Values(a.sayso.roles) }

// Rank gives a role's place in the sayso over the attribute, 0 the highest; false when it has no sayso.
func (a *Attribute) Rank(role string) (int, bool) {
	return a.sayso.of(role)
}

// MayBind tells whether the role may give the attribute a value: it has sayso, whatever its rank, or the attribute
// is a key that nobody has sayso over (semantics section 4).
func (a *Attribute) MayBind(role string) bool {
	if a.action {
		return false
	}
	if len(a.sayso.roles) == 0 {
		return a.key
	}
	_, ok := a.sayso.of(role)
	return ok
}

// Span is where the attribute is first mentioned.
func (a *Attribute) Span() Span { return a.span }

// Nono is one entry of nono: its actions exclude each other.
type Nono struct {
	actions []string
	span    Span
}

// Actions lists the actions, two or more.
func (n *Nono) Actions() iter.Seq[string] { return slices.Values(n.actions) }

// Span is where the entry stands.
func (n *Nono) Span() Span { return n.span }

// Nogo is one entry of nogo: once First has happened, Then no longer may.
type Nogo struct {
	first, then string
	span        Span
}

// First is the action that blocks.
func (n *Nogo) First() string { return n.first }

// Then is the action that is blocked.
func (n *Nogo) Then() string { return n.then }

// Span is where the entry stands.
func (n *Nogo) Span() Span { return n.span }
