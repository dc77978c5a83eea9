package langshaw

// resolve applies the static rules (semantics section 2) to a draft: it reports what breaks them and gives the rest.
func resolve(d *draft, found *report) declarations {
	out := declarations{name: d.name.text, spans: make(map[string]Span)}
	mention := func(n name) {
		if span, ok := out.spans[n.text]; !ok || n.start.Offset < span.Start.Offset {
			out.spans[n.text] = n.span()
		}
	}
	texts := func(names []name) []string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = n.text
		}
		return out
	}
	out.roles = texts(d.roles)
	for _, c := range d.what {
		for _, n := range c.alternatives {
			mention(n)
		}
		out.what = append(out.what, &Conjunct{alternatives: texts(c.alternatives), key: c.keys > 0, span: c.span})
	}
	for _, a := range d.actions {
		mention(a.name)
		for _, n := range a.attributes {
			mention(n)
		}
		out.actions = append(out.actions, declaredAction{name: a.name.text, role: a.role.text, attributes: texts(a.attributes), span: a.span})
	}
	for _, s := range d.saysos {
		for _, n := range s.attributes {
			mention(n)
			out.saysos = append(out.saysos, declaredSayso{roles: texts(s.roles), attribute: n.text})
		}
	}
	for _, n := range d.nonos {
		out.nonos = append(out.nonos, &Nono{actions: texts(n.actions), span: n.span})
	}
	for _, n := range d.nogos {
		out.nogos = append(out.nogos, &Nogo{first: n.first.text, then: n.then.text, span: n.span})
	}
	return out
}
