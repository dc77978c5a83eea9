package journal_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
)

func TestAnswersSurvive(t *testing.T) {
	rules, dir := Rules(t, Purchase), t.TempDir()
	server := store(t, dir)
	first, second := open(t, server, rules), open(t, server, rules)
	key := KeyOf("1")
	rfq := Attempt(Buyer, "RFQ", "1", "item", "fig")
	stop := Attempt(Seller, "Stop", "1")

	refused := decide(t, first, key, stop)[0]
	require.ErrorIs(t, refused.Err(), enactment.NotEnabled)
	accepted := decide(t, second, key, rfq)[0]
	require.NoError(t, accepted.Err())
	require.Equal(t, uint64(1), accepted.Sequence)

	// The first journal is behind by now; the second never saw the attempt that was refused.
	require.Equal(t, accepted, decide(t, first, key, rfq)[0], "it happened once")
	require.Equal(t, refused, decide(t, second, key, stop)[0], "by now it would be enabled, but it was answered")
	again := stop
	again.ID = "again"
	require.NoError(t, decide(t, first, key, again)[0].Err())

	server.Shutdown()
	server = store(t, dir)
	third := open(t, server, rules)
	require.Equal(t, refused, decide(t, third, key, stop)[0])
	other := rfq
	other.Values = enactment.Values{"ID": enactment.MustValue("1"), "item": enactment.MustValue("date")}
	require.ErrorIs(t, decide(t, third, key, other)[0].Err(), enactment.Malformed, "the same id with other content")
	require.Equal(t, accepted.Sequence, decide(t, third, key, rfq)[0].Sequence)
}

func TestStaleJournalRefusesNothingLegal(t *testing.T) {
	rules := Rules(t, Purchase)
	server := store(t, t.TempDir())
	stale, current := open(t, server, rules), open(t, server, rules)
	key := KeyOf("1")
	// The stale journal knows the enactment as empty but for a refusal, so it would refuse an Urge.
	require.Error(t, decide(t, stale, key, Attempt(Seller, "Stop", "1"))[0].Err())
	require.NoError(t, decide(t, current, key, Attempt(Buyer, "RFQ", "1", "item", "fig"))[0].Err())
	require.NoError(t, decide(t, stale, key, Attempt(Buyer, "Urge", "1"))[0].Err())
}

func TestWindow(t *testing.T) {
	rules := Rules(t, Purchase)
	j := open(t, store(t, t.TempDir()), rules)
	key := KeyOf("1")
	require.NoError(t, decide(t, j, key, Attempt(Buyer, "RFQ", "1", "item", "fig"))[0].Err())
	accept := Attempt(Buyer, "Accept", "1", "price", 1, "address", "here")
	quote := Attempt(Seller, "Quote", "1", "price", 5)
	other := Attempt(Seller, "Quote", "1", "price", 6)
	outcomes := decide(t, j, key, accept, quote, quote, other)
	require.ErrorIs(t, outcomes[0].Err(), enactment.Dominated)
	require.NoError(t, outcomes[1].Err())
	require.Equal(t, outcomes[1], outcomes[2], "a copy in the same window")
	require.ErrorIs(t, outcomes[3].Err(), enactment.Malformed)
	require.Equal(t, outcomes[:2], decide(t, j, key, accept, quote), "and later")
}

func TestRefusalsExpire(t *testing.T) {
	rules := Rules(t, Purchase)
	server := store(t, t.TempDir())
	short := func(c *journal.Config) { c.Retention = time.Second }
	j, other := open(t, server, rules, short), open(t, server, rules, short)
	key := KeyOf("1")
	require.NoError(t, decide(t, j, key, Attempt(Buyer, "RFQ", "1", "item", "fig"))[0].Err())
	require.NoError(t, decide(t, other, key, Attempt(Seller, "Quote", "1", "price", 5))[0].Err())
	urge := Attempt(Auditor, "File", "1", "report", "bad")
	require.ErrorIs(t, decide(t, j, key, urge)[0].Err(), enactment.NotEnabled)

	js, err := jetstream.New(connect(t, server))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), subjects(t).LogStream())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 2
	}, time.Minute, 50*time.Millisecond)

	// What was last has gone; who knew it goes on nevertheless, and so does who did not.
	require.NoError(t, decide(t, j, key, Attempt(Seller, "Stop", "1"))[0].Err())
	require.NoError(t, decide(t, other, key, Attempt(Buyer, "Accept", "1", "address", "here"))[0].Err())
	require.NoError(t, decide(t, j, key, urge)[0].Err(), "nobody knows of the first answer any more")
}

func TestKeysOfAnyKind(t *testing.T) {
	rules := Rules(t, Purchase)
	j := open(t, store(t, t.TempDir()), rules)
	for _, id := range []string{"", "a.b", "*", ">", "a b", "Ünï\x00\n", "=", "==", strings.Repeat("x", 1000), strings.Repeat("x", 1001)} {
		outcome := decide(t, j, KeyOf(id), Attempt(Buyer, "RFQ", id, "item", "fig"))[0]
		require.NoError(t, outcome.Err(), "%q", id)
		require.Equal(t, uint64(1), outcome.Sequence, "%q has a log of its own", id)
	}
}

func TestManyJournalsOneTruth(t *testing.T) {
	const journals, enactments = 4, 20
	rules := Rules(t, Purchase)
	server := store(t, t.TempDir())
	var all []*journal.Journal
	for range journals {
		all = append(all, open(t, server, rules))
	}
	var done sync.WaitGroup
	for n := range enactments {
		id := fmt.Sprint(n)
		decide(t, all[0], KeyOf(id), Attempt(Buyer, "RFQ", id, "item", "fig"))
		outcomes := make([]enactment.Outcome, 2*journals)
		for i, j := range all {
			for k, a := range []enactment.Attempt{
				Attempt(Buyer, "Accept", id, "price", 1, "address", fmt.Sprint(i)), Attempt(Buyer, "Reject", id),
			} {
				a.ID = fmt.Sprintf("%s-%d", a.ID, i)
				done.Go(func() {
					got, err := j.Decide(context.Background(), KeyOf(id), []enactment.Attempt{a}, 0)
					if err == nil {
						outcomes[2*i+k] = got[0]
					}
				})
			}
		}
		done.Wait()
		accepted := 0
		for _, o := range outcomes {
			require.NotZero(t, o)
			if o.Rejection == nil {
				accepted++
			}
		}
		require.Equal(t, 1, accepted)
	}
}

func TestOtherProtocol(t *testing.T) {
	server := store(t, t.TempDir())
	open(t, server, Rules(t, Purchase))
	js, err := jetstream.New(connect(t, server))
	require.NoError(t, err)
	err = journal.Open(t.Context(), js, journal.Layout{Subjects: subjects(t), Rules: Rules(t, Notes)})
	var mismatch *journal.MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, "Purchase", mismatch.Protocol)
}

func BenchmarkDecide(b *testing.B) {
	rules := Rules(b, Purchase)
	server := store(b, b.TempDir())
	j := open(b, server, rules)
	conn := connect(b, server)
	_ = conn
	b.SetParallelism(32)
	var n sync.Map
	_ = &n
	b.RunParallel(func(pb *testing.PB) {
		id := 0
		base := fmt.Sprintf("%p", pb)
		for pb.Next() {
			id++
			k := fmt.Sprintf("%s-%d", base, id)
			decide(b, j, KeyOf(k), Attempt(Buyer, "RFQ", k, "item", "fig"))
		}
	})
}
