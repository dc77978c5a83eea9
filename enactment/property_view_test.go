package enactment_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

// view folds what a role sees of the log.
func (s *story) view(role string) *enactment.State {
	state := s.rules.NewState(s.state.Key())
	for _, f := range s.log {
		seen := enactment.Finalisation{Sequence: f.Sequence, Completed: f.Completed}
		for _, i := range f.Instances {
			if visible, ok := s.rules.Project(role, i); ok {
				seen.Instances = append(seen.Instances, visible)
			}
		}
		state.Apply(seen)
	}
	return state
}

func TestWhatARoleSeesGivesExactlyItsOwnEnabled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		for _, role := range s.oracle.roles {
			require.Empty(t, cmp.Diff(feasibleTexts(s.state, role), feasibleTexts(s.view(role), role)), "what %s may do", role)
		}
	})
}

func TestARoleSeesWhatSectionSevenSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		for _, role := range s.oracle.roles {
			var expected, seen []string
			for _, f := range s.oracle.seenBy(role) {
				expected = append(expected, factText(f))
			}
			for i := range s.view(role).Instances() {
				seen = append(seen, factText(s.oracle.factOf(i)))
			}
			require.Empty(t, cmp.Diff(expected, seen), "what %s sees", role)
			for _, action := range s.oracle.actions {
				if len(s.oracle.keysOf(action)) == 0 {
					continue // never happens
				}
				attributes, delivered := s.oracle.sees(role, action)
				sees, hidden := s.rules.Sight(role, action.name)
				require.Equal(t, delivered, sees)
				for _, name := range action.carries {
					require.Equal(t, !s.oracle.isAction(name) && !slices.Contains(attributes, name), slices.Contains(hidden, name), name)
				}
			}
		}
		var nothing []string
		for i := range s.state.Instances() {
			if _, ok := s.rules.Project("Nobody", i); ok {
				nothing = append(nothing, i.Action)
			}
		}
		require.Empty(t, nothing)
	})
}

func factText(f fact) string {
	text := f.action.name + "/" + f.party
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		text += fmt.Sprintf(" %s=%s", name, f.values[name])
	}
	return text
}

func TestOtherPartiesOfARoleNeitherActNorSee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		everybody := append(slices.Clone(partyNames), "", "stranger")
		for _, role := range s.oracle.roles {
			has, taken := s.oracle.partyOf(role)
			party, ok := s.state.Party(role)
			require.Equal(t, taken, ok)
			require.Equal(t, has, party)
			feasible := slices.Collect(s.state.Enabled(role))
			for _, other := range everybody {
				id := enactment.Identity{Role: role, Party: other}
				require.Equal(t, s.oracle.mayPlay(role, other), s.state.Sees(id), "%s", id)
				if s.state.Sees(id) || len(feasible) == 0 {
					continue
				}
				a := s.fresh(role, rapid.SampledFrom(feasible).Draw(t, "feasible"))
				a.Party = other
				_, outcomes := s.judge([]enactment.Attempt{a})
				require.ErrorIs(t, outcomes[0].Err(), enactment.WrongParty)
			}
		}
		require.False(t, s.state.Sees(enactment.Identity{Role: "Nobody", Party: "p"}))
	})
}
