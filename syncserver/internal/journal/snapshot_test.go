package journal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
)

var writer = enactment.Identity{Role: "Writer"}

// page is an attempt to write one of the pages of a book, of which there may be any number.
func page(n int) enactment.Attempt {
	return enactment.Attempt{
		ID: fmt.Sprint(n), Identity: writer, Action: "Write", Values: enactment.Values{
			"Book": enactment.MustValue("b"), "Page": enactment.MustValue(n), "text": enactment.MustValue("once upon a time"),
		},
	}
}

const book enactment.Key = `{"Book":"b"}`

func writeBook(t testing.TB, j *journal.Journal, from, pages int) {
	t.Helper()
	for n := from; n < from+pages; n++ {
		require.NoError(t, decide(t, j, book, page(n))[0].Err())
	}
}

func TestSnapshots(t *testing.T) {
	rules := Rules(t, Notes)
	server := store(t, t.TempDir())
	every := func(c *journal.Config) { c.SnapshotEvery = 50 }
	j := open(t, server, rules, every)
	writeBook(t, j, 0, 120)
	refused := page(3)
	refused.ID = "again"
	answer := decide(t, j, book, refused)[0]
	require.ErrorIs(t, answer.Err(), enactment.AlreadyHappened)
	writeBook(t, j, 120, 60)
	j.Close()

	js, err := jetstream.New(connect(t, server))
	require.NoError(t, err)
	snapshots, err := js.Stream(t.Context(), subjects(t).SnapshotStream())
	require.NoError(t, err)
	info, err := snapshots.Info(t.Context())
	require.NoError(t, err)
	require.Positive(t, info.State.Msgs)

	require.Equal(t, answer, decide(t, open(t, server, rules, every), book, refused)[0], "the snapshot has answers too")
	opened := open(t, server, rules, every)
	require.NoError(t, opened.View(t.Context(), book, func(e *journal.Enactment) {
		require.Equal(t, uint64(180), e.State().Sequence())
	}))

	// One that is damaged is as good as none.
	_, err = js.Publish(t.Context(), subjects(t).Snapshot(book, 0), []byte(`{"key":{"Book":"b"},"last":100000,"pieces":1}`+"\n7 {}\n"))
	require.NoError(t, err)
	require.Equal(t, answer, decide(t, open(t, server, rules, every), book, refused)[0])
}

// BenchmarkOpen opens an enactment of 10,000 actions.
func BenchmarkOpen(b *testing.B) {
	const actions = 10_000
	rules := Rules(b, Notes)
	server := store(b, b.TempDir())
	first := open(b, server, rules, func(c *journal.Config) { c.SnapshotEvery = actions })
	writeBook(b, first, 0, actions)
	first.Close()
	for _, every := range []int{0, 500} {
		b.Run(fmt.Sprintf("snapshots=%t", every > 0), func(b *testing.B) {
			var took time.Duration
			for range b.N {
				b.StopTimer()
				j := open(b, server, rules, func(c *journal.Config) { c.SnapshotEvery = every })
				b.StartTimer()
				began := time.Now()
				require.NoError(b, j.View(context.Background(), book, func(e *journal.Enactment) {
					require.Equal(b, uint64(actions), e.State().Sequence())
				}))
				took += time.Since(began)
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/open")
		})
	}
}
