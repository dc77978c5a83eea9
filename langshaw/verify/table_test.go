package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

func parse(t testing.TB, text string) *langshaw.Protocol {
	t.Helper()
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), diagnostics)
	return p
}

// One and Two can both happen only in one step, and only once Three has bound x, since until then One dominates Two. A
// stubborn set that left Three out would find Both dead.
const settledRivalry = `Settled Rivalry
who A, B, C
what ID key, Both
do
  A: One(ID, x)
  B: Two(ID, x)
  C: Three(ID, x)
  A: Both(ID, One, Two)
sayso
  A > B > C: x
nogo
  One -/> Two
  Two -/> One
`

func TestStepThatWaitsForARivalryToBeSettled(t *testing.T) {
	p := parse(t, settledRivalry)
	r := verify.Verify(t.Context(), p, verify.Options{})
	require.Empty(t, r.Dead)
	query, err := verify.ParseQuery("possible Both after Three")
	require.NoError(t, err)
	r = verify.Verify(t.Context(), p, verify.Options{Queries: []verify.Query{query}})
	require.Equal(t, verify.Yes, r.Answers[0].Holds)
	require.Equal(t, [][]string{{"Three"}, {"One", "Two"}, {"Both"}}, r.Answers[0].Witness)
	require.Equal(t, []string{"Both"}, verify.Verify(t.Context(), p, verify.Options{Immediate: true}).Dead)
}
