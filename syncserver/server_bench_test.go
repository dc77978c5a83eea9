package syncserver_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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

// purchases has workers play purchases of four attempts each, as long as there are attempts left,
// and counts them.
func purchases(b *testing.B, e adapter.Executor, workers, attempts int) int64 {
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
	return int64(attempts) - left.Load()
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

// spent is the processor time that this process has taken.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compare runs both in turn, so that whatever else the machine does meets both, and reports the ratio of the rates and of
// processor times.
func compare(b *testing.B, reference, ours func(n int) time.Duration) {
	b.Helper()
	const rounds = 8
	n := max(b.N/rounds, 64)
	reference(n)
	ours(n)
	var wall, cpu [2]time.Duration
	for range rounds {
		for i, run := range []func(int) time.Duration{reference, ours} {
			before := spent(b)
			wall[i] += run(n)
			cpu[i] += (spent(b) - before) / time.Duration(n)
		}
	}
	b.ReportMetric(float64(wall[0])/float64(wall[1]), "of-raw")
	b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "of-raw-cpu")
	b.ReportMetric(rounds/wall[1].Seconds(), "attempts/s")
	b.ReportMetric(rounds/wall[0].Seconds(), "raw/s")
	b.ReportMetric(float64(cpu[1].Microseconds())/rounds, "cpu-µs/attempt")
}

// BenchmarkImmediate prints the rate next to that of raw publishing in the same run.
func BenchmarkImmediate(b *testing.B) {
	rules := Rules(b, Purchase)
	for _, test := range []struct {
		name      string
		here      bool
		observers int
	}{
		{"in process", true, 0}, {"in process, two observers", true, 2}, {"over NATS", false, 0}, {"over NATS, two observers", false, 2},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := store(b, embedded.Options{})
			server := serve(b, s, rules, syncserver.ServerConfig{})
			executor := func() adapter.Executor {
				if !test.here {
					return client(b, connect(b, s), rules)
				}
				c := server.Client(syncserver.ClientConfig{Logger: quiet()})
				b.Cleanup(c.Close)
				return c
			}
			e := executor()
			var seen atomic.Int64
			for _, as := range []enactment.Identity{Buyer, Seller}[:test.observers] {
				defer drainAll(b, executor(), as, &seen)()
			}
			total := int64(0)
			b.ResetTimer()
			compare(b, func(n int) time.Duration { return raw(b, s, 64, n) }, func(n int) time.Duration {
				began := time.Now()
				made := purchases(b, e, 64, n)
				total += made
				for seen.Load() < total*int64(test.observers) {
					time.Sleep(100 * time.Microsecond)
				}
				return time.Since(began) / time.Duration(made)
			})
		})
	}
}

// pages has as many attempts as said made in one enactment, so many at once.
func pages(b *testing.B, e adapter.Executor, book string, from, count, atOnce int) time.Duration {
	b.Helper()
	began := time.Now()
	var writers sync.WaitGroup
	var next atomic.Int64
	for range atOnce {
		writers.Go(func() {
			for n := int(next.Add(1)) - 1; n < count; n = int(next.Add(1)) - 1 {
				page := fmt.Sprint(from + n)
				outcome, err := e.Attempt(context.Background(), enactment.Attempt{
					ID: book + page, Identity: enactment.Identity{Role: "Writer"}, Action: "Write", Values: enactment.Values{
						"Book": enactment.MustValue(book), "Page": enactment.MustValue(page), "text": enactment.MustValue("once upon a time"),
					},
				})
				if err != nil || outcome.Rejection != nil {
					b.Error(err, outcome.Err())
					return
				}
			}
		})
	}
	writers.Wait()
	return time.Since(began) / time.Duration(count)
}

// BenchmarkHotEnactment compares batch finalisation with immediate on one enactment that 64 agents write to.
func BenchmarkHotEnactment(b *testing.B) {
	rules := Rules(b, Notes)
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("fsync=%t", sync), func(b *testing.B) {
			s := store(b, embedded.Options{SyncAlways: sync})
			executor := func(config syncserver.ServerConfig) adapter.Executor {
				config.Cache = 1 << 20
				c := serve(b, s, rules, config).Client(syncserver.ClientConfig{Logger: quiet()})
				b.Cleanup(c.Close)
				return c
			}
			immediate := executor(syncserver.ServerConfig{System: "immediate"})
			batch := executor(syncserver.ServerConfig{System: "batch", Window: 5 * time.Millisecond, WindowCount: 64})
			at := [2]int{}
			run := func(which int, e adapter.Executor) func(int) time.Duration {
				return func(n int) time.Duration {
					at[which] += n
					return pages(b, e, "b", at[which]-n, n, 64)
				}
			}
			pages(b, batch, "warm", 0, 64, 64) // until a sequencer is elected
			b.ResetTimer()
			compare(b, run(0, immediate), run(1, batch))
		})
	}
}

// BenchmarkAlone compares one agent in one enactment at a time with a bare request and a bare publish.
func BenchmarkAlone(b *testing.B) {
	rules := Rules(b, Purchase)
	s := store(b, embedded.Options{})
	serve(b, s, rules, syncserver.ServerConfig{})
	e := client(b, connect(b, s), rules)
	echo := connect(b, s)
	_, err := echo.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	require.NoError(b, err)
	require.NoError(b, echo.Flush())
	conn := connect(b, s)
	b.ResetTimer()
	compare(b, func(n int) time.Duration {
		began := time.Now()
		for range n {
			if _, err := conn.Request("echo", make([]byte, 256), time.Second); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began)/time.Duration(n) + raw(b, s, 1, n)
	}, func(n int) time.Duration {
		began := time.Now()
		made := purchases(b, e, 1, n)
		return time.Since(began) / time.Duration(made)
	})
}
