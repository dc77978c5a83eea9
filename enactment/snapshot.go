package enactment

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/internal/pack"
)

// snapshotVersion is the first byte of a snapshot. Change it with the format: a snapshot is a cache, so one of another
// version is made anew from the log.
const snapshotVersion = 1

// ErrSnapshot says that bytes are no snapshot of the enactment under the rules, or of another version of the format.
var ErrSnapshot = errors.New("enactment: not a snapshot")

// Snapshot is what a [State] was when it was taken. It stays so while the state goes on, and costs nothing to take.
type Snapshot struct {
	rules     *Rules
	key       Key
	sequence  uint64
	complete  bool
	seats     []seat
	instances []Instance
}

// Snapshot takes a snapshot. Not while Apply is called; the snapshot itself may be used at any time, by any goroutine.
func (s *State) Snapshot() Snapshot {
	// What is appended later lies behind what these slices have.
	seats, instances := s.seats[:len(s.seats):len(s.seats)], s.instances[:len(s.instances):len(s.instances)]
	return Snapshot{s.rules, s.key, s.sequence, s.complete, seats, instances}
}

// Sequence is that of the last finalisation in it.
func (s Snapshot) Sequence() uint64 { return s.sequence }

// Len is how many instances there are.
func (s Snapshot) Len() int { return len(s.instances) }

// How the value of a parameter is written.
const (
	hidden     = iota // there is none
	plain             // its text, which is canonical too
	spelled           // its text and its canonical form
	shared            // the value of a root key, as it was written once for all
	apart             // as plain, with the secrets
	apartTwice        // as spelled, with the secrets
)

// Append appends the snapshot in a binary form that [Rules.Restore] reads: the values that the rules name as secrets to
// one slice, all else to the other. Numbers are varints, and strings have their length before them.
//
//	version, hash of the rules, sequence, complete
//	seats: count, then role and party
//	identities that acted: count, then role and party
//	actions that happened: count, then name, how many instances, how many parameters, their names
//	root key: count, then name, text, canonical form
//	instances, in order: action, identity, attempt, other parties (count, role, party), one value a parameter
func (s Snapshot) Append(open, secret []byte) (openEnd, secretEnd []byte) {
	w := snapshotWriter{open: open, secret: secret}
	w.open = append(w.open, snapshotVersion)
	w.text(s.rules.hash)
	w.number(s.sequence)
	w.flag(s.complete)
	w.number(uint64(len(s.seats)))
	for _, seat := range s.seats {
		w.text(seat.role)
		w.text(seat.party)
	}
	identities, actions := w.tables(s.instances)
	w.rootKey(s)
	for n := range s.instances {
		i := &s.instances[n]
		w.number(uint64(actions[i.rule]))
		w.number(uint64(identities[Identity{i.Role, i.Party}]))
		w.text(i.Attempt)
		w.number(uint64(len(i.Parties)))
		for role, party := range i.Parties {
			w.text(role)
			w.text(party)
		}
		w.values(s.rules, i)
	}
	return w.open, w.secret
}

type snapshotWriter struct {
	open, secret []byte
	root         map[string]string // the texts of the root key's values
}

func (w *snapshotWriter) number(n uint64) { w.open = pack.AppendNumber(w.open, n) }

func (w *snapshotWriter) text(s string) { w.open = pack.AppendText(w.open, s) }

func (w *snapshotWriter) flag(set bool) {
	if set {
		w.open = append(w.open, 1)
	} else {
		w.open = append(w.open, 0)
	}
}

// tables writes what instances refer to by number, and gives the numbers.
func (w *snapshotWriter) tables(instances []Instance) (map[Identity]int, map[*actionRule]int) {
	identities, actions := make(map[Identity]int), make(map[*actionRule]int)
	var who []Identity
	var what []*actionRule
	var count []int
	for n := range instances {
		i := &instances[n]
		id := Identity{i.Role, i.Party}
		if _, known := identities[id]; !known {
			identities[id] = len(who)
			who = append(who, id)
		}
		if _, known := actions[i.rule]; !known {
			actions[i.rule] = len(what)
			what, count = append(what, i.rule), append(count, 0)
		}
		count[actions[i.rule]]++
	}
	w.number(uint64(len(who)))
	for _, id := range who {
		w.text(id.Role)
		w.text(id.Party)
	}
	w.number(uint64(len(what)))
	for n, rule := range what {
		w.text(rule.name)
		w.number(uint64(count[n]))
		w.number(uint64(len(rule.parameters)))
		for at := range rule.parameters {
			w.text(rule.parameters[at].name)
		}
	}
	return identities, actions
}

// rootKey writes the values of the root key, as the first instance spells them.
func (w *snapshotWriter) rootKey(s Snapshot) {
	w.root = make(map[string]string)
	if len(s.instances) == 0 {
		w.number(0)
		return
	}
	w.number(uint64(len(s.rules.root)))
	for _, name := range s.rules.root {
		value, _ := s.instances[0].Value(name)
		w.root[name] = value.text
		w.text(name)
		w.text(value.text)
		w.text(value.canonical)
	}
}

func (w *snapshotWriter) values(r *Rules, i *Instance) {
	for at := range i.values {
		p, v := &i.rule.parameters[at], &i.values[at]
		switch {
		case v.IsZero():
			w.open = append(w.open, hidden)
		case p.attribute.root && w.root[p.name] == v.text:
			w.open = append(w.open, shared)
		case r.secrets[p.name] && v.text == v.canonical:
			w.open, w.secret = append(w.open, apart), pack.AppendText(w.secret, v.text)
		case r.secrets[p.name]:
			w.open, w.secret = append(w.open, apartTwice), pack.AppendText(pack.AppendText(w.secret, v.text), v.canonical)
		case v.text == v.canonical:
			w.open = pack.AppendText(append(w.open, plain), v.text)
		default:
			w.open = pack.AppendText(pack.AppendText(append(w.open, spelled), v.text), v.canonical)
		}
	}
}

// Restore makes the state of which a snapshot was written. It judges nothing and parses no value, so it is fast; the
// state shares the memory of the two strings. The error is [ErrSnapshot] if the bytes are not what Append wrote for the
// same rules and key, as far as their form tells: like a log, a snapshot is to be read from where only servers write.
func (r *Rules) Restore(key Key, open, secret string) (*State, error) {
	s := &State{rules: r, key: key}
	from := snapshotReader{rules: r, open: pack.NewReader(open), secret: pack.NewReader(secret)}
	if err := from.read(s); err != nil {
		return nil, fmt.Errorf("%w of %s: %w", ErrSnapshot, key, err)
	}
	return s, nil
}
