package enactment_test

import (
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// oracleProtocol is a protocol as its text lists it. What follows from the lists (scopes, the root key, who may bind
// what, who sees what) is worked out here again, plainly, each time that it is asked for.
type oracleProtocol struct {
	roles   []string
	keys    []string
	what    [][]string
	actions []oracleAction
	sayso   map[string][]string
	nonos   [][]string
	nogos   [][2]string
	// configured has the parties that may play a role; any may where none are.
	configured map[string][]string
	guards     []oracleGuard
}

type oracleAction struct {
	role, name string
	carries    []string
}

// oracleGuard lets its action happen while its role sees fewer than limit instances, so that it depends on the view.
type oracleGuard struct {
	action string
	limit  int
}

func oracleProtocolOf(p *langshaw.Protocol) *oracleProtocol {
	o := &oracleProtocol{
		roles: slices.Collect(p.Roles()), keys: slices.Collect(p.Keys()), sayso: make(map[string][]string),
		configured: make(map[string][]string),
	}
	for conjunct := range p.What() {
		o.what = append(o.what, slices.Collect(conjunct.Alternatives()))
	}
	for action := range p.Actions() {
		o.actions = append(o.actions, oracleAction{action.Role(), action.Name(), slices.Collect(action.Attributes())})
	}
	for attribute := range p.Attributes() {
		o.sayso[attribute.Name()] = slices.Collect(attribute.Sayso())
	}
	for nono := range p.Nonos() {
		o.nonos = append(o.nonos, slices.Collect(nono.Actions()))
	}
	for nogo := range p.Nogos() {
		o.nogos = append(o.nogos, [2]string{nogo.First(), nogo.Then()})
	}
	return o
}

func (p *oracleProtocol) action(name string) (oracleAction, bool) {
	for _, a := range p.actions {
		if a.name == name {
			return a, true
		}
	}
	return oracleAction{}, false
}

func (p *oracleProtocol) isAction(name string) bool {
	_, ok := p.action(name)
	return ok
}

func (p *oracleProtocol) isKey(name string) bool { return slices.Contains(p.keys, name) }

func (a oracleAction) carriesIt(attribute string) bool {
	return attribute == a.name || slices.Contains(a.carries, attribute)
}

func (p *oracleProtocol) keysOf(a oracleAction) []string {
	var keys []string
	for _, attribute := range a.carries {
		if p.isKey(attribute) {
			keys = append(keys, attribute)
		}
	}
	return keys
}

// common gives the keys that all the actions with a key carry, of those that satisfy the condition.
func (p *oracleProtocol) common(condition func(oracleAction) bool) []string {
	var common []string
	for _, key := range p.keys {
		carriers, all := 0, true
		for _, a := range p.actions {
			if len(p.keysOf(a)) > 0 && condition(a) {
				carriers++
				all = all && a.carriesIt(key)
			}
		}
		if all && carriers > 0 {
			common = append(common, key)
		}
	}
	return common
}

func (p *oracleProtocol) rootKey() []string {
	return p.common(func(oracleAction) bool { return true })
}

func (p *oracleProtocol) scope(attribute string) []string {
	return p.common(func(a oracleAction) bool { return a.carriesIt(attribute) })
}

func (p *oracleProtocol) mayBind(role, attribute string) bool {
	if len(p.sayso[attribute]) == 0 {
		return p.isKey(attribute)
	}
	return slices.Contains(p.sayso[attribute], role)
}

func (p *oracleProtocol) rank(role, attribute string) int {
	return slices.Index(p.sayso[attribute], role)
}

func (p *oracleProtocol) nono(a, b string) bool {
	for _, together := range p.nonos {
		if a != b && slices.Contains(together, a) && slices.Contains(together, b) {
			return true
		}
	}
	return false
}

func (p *oracleProtocol) nogo(first, then string) bool {
	return slices.Contains(p.nogos, [2]string{first, then})
}

// own lists the actions of a role; those without a key are left out.
func (p *oracleProtocol) own(role string) []oracleAction {
	var own []oracleAction
	for _, a := range p.actions {
		if a.role == role && len(p.keysOf(a)) > 0 {
			own = append(own, a)
		}
	}
	return own
}

// needs tells whether a role needs an attribute (semantics section 7).
func (p *oracleProtocol) needs(role, attribute string) bool {
	for _, a := range p.own(role) {
		if slices.Contains(a.carries, attribute) && (!p.isKey(attribute) || !p.mayBind(role, attribute)) {
			return true
		}
	}
	return !p.isKey(attribute) && p.inWhat(attribute)
}

func (p *oracleProtocol) inWhat(name string) bool {
	for _, alternatives := range p.what {
		if slices.Contains(alternatives, name) {
			return true
		}
	}
	return false
}

// sees gives the attributes of an action that a role sees, and whether its instances are delivered to it at all
// (semantics section 7).
func (p *oracleProtocol) sees(role string, of oracleAction) (attributes []string, delivered bool) {
	for _, a := range p.own(role) {
		if a.carriesIt(of.name) {
			return of.carries, true
		}
	}
	for _, attribute := range of.carries {
		if p.needs(role, attribute) {
			delivered = true
		}
		if p.needs(role, attribute) || p.isKey(attribute) {
			attributes = append(attributes, attribute)
		}
	}
	for _, a := range p.own(role) {
		if p.nono(a.name, of.name) || p.nogo(a.name, of.name) || p.nogo(of.name, a.name) {
			delivered = true
		}
	}
	if p.inWhat(of.name) {
		delivered = true
	}
	if !delivered {
		return nil, false
	}
	return attributes, true
}
