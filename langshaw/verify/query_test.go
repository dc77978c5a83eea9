package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// ways calls do with every way that an enactment may go, as the number of the step in which each action happens.
func (v *plainVerifier) ways(s plainState, when map[string]int, step int, do func(map[string]int)) {
	enabled := v.enabledIn(s)
	do(when)
	for subset := 1; subset < 1<<len(enabled); subset++ {
		var actions []*langshaw.Action
		for i, a := range enabled {
			if subset&(1<<i) != 0 {
				actions = append(actions, a)
			}
		}
		if !v.stepAllowed(s, actions) {
			continue
		}
		for _, a := range actions {
			s[a.Name()], when[a.Name()] = true, step
		}
		v.ways(s, when, step+1, do)
		for _, a := range actions {
			delete(s, a.Name())
			delete(when, a.Name())
		}
	}
}

// Answers are those of going through every way one by one.
func TestAnswersAreThoseOfEveryWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := protocolText(5).Draw(t, "protocol")
		p, diagnostics := langshaw.Parse([]byte(text))
		require.False(t, diagnostics.HasErrors(), diagnostics)
		plain := &plainVerifier{p: p, immediate: rapid.Bool().Draw(t, "immediate")}
		for a := range p.Actions() {
			plain.actions = append(plain.actions, a)
		}
		names := rapid.Permutation(plain.actions).Draw(t, "named")
		a, b, c := names[0].Name(), names[1].Name(), names[len(names)-1].Name()
		before := func(when map[string]int, first, then string) bool {
			one, happened := when[first]
			other, also := when[then]
			return happened && also && one < other
		}
		has := func(when map[string]int, name string) bool { _, ok := when[name]; return ok }
		questions := map[string]func(map[string]int) bool{
			a:                  func(w map[string]int) bool { return has(w, a) },
			a + " and " + b:    func(w map[string]int) bool { return has(w, a) && has(w, b) },
			a + " after " + b:  func(w map[string]int) bool { return before(w, b, a) },
			a + " before " + b: func(w map[string]int) bool { return has(w, a) && !before(w, b, a) },
			a + " between " + b + " and " + c: func(w map[string]int) bool {
				return before(w, b, a) && !before(w, c, a)
			},
		}
		if b == c {
			delete(questions, a+" between "+b+" and "+c)
		}
		happens := make(map[string]bool)
		plain.ways(plainState{}, map[string]int{}, 0, func(when map[string]int) {
			for question, holds := range questions {
				happens[question] = happens[question] || holds(when)
			}
		})
		for question := range questions {
			for _, word := range []string{"never", "possible"} {
				query, err := verify.ParseQuery(word + " " + question)
				require.NoError(t, err)
				r := verify.Verify(t.Context(), p, verify.Options{Immediate: plain.immediate, Queries: []verify.Query{query}})
				want := happens[question] == (word == "possible")
				require.Equal(t, want, r.Answers[0].Holds == verify.Yes, "%s:\n%s", query, text)
				if happens[question] {
					_, ok := plain.follow(r.Answers[0].Witness)
					require.True(t, ok, "%v:\n%s", r.Answers[0].Witness, text)
				}
			}
		}
		query, err := verify.ParseQuery(fmt.Sprintf("always %s before %s", b, a))
		require.NoError(t, err)
		r := verify.Verify(t.Context(), p, verify.Options{Immediate: plain.immediate, Queries: []verify.Query{query}})
		require.Equal(t, !happens[a+" before "+b], r.Answers[0].Holds == verify.Yes)
	})
}

func TestQueriesThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "never", "always A", "never A between B", "sometimes A", "never A and", "always A before B C"} {
		_, err := verify.ParseQuery(text)
		require.ErrorContains(t, err, "write one of", text)
	}
	p := parse(t, settledRivalry)
	query, err := verify.ParseQuery("never Boht after One")
	require.NoError(t, err)
	r := verify.Verify(t.Context(), p, verify.Options{Queries: []verify.Query{query}})
	require.ErrorContains(t, r.Answers[0].Err, "did you mean Both?")
	require.False(t, r.Proved())
}

// The naive protocol lets a Complete overtake an Update; it is live and safe all the same.
const naiveUpdate = `Naive
who Platform, Business
what cid key, Completed
do
  Platform: Create(cid, items)
  Business: Created(cid, Create, id)
  Platform: Update(cid, Created, codes)
  Business: Updated(cid, Update, totals)
  Platform: Complete(cid, Created, payment)
  Business: Completed(cid, Complete, order)
sayso
  Platform: items, codes, payment
  Business: id, totals, order
`

func TestHiddenAssumptionOfUCPIsShownByAQuery(t *testing.T) {
	query, err := verify.ParseQuery("never Complete between Update and Updated")
	require.NoError(t, err)
	r := verify.Verify(t.Context(), parse(t, naiveUpdate), verify.Options{Queries: []verify.Query{query}})
	require.Equal(t, verify.Yes, r.Live)
	require.Equal(t, verify.Yes, r.Safe)
	require.Equal(t, verify.No, r.Answers[0].Holds)
	require.Equal(t, [][]string{{"Create"}, {"Created"}, {"Update"}, {"Complete"}}, r.Answers[0].Witness)
}

// incremental has revisions; without Receipt two of them can both complete.
const incremental = `Incremental
who Platform, Business
what cid key, rev key, Completed
do
  Platform: Create(cid, buyer)
  Platform: Submit(cid, rev, Create, items)
  Business: Offered(cid, rev, Submit, totals)
  Platform: Complete(cid, rev, Offered, totals)
  Business: Completed(cid, rev, Complete, order)
%s
sayso
  Platform: items, buyer
  Business: totals, order
`

func TestTwoValuesOfAKeyShowWhatOneHides(t *testing.T) {
	query, err := verify.ParseQuery("never Completed and Completed")
	require.NoError(t, err)
	options := verify.Options{Queries: []verify.Query{query}}
	without := parse(t, fmt.Sprintf(incremental, ""))
	with := parse(t, fmt.Sprintf(incremental, "  Platform: Receipt(cid, Completed, order)"))
	require.Equal(t, []string{"Completed"}, verify.Verify(t.Context(), without, options).Repeated)
	require.Empty(t, verify.Verify(t.Context(), with, options).Repeated)
	require.Equal(t, verify.Yes, verify.Verify(t.Context(), without, options).Answers[0].Holds)
	options.Keys = 2
	require.Equal(t, verify.No, verify.Verify(t.Context(), without, options).Answers[0].Holds)
	require.Equal(t, verify.Yes, verify.Verify(t.Context(), with, options).Answers[0].Holds)
}
