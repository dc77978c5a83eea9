package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

const faulty = `Faulty
who A, B
what ID key, One or Two, Three
do
  A: One(ID)
  B: Two(ID)
  B: Three(ID)
nono
  One Two
nogo
  One -/> Three
`

func TestVerdictDiagnostics(t *testing.T) {
	p, diagnostics := langshaw.Parse([]byte(faulty))
	require.Empty(t, diagnostics)
	found := verify.Verify(t.Context(), p, verify.Options{}).VerdictDiagnostics(p)
	require.Len(t, found, 2)
	require.Equal(t, verify.CodeNotLive, found[0].Code)
	require.Equal(t, langshaw.Position{Line: 3, Column: 26, Offset: 41}, found[0].Start)
	require.Equal(t, "not live: nothing is enabled and the enactment is not complete\n  1. A's One\n"+
		"  what needs Three (line 3)\n    Three is blocked by One (nogo, line 11)", found[0].Message)
	require.Equal(t, verify.CodeNotSafe, found[1].Code)
	require.Equal(t, 9, found[1].Start.Line)
	require.Equal(t, "not safe: One and Two exclude each other, may be attempted at once, and neither has authority over the other\n"+
		"  at the very start\n  then A's One or B's Two", found[1].Message)
}
