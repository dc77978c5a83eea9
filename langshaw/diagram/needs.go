package diagram

import (
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// drawNeeds adds what each action needs of others: references, and attributes that it cannot bind.
func (d *drawer) drawNeeds() {
	for to := range d.protocol.Actions() {
		n := d.nodes[to.Name()]
		if n == nil {
			continue
		}
		direct, all := d.references(to)
		labels := make(map[string][]string)
		flows := make(map[string][]string)
		for _, a := range n.attributes {
			if a.bound || a.key && !d.isDecided(a.name) {
				continue
			}
			carriers := slices.DeleteFunc(slices.Clone(direct), func(name string) bool { return !d.carries(name, a.name) })
			switch {
			case len(carriers) > 0:
				labels[carriers[0]] = append(labels[carriers[0]], a.name)
			case slices.ContainsFunc(all, func(name string) bool { return d.carries(name, a.name) }):
			default:
				if d.chart.relations > mostRelations {
					return
				}
				for _, from := range d.binders(to, a.name) {
					flows[from] = append(flows[from], a.name)
				}
			}
		}
		for _, from := range direct {
			d.join(from, to.Name(), reference, labels[from]...)
		}
		for from := range d.protocol.Actions() {
			if names := flows[from.Name()]; len(names) > 0 {
				d.join(from.Name(), to.Name(), flow, names...)
			}
		}
	}
}

// references gives the actions that an action refers to, and those that it refers to directly or not.
func (d *drawer) references(a *langshaw.Action) (direct, all []string) {
	seen := map[string]bool{a.Name(): true}
	queue := []*langshaw.Action{a}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for name := range at.Attributes() {
			if to, ok := d.protocol.Action(name); ok && !seen[name] {
				seen[name] = true
				all = append(all, name)
				queue = append(queue, to)
				if at == a {
					direct = append(direct, name)
				}
			}
		}
	}
	return direct, all
}

func (d *drawer) carries(action, name string) bool {
	a, ok := d.protocol.Action(action)
	return ok && a.Carries(name)
}

// isDecided tells whether somebody has sayso over an attribute.
func (d *drawer) isDecided(name string) bool {
	a, _ := d.protocol.Attribute(name)
	for range a.Sayso() {
		return true
	}
	return false
}

// binders lists the actions, other than one, that may bind an attribute.
func (d *drawer) binders(except *langshaw.Action, name string) []string {
	var names []string
	a, _ := d.protocol.Attribute(name)
	for carrier := range a.Carriers() {
		if carrier != except && a.MayBind(carrier.Role()) {
			names = append(names, carrier.Name())
		}
	}
	return names
}
