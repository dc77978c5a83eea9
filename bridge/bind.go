package bridge

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/enactment"
)

// written is a value as it is written down and told to others: without what it quotes of a secret.
func (r *run) written(value any) (enactment.Value, error) {
	text, err := encodeJSON(r.scrub.value(value, false))
	if err != nil {
		return enactment.Value{}, err
	}
	return enactment.ValueOf(json.RawMessage(text))
}

// render evaluates what an answer binds, keeps and attempts.
func (r *run) render(members []member) (enactment.Values, map[string]any, error) {
	values, plain := make(enactment.Values), make(map[string]any)
	for _, m := range members {
		result, err := m.value.render(r.scene())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if result.absent {
			continue
		}
		if values[m.name], err = r.written(result.value); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if plain[m.name], err = decoded(values[m.name]); err != nil {
			return nil, nil, err
		}
	}
	return values, plain, nil
}

// bind evaluates what an answer binds. Its error means that the response does not have what the mapping expects.
func (r *run) bind(a *answer) (entry Entry, err error) {
	var bound, kept map[string]any
	if entry.Bound, bound, err = r.render(a.bind); err != nil {
		return entry, err
	}
	before := maps.Clone(r.bound)
	maps.Copy(r.bound, bound)
	defer func() {
		if err != nil { // Another answer may be taken yet.
			clear(r.bound)
			maps.Copy(r.bound, before)
		}
	}()
	if entry.Kept, kept, err = r.render(a.keep); err != nil {
		return entry, err
	}
	if a.kind == attempt {
		values, _, err := r.render(a.values)
		if err != nil {
			return entry, err
		}
		if entry.Attempt, err = r.answerWith(a, values); err != nil {
			return entry, err
		}
	}
	if entry.Facts, _, err = r.render(a.facts); err != nil {
		return entry, err
	}
	maps.Copy(r.kept, kept)
	return entry, nil
}

// answerWith adds the keys that the attempted action shares with the observed one.
func (r *run) answerWith(a *answer, values enactment.Values) (*Answer, error) {
	action, ok := r.bridge.rules.Protocol().Action(a.attempt)
	if !ok {
		return nil, fmt.Errorf("no action %s", a.attempt)
	}
	for key := range action.Keys() {
		if _, given := values[key]; given {
			continue
		}
		if value, visible := r.observed.Value(key); visible {
			values[key] = value
		}
	}
	return &Answer{ID: uuid.NewString(), Action: a.attempt, Values: values, Yields: a.yields}, nil
}
