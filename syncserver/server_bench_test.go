package syncserver_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// raw publishes with compare-and-set, each writer to a subject of its own, and gives the time for one.
func raw(b *testing.B, s *embedded.Server, writers, messages int) time.Duration {
	b.Helper()
	ctx := context.Background()
	js, err := jetstream.New(connect(b, s))
	require.NoError(b, err)
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}})
	require.NoError(b, err)
	payload := make([]byte, 256)
	began := time.Now()
	var done sync.WaitGroup
	base := time.Now().UnixNano()
	for w := range writers {
		done.Go(func() {
			for n := range max(messages/writers, 1) {
				subject := fmt.Sprintf("raw.%d.%d.%d", base, w, n/4)
				last := uint64(0)
				if n%4 > 0 {
					last = lasts[w]
				}
				ack, err := js.Publish(ctx, subject, payload, jetstream.WithExpectLastSequencePerSubject(last))
				if err != nil {
					b.Error(err)
					return
				}
				lasts[w] = ack.Sequence
			}
		})
	}
	done.Wait()
	return time.Since(began) / time.Duration(max(messages/writers, 1)*writers)
}

var lasts [1024]uint64

// purchases has workers play purchases of four attempts each, as long as there are attempts left.
func purchases(b *testing.B, e adapter.Executor, workers, attempts int) time.Duration {
	b.Helper()
	ctx := context.Background()
	var left atomic.Int64
	left.Store(int64(attempts))
	var done sync.WaitGroup
	began := time.Now()
	for w := range workers {
		done.Go(func() {
			for n := 0; left.Load() > 0; n++ {
				id := fmt.Sprintf("%d-%d-%d", began.UnixNano(), w, n)
				for _, a := range []enactment.Attempt{
					Attempt(Buyer, "RFQ", id, "item", "fig"), Attempt(Seller, "Quote", id, "price", 5),
					Attempt(Buyer, "Urge", id), Attempt(Buyer, "Accept", id, "address", "here"),
				} {
					outcome, err := e.Attempt(ctx, a)
					if err != nil || outcome.Rejection != nil {
						b.Error(err, outcome.Err())
						return
					}
					left.Add(-1)
				}
			}
		})
	}
	done.Wait()
	return time.Since(began) / time.Duration(int64(attempts)-left.Load())
}

// drainAll receives whatever comes to an identity and counts.
func drainAll(b *testing.B, e adapter.Executor, as enactment.Identity, count *atomic.Int64) (stop func()) {
	b.Helper()
	feed, err := e.Join(context.Background(), as)
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := feed.Receive(context.Background()); err != nil {
				return
			}
			count.Add(1)
		}
	}()
	return func() {
		require.NoError(b, feed.Close())
		<-done
	}
}

// BenchmarkImmediate prints the rate next to that of raw publishing in the same run.
func BenchmarkImmediate(b *testing.B) {
	rules := Rules(b, Purchase)
	for _, observers := range []int{0, 2} {
		b.Run(fmt.Sprintf("64 at once/%d observers", observers), func(b *testing.B) {
			s := store(b, embedded.Options{})
			serve(b, s, rules, syncserver.ServerConfig{})
			e := client(b, connect(b, s), rules)
			var seen atomic.Int64
			for _, as := range []enactment.Identity{Buyer, Seller}[:observers] {
				defer drainAll(b, client(b, connect(b, s), rules), as, &seen)()
			}
			raw(b, s, 64, 2000)
			purchases(b, e, 64, 2000)
			first := raw(b, s, 64, b.N)
			b.ResetTimer()
			took := purchases(b, e, 64, b.N)
			b.StopTimer()
			reference := (first + raw(b, s, 64, b.N)) / 2
			b.ReportMetric(float64(reference)/float64(took), "of-raw")
			b.ReportMetric(1/took.Seconds(), "attempts/s")
			b.ReportMetric(1/reference.Seconds(), "raw/s")
			b.ReportMetric(float64(seen.Load())/float64(b.N+2000), "seen/attempt")
		})
	}
}
