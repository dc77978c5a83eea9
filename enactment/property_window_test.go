package enactment_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

func TestTheOutcomesOfAWindowEqualTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, f enactment.Finalisation, outcomes []enactment.Outcome) {
			expected := s.oracle.judge(window)
			var kept []string
			for i := range window {
				requireAnswer(t, expected[i], outcomes[i])
				if expected[i].code == "" {
					kept = append(kept, instanceText(outcomes[i].Instance))
					require.Equal(t, window[i].ID, outcomes[i].Instance.Attempt)
				} else {
					require.Empty(t, outcomes[i].Instance.Action)
				}
			}
			var happened []string
			for _, i := range f.Instances {
				happened = append(happened, instanceText(i))
			}
			require.Empty(t, cmp.Diff(kept, happened), "what happens, in order of arrival")
			require.Equal(t, s.state.Sequence()+1, f.Sequence)
			for _, o := range outcomes {
				if len(kept) > 0 {
					require.Equal(t, f.Sequence, o.Sequence)
				} else {
					require.Equal(t, s.state.Sequence(), o.Sequence)
				}
			}
		})
	})
}

func TestTheOutcomeOfAWindowDependsOnArrivalOrderAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, f enactment.Finalisation, outcomes []enactment.Outcome) {
			first := outcomeTexts(outcomes)
			before := instanceTexts(s.state)
			for _, state := range []*enactment.State{s.state, s.refold()} {
				for range 3 {
					again := slices.Clone(window)
					for i := range again {
						again[i].Values = shuffled(again[i].Values)
						again[i].Parties = shuffled(again[i].Parties)
					}
					f2, repeated := enactment.Judge(state, again...)
					require.Empty(t, cmp.Diff(first, outcomeTexts(repeated)))
					require.Equal(t, f.Completed, f2.Completed)
				}
			}
			require.Equal(t, before, instanceTexts(s.state), "Judge changes nothing")
		})
	})
}

// shuffled copies a map by another insertion order, which ranging over it follows if anything does.
func shuffled[M ~map[string]V, V any](m M) M {
	names := slices.Sorted(maps.Keys(m))
	slices.Reverse(names)
	other := make(M)
	for _, name := range names {
		other[name] = m[name]
	}
	return other
}

func TestEveryWindowWithAnEnabledAttemptAcceptsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, f enactment.Finalisation, _ []enactment.Outcome) {
			some := slices.ContainsFunc(window, func(a enactment.Attempt) bool { return s.oracle.refuse(a).code == "" })
			require.Equal(t, some, len(f.Instances) > 0)
		})
	})
}

func TestAWindowOfOneEqualsImmediateFinalisation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		explore(t, func(s *story, window []enactment.Attempt, _ enactment.Finalisation, _ []enactment.Outcome) {
			for _, a := range window {
				f, alone := s.judge([]enactment.Attempt{a})
				// Beside an attempt that cannot matter the window is judged as a batch.
				batch, beside := s.judge([]enactment.Attempt{a, {}})
				require.Equal(t, outcomeText(alone[0]), outcomeText(beside[0]))
				require.Equal(t, enactment.Malformed, beside[1].Rejection.Code)
				require.Equal(t, f.Completed, batch.Completed)
				require.Len(t, batch.Instances, len(f.Instances))
			}
		})
	})
}
