package bridge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// resume reads from the journal how far the answer to an instance has come.
func (b *Bridge) resume(ctx context.Context, plan *plan, e adapter.Enactment, instance enactment.Instance) (*run, error) {
	r := &run{
		bridge: b, plan: plan, key: e.Key(), observed: instance, from: -1,
		bound: make(map[string]any), kept: make(map[string]any), lastStep: plan.steps[0].name,
	}
	var err error
	if r.instance, err = b.instanceName(instance); err != nil {
		return nil, err
	}
	entries, err := b.options.Journal.Load(ctx, r.key)
	if err != nil {
		return nil, fmt.Errorf("bridge: load journal: %w", err)
	}
	happened := make(map[string]any)
	kept := make(enactment.Values) // What was kept last counts, and only that is worth decoding.
	for i := range entries {
		maps.Copy(kept, entries[i].Kept)
		if err := r.replay(&entries[i], happened); err != nil {
			return nil, err
		}
	}
	if r.done() {
		return r, nil // Most are, and need nothing more.
	}
	if r.principal, err = b.options.Principal(ctx, r.key, instance); err != nil {
		return nil, fmt.Errorf("bridge: on whose behalf: %w", err)
	}
	if r.scrub, err = newScrubber(b.rules, e.Instances()); err != nil {
		return nil, err
	}
	for i := range e.Instances() {
		happened[i.Action] = true
	}
	if err := decodeInto(r.kept, kept); err != nil {
		return nil, err
	}
	observed := make(map[string]any)
	for name, value := range instance.Values() {
		if observed[name], err = decoded(value); err != nil {
			return nil, err
		}
	}
	r.world = map[string]any{
		rootObserved: observed, rootHappened: happened, rootBound: r.bound, rootKept: r.kept, rootSettings: b.settings,
	}
	return r, nil
}

// instanceName tells an instance from the others in its enactment: by its action and the keys that are not the
// enactment's.
func (b *Bridge) instanceName(instance enactment.Instance) (string, error) {
	action, ok := b.rules.Protocol().Action(instance.Action)
	if !ok {
		return "", fmt.Errorf("bridge: no action %s", instance.Action)
	}
	root := slices.Collect(b.rules.Protocol().RootKey())
	keys := make(enactment.Values)
	for key := range action.Keys() {
		if value, visible := instance.Value(key); visible && !slices.Contains(root, key) {
			keys[key] = value
		}
	}
	if len(keys) == 0 {
		return instance.Action, nil
	}
	text, err := encodeJSON(keys)
	return instance.Action + string(text), err
}

func (r *run) replay(e *Entry, happened map[string]any) error {
	if e.Kind == EntryAnswered && e.Attempt != nil {
		happened[e.Attempt.Action] = true
	}
	if e.Instance != r.instance {
		return nil
	}
	r.lastStep = e.Step
	switch e.Kind {
	case EntryOpen:
		at, ok := r.plan.step(e.Step)
		if !ok {
			return fmt.Errorf("bridge: the journal speaks of a step %s of %s, which the mapping has not", e.Step, r.plan.action)
		}
		r.at, r.open, r.waiting, r.idempotency = at, e, nil, e.Key
		return decodeInto(r.bound, e.Bound)
	case EntryKnown:
		r.open, r.waiting = nil, nil
		if err := decodeInto(r.bound, e.Bound); err != nil {
			return err
		}
		if e.Attempt != nil {
			r.pending = append(r.pending, pending{answer: e.Attempt, step: e.Step, last: e.Next == "", resumed: true})
		}
		switch {
		case e.Attempt != nil && e.Next == "":
		case e.Next != "":
			at, ok := r.plan.step(e.Next)
			if !ok {
				return fmt.Errorf("bridge: the journal speaks of a step %s of %s, which the mapping has not", e.Next, r.plan.action)
			}
			r.at = at
		default:
			r.finished = true
		}
	case EntryAnswered:
		if e.Attempt != nil && e.At.Before(r.bridge.started) {
			r.before = append(r.before, e.Attempt)
		}
		if len(r.pending) > 0 {
			r.finished = r.finished || r.pending[0].last
			r.pending = r.pending[1:]
		}
	case EntryDiverged, EntryYielded:
		r.pending, r.finished = nil, true
	case EntryWaiting:
		r.waiting = e
	case EntryUnsent:
		r.open, r.idempotency = nil, ""
	case EntryUnknown:
	}
	return nil
}

func decodeInto(into map[string]any, values enactment.Values) (err error) {
	for name, value := range values {
		if into[name], err = decoded(value); err != nil {
			return err
		}
	}
	return nil
}

func decoded(value enactment.Value) (any, error) {
	var plain any
	err := value.Decode(&plain)
	return plain, err
}
