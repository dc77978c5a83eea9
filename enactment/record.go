package enactment

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"
)

// Kind says what a [Record] tells of.
type Kind string

// The kinds of record.
const (
	Happened  Kind = "happened"
	Refused   Kind = "refused"
	Completed Kind = "completed"
)

// Record is one thing that happened, was refused or became complete. Whatever prints, stores, streams or reports what
// happened uses its JSON form, one a line.
type Record struct {
	Kind     Kind   `json:"kind"`
	Protocol string `json:"protocol"`
	// Hash is that of the rules.
	Hash string `json:"hash"`
	// Enactment is the root key, null where a malformed attempt does not say.
	Enactment Key `json:"enactment"`
	// Sequence is that of the finalisation, or of the state that a refusal was judged against.
	Sequence uint64 `json:"sequence"`
	Action   string `json:"action,omitempty"`
	Role     string `json:"role,omitempty"`
	Party    string `json:"party,omitempty"`
	// Values are those that may be shown.
	Values Values `json:"values,omitempty"`
	// Hidden names the values left out because the viewer may not see them or because they are secret.
	Hidden []string `json:"hidden,omitempty"`
	// Attempt is the id of the attempt.
	Attempt string `json:"attempt,omitempty"`
	// Reason is there when Kind is Refused.
	Reason *Rejection `json:"reason,omitempty"`
	At     time.Time  `json:"at"`
}

// timeFormat gives UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON gives times in UTC with milliseconds.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record
	return json.Marshal(struct {
		plain
		At string `json:"at"`
	}{plain(r), r.At.UTC().Format(timeFormat)})
}

// HappenedRecord makes the record of an instance, as its viewer sees it; secrets are hidden.
func (r *Rules) HappenedRecord(key Key, sequence uint64, i Instance, at time.Time) Record {
	record := Record{
		Kind: Happened, Enactment: key, Sequence: sequence, Action: i.Action, Role: i.Role, Party: i.Party, Attempt: i.Attempt, At: at,
		Hidden: slices.Collect(i.Hidden()),
	}
	record.Values = maps.Collect(i.Values())
	return r.finish(record)
}

// RefusedRecord makes the record of a refused attempt. Secrets are hidden, and so are values that the action does not
// carry: what stands under a wrong name may be a secret too. The key is empty where the attempt does not say which
// enactment it is about.
func (r *Rules) RefusedRecord(key Key, sequence uint64, a Attempt, reason *Rejection, at time.Time) Record {
	return r.finish(Record{
		Kind: Refused, Enactment: key, Sequence: sequence, Action: a.Action, Role: a.Role, Party: a.Party, Attempt: a.ID, At: at,
		Values: maps.Clone(a.Values), Reason: reason,
	})
}

// CompletedRecord makes the record of an enactment that became complete.
func (r *Rules) CompletedRecord(key Key, sequence uint64, at time.Time) Record {
	return r.finish(Record{Kind: Completed, Enactment: key, Sequence: sequence, At: at})
}

// Records makes the records of one judgement in the order in which they are told: what happened, which attempts of the
// window were refused, and completion. The outcomes are those of the window's attempts, as [Judge] gives them.
func (r *Rules) Records(key Key, f Finalisation, window []Attempt, outcomes []Outcome, at time.Time) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for _, instance := range f.Instances {
			if !yield(r.HappenedRecord(key, f.Sequence, instance, at)) {
				return
			}
		}
		for i, outcome := range outcomes {
			if outcome.Rejection != nil && !yield(r.RefusedRecord(key, outcome.Sequence, window[i], outcome.Rejection, at)) {
				return
			}
		}
		if f.Completed {
			yield(r.CompletedRecord(key, f.Sequence, at))
		}
	}
}

// takes tells whether an attempt of the action may give a value under the name.
func (rule *actionRule) takes(name string) bool {
	at, ok := rule.position[name]
	return ok && rule.parameters[at].attribute != nil
}

func (r *Rules) finish(record Record) Record {
	record.Protocol, record.Hash = r.protocol.Name(), r.hash
	action := r.byName[record.Action]
	for name := range record.Values {
		if r.secrets[name] || action == nil || !action.takes(name) {
			delete(record.Values, name)
			record.Hidden = append(record.Hidden, name)
		}
	}
	slices.Sort(record.Hidden)
	return record
}
