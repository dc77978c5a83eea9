package protocols_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

// BenchmarkRevisions judges the answer to an update and the update after it, in a checkout that has seen some revisions,
// with the guards and without: what has happened long ago should cost nothing.
func BenchmarkRevisions(b *testing.B) {
	guarded, err := protocols.Load("ucp-incremental")
	require.NoError(b, err)
	text, err := protocols.Source("ucp-incremental")
	require.NoError(b, err)
	protocol, _ := langshaw.Parse(text)
	unguarded, err := enactment.Compile(protocol)
	require.NoError(b, err)
	for _, rules := range []*enactment.Rules{guarded, unguarded} {
		kind := "guarded"
		if rules == unguarded {
			kind = "unguarded"
		}
		for _, revisions := range []int{1, 10, 100, 1000} {
			c := &checkout{t: b, rules: rules, state: rules.NewState(`{"cid":"c"}`)}
			c.must("Create", 0)
			for revision := 1; revision <= revisions; revision++ {
				c.must("Offered", revision, "Update", revision)
			}
			for action, revision := range map[string]int{"Offered": revisions + 1, "Rejected": revisions, "Cancel": 0} {
				attempt := c.attempt(action, revision, nil)
				b.Run(fmt.Sprintf("%s/%s/%d", action, kind, revisions), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, outcomes := enactment.Judge(c.state, attempt); outcomes[0].Rejection != nil {
							b.Fatal(outcomes[0].Rejection)
						}
					}
				})
			}
		}
	}
}

// BenchmarkEnabled lists what each side may do after some revisions, as an agent does whenever something has happened.
func BenchmarkEnabled(b *testing.B) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(b, err)
	for _, revisions := range []int{1, 10, 100, 1000} {
		c := &checkout{t: b, rules: rules, state: rules.NewState(`{"cid":"c"}`)}
		c.must("Create", 0)
		for revision := 1; revision <= revisions; revision++ {
			c.must("Offered", revision, "Update", revision)
		}
		for _, role := range []string{"Platform", "Business"} {
			b.Run(fmt.Sprintf("%s/%d", role, revisions), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for range c.state.Enabled(role) {
					}
				}
			})
		}
	}
}
