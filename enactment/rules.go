package enactment

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// Rules are a protocol made ready to be enacted, with its guards, its secrets and the parties that are configured.
// They never change and are safe for concurrent use.
type Rules struct {
	protocol *langshaw.Protocol
	hash     string
	root     []string // sorted
	roles    []string
	roleRank map[string]int // place in roles
	actions  []*actionRule
	byName   map[string]*actionRule
	byRole   map[string][]*actionRule
	// attributes that are no action names, in the order of the protocol; attributeRule.slot is the place.
	attributes []*attributeRule
	indexes    []*indexRule
	// flat tells that no action has a key outside the root key, so that there is nothing to find by such keys.
	flat    bool
	seed    maphash.Seed // of the indexes in states
	goal    goal
	secrets map[string]bool
	samples map[string][]Value
	parties map[string][]string
}

// actionRule is an action compiled.
type actionRule struct {
	*langshaw.Action
	index      int
	name       string
	role       string
	parameters []parameter
	position   map[string]int // of each parameter
	bySlot     []int          // position of each attribute of the rules, -1 where the action does not carry it
	keys       []int          // positions of the keys
	refers     []*actionRule  // the actions whose names it carries
	// happened finds the instance that has taken the action's one place in its name's scope.
	happened lookup
	// exclusions are the actions that a nono excludes, blocks those whose nogo stops this one.
	exclusions []conflict
	blocks     []conflict
	guards     []Guard
	// residual are the positions of the keys that are not in the root key.
	residual []int
	// indexes are those that an instance of this action is entered in.
	indexes []*indexRule
	// places is how often an instance of this action may be placed among those that are found by values of keys.
	places int
	sight  []sight // by role
}

// parameter is one attribute that an action carries.
type parameter struct {
	name string
	// attribute is nil for a reference, that is when the name is an action's.
	attribute *attributeRule
	// scope has the positions, in this action, of the attribute's scope keys outside the root key.
	scope []int
	// others are those of them that are not the attribute itself, of one that is a key.
	others []int
	// reference finds an instance of the action referred to that agrees with this one.
	reference lookup
	// bindable tells whether the action's role may bind the attribute.
	bindable bool
	// rank is the role's place in the sayso, meaningful where the attribute has one.
	rank int
}

// attributeRule is an attribute that is no action's name.
type attributeRule struct {
	*langshaw.Attribute
	name string
	slot int
	key  bool
	root bool // a key of the root key
	// single tells that the scope lies within the root key, so that the attribute is bound once an enactment.
	single bool
	ruled  bool // somebody has sayso over it
}

// indexRule is a way to find instances of an action by some of its keys outside the root key.
type indexRule struct {
	of        *actionRule
	slot      int
	positions []int // in the action, sorted by the keys' names; empty when one place holds for the whole enactment
}

// lookup is an index together with the positions, in the action that asks, of the keys to ask with.
type lookup struct {
	index     *indexRule
	positions []int
}

// conflict is an action that another is related to by nono or nogo.
type conflict struct {
	with  *actionRule
	agree lookup
}

// Option configures [Compile].
type Option func(*compiler)

// WithGuards adds guards: pure predicates that say what the language cannot (semantics section 5).
func WithGuards(guards ...Guard) Option {
	return func(c *compiler) { c.guards = append(c.guards, guards...) }
}

// WithSecrets names the attributes whose values are never shown in a [Record].
func WithSecrets(attributes ...string) Option {
	return func(c *compiler) { c.secrets = append(c.secrets, attributes...) }
}

// WithParties configures who may play a role. A role with one configured party has it in every enactment; one with
// several is played by whichever starts or first acts; without any, by any party.
func WithParties(role string, parties ...string) Option {
	return func(c *compiler) { c.parties[role] = append(c.parties[role], parties...) }
}

// WithSamples gives values to use for an attribute where values are made up, in simulations say, for those that have to
// have some form. They decide nothing.
func WithSamples(attribute string, values ...Value) Option {
	return func(c *compiler) { c.samples[attribute] = append(c.samples[attribute], values...) }
}

type compiler struct {
	guards  []Guard
	secrets []string
	samples map[string][]Value
	parties map[string][]string
}

// Compile makes rules of a protocol. It fails when an option names what the protocol does not have. The protocol should
// come without errors from langshaw.Parse: of a faulty one only the faultless part is there.
func Compile(p *langshaw.Protocol, options ...Option) (*Rules, error) {
	c := compiler{samples: make(map[string][]Value), parties: make(map[string][]string)}
	for _, option := range options {
		option(&c)
	}
	r := &Rules{
		protocol: p,
		root:     slices.Sorted(p.RootKey()),
		roles:    slices.Collect(p.Roles()),
		roleRank: make(map[string]int),
		byName:   make(map[string]*actionRule),
		byRole:   make(map[string][]*actionRule),
		secrets:  make(map[string]bool),
		samples:  c.samples,
		parties:  make(map[string][]string),
		flat:     true,
		seed:     maphash.MakeSeed(),
	}
	for i, role := range r.roles {
		r.roleRank[role] = i
	}
	slots := r.compileAttributes()
	for a := range p.Actions() {
		rule := &actionRule{Action: a, index: len(r.actions), name: a.Name(), role: a.Role(), position: make(map[string]int)}
		for name := range a.Attributes() {
			if p.IsKey(name) {
				rule.keys = append(rule.keys, len(rule.parameters))
				if !slices.Contains(r.root, name) {
					rule.residual = append(rule.residual, len(rule.parameters))
				}
			}
			rule.position[name] = len(rule.parameters)
			rule.parameters = append(rule.parameters, parameter{name: name, attribute: slots[name]})
		}
		rule.bySlot = make([]int, len(r.attributes))
		for slot, a := range r.attributes {
			rule.bySlot[slot] = -1
			if at, ok := rule.position[a.name]; ok {
				rule.bySlot[slot] = at
			}
		}
		r.flat = r.flat && len(rule.residual) == 0
		r.actions = append(r.actions, rule)
		r.byName[rule.name] = rule
		r.byRole[rule.role] = append(r.byRole[rule.role], rule)
	}
	found := make(map[string]*indexRule)
	for _, rule := range r.actions {
		if len(rule.keys) > 0 {
			r.compileAction(rule, found)
		}
	}
	r.compileConflicts(found)
	for _, rule := range r.actions {
		rule.countPlaces()
	}
	r.compileGoal()
	r.compileSight()
	if err := r.configure(c); err != nil {
		return nil, err
	}
	r.hash = r.fingerprint(c)
	return r, nil
}

func (r *Rules) compileAttributes() map[string]*attributeRule {
	slots := make(map[string]*attributeRule)
	for a := range r.protocol.Attributes() {
		if a.IsAction() {
			continue
		}
		rule := &attributeRule{
			Attribute: a, name: a.Name(), slot: len(r.attributes), key: a.IsKey(), root: slices.Contains(r.root, a.Name()),
			single: true,
		}
		for range a.Sayso() {
			rule.ruled = true
			break
		}
		for key := range a.Scope() {
			rule.single = rule.single && slices.Contains(r.root, key)
		}
		r.attributes = append(r.attributes, rule)
		slots[rule.name] = rule
	}
	return slots
}

func (r *Rules) compileAction(rule *actionRule, found map[string]*indexRule) {
	for i := range rule.parameters {
		p := &rule.parameters[i]
		if p.attribute == nil {
			rule.refers = append(rule.refers, r.byName[p.name])
			p.reference = r.agreement(rule, r.byName[p.name], found)
			continue
		}
		p.bindable = p.attribute.MayBind(rule.role)
		p.rank, _ = p.attribute.Rank(rule.role)
		p.scope = rule.positionsOf(p.attribute.Scope(), r.root)
		p.others = without(p.scope, i)
	}
	name, _ := r.protocol.Attribute(rule.name)
	scope := rule.positionsOf(name.Scope(), r.root)
	rule.happened = lookup{r.index(rule, scope, found), scope}
}

// positionsOf gives the places of the keys that are not in the root key, in the order given.
func (rule *actionRule) positionsOf(keys iter.Seq[string], root []string) []int {
	var positions []int
	for key := range keys {
		if !slices.Contains(root, key) {
			positions = append(positions, rule.position[key])
		}
	}
	return positions
}

// agreement finds instances of the other action that agree with one of this action: that have the same value for every
// key that both carry.
func (r *Rules) agreement(rule, other *actionRule, found map[string]*indexRule) lookup {
	var mine, its []int
	for key := range rule.Keys() {
		if at, both := other.position[key]; both && !slices.Contains(r.root, key) {
			mine, its = append(mine, rule.position[key]), append(its, at)
		}
	}
	return lookup{r.index(other, its, found), mine}
}

// index gives the index over an action by the keys at the positions, the same one for the same keys.
func (r *Rules) index(rule *actionRule, positions []int, found map[string]*indexRule) *indexRule {
	identity := fmt.Sprint(rule.index, positions)
	index, ok := found[identity]
	if !ok {
		index = &indexRule{of: rule, slot: len(r.indexes), positions: positions}
		r.indexes = append(r.indexes, index)
		rule.indexes = append(rule.indexes, index)
		found[identity] = index
	}
	return index
}

func (rule *actionRule) countPlaces() {
	for _, index := range rule.indexes {
		if len(index.positions) > 0 {
			rule.places++
		}
	}
	for at := range rule.parameters {
		if a := rule.parameters[at].attribute; a != nil && !a.single {
			rule.places++
		}
	}
}

func (r *Rules) compileConflicts(found map[string]*indexRule) {
	for nono := range r.protocol.Nonos() {
		names := slices.Collect(nono.Actions())
		for _, a := range names {
			for _, b := range names {
				rule, other := r.byName[a], r.byName[b]
				if a != b && len(rule.keys) > 0 && len(other.keys) > 0 {
					rule.exclusions = append(rule.exclusions, conflict{other, r.agreement(rule, other, found)})
				}
			}
		}
	}
	for nogo := range r.protocol.Nogos() {
		first, then := r.byName[nogo.First()], r.byName[nogo.Then()]
		if len(first.keys) > 0 && len(then.keys) > 0 {
			then.blocks = append(then.blocks, conflict{first, r.agreement(then, first, found)})
		}
	}
}

func (r *Rules) configure(c compiler) error {
	for _, name := range c.secrets {
		if a, ok := r.protocol.Attribute(name); !ok || a.IsAction() || a.IsKey() {
			return fmt.Errorf("enactment: the secret %q is no attribute of %s that could be hidden", name, r.protocol.Name())
		}
		r.secrets[name] = true
	}
	for name := range c.samples {
		if a, ok := r.protocol.Attribute(name); !ok || a.IsAction() {
			return fmt.Errorf("enactment: there are samples of %q, which is no attribute of %s", name, r.protocol.Name())
		}
	}
	for role, parties := range c.parties {
		if !r.protocol.HasRole(role) {
			return fmt.Errorf("enactment: parties are configured for %q, which is no role of %s", role, r.protocol.Name())
		}
		r.parties[role] = parties
	}
	for _, guard := range c.guards {
		rule, ok := r.byName[guard.Action]
		if !ok || guard.Name == "" || guard.Allow == nil {
			return fmt.Errorf("enactment: the guard %q on %q needs a name, a predicate and an action of %s",
				guard.Name, guard.Action, r.protocol.Name())
		}
		rule.guards = append(rule.guards, guard)
	}
	for _, rule := range r.actions {
		// The first guard that says no is named, so their order is part of what the hash stands for.
		slices.SortStableFunc(rule.guards, func(a, b Guard) int { return strings.Compare(a.Name, b.Name) })
	}
	return nil
}

// Protocol is the protocol that the rules were made of.
func (r *Rules) Protocol() *langshaw.Protocol { return r.protocol }

// Hash identifies protocol, guards and secrets: the SHA-256, in hexadecimal, of their canonical form. Comments and the
// order of entries do not change it; neither do the samples and the parties, which are configuration.
func (r *Rules) Hash() string { return r.hash }

// Secret tells whether the attribute's values are kept out of records.
func (r *Rules) Secret(attribute string) bool { return r.secrets[attribute] }

// Guards lists the guards in the order of the actions and, for each action, in that in which they are asked.
func (r *Rules) Guards() iter.Seq[Guard] {
	return func(yield func(Guard) bool) {
		for _, rule := range r.actions {
			for _, guard := range rule.guards {
				if !yield(guard) {
					return
				}
			}
		}
	}
}

// Samples lists the values to use for an attribute where values are made up; none where any will do.
func (r *Rules) Samples(attribute string) []Value { return slices.Clone(r.samples[attribute]) }

// Party gives the one party that is configured for the role; false when there are none or several.
func (r *Rules) Party(role string) (string, bool) {
	if parties := r.parties[role]; len(parties) == 1 {
		return parties[0], true
	}
	return "", false
}

func (r *Rules) unknownAction(name string) *Rejection {
	return &Rejection{Code: UnknownAction, Detail: fmt.Sprintf("%s has no action %q", r.protocol.Name(), name)}
}

// faultyKey says what is wrong with a value for a key.
func (rule *actionRule) faultyKey(name string, value Value) *Rejection {
	switch {
	case value.IsZero():
		return &Rejection{Code: Malformed, Attribute: name, Detail: fmt.Sprintf("%s needs a value for its key %s", rule.name, name)}
	case !value.IsScalar():
		return &Rejection{Code: Malformed, Attribute: name, Detail: fmt.Sprintf("the key %s is a string, a number or a boolean, not %s", name, value.kind())}
	}
	return nil
}

// binders says who may bind an attribute.
func binders(a *attributeRule) string {
	if roles := slices.Collect(a.Sayso()); len(roles) > 0 {
		return strings.Join(roles, " or ")
	}
	if a.key {
		return "any role"
	}
	return "nobody"
}
