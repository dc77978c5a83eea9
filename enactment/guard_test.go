package enactment_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// TestNewestIsInstancesBackwards: a guard sees the same either way, and no more than its actor.
func TestNewestIsInstancesBackwards(t *testing.T) {
	var forwards, backwards []string
	guard := enactment.Guard{Name: "look", Action: "Last", Allow: func(view enactment.View, _ enactment.Instance) bool {
		forwards, backwards = nil, nil
		for i := range view.Instances() {
			forwards = append(forwards, instanceText(i))
		}
		for i := range view.Newest() {
			backwards = append(backwards, instanceText(i))
		}
		for range view.Newest() {
			break // whoever has found it need not go on
		}
		return true
	}}
	r := compile(t, "P\nwho A, B, C\nwhat ID key, Last\ndo\n A: First(ID, x, y)\n B: Hidden(ID, z)\n A: Second(ID, First, x)\n C: Last(ID, Second, x)\n"+
		"sayso\n A: x, y\n B: z\n", enactment.WithGuards(guard))
	first := attempt(t, "A", "First", `{"ID":1,"x":"x","y":"y"}`)
	s := stateOf(t, r, first)
	happen(t, s, first, attempt(t, "B", "Hidden", `{"ID":1,"z":"z"}`), attempt(t, "A", "Second", `{"ID":1}`))
	_, outcomes := enactment.Judge(s, attempt(t, "C", "Last", `{"ID":1}`))
	require.NoError(t, outcomes[0].Err())
	require.Len(t, backwards, 2, "C sees nothing of Hidden")
	slices.Reverse(backwards)
	require.Equal(t, forwards, backwards)
	require.NotContains(t, forwards[0], `"y"`)
}

// TestGuardsAreListed: in the order of the actions, and for each in the order in which they are asked.
func TestGuardsAreListed(t *testing.T) {
	yes := func(enactment.View, enactment.Instance) bool { return true }
	r := compile(t, purchase, enactment.WithGuards(
		enactment.Guard{Name: "b", Action: "Quote", Allow: yes}, enactment.Guard{Name: "c", Action: "RFQ", Allow: yes},
		enactment.Guard{Name: "a", Action: "Quote", Allow: yes},
	))
	var all []string
	for guard := range r.Guards() {
		all = append(all, guard.Action+" "+guard.Name)
	}
	require.Equal(t, []string{"RFQ c", "Quote a", "Quote b"}, all)
	for range r.Guards() {
		break
	}
}

// TestSamples: they are for those who make values up, and decide nothing.
func TestSamples(t *testing.T) {
	plain := compile(t, purchase)
	require.Empty(t, plain.Samples("price"))
	r := compile(t, purchase, enactment.WithSamples("price", parse(t, "1")), enactment.WithSamples("price", parse(t, "2")))
	require.Equal(t, []enactment.Value{parse(t, "1"), parse(t, "2")}, r.Samples("price"))
	r.Samples("price")[0] = parse(t, "3")
	require.Equal(t, parse(t, "1"), r.Samples("price")[0], "rules never change")
	require.Equal(t, plain.Hash(), r.Hash())
	protocol, _ := langshaw.Parse([]byte(purchase))
	for _, name := range []string{"prize", "Quote"} {
		_, err := enactment.Compile(protocol, enactment.WithSamples(name, parse(t, "1")))
		require.ErrorContains(t, err, name)
	}
}
