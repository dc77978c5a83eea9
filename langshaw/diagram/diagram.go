// Package diagram draws protocols: their actions by role with what relates them, and ways to enact them as sequences.
//
// [Draw] makes a [Chart] of a protocol and [Sequence] is one way that an enactment went. Both are written as text for
// Mermaid or as SVG; a chart also as text for Graphviz.
//
// It must not know of attribute values, of files or of networks. Start reading at [Draw].
package diagram

import (
	"errors"
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// Options say what is drawn. The zero value draws all.
type Options struct {
	// Sees tells of an action whether it is drawn, and which of its attributes are left out: what one role sees, for a
	// picture of its part. nil draws all.
	Sees func(action string) (seen bool, hidden []string)
	// Role is the role whose part it is, for the title; empty where all is drawn.
	Role string
}

// Chart is a picture of a protocol, before it is laid out: a lane for each role with its actions, and what relates them.
type Chart struct {
	title, role string
	lanes       []lane
	edges       []edge
	// what and ranks are said below the title: what makes an enactment complete, and who decides where several may.
	what  string
	ranks []rank
	// hubs are the nonos of more than mostPairwise actions.
	hubs [][]*node
	// relations counts edges, and members of hubs.
	relations int
	// rows are actions that stand side by side: they exclude each other, and none needs another.
	rows [][]*node
}

// Size is how many actions and relations between them the chart has.
func (c *Chart) Size() int {
	size := c.relations
	for _, l := range c.lanes {
		size += len(l.nodes)
	}
	return size
}

type lane struct {
	role  string
	nodes []*node
}

// node is an action.
type node struct {
	name string
	role string
	// aim tells that it is one of the actions that complete an enactment: what names it, or something it may bind.
	aim        bool
	attributes []attribute
}

type attribute struct {
	name string
	key  bool
	// bound tells that the role may bind it; otherwise it must be known.
	bound bool
}

type edge struct {
	from, to *node
	kind     edgeKind
	// labels are the attributes that a flow brings.
	labels []string
}

type edgeKind int

const (
	// reference: the second action refers to the first.
	reference edgeKind = iota
	// flow: the second action needs attributes that the first may bind, or another.
	flow
	// exclusion: the two exclude each other. From here on kinds are conflicts.
	exclusion
	// blocking: once the first has happened, the second no longer may.
	blocking
	// mutual: each blocks the other.
	mutual
)

type rank struct {
	attribute string
	roles     []string
}

// ErrTooLarge tells that a protocol has more relations between actions than any picture can show.
var ErrTooLarge = errors.New("there is too much to draw")

const (
	// mostRelations bounds what is drawn; a text can ask for a quadratic number.
	mostRelations = 10_000
	// mostPairwise is how many actions of one nono are tied to each other in pairs.
	mostPairwise = 3
)

// Draw makes the chart of a protocol. The error is [ErrTooLarge], or one that wraps it.
//
// An arrow goes from an action to one that refers to it. Where an action needs an
// attribute that its role may not bind and that no action it refers to, directly or not, carries, a dashed arrow comes
// from each action that may bind it.
func Draw(p *langshaw.Protocol, options Options) (*Chart, error) {
	d := drawer{protocol: p, chart: &Chart{title: p.Name(), role: options.Role}, nodes: make(map[string]*node), binders: make(map[string][]string)}
	d.drawLanes(options.Sees)
	d.drawNeeds()
	d.drawConflicts()
	d.chart.rows = d.rows()
	d.chart.what = whatOf(p)
	for a := range p.Attributes() {
		if roles := slices.Collect(a.Sayso()); len(roles) > 1 && d.isShown(a) {
			d.chart.ranks = append(d.chart.ranks, rank{a.Name(), roles})
		}
	}
	if d.chart.relations > mostRelations {
		return nil, fmt.Errorf("%w: more than %d relations between actions", ErrTooLarge, mostRelations)
	}
	return d.chart, nil
}

type drawer struct {
	protocol *langshaw.Protocol
	chart    *Chart
	nodes    map[string]*node
	// binders has, for attributes asked about, the actions that may bind them.
	binders map[string][]string
}

func (d *drawer) drawLanes(sees func(string) (bool, []string)) {
	aims := make(map[string]bool)
	for c := range d.protocol.What() {
		for name := range c.Alternatives() {
			aims[name] = !c.IsKey()
		}
	}
	lanes := make(map[string]*lane)
	for role := range d.protocol.Roles() {
		d.chart.lanes = append(d.chart.lanes, lane{role: role})
	}
	for i := range d.chart.lanes {
		lanes[d.chart.lanes[i].role] = &d.chart.lanes[i]
	}
	for a := range d.protocol.Actions() {
		var hidden []string
		if sees != nil {
			seen, without := sees(a.Name())
			if !seen {
				continue
			}
			hidden = without
		}
		n := &node{name: a.Name(), role: a.Role(), aim: aims[a.Name()]}
		for name := range a.Attributes() {
			carried, ok := d.protocol.Attribute(name)
			if !ok || carried.IsAction() || slices.Contains(hidden, name) {
				continue
			}
			n.attributes = append(n.attributes, attribute{name: name, key: carried.IsKey(), bound: carried.MayBind(a.Role())})
			n.aim = n.aim || aims[name] && carried.MayBind(a.Role())
		}
		l := lanes[a.Role()]
		l.nodes = append(l.nodes, n)
		d.nodes[a.Name()] = n
	}
	d.chart.lanes = slices.DeleteFunc(d.chart.lanes, func(l lane) bool { return len(l.nodes) == 0 })
}

// isShown tells whether an attribute stands in an action that is drawn.
func (d *drawer) isShown(a *langshaw.Attribute) bool {
	for carrier := range a.Carriers() {
		if n := d.nodes[carrier.Name()]; n != nil && slices.ContainsFunc(n.attributes, func(s attribute) bool { return s.name == a.Name() }) {
			return true
		}
	}
	return false
}

// drawConflicts adds the nonos, pair by pair, and the nogos.
func (d *drawer) drawConflicts() {
	seen := make(map[[2]string]bool)
	for nono := range d.protocol.Nonos() {
		names := slices.Collect(nono.Actions())
		if len(names) > mostPairwise {
			d.drawHub(names)
			continue
		}
		for i, a := range names {
			for _, b := range names[i+1:] {
				if !seen[[2]string{a, b}] {
					d.join(a, b, exclusion)
				}
				seen[[2]string{a, b}], seen[[2]string{b, a}] = true, true
			}
		}
	}
	for nogo := range d.protocol.Nogos() {
		pair := [2]string{nogo.First(), nogo.Then()}
		back := [2]string{nogo.Then(), nogo.First()}
		if seen[pair] {
			continue // A nono says more, and a nogo said twice says nothing more.
		}
		seen[pair] = true
		if d.protocol.Blocks(nogo.Then(), nogo.First()) {
			seen[back] = true
			d.join(pair[0], pair[1], mutual)
		} else {
			d.join(pair[0], pair[1], blocking)
		}
	}
}

// drawHub draws a nono of many actions as a point that all of them are tied to.
func (d *drawer) drawHub(names []string) {
	var members []*node
	for _, name := range names {
		if n := d.nodes[name]; n != nil {
			members = append(members, n)
		}
	}
	if len(members) > 1 {
		d.chart.hubs = append(d.chart.hubs, members)
		d.chart.relations += len(members)
	}
}

func (d *drawer) join(from, to string, kind edgeKind, labels ...string) {
	if f, t := d.nodes[from], d.nodes[to]; f != nil && t != nil {
		d.chart.relations++
		if d.chart.relations <= mostRelations {
			d.chart.edges = append(d.chart.edges, edge{f, t, kind, labels})
		}
	}
}
