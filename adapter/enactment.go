package adapter

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// Enactment is an enactment as the role sees it. It stays current while the adapter holds the enactment, also after
// the handler that it was given to has returned, and is safe for concurrent use. The adapter lets go of an enactment that
// is complete and in which nothing is left for the role to do; if more happens in it, handlers get a new Enactment.
type Enactment struct{ ledger *ledger }

// Key says which enactment it is.
func (e Enactment) Key() enactment.Key { return e.ledger.key }

// Sequence is the position in the log of the last finalisation that is known.
func (e Enactment) Sequence() uint64 {
	e.ledger.mu.RLock()
	defer e.ledger.mu.RUnlock()
	return e.ledger.state.Sequence()
}

// Complete tells whether the enactment is complete (semantics section 6).
func (e Enactment) Complete() bool {
	e.ledger.mu.RLock()
	defer e.ledger.mu.RUnlock()
	return e.ledger.state.Complete()
}

// Party says who plays a role, as far as the role that asks has seen it act; false if it has not.
func (e Enactment) Party(role string) (string, bool) {
	e.ledger.mu.RLock()
	defer e.ledger.mu.RUnlock()
	return e.ledger.state.Party(role)
}

// Instances lists what has happened as far as the role sees it, in order. It lists what was known when the range
// began.
func (e Enactment) Instances() iter.Seq[enactment.Instance] {
	return func(yield func(enactment.Instance) bool) {
		e.ledger.mu.RLock()
		instances := slices.Collect(e.ledger.state.Instances())
		e.ledger.mu.RUnlock()
		for _, instance := range instances {
			if !yield(instance) {
				return
			}
		}
	}
}

// Value gives the value that an attribute has in what has happened, as far as the role sees it; false if it has none or,
// where there are keys besides that of the enactment, several: then range over Instances.
func (e Enactment) Value(attribute string) (enactment.Value, bool) {
	return e.ledger.value(attribute, nil)
}

// String gives the key.
func (e Enactment) String() string { return string(e.ledger.key) }

// LogValue gives the key.
func (e Enactment) LogValue() slog.Value { return slog.StringValue(e.String()) }

// Observation is an instance that happened, as the role sees it. Its values are read with [enactment.Instance.Value].
type Observation struct {
	enactment.Instance
	// Enactment is where it happened, folded up to the finalisation that the instance is part of.
	Enactment Enactment
	// Sequence is the finalisation that the instance is part of. In batch finalisation several instances share it.
	Sequence uint64
}

// String says what happened and where, without values other than the enactment's key.
func (o Observation) String() string {
	by := enactment.Identity{Role: o.Role, Party: o.Party}
	return fmt.Sprintf("%s by %s in %s at %d", o.Action, by, o.Enactment, o.Sequence)
}

// LogValue gives the same as String, so that no secret gets into a log.
func (o Observation) LogValue() slog.Value { return slog.StringValue(o.String()) }

// ledger is what the role knows of an enactment. Only the worker that holds the enactment changes it.
type ledger struct {
	key   enactment.Key
	mu    sync.RWMutex
	state *enactment.State
}

func newLedger(rules *enactment.Rules, key enactment.Key) *ledger {
	return &ledger{key: key, state: rules.NewState(key)}
}

func (l *ledger) apply(f enactment.Finalisation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Apply(f)
}

// value gives the one value that an attribute has in the instances that agree with keys.
func (l *ledger) value(attribute string, keys enactment.Values) (value enactment.Value, found bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range l.state.Instances() {
		v, carries := i.Value(attribute)
		switch {
		case !carries || !l.agrees(i, keys):
		case found && !value.Equal(v):
			return enactment.Value{}, false
		default:
			value, found = v, true
		}
	}
	return value, found
}

// agrees tells whether an instance has the same values for the keys that it carries (semantics section 3).
func (l *ledger) agrees(i enactment.Instance, keys enactment.Values) bool {
	protocol := l.state.Rules().Protocol()
	for name, want := range keys {
		if v, carries := i.Value(name); carries && protocol.IsKey(name) && !v.Equal(want) {
			return false
		}
	}
	return true
}

// exhausted tells whether there is nothing that the role may do.
func (l *ledger) exhausted(role string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for range l.state.Enabled(role) {
		return false
	}
	return true
}

// enabled collects what the role may do of what is wanted. It collects, since the state may not change while it is
// read, and whoever is told may well make it change.
func (l *ledger) enabled(role string, wanted func(action string) bool) []enactment.Feasible {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var feasible []enactment.Feasible
	for f := range l.state.EnabledOf(role, wanted) {
		feasible = append(feasible, f)
	}
	return feasible
}
