package adapter

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// offers remembers what was offered in one enactment, so that nothing is offered twice with the same knowledge. It
// holds no more than what is enabled now: what is not enabled any more never will be again (semantics section 4).
// Only the worker that holds the enactment uses it.
type offers struct {
	made    map[string]offer
	before  map[string]offer // empty but while it is made again
	pending []pendingOffer
	buffer  []byte
}

// offer is what was known of an action when it was offered: a hash of it, since values may be large and are in the ledger
// already.
type offer struct {
	action string
	keys   []keyValue
	known  uint64
}

type keyValue struct {
	name  string
	value enactment.Value
}

// pendingOffer is an offer to be made.
type pendingOffer struct {
	id       string
	offer    offer
	feasible enactment.Feasible
}

// evaluate compares what is enabled with what was offered, and makes the difference pending.
func (o *offers) evaluate(protocol *langshaw.Protocol, seed maphash.Seed, enabled []enactment.Feasible) {
	o.made, o.before = o.before, o.made
	if o.made == nil {
		o.made = make(map[string]offer)
	}
	o.pending = o.pending[:0]
	for _, feasible := range enabled {
		id, known := o.describe(protocol, seed, feasible)
		if before, ok := o.before[string(id)]; ok && before.known == known {
			o.made[string(id)] = before
			continue
		}
		now := offer{action: feasible.Action, keys: keysOf(protocol, feasible), known: known}
		o.pending = append(o.pending, pendingOffer{string(id), now, feasible})
	}
	clear(o.before)
}

// next takes a pending offer; it counts as made from then on.
func (o *offers) next() enactment.Feasible {
	first := o.pending[0]
	o.pending[0] = pendingOffer{}
	o.pending = o.pending[1:]
	o.made[first.id] = first.offer
	return first.feasible
}

// forget makes what the attempt was of look as if never offered.
func (o *offers) forget(attempt enactment.Attempt) {
	for id, made := range o.made {
		if concerns(attempt, made.action, made.keys) {
			delete(o.made, id)
		}
	}
}

// describe gives the identity of an offer, action and known keys, until the next call, and a hash of what is known.
func (o *offers) describe(protocol *langshaw.Protocol, seed maphash.Seed, f enactment.Feasible) (id []byte, known uint64) {
	text := func(to []byte, s string) []byte {
		return append(binary.AppendUvarint(to, uint64(len(s))), s...)
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	id = append(o.buffer[:0], f.Action...)
	if action, ok := protocol.Action(f.Action); ok {
		for name := range action.Attributes() {
			value, bound := f.Known[name]
			if !bound {
				continue
			}
			var length [binary.MaxVarintLen64]byte
			_, _ = hash.WriteString(name) // It does not fail, and no name has a zero in it.
			_, _ = hash.Write(append(length[:0], 0))
			_, _ = hash.Write(binary.AppendUvarint(length[:0], uint64(len(value.String()))))
			_, _ = hash.WriteString(value.String())
			if protocol.IsKey(name) {
				id = text(text(id, name), value.String())
			}
		}
	}
	o.buffer = id
	return id, hash.Sum64()
}

// keysOf lists the keys that an offer is about.
func keysOf(protocol *langshaw.Protocol, f enactment.Feasible) (keys []keyValue) {
	if action, ok := protocol.Action(f.Action); ok {
		for name := range action.Attributes() {
			if value, bound := f.Known[name]; bound && protocol.IsKey(name) {
				keys = append(keys, keyValue{name, value})
			}
		}
	}
	return keys
}
