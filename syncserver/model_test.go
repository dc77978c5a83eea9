package syncserver_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// answer is a move and what it was answered, at which times.
type answer struct {
	move      int // in moves
	code      enactment.Code
	sequence  uint64
	call, end int64
}

// The moves by their places.
const (
	rfq = iota
	quote
	acceptAtOne
	accept
	reject
	stop
	urge
)

// TestHistoryChecker holds the checker of histories itself to account: it must tell legal histories from others.
func TestHistoryChecker(t *testing.T) {
	ordered := answer{rfq, "", 1, 1, 2}
	tests := []struct {
		name             string
		history          []answer
		immediate, batch bool // whether it is legal
	}{
		{"one after the other", []answer{ordered, {quote, "", 2, 3, 4}, {accept, "", 3, 5, 6}}, true, true},
		{"at once, in another order", []answer{ordered, {accept, "", 3, 3, 10}, {quote, "", 2, 4, 9}}, true, true},
		{"acceptance of what is excluded", []answer{ordered, {reject, "", 2, 3, 4}, {acceptAtOne, "", 3, 5, 6}}, false, false},
		{"twice", []answer{ordered, {reject, "", 2, 3, 8}, {reject, "", 3, 4, 9}}, false, false},
		{"before what it needs", []answer{{reject, "", 1, 1, 2}, {rfq, "", 2, 3, 4}}, false, false},
		{"out of its time", []answer{ordered, {quote, "", 3, 3, 4}, {stop, "", 2, 5, 6}}, false, false},
		{"a refusal without a reason", []answer{ordered, {reject, enactment.Excluded, 1, 3, 4}}, false, false},
		{"a refusal for another reason", []answer{ordered, {rfq, enactment.Blocked, 1, 3, 4}}, false, false},
		{"a refusal by a state long gone", []answer{ordered, {quote, "", 2, 3, 4}, {accept, enactment.Missing, 1, 5, 6}}, false, false},
		{"a refusal in its time", []answer{ordered, {accept, enactment.Missing, 1, 3, 9}, {quote, "", 2, 4, 8}}, true, true},
		{"a price that is bound otherwise", []answer{ordered, {quote, "", 2, 3, 4}, {acceptAtOne, "", 3, 5, 6}}, false, false},
		{"two in a window", []answer{ordered, {quote, "", 2, 3, 8}, {stop, "", 2, 4, 9}}, false, true},
		{"two in a window, one after the other", []answer{ordered, {quote, "", 2, 3, 4}, {stop, "", 2, 5, 6}}, false, true},
		{"a nogo in a window", []answer{ordered, {stop, "", 2, 3, 8}, {urge, "", 2, 4, 9}}, false, true},
		{"a nogo in windows", []answer{ordered, {stop, "", 2, 3, 4}, {urge, "", 3, 5, 6}}, false, false},
		{"what excludes each other in a window", []answer{ordered, {acceptAtOne, "", 2, 3, 8}, {reject, "", 2, 4, 9}}, false, false},
		{"dominated by what came first", []answer{ordered, {quote, "", 2, 3, 8}, {acceptAtOne, enactment.Dominated, 2, 4, 9}}, false, true},
		{"dominated by what came later", []answer{ordered, {acceptAtOne, enactment.Dominated, 2, 3, 4}, {quote, "", 2, 5, 6}}, false, true},
		{"dominated by nothing", []answer{ordered, {acceptAtOne, enactment.Dominated, 2, 3, 8}, {stop, "", 2, 4, 9}}, false, false},
		{"the lesser authority wins, being in an earlier window", []answer{ordered, {acceptAtOne, "", 2, 3, 8}, {quote, enactment.BoundDifferently, 2, 4, 9}}, true, true},
		{"both win", []answer{ordered, {acceptAtOne, "", 2, 3, 8}, {quote, "", 2, 4, 9}}, false, false},
		{"refused beside nothing", []answer{ordered, {rfq, enactment.AlreadyHappened, 2, 3, 4}}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var history []porcupine.Operation
			for _, a := range test.history {
				o := enactment.Outcome{Sequence: a.sequence}
				if a.code != "" {
					o.Rejection = &enactment.Rejection{Code: a.code}
				}
				history = append(history, porcupine.Operation{Input: moves[a.move], Output: o, Call: a.call, Return: a.end})
			}
			history = append(history, porcupine.Operation{Input: closes{}, Call: 100, Return: 101})
			require.Equal(t, test.immediate, porcupine.CheckOperations(purchaseModel(false), history), "immediate")
			require.Equal(t, test.batch, porcupine.CheckOperations(purchaseModel(true), history), "batch")
		})
	}
}
