package bridge

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// checker holds a mapping against the protocol.
type checker struct {
	*reader
	mapping  *Mapping
	rules    *enactment.Rules
	protocol *langshaw.Protocol
	kept     map[string]bool
}

func (r *reader) check(m *Mapping, root *yaml.Node, rules *enactment.Rules) {
	c := &checker{reader: r, mapping: m, rules: rules, protocol: rules.Protocol(), kept: make(map[string]bool)}
	switch {
	case m.protocol == "":
		r.fault(root, "a mapping needs the name of its protocol")
	case m.protocol != c.protocol.Name():
		r.fault(root, "the mapping is of protocol %s, not of %s", m.protocol, c.protocol.Name())
	}
	switch {
	case m.role == "":
		r.fault(root, "a mapping needs the role that it plays")
		return
	case !c.protocol.HasRole(m.role):
		r.fault(root, "%s has no role %q", c.protocol.Name(), m.role)
		return
	case len(m.actions) == 0:
		r.fault(root, "a mapping needs actions")
	}
	for _, p := range m.actions {
		p.eachAnswer(func(_ int, a *answer) {
			for _, kept := range a.keep {
				c.kept[kept.name] = true
			}
		})
	}
	for _, header := range m.headers {
		c.paths(header.value, roots(rootSettings, rootExchange), flow{}, "headers")
	}
	for _, name := range m.order {
		c.plan(m.actions[name])
	}
}

// eachAnswer visits every answer of a plan with the index of its step.
func (p *plan) eachAnswer(visit func(at int, a *answer)) {
	for at, s := range p.steps {
		for _, choose := range s.choose {
			if choose.none != nil {
				visit(at, choose.none)
			}
		}
		for _, a := range []*answer{s.unmade, s.lost, s.late} {
			if a != nil {
				visit(at, a)
			}
		}
		for _, a := range s.answers {
			visit(at, a)
		}
		if s.status != nil {
			for _, a := range s.status.answers {
				visit(at, a)
			}
		}
	}
}

// plan checks one observed action.
func (c *checker) plan(p *plan) {
	where := c.places[p.action]
	action, ok := c.protocol.Action(p.action)
	if !ok {
		c.faultAt(where, "%s has no action %q", c.protocol.Name(), p.action)
		return
	}
	if action.Role() == c.mapping.role {
		c.faultAt(where, "%s is an action of %s itself: a bridge answers what other roles do", p.action, c.mapping.role)
		return
	}
	o, sees := c.observe(action)
	if !sees {
		c.faultAt(where, "%s never sees %s", c.mapping.role, p.action)
		return
	}
	c.steps(p, o)
}

// observed is an action as the bridge's role sees it.
type observed struct {
	action  *langshaw.Action
	visible map[string]bool
	// before are the actions that have happened when this one has.
	before map[string]bool
}

func (c *checker) observe(action *langshaw.Action) (observed, bool) {
	values := make(enactment.Values)
	for name := range action.Attributes() {
		if attribute, ok := c.protocol.Attribute(name); ok && !attribute.IsAction() {
			values[name] = enactment.MustValue("any")
		}
	}
	o := observed{action: action, visible: make(map[string]bool), before: make(map[string]bool)}
	instance, err := c.rules.NewInstance(enactment.Identity{Role: action.Role()}, action.Name(), "", values, nil)
	if err != nil {
		return o, false
	}
	seen, sees := c.rules.Project(c.mapping.role, instance)
	for name := range seen.Values() {
		o.visible[name] = true
	}
	c.precede(action, o.before)
	return o, sees
}

func (c *checker) precede(action *langshaw.Action, before map[string]bool) {
	before[action.Name()] = true
	for name := range action.Attributes() {
		if earlier, ok := c.protocol.Action(name); ok && !before[name] {
			c.precede(earlier, before)
		}
	}
}

// plainly checks a value that is written down and told to others, and so must not be made of a secret.
func (c *checker) plainly(m member, a *answer, allowed map[string]bool, in flow, step string) {
	if c.paths(m.value, allowed, in, step) {
		c.faultAt(a.where, "%s is made of a secret, and would be written down or told to others", m.name)
	}
}

func roots(names ...string) map[string]bool {
	allowed := map[string]bool{rootEach: true}
	for _, name := range names {
		allowed[name] = true
	}
	return allowed
}

// paths checks the paths of a template, and tells whether it gives something made of a secret.
func (c *checker) paths(t template, allowed map[string]bool, in flow, step string) (tainted bool) {
	t.walk(func(p *path, optional bool) {
		for i, r := range p.references {
			c.reference(r, c.places[p], allowed, in, step, optional || i > 0)
		}
		tainted = tainted || c.secret(p.references[0], in)
	})
	return tainted
}

func (c *checker) secret(r reference, in flow) bool {
	return r.root == rootObserved && c.rules.Secret(r.name) || r.root == rootBound && in.tainted[r.name]
}

func (c *checker) conditions(condition *condition, allowed map[string]bool, in flow, step string) {
	for _, r := range condition.references {
		c.reference(r, c.places[condition], allowed, in, step, true)
	}
}

func (c *checker) reference(r reference, where place, allowed map[string]bool, in flow, step string, optional bool) {
	if !allowed[r.root] {
		known := slices.Sorted(maps.Keys(allowed))
		c.faultAt(where, "$.%s is not known here, in %s: known are $.%s", r.root, step, strings.Join(known, ", $."))
		return
	}
	switch r.root {
	case rootObserved:
		switch {
		case !slices.Contains(slices.Collect(in.observed.action.Attributes()), r.name):
			c.faultAt(where, "%s carries no %q", in.observed.action.Name(), r.name)
		case !in.observed.visible[r.name]:
			c.faultAt(where, "%s does not see the %s of %s", c.mapping.role, r.name, in.observed.action.Name())
		}
	case rootHappened:
		if _, ok := c.protocol.Action(r.name); !ok {
			c.faultAt(where, "%s has no action %q", c.protocol.Name(), r.name)
		}
	case rootBound:
		switch {
		case in.foreign[r.name] && !in.tainted[r.name]:
			c.faultAt(where, "%s was made of a secret in another step and is not kept: choose it again in %s", r.name, step)
		case !in.ever[r.name]:
			c.faultAt(where, "no step before binds %q", r.name)
		case !in.always[r.name] && !optional:
			c.faultAt(where, "%q is not bound on every way to %s", r.name, step)
		}
	case rootKept:
		if !c.kept[r.name] {
			c.faultAt(where, "nothing keeps %q", r.name)
		}
	case rootSettings:
		if !slices.Contains(c.mapping.settings, r.name) {
			c.faultAt(where, "%q is none of the settings", r.name)
		}
	case rootExchange:
		if !slices.Contains([]string{"key", "request", "sends", "waited"}, r.name) {
			c.faultAt(where, "an exchange has key, request, sends and waited, not %q", r.name)
		}
	}
}

// attempted checks the action that an answer attempts.
func (c *checker) attempted(a *answer, o observed) {
	action, ok := c.protocol.Action(a.attempt)
	switch {
	case a.attempt == "":
		return
	case !ok:
		c.faultAt(a.where, "%s has no action %q", c.protocol.Name(), a.attempt)
		return
	case action.Role() != c.mapping.role:
		c.faultAt(a.where, "%s is an action of %s, not of %s", a.attempt, action.Role(), c.mapping.role)
		return
	}
	given := make(map[string]bool)
	for _, m := range a.values {
		given[m.name] = true
	}
	known := func(name string) bool { return o.visible[name] && !c.elsewhere(name, given) }
	for _, m := range a.values {
		attribute, exists := c.protocol.Attribute(m.name)
		switch {
		case !exists || !action.Carries(m.name):
			c.faultAt(a.where, "%s carries no %q", a.attempt, m.name)
		case attribute.IsAction():
			c.faultAt(a.where, "%s is an action, which has no value", m.name)
		case known(m.name):
			c.faultAt(a.where, "%s is known from %s already: leave it out", m.name, o.action.Name())
		case !attribute.IsKey() && !attribute.MayBind(c.mapping.role):
			c.faultAt(a.where, "%s has no sayso over %s", c.mapping.role, m.name)
		case c.rules.Secret(m.name):
			c.faultAt(a.where, "%s is a secret, which a bridge cannot keep and so cannot attempt again after a restart", m.name)
		}
	}
	before := maps.Clone(o.before)
	c.precede(action, before)
	delete(before, action.Name())
	var missing []string
	for name := range action.Attributes() {
		if !given[name] && !known(name) && c.open(name, before) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		c.faultAt(a.where, "missing binding: %s needs %s", a.attempt, strings.Join(missing, ", "))
	}
}

// elsewhere tells whether what is given has another key than what is observed, so that the attribute, or the key itself,
// may have another value there. The keys of the enactment are the same everywhere.
func (c *checker) elsewhere(name string, given map[string]bool) bool {
	attribute, ok := c.protocol.Attribute(name)
	if !ok {
		return false
	}
	root := slices.Collect(c.protocol.RootKey())
	another := func(key string) bool {
		a, ok := c.protocol.Attribute(key)
		return ok && a.IsKey() && given[key] && !slices.Contains(root, key)
	}
	return another(name) || !attribute.IsKey() && slices.ContainsFunc(slices.Collect(attribute.Scope()), another)
}

// open tells whether the role must give a value for an attribute: a key always, another when the role may bind it and
// nothing that has happened before carries it.
func (c *checker) open(name string, before map[string]bool) bool {
	attribute, ok := c.protocol.Attribute(name)
	switch {
	case !ok || attribute.IsAction():
		return false
	case attribute.IsKey():
		return true
	case !attribute.MayBind(c.mapping.role):
		return false
	}
	for carrier := range attribute.Carriers() {
		if before[carrier.Name()] {
			return false
		}
	}
	return true
}
