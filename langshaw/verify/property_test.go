package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// protocolText draws a protocol of up to most actions, dense in references, saysos and conflicts.
func protocolText(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(2, most).Draw(t, "actions")
		roles := []string{"P", "Q", "R"}[:rapid.IntRange(1, 3).Draw(t, "roles")]
		values := []string{"x", "y", "z"}[:rapid.IntRange(0, 3).Draw(t, "values")]
		action := func(i int) string { return fmt.Sprintf("A%d", i) }
		some := func(label string, percent int) bool { return rapid.IntRange(1, 100).Draw(t, label) <= percent }
		var b strings.Builder
		fmt.Fprintf(&b, "Drawn\nwho %s\nwhat ID key", strings.Join(roles, ", "))
		for range rapid.IntRange(1, 2).Draw(t, "conjuncts") {
			var alternatives []string
			for range rapid.IntRange(1, 2).Draw(t, "alternatives") {
				alternatives = append(alternatives, action(rapid.IntRange(0, n-1).Draw(t, "what")))
			}
			fmt.Fprintf(&b, ", %s", strings.Join(slices.Compact(alternatives), " or "))
		}
		b.WriteString("\ndo\n")
		density := rapid.SampledFrom([]int{5, 12, 25}).Draw(t, "density")
		for i := range n {
			carried := []string{"ID"}
			for _, value := range values {
				if some("carries", 30) {
					carried = append(carried, value)
				}
			}
			for j := range n {
				if j < i && some("refers", density) || j > i && some("refers forward", 2) {
					carried = append(carried, action(j))
				}
			}
			fmt.Fprintf(&b, "  %s: %s(%s)\n", rapid.SampledFrom(roles).Draw(t, "role"), action(i), strings.Join(carried, ", "))
		}
		b.WriteString("sayso\n")
		for _, value := range append(values, "ID") {
			ranked := rapid.Permutation(roles).Draw(t, "ranked")
			if k := rapid.IntRange(0, len(roles)).Draw(t, "ranks"); k > 0 && (value != "ID" || some("key sayso", 10)) {
				fmt.Fprintf(&b, "  %s: %s\n", strings.Join(ranked[:k], " > "), value)
			}
		}
		b.WriteString("nono\n")
		for range rapid.IntRange(0, 3).Draw(t, "nonos") {
			group := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 2, min(n, 3), rapid.ID).Draw(t, "nono")
			for _, i := range group {
				fmt.Fprintf(&b, "  %s", action(i))
			}
			b.WriteString("\n")
		}
		b.WriteString("nogo\n")
		for range rapid.IntRange(0, 5).Draw(t, "nogos") {
			pair := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 2, 2, rapid.ID).Draw(t, "nogo")
			fmt.Fprintf(&b, "  %s -/> %s\n", action(pair[0]), action(pair[1]))
			if some("both ways", 40) {
				fmt.Fprintf(&b, "  %s -/> %s\n", action(pair[1]), action(pair[0]))
			}
		}
		return b.String()
	})
}

func actionsIn(steps [][]string) int {
	count := 0
	for _, step := range steps {
		count += len(step)
	}
	return count
}

// Reduction makes verdicts faster, never different: every verdict, witness and dead set is that of plain enumeration.
func TestVerdictsAreThoseOfPlainEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := protocolText(9).Draw(t, "protocol")
		p, diagnostics := langshaw.Parse([]byte(text))
		require.False(t, diagnostics.HasErrors(), "%v\n%s", diagnostics, text)
		immediate := rapid.Bool().Draw(t, "immediate")
		plain := &plainVerifier{p: p, immediate: immediate}
		want := plain.run()
		got := verify.Verify(t.Context(), p, verify.Options{Immediate: immediate})
		require.True(t, got.Exhaustive)
		require.Equal(t, want.live, got.Live == verify.Yes, "live:\n%s", text)
		require.Equal(t, want.safe, got.Safe == verify.Yes, "safe:\n%s", text)
		require.Equal(t, want.dead, got.Dead, "dead:\n%s", text)
		if !want.live {
			s, ok := plain.follow(got.LiveWitness)
			require.True(t, ok && plain.stuck(s), "%v does not show that it is not live:\n%s", got.LiveWitness, text)
			require.Equal(t, want.fewestStuck, actionsIn(got.LiveWitness))
			require.NotEmpty(t, got.Stuck)
		}
		if !want.safe {
			s, ok := plain.follow(got.SafeWitness)
			require.True(t, ok && slices.Contains(plain.unsafe(s), got.Pair), "%v %v does not show that it is not safe:\n%s", got.SafeWitness, got.Pair, text)
			require.Equal(t, want.fewestUnsafe, actionsIn(got.SafeWitness))
		}
	})
}
