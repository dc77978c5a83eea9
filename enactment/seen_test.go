package enactment_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// TestEnabledAsMoreHappens: a state that is asked again and again, by several at once, says what one says that is asked for
// the first time.
func TestEnabledAsMoreHappens(t *testing.T) {
	r := compile(t, quotes)
	rfq := attempt(t, "Buyer", "RFQ", `{"ID":1,"item":"rose"}`)
	asked := stateOf(t, r, rfq)
	var log []enactment.Finalisation
	step := func(a enactment.Attempt) {
		t.Helper()
		f, outcomes := enactment.Judge(asked, a)
		require.NoError(t, outcomes[0].Err())
		asked.Apply(f)
		log = append(log, f)
		fresh := r.NewState(asked.Key())
		for _, f := range log {
			fresh.Apply(f)
		}
		want := map[string][]string{"Buyer": feasibleTexts(fresh, "Buyer"), "Seller": feasibleTexts(fresh, "Seller")}
		var asking sync.WaitGroup
		for range 2 {
			for role := range want {
				asking.Go(func() {
					if got := feasibleTexts(asked, role); fmt.Sprint(got) != fmt.Sprint(want[role]) {
						t.Errorf("%s, after %d: %v, not %v", role, len(log), got, want[role])
					}
				})
			}
		}
		asking.Wait()
	}
	step(rfq)
	for n := range 40 {
		step(attempt(t, "Seller", "Quote", fmt.Sprintf(`{"ID":1,"QID":"q%d","price":%d}`, n, n)))
		if n == 30 {
			require.Len(t, feasibleTexts(asked, "Buyer"), 32, "each may be awarded, or none")
		}
	}
	step(attempt(t, "Buyer", "Award", `{"ID":1,"QID":"q7"}`))
}
