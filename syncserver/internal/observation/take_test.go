package observation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTakenInALostBatch has a session take an enactment in a batch that the feed does not get: for the session that comes
// after it, the feed does not have the enactment.
func TestTakenInALostBatch(t *testing.T) {
	const batches = 3
	first := &session{feed: "feed", name: "first", number: batches}
	first.begun.number = batches
	form := recordForm{Feed: "feed"}
	first.taking(&form)
	require.True(t, first.has(record{form: form}), "it comes with the batch that is being made")

	second := &session{feed: "feed", name: "second", number: batches}
	second.begun.number = batches
	require.False(t, second.has(record{form: form}))
	second.begun.number = batches + 1
	require.True(t, second.has(record{form: form}), "where the feed got the batch")
}
