package diagram

import (
	"maps"
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
		if d.chart.relations > mostRelations {
			return
		}
		for name := range to.Attributes() {
			if _, ok := d.protocol.Action(name); ok {
				d.join(name, to.Name(), reference)
			}
		}
		flows := make(map[string][]string)
		for _, a := range n.attributes {
			if a.bound || a.key && !d.isDecided(a.name) || d.comesAlong(to, a.name) {
				continue
			}
			for _, from := range d.bindersOf(a.name) {
				flows[from] = append(flows[from], a.name)
			}
		}
		for _, from := range slices.SortedFunc(maps.Keys(flows), d.inOrder) {
			d.join(from, to.Name(), flow, flows[from]...)
		}
	}
}

// inOrder compares actions by their place in the text.
func (d *drawer) inOrder(a, b string) int {
	first, _ := d.protocol.Action(a)
	second, _ := d.protocol.Action(b)
	return first.Index() - second.Index()
}

// comesAlong tells whether one of the actions that an action refers to, directly or not, carries an attribute.
func (d *drawer) comesAlong(a *langshaw.Action, attribute string) bool {
	seen := map[string]bool{a.Name(): true}
	queue := []*langshaw.Action{a}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for name := range at.Attributes() {
			to, ok := d.protocol.Action(name)
			if !ok || seen[name] {
				continue
			}
			if to.Carries(attribute) {
				return true
			}
			seen[name] = true
			queue = append(queue, to)
		}
	}
	return false
}

// isDecided tells whether somebody has sayso over an attribute.
func (d *drawer) isDecided(name string) bool {
	a, _ := d.protocol.Attribute(name)
	for range a.Sayso() {
		return true
	}
	return false
}

// bindersOf lists the actions that may bind an attribute.
func (d *drawer) bindersOf(name string) []string {
	if names, ok := d.binders[name]; ok {
		return names
	}
	var names []string
	a, _ := d.protocol.Attribute(name)
	for carrier := range a.Carriers() {
		if a.MayBind(carrier.Role()) {
			names = append(names, carrier.Name())
		}
	}
	d.binders[name] = names
	return names
}
