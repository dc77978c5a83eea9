package enactment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/internal/pack"
)

// snapshotReader reads what snapshotWriter wrote.
type snapshotReader struct {
	rules        *Rules
	open, secret pack.Reader
	identities   []Identity
	actions      []snapshotAction
	root         []Value // by attribute of the rules
	instances    int
	slab         []Value // for the values of instances that are still to come
	counts       []int   // by action of the rules
}

// snapshotAction is an action as the snapshot has it: its parameters may be in another order than in the rules.
type snapshotAction struct {
	rule *actionRule
	at   []int // where in the rule each of its parameters is
}

func (r *snapshotReader) read(s *State) error {
	if version := r.open.Byte(); version != snapshotVersion {
		return fmt.Errorf("its version is %d, not %d", version, snapshotVersion)
	}
	if hash := r.open.Text(); hash != r.rules.hash {
		return fmt.Errorf("it is of rules %.64q, not %s", hash, r.rules.hash)
	}
	s.sequence = r.open.Number()
	s.complete = r.open.Byte() == 1
	for range r.open.Count(2) {
		s.seats = append(s.seats, seat{r.open.Text(), r.open.Text()})
	}
	for range r.open.Count(2) {
		r.identities = append(r.identities, Identity{r.open.Text(), r.open.Text()})
	}
	if err := r.readActions(); err != nil {
		return err
	}
	if err := r.readRootKey(s.key); err != nil {
		return err
	}
	s.instances = make([]Instance, r.instances)
	for n := range s.instances {
		if err := r.readInstance(&s.instances[n]); err != nil {
			return fmt.Errorf("instance %d: %w", n, err)
		}
	}
	if r.open.Bad() || r.secret.Bad() || r.open.Left() > 0 || r.secret.Left() > 0 || len(r.slab) > 0 {
		return errors.New("it is too short or too long")
	}
	if r.instances > 0 {
		s.prepare(r.counts)
	}
	for n := range s.instances {
		s.enter(n)
	}
	return nil
}

func (r *snapshotReader) readActions() error {
	r.counts = make([]int, len(r.rules.actions))
	values := 0
	for range r.open.Count(3) {
		name := r.open.Text()
		rule, ok := r.rules.byName[name]
		if !ok || len(rule.keys) == 0 {
			return fmt.Errorf("an action %.64q does not happen", name)
		}
		if r.counts[rule.index] > 0 {
			return fmt.Errorf("action %s is there twice", name)
		}
		count := r.open.Count(3)
		r.counts[rule.index] = count
		r.instances += count
		values += count * len(rule.parameters)
		action := snapshotAction{rule: rule}
		for range r.open.Count(1) {
			at, ok := rule.position[r.open.Text()]
			if !ok || slices.Contains(action.at, at) {
				return fmt.Errorf("action %s has other attributes", name)
			}
			action.at = append(action.at, at)
		}
		if len(action.at) != len(rule.parameters) {
			return fmt.Errorf("action %s has other attributes", name)
		}
		r.actions = append(r.actions, action)
	}
	if 3*r.instances > r.open.Left() { // each takes three bytes and more
		return errors.New("it is too short")
	}
	r.slab = make([]Value, values)
	return nil
}

func (r *snapshotReader) readRootKey(key Key) error {
	r.root = make([]Value, len(r.rules.attributes))
	count := r.open.Count(3)
	text := []byte{'{'}
	for n := range count {
		name := r.open.Text()
		value := Value{text: r.open.Text(), canonical: r.open.Text()}
		if n >= len(r.rules.root) || r.rules.root[n] != name || value.text == "" || value.canonical == "" {
			return errors.New("it has another root key")
		}
		r.root[r.slot(name)] = value
		if n > 0 {
			text = append(text, ',')
		}
		text = append(append(appendString(text, name), ':'), value.canonical...)
	}
	if r.instances > 0 && (count != len(r.rules.root) || string(append(text, '}')) != string(key)) {
		return errors.New("it is of another enactment")
	}
	return nil
}

// slot is the place of an attribute.
func (r *snapshotReader) slot(attribute string) int {
	return slices.IndexFunc(r.rules.attributes, func(a *attributeRule) bool { return a.name == attribute })
}

func (r *snapshotReader) readInstance(i *Instance) error {
	action, identity := r.open.Number(), r.open.Number()
	if action >= uint64(len(r.actions)) || identity >= uint64(len(r.identities)) {
		return errors.New("no such action or identity")
	}
	a := &r.actions[action]
	size := len(a.at)
	if len(r.slab) < size {
		return errors.New("there are more than there should be")
	}
	i.rule, i.values, r.slab = a.rule, r.slab[:size:size], r.slab[size:]
	i.Action, i.Role, i.Party = a.rule.name, r.identities[identity].Role, r.identities[identity].Party
	i.Attempt = r.open.Text()
	if parties := r.open.Count(2); parties > 0 {
		i.Parties = make(map[string]string, parties)
		for range parties {
			role := r.open.Text()
			i.Parties[role] = r.open.Text()
		}
	}
	for _, at := range a.at {
		if err := r.readValue(&a.rule.parameters[at], &i.values[at]); err != nil {
			return err
		}
	}
	return nil
}

func (r *snapshotReader) readValue(p *parameter, into *Value) error {
	kind := r.open.Byte()
	switch kind {
	case hidden:
	case plain:
		into.text = r.open.Text()
		into.canonical = into.text
	case spelled:
		into.text, into.canonical = r.open.Text(), r.open.Text()
	case apart:
		into.text = r.secret.Text()
		into.canonical = into.text
	case apartTwice:
		into.text, into.canonical = r.secret.Text(), r.secret.Text()
	case shared:
		if p.attribute != nil {
			*into = r.root[p.attribute.slot]
		}
	default:
		return errors.New("no such kind of value")
	}
	switch {
	case (into.text == "") != (kind == hidden) || (into.canonical == "") != (kind == hidden):
		return errors.New("a value is empty")
	case p.attribute == nil && kind != hidden:
		return errors.New("a value for the name of an action")
	case p.attribute == nil: // a reference
	case p.attribute.root && kind != shared && into.canonical != r.root[p.attribute.slot].canonical:
		return errors.New("it is of another enactment")
	case p.attribute.key && kind == hidden:
		return errors.New("a key is missing")
	}
	return nil
}
