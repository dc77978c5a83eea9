package enactment_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

// story is one enactment of a drawn protocol, told to the package and to the oracle. The oracle is given what the
// package says has happened, so that each property speaks of one thing only.
type story struct {
	rules  *enactment.Rules
	state  *enactment.State
	oracle *oracle
	log    []enactment.Finalisation
	next   int // number of the next attempt
}

// texts of protocols that are tried beside the drawn ones.
var knownTexts = []string{simpleUCP, purchase, quotes, crossedPriorities, scopedPriority, circle, freed}

func drawStory(t *rapid.T) *story {
	text := ""
	if rapid.IntRange(0, 9).Draw(t, "known text") == 9 {
		text = rapid.SampledFrom(knownTexts).Draw(t, "text")
	} else {
		text = protocolText(t)
	}
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v", diagnostics)
	s := &story{oracle: &oracle{oracleProtocol: oracleProtocolOf(p), root: make(map[string]string)}}
	var options []enactment.Option
	for _, role := range s.oracle.roles {
		if n := rapid.SampledFrom([]int{0, 2, 1}).Draw(t, "configured parties"); n > 0 {
			s.oracle.configured[role] = partyNames[:n]
			options = append(options, enactment.WithParties(role, partyNames[:n]...))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "guarded") == 3 {
		g := oracleGuard{rapid.SampledFrom(s.oracle.actions).Draw(t, "guarded action").name, rapid.IntRange(1, 4).Draw(t, "limit")}
		s.oracle.guards = append(s.oracle.guards, g)
		options = append(options, enactment.WithGuards(enactment.Guard{
			Name: "few", Action: g.action, Allow: func(view enactment.View, _ enactment.Instance) bool {
				return len(slices.Collect(view.Instances())) < g.limit
			},
		}))
	}
	s.rules, _ = enactment.Compile(p, options...)
	require.NotNil(t, s.rules)
	var members []string
	for _, key := range s.oracle.rootKey() {
		s.oracle.root[key] = plain(enactment.MustValue(7))
		members = append(members, fmt.Sprintf("%q:7", key))
	}
	var key enactment.Key
	require.NoError(t, json.Unmarshal([]byte("{"+strings.Join(members, ",")+"}"), &key))
	s.state = s.rules.NewState(key)
	return s
}

// judge judges a window without applying it.
func (s *story) judge(window []enactment.Attempt) (enactment.Finalisation, []enactment.Outcome) {
	return enactment.Judge(s.state, window...)
}

func (s *story) apply(f enactment.Finalisation) {
	if len(f.Instances) == 0 {
		return
	}
	s.state.Apply(f)
	s.log = append(s.log, f)
	for _, i := range f.Instances {
		s.oracle.facts = append(s.oracle.facts, s.oracle.factOf(i))
	}
}

// explore tells stories of some windows each, and shows each window with its judgement before it is applied.
func explore(t *rapid.T, show func(s *story, window []enactment.Attempt, f enactment.Finalisation, outcomes []enactment.Outcome)) *story {
	s := drawStory(t)
	for range rapid.SampledFrom([]int{4, 8, 2, 12}).Draw(t, "windows") {
		window := s.window(t)
		f, outcomes := s.judge(window)
		if show != nil {
			show(s, window, f, outcomes)
		}
		s.apply(f)
	}
	return s
}

// window draws attempts that arrive together.
func (s *story) window(t *rapid.T) []enactment.Attempt {
	var window []enactment.Attempt
	for range rapid.SampledFrom([]int{1, 2, 3, 4, 6}).Draw(t, "window") {
		window = append(window, s.attempt(t))
	}
	return window
}

// attempt draws an attempt: of what may happen, as a rule, sometimes with a fault.
func (s *story) attempt(t *rapid.T) enactment.Attempt {
	s.next++
	role := rapid.SampledFrom(s.oracle.roles).Draw(t, "role")
	var a enactment.Attempt
	if feasible := slices.Collect(s.state.Enabled(role)); len(feasible) > 0 && rapid.IntRange(0, 5).Draw(t, "feasible") < 5 {
		a = s.fill(t, role, rapid.SampledFrom(feasible).Draw(t, "which"))
	} else {
		action := rapid.SampledFrom(s.oracle.actions).Draw(t, "action")
		a = enactment.Attempt{Identity: enactment.Identity{Role: action.role}, Action: action.name, Values: make(enactment.Values)}
		for _, name := range action.carries {
			if !s.oracle.isAction(name) && (s.oracle.isKey(name) || rapid.Bool().Draw(t, "says "+name)) {
				a.Values[name] = s.value(t, name)
			}
		}
	}
	a.ID = fmt.Sprint("attempt ", s.next)
	if party, taken := s.oracle.partyOf(a.Role); taken {
		a.Party = party
	} else {
		a.Party = partyNames[0]
	}
	if rapid.IntRange(0, 7).Draw(t, "names a party") == 7 {
		a.Parties = map[string]string{rapid.SampledFrom(s.oracle.roles).Draw(t, "of role"): rapid.SampledFrom(partyNames).Draw(t, "the party")}
	}
	if rapid.IntRange(0, 5).Draw(t, "faulty") == 5 {
		s.spoil(t, &a)
	}
	return a
}

// fill makes an attempt of a feasible action: open attributes are bound, and known ones sometimes said again.
func (s *story) fill(t *rapid.T, role string, f enactment.Feasible) enactment.Attempt {
	a := enactment.Attempt{Identity: enactment.Identity{Role: role}, Action: f.Action, Values: make(enactment.Values)}
	for _, name := range slices.Sorted(maps.Keys(f.Known)) {
		if s.oracle.isKey(name) || rapid.IntRange(0, 3).Draw(t, "says again") == 0 {
			a.Values[name] = f.Known[name]
		}
	}
	for _, open := range f.Open {
		a.Values[open.Attribute] = s.value(t, open.Attribute)
	}
	return a
}

func (s *story) value(t *rapid.T, name string) enactment.Value {
	if _, root := s.oracle.root[name]; root {
		return value(t, rootSpellings)
	}
	if s.oracle.isKey(name) {
		return keyValue(t)
	}
	return anyValue(t)
}

// spoil puts a fault into an attempt, or what may be one.
func (s *story) spoil(t *rapid.T, a *enactment.Attempt) {
	name := rapid.SampledFrom(append(slices.Clone(keyNames), attributeNames...)).Draw(t, "name")
	switch rapid.IntRange(0, 11).Draw(t, "fault") {
	case 0:
		a.ID = ""
	case 1:
		a.Action = "Undo"
	case 2:
		a.Role = rapid.SampledFrom(append(slices.Clone(roleNames), "")).Draw(t, "other role")
	case 3:
		a.Party = rapid.SampledFrom(append(slices.Clone(partyNames), "")).Draw(t, "other party")
	case 4:
		a.Parties = map[string]string{"Nobody": "p"}
	case 5:
		a.Values[name] = enactment.Value{}
	case 6:
		delete(a.Values, name)
	case 7:
		a.Values[rapid.SampledFrom(s.oracle.actions).Draw(t, "of an action").name] = anyValue(t)
	case 8:
		a.Late = true
	default:
		a.Values[name] = anyValue(t)
	}
}
