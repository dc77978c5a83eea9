package adapter

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// offers remembers what was offered in one enactment, so that nothing is offered twice with the same knowledge. It
// holds no more than what is enabled now: what is not enabled any more never will be again (semantics section 4).
// Only the worker that holds the enactment uses it.
type offers struct {
	made    map[string]offer
	pending []pendingOffer
}

// offer is what was known of an action when it was offered.
type offer struct {
	action string
	keys   []keyValue
	known  [sha256.Size]byte
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
func (o *offers) evaluate(protocol *langshaw.Protocol, enabled []enactment.Feasible) {
	made := make(map[string]offer)
	o.pending = nil
	for _, feasible := range enabled {
		id, now := describe(protocol, feasible)
		if before, ok := o.made[id]; ok && before.known == now.known {
			made[id] = before
			continue
		}
		o.pending = append(o.pending, pendingOffer{id, now, feasible})
	}
	o.made = made
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

// describe gives the identity of an offer, action and known keys, and a digest of what is known: a digest, since
// values may be large and are in the ledger already.
func describe(protocol *langshaw.Protocol, f enactment.Feasible) (string, offer) {
	made := offer{action: f.Action}
	id := []byte(f.Action)
	var known []byte
	text := func(to []byte, s string) []byte {
		return append(binary.AppendUvarint(to, uint64(len(s))), s...)
	}
	if action, ok := protocol.Action(f.Action); ok {
		for name := range action.Attributes() {
			value, bound := f.Known[name]
			if !bound {
				continue
			}
			known = text(text(known, name), value.String())
			if protocol.IsKey(name) {
				id = text(text(id, name), value.String())
				made.keys = append(made.keys, keyValue{name, value})
			}
		}
	}
	made.known = sha256.Sum256(known)
	return string(id), made
}
