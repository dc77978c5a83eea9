package enactment

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// input is what is left to be read of a text. Whatever does not fit makes it bad, and then only zeros come.
type input struct {
	text string
	bad  bool
}

func (in *input) byte() byte {
	if len(in.text) == 0 {
		in.bad = true
		return 0
	}
	b := in.text[0]
	in.text = in.text[1:]
	return b
}

func (in *input) number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := in.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	in.bad = true
	return 0
}

// count reads how many things follow, each of which takes at least so many bytes.
func (in *input) count(least int) int {
	n := in.number()
	if n > uint64(len(in.text)/least) || n > math.MaxInt32 {
		in.bad = true
		return 0
	}
	return int(n)
}

func (in *input) string() string {
	n := in.number()
	if n > uint64(len(in.text)) {
		in.bad = true
		return ""
	}
	text := in.text[:n]
	in.text = in.text[n:]
	return text
}

// snapshotReader reads what snapshotWriter wrote.
type snapshotReader struct {
	rules        *Rules
	open, secret input
	identities   []Identity
	actions      []snapshotAction
	root         map[string]Value
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
	if version := r.open.byte(); version != snapshotVersion {
		return fmt.Errorf("its version is %d, not %d", version, snapshotVersion)
	}
	if hash := r.open.string(); hash != r.rules.hash {
		return fmt.Errorf("it is of rules %.64q, not %s", hash, r.rules.hash)
	}
	s.sequence = r.open.number()
	s.complete = r.open.byte() == 1
	for range r.open.count(2) {
		s.seats = append(s.seats, seat{r.open.string(), r.open.string()})
	}
	for range r.open.count(2) {
		r.identities = append(r.identities, Identity{r.open.string(), r.open.string()})
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
	if r.open.bad || r.secret.bad || r.open.text != "" || r.secret.text != "" || len(r.slab) > 0 {
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
	for range r.open.count(3) {
		name := r.open.string()
		rule, ok := r.rules.byName[name]
		if !ok || len(rule.keys) == 0 {
			return fmt.Errorf("an action %.64q does not happen", name)
		}
		if r.counts[rule.index] > 0 {
			return fmt.Errorf("action %s is there twice", name)
		}
		count := r.open.count(3)
		r.counts[rule.index] = count
		r.instances += count
		values += count * len(rule.parameters)
		action := snapshotAction{rule: rule}
		for range r.open.count(1) {
			at, ok := rule.position[r.open.string()]
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
	if 3*r.instances > len(r.open.text) { // each takes three bytes and more
		return errors.New("it is too short")
	}
	r.slab = make([]Value, values)
	return nil
}

func (r *snapshotReader) readRootKey(key Key) error {
	r.root = make(map[string]Value)
	count := r.open.count(3)
	text := []byte{'{'}
	for n := range count {
		name := r.open.string()
		value := Value{text: r.open.string(), canonical: r.open.string()}
		if n >= len(r.rules.root) || r.rules.root[n] != name || value.text == "" || value.canonical == "" {
			return errors.New("it has another root key")
		}
		r.root[name] = value
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

func (r *snapshotReader) readInstance(i *Instance) error {
	action, identity := r.open.number(), r.open.number()
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
	i.Attempt = r.open.string()
	if parties := r.open.count(2); parties > 0 {
		i.Parties = make(map[string]string, parties)
		for range parties {
			role := r.open.string()
			i.Parties[role] = r.open.string()
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
	kind := r.open.byte()
	switch kind {
	case hidden:
	case plain:
		into.text = r.open.string()
		into.canonical = into.text
	case spelled:
		into.text, into.canonical = r.open.string(), r.open.string()
	case apart:
		into.text = r.secret.string()
		into.canonical = into.text
	case apartTwice:
		into.text, into.canonical = r.secret.string(), r.secret.string()
	case shared:
		*into = r.root[p.name]
	default:
		return errors.New("no such kind of value")
	}
	switch {
	case (into.text == "") != (kind == hidden) || (into.canonical == "") != (kind == hidden):
		return errors.New("a value is empty")
	case p.attribute == nil && kind != hidden:
		return errors.New("a value for the name of an action")
	case p.attribute == nil:
	case p.attribute.root && kind != shared && into.canonical != r.root[p.name].canonical:
		return errors.New("it is of another enactment")
	case p.attribute.key && kind == hidden:
		return errors.New("a key is missing")
	}
	return nil
}
