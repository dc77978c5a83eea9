package langshaw

// declarations are the entries of a text that passed the static rules: every name in them is of the right kind, and
// nothing is declared twice. They are what a Protocol is built from.
type declarations struct {
	name    string
	roles   []string
	what    []*Conjunct
	actions []declaredAction
	saysos  []declaredSayso
	nonos   []*Nono
	nogos   []*Nogo
	// span tells where an attribute is first mentioned.
	span func(attribute string) Span
}

type declaredAction struct {
	name, role string
	attributes []string
	span       Span
}

type declaredSayso struct {
	ranking   *ranking
	attribute string
}

// newProtocol builds the model, in time and memory linear in the declarations.
func newProtocol(d declarations) *Protocol {
	p := &Protocol{
		name: d.name, roles: d.roles, what: d.what, nonos: d.nonos, nogos: d.nogos,
		isRole:    make(map[string]bool, len(d.roles)),
		byName:    make(map[string]*Action, len(d.actions)),
		attribute: make(map[string]*Attribute, len(d.actions)),
		isKey:     make(map[string]bool),
	}
	for _, role := range d.roles {
		p.isRole[role] = true
	}
	for _, c := range d.what {
		if c.key {
			for _, key := range c.alternatives {
				if !p.isKey[key] {
					p.isKey[key] = true
					p.keys = append(p.keys, key)
				}
			}
		}
	}
	keys := newKeyTable(p.keys)
	for i, declared := range d.actions {
		a := &Action{
			index: i, name: declared.name, role: declared.role, attributes: declared.attributes, span: declared.span,
			keys: keys.among(declared.attributes),
		}
		if len(a.attributes) > few {
			a.carries = make(map[string]bool, len(a.attributes))
			for _, attribute := range a.attributes {
				a.carries[attribute] = true
			}
		}
		p.actions = append(p.actions, a)
		p.byName[a.name] = a
	}
	p.collectAttributes(d)
	p.conflicts = newConflicts(d.nonos, d.nogos)
	return p
}

func (p *Protocol) collectAttributes(d declarations) {
	mention := func(name string) *Attribute {
		a, ok := p.attribute[name]
		if !ok {
			_, action := p.byName[name]
			a = &Attribute{name: name, key: p.isKey[name], action: action, span: d.span(name), sayso: nobody}
			p.attribute[name] = a
			p.attributes = append(p.attributes, a)
		}
		return a
	}
	carry := func(name string, by *Action) {
		a := mention(name)
		a.carriers = append(a.carriers, by)
		a.scope.meet(by.keys)
	}
	for _, a := range p.actions {
		p.root.meet(a.keys)
		for _, name := range a.attributes {
			carry(name, a)
		}
		carry(a.name, a)
	}
	for _, s := range d.saysos {
		mention(s.attribute).sayso = s.ranking
	}
	for _, c := range p.what {
		for _, name := range c.alternatives {
			mention(name)
		}
	}
}
