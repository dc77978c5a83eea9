package enactment_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

func TestNoReachableStateBreaksANonoOrAnEarlierNogo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		type placed struct {
			fact
			sequence uint64
		}
		var all []placed
		for _, f := range s.log {
			for _, i := range f.Instances {
				all = append(all, placed{s.oracle.factOf(i), f.Sequence})
			}
		}
		for _, a := range all {
			for _, b := range all {
				if !s.oracle.agree(a.fact, b.fact) {
					continue
				}
				require.False(t, s.oracle.nono(a.action.name, b.action.name), "%s beside %s", a.action.name, b.action.name)
				together := a.sequence == b.sequence && a.action.role != b.action.role
				if s.oracle.nogo(a.action.name, b.action.name) && a.sequence <= b.sequence && !together {
					require.Fail(t, "nogo broken", "%s and then %s", a.action.name, b.action.name)
				}
			}
		}
	})
}

func TestNothingIsBoundTwiceInItsScope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, func(s *story, window []enactment.Attempt, f enactment.Finalisation, outcomes []enactment.Outcome) {
			// Everything again in the same window, in the other order, must not make more happen.
			again := slices.Concat(window, window)
			slices.Reverse(again)
			twice, _ := s.judge(again)
			once := slices.Clone(window)
			slices.Reverse(once)
			reversed, _ := s.judge(once)
			require.Len(t, twice.Instances, len(reversed.Instances))
		})
		for n, a := range s.oracle.facts {
			for _, name := range a.action.carries {
				_, has := a.values[name]
				require.Equal(t, !s.oracle.isAction(name), has, "%s of %s", name, a.action.name)
			}
			for _, b := range s.oracle.facts[n+1:] {
				if a.action.name == b.action.name {
					require.False(t, sameOn(s.oracle.scope(a.action.name), a, b), "%s happened twice", a.action.name)
				}
				for _, name := range a.action.carries {
					if !s.oracle.isAction(name) && b.action.carriesIt(name) && sameOn(s.oracle.scope(name), a, b) {
						require.Equal(t, a.values[name], b.values[name], name)
					}
				}
			}
		}
	})
}

func TestFoldingTheLogGivesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, nil)
		for name, refolded := range map[string]*enactment.State{
			"as judged": s.refold(), "from values": s.refoldFromValues(t), "from a snapshot": s.restored(t),
		} {
			require.Equal(t, s.state.Sequence(), refolded.Sequence(), name)
			require.Equal(t, s.state.Complete(), refolded.Complete(), name)
			require.Equal(t, s.state.Empty(), refolded.Empty(), name)
			require.Equal(t, s.state.Key(), refolded.Key(), name)
			require.Empty(t, cmp.Diff(instanceTexts(s.state), instanceTexts(refolded)), name)
			for _, role := range s.oracle.roles {
				require.Empty(t, cmp.Diff(feasibleTexts(s.state, role), feasibleTexts(refolded, role)), name)
				had, taken := s.state.Party(role)
				has, too := refolded.Party(role)
				require.Equal(t, had, has, name)
				require.Equal(t, taken, too, name)
			}
			window := s.window(t)
			_, outcomes := s.judge(window)
			_, again := enactment.Judge(refolded, window...)
			require.Empty(t, cmp.Diff(outcomeTexts(outcomes), outcomeTexts(again)), name)
		}
	})
}

// refold folds the log into a new state.
func (s *story) refold() *enactment.State {
	state := s.rules.NewState(s.state.Key())
	for _, f := range s.log {
		state.Apply(f)
	}
	return state
}

// refoldFromValues folds the log as a store would keep it: names, parties and values.
func (s *story) refoldFromValues(t fataler) *enactment.State {
	state := s.rules.NewState(s.state.Key())
	for _, f := range s.log {
		stored := enactment.Finalisation{Sequence: f.Sequence, Completed: f.Completed}
		for _, i := range f.Instances {
			kept := make(enactment.Values)
			for name, value := range i.Values() {
				kept[name] = parse(t, value.String())
			}
			rebuilt, err := s.rules.NewInstance(enactment.Identity{Role: i.Role, Party: i.Party}, i.Action, i.Attempt, kept, i.Parties)
			require.NoError(t, err)
			stored.Instances = append(stored.Instances, rebuilt)
		}
		state.Apply(stored)
	}
	return state
}

// restored makes a snapshot somewhere in the log, restores it and folds what follows.
func (s *story) restored(t *rapid.T) *enactment.State {
	state := s.rules.NewState(s.state.Key())
	at := rapid.IntRange(0, len(s.log)).Draw(t, "snapshot after")
	var taken enactment.Snapshot
	for n, f := range s.log {
		if n == at {
			taken = state.Snapshot()
		}
		state.Apply(f)
	}
	if at == len(s.log) {
		taken = state.Snapshot()
	}
	open, secret := taken.Append(nil, nil)
	restored, err := s.rules.Restore(state.Key(), string(open), string(secret))
	require.NoError(t, err)
	for _, f := range s.log[at:] {
		restored.Apply(f)
	}
	return restored
}

func TestCompletedIsSaidExactlyOnceAndWhenTheOracleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := explore(t, func(s *story, _ []enactment.Attempt, f enactment.Finalisation, _ []enactment.Outcome) {
			before := s.oracle.complete()
			require.Equal(t, before, s.state.Complete())
			after := &oracle{oracleProtocol: s.oracle.oracleProtocol, root: s.oracle.root, facts: slices.Clone(s.oracle.facts)}
			for _, i := range f.Instances {
				after.facts = append(after.facts, s.oracle.factOf(i))
			}
			require.Equal(t, !before && after.complete(), f.Completed)
		})
		require.Equal(t, s.oracle.complete(), s.state.Complete())
		said := 0
		for _, f := range s.log {
			if f.Completed {
				said++
			}
		}
		require.LessOrEqual(t, said, 1)
	})
}
