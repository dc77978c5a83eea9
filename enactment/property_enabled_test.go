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

func TestEnabledListsWhatTheOracleLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compare := func(s *story) {
			for _, role := range s.oracle.roles {
				listed := feasibleTexts(s.state, role)
				require.Empty(t, cmp.Diff(listed, feasibleTexts(s.state, role)), "the order of the list changes")
				slices.Sort(listed)
				require.Empty(t, cmp.Diff(s.oracle.enabled(role), listed), "what %s may do", role)
			}
		}
		compare(explore(t, func(s *story, _ []enactment.Attempt, _ enactment.Finalisation, _ []enactment.Outcome) { compare(s) }))
	})
}

func TestStartsListsWhatAnEmptyEnactmentEnables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		for _, role := range s.oracle.roles {
			var starts []string
			for f := range s.rules.Starts(role) {
				starts = append(starts, feasibleText(f))
			}
			require.Empty(t, cmp.Diff(feasibleTexts(s.state, role), starts))
		}
	})
}

// Whatever is listed is accepted when the open attributes are bound to values not used before.
func TestEveryEnabledInstanceAloneIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		for _, role := range s.oracle.roles {
			for f := range s.state.Enabled(role) {
				a := s.fresh(role, f)
				if s.guarded(f.Action) {
					continue
				}
				_, outcomes := s.judge([]enactment.Attempt{a})
				require.NoError(t, outcomes[0].Err(), "%s", feasibleText(f))
			}
		}
	})
}

// guarded tells whether a guard may refuse what is listed.
func (s *story) guarded(action string) bool {
	return slices.ContainsFunc(s.oracle.guards, func(g oracleGuard) bool { return g.action == action })
}

// fresh makes an attempt of a feasible action with values not used before.
func (s *story) fresh(role string, f enactment.Feasible) enactment.Attempt {
	s.next++
	party, taken := s.oracle.partyOf(role)
	if !taken && len(s.oracle.configured[role]) > 0 {
		party = s.oracle.configured[role][0]
	}
	a := enactment.Attempt{
		ID: fmt.Sprint("fresh ", s.next), Identity: enactment.Identity{Role: role, Party: party}, Action: f.Action, Values: maps.Clone(f.Known),
	}
	for _, open := range f.Open {
		if _, root := s.oracle.root[open.Attribute]; root {
			a.Values[open.Attribute] = enactment.MustValue(7)
		} else {
			a.Values[open.Attribute] = enactment.MustValue(fmt.Sprint("fresh ", open.Attribute, s.next))
		}
	}
	return a
}

// Whatever is accepted is listed: the entry has the keys that the role knows, and leaves the others open.
func TestWhateverIsAcceptedIsListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, _ enactment.Finalisation, _ []enactment.Outcome) {
			for _, a := range window {
				if _, outcomes := s.judge([]enactment.Attempt{a}); outcomes[0].Rejection != nil {
					continue
				}
				candidate := s.oracle.candidateOf(a)
				keys := make(map[string]string)
				for _, key := range s.oracle.keysOf(candidate.action) {
					keys[key] = openKey
					if s.oracle.seenTogether(key, candidate) {
						keys[key] = candidate.values[key]
					}
				}
				text, ok := s.oracle.feasible(candidate.action, keys)
				require.True(t, ok, "%s", a.Action)
				require.Contains(t, feasibleTexts(s.state, a.Role), text)
			}
		})
	})
}

func TestAnAttemptAloneIsAnsweredAsTheOracleDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, _ enactment.Finalisation, _ []enactment.Outcome) {
			for _, a := range window {
				f, outcomes := s.judge([]enactment.Attempt{a})
				requireAnswer(t, s.oracle.refuse(a), outcomes[0])
				if outcomes[0].Rejection != nil {
					require.Empty(t, f.Instances)
					require.Equal(t, s.state.Sequence(), outcomes[0].Sequence)
					continue
				}
				require.Equal(t, s.state.Sequence()+1, outcomes[0].Sequence)
				require.Equal(t, f.Sequence, outcomes[0].Sequence)
				require.Len(t, f.Instances, 1)
				require.Equal(t, instanceText(f.Instances[0]), instanceText(outcomes[0].Instance))
				require.Empty(t, cmp.Diff(s.oracle.candidateOf(a).values, s.oracle.factOf(f.Instances[0]).values))
			}
		})
	})
}

// requireAnswer compares an outcome with what the oracle says: the code, and that what it is about is one of the names
// that it may be about.
func requireAnswer(t fataler, expected refusal, outcome enactment.Outcome) {
	t.Helper()
	if expected.code == "" {
		require.NoError(t, outcome.Err())
		return
	}
	require.NotNil(t, outcome.Rejection, "accepted, expected %s", expected.code)
	require.ErrorIs(t, outcome.Err(), expected.code)
	require.NotEmpty(t, outcome.Rejection.Detail)
	switch expected.code {
	case enactment.BoundDifferently, enactment.NoSayso, enactment.NotEnabled, enactment.Missing:
		if len(expected.about) > 0 {
			require.Contains(t, expected.about, outcome.Rejection.Attribute)
		}
	case enactment.Excluded, enactment.Blocked, enactment.Dominated:
		require.Contains(t, expected.about, outcome.Rejection.By)
		if expected.code == enactment.Dominated {
			require.NotEmpty(t, outcome.Rejection.Attribute)
		}
	case enactment.GuardRefused:
		require.Equal(t, "few", outcome.Rejection.By)
	}
}
