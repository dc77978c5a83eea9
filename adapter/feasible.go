package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// FeasibleAction is an action that the role may do now in an enactment (semantics section 4). To do it, bind what is
// open and attempt it. It is for one goroutine at a time.
type FeasibleAction struct {
	// Action is the action's name.
	Action string
	// Enactment is where it may be done.
	Enactment Enactment
	// Known has the values of the action's own attributes that are bound already, keys included. They are supplied without
	// being bound again. What other actions carry is read with Value.
	Known enactment.Values
	// Open lists the attributes that the role must bind, each with the reason why it may.
	Open []enactment.Open

	adapter *Adapter
	bound   enactment.Values
	err     error
}

func (a *Adapter) feasible(held *ledger, f enactment.Feasible) *FeasibleAction {
	return &FeasibleAction{Action: f.Action, Enactment: Enactment{held}, Known: f.Known, Open: f.Open, adapter: a}
}

// Value gives the value that an attribute has, whether this action carries it or another that has happened, such as one
// that it refers to. Of instances those count that agree with what is known of the action: that have the same value for
// every key that both carry. It is false if none of them shows the attribute to the role, and if they have several values
// for it: then range over [Enactment.Instances].
func (f *FeasibleAction) Value(attribute string) (enactment.Value, bool) {
	if value, ok := f.Known[attribute]; ok {
		return value, true
	}
	return f.Enactment.ledger.value(attribute, f.Known)
}

// Bind gives an attribute a value: anything that encoding/json encodes, an [enactment.Value] or a json.RawMessage.
// Binding it again replaces the value.
//
// It is checked at once that the role may. A [*Rejection] says why not: [enactment.Malformed] if the action does not
// carry the attribute, if it is an action's name, which has no value, if the value is not JSON, and if a key is given
// anything but a string, a number or a boolean; [enactment.BoundDifferently] if another value is known already, while
// the same one may be bound without effect. The first such error is kept and [FeasibleAction.Attempt] reports it, so
// the result may be ignored here.
func (f *FeasibleAction) Bind(attribute string, value any) error {
	bound, rejection := f.check(attribute, value)
	if rejection != nil {
		if f.err == nil {
			f.err = rejection
		}
		return rejection
	}
	if f.bound == nil {
		f.bound = make(enactment.Values, len(f.Open))
	}
	f.bound[attribute] = bound
	return nil
}

func (f *FeasibleAction) check(attribute string, value any) (enactment.Value, *Rejection) {
	bound, rejection := valueOf(attribute, value)
	if rejection != nil {
		return bound, rejection
	}
	if known, ok := f.Known[attribute]; ok {
		if !known.Equal(bound) {
			return bound, &Rejection{
				Code: enactment.BoundDifferently, Attribute: attribute,
				Detail: fmt.Sprintf("%s of %s is known already, with another value", attribute, f.Action),
			}
		}
		return bound, nil
	}
	protocol := f.adapter.rules.Protocol()
	isOpen := func(o enactment.Open) bool { return o.Attribute == attribute }
	switch {
	case !slices.ContainsFunc(f.Open, isOpen):
		return bound, &Rejection{
			Code: enactment.Malformed, Attribute: attribute,
			Detail: fmt.Sprintf("%s has no value %s to bind", f.Action, attribute),
		}
	case protocol.IsKey(attribute) && !bound.IsScalar():
		return bound, &Rejection{
			Code: enactment.Malformed, Attribute: attribute,
			Detail: fmt.Sprintf("the key %s must be a string, a number or a boolean", attribute),
		}
	}
	return bound, nil
}

// Attempt submits the action with what was bound, and returns at once. What is still open is left open: the answer is
// then [enactment.Missing]. If a Bind failed, nothing is submitted and the promise is resolved with the error of that.
// Each call is a new attempt with an id of its own unless [WithAttemptID] gives one. See [Adapter.Attempt].
func (f *FeasibleAction) Attempt(ctx context.Context, options ...AttemptOption) *Promise {
	attempt := f.adapter.attempt(f.Action, options)
	if f.err != nil {
		return resolved(attempt.ID, f.err)
	}
	attempt.Values = maps.Clone(f.bound)
	if attempt.Values == nil {
		attempt.Values = make(enactment.Values)
	}
	// Of what is known the keys are needed to say which instance is meant; the judge fills in the rest.
	protocol := f.adapter.rules.Protocol()
	for name, value := range f.Known {
		if protocol.IsKey(name) {
			attempt.Values[name] = value
		}
	}
	return f.adapter.submit(ctx, attempt)
}

// String says what may be done and where, without values other than the enactment's key.
func (f *FeasibleAction) String() string { return f.Action + " in " + f.Enactment.String() }

// LogValue gives the same as String, so that no secret gets into a log.
func (f *FeasibleAction) LogValue() slog.Value { return slog.StringValue(f.String()) }

// valueOf makes a value, or says which attribute has none. It does not repeat what encoding/json and the value's own
// methods say, since that may quote a secret.
func valueOf(attribute string, v any) (enactment.Value, *Rejection) {
	value, err := enactment.ValueOf(v)
	if err == nil && !value.IsZero() {
		return value, nil
	}
	detail := fmt.Sprintf("%s is given no JSON value", attribute)
	if _, unsound := errors.AsType[*Rejection](err); !unsound && err != nil {
		detail += fmt.Sprintf(" but a %T, which has none", v)
	}
	return enactment.Value{}, &Rejection{Code: enactment.Malformed, Attribute: attribute, Detail: detail}
}
