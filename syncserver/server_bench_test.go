package syncserver_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// purchases has workers play purchases of four attempts each. Whatever is to come of it has come when arrived returns.
func purchases(b *testing.B, e adapter.Executor, workers int, arrived func(attempts int)) side {
	b.Helper()
	turn, total := 0, 0
	return func(n int, begin func()) {
		turn++
		attempts := make([][]enactment.Attempt, workers)
		for w := range workers {
			for k := range n / workers / 4 {
				id := fmt.Sprintf("%d-%d-%d", turn, w, k)
				attempts[w] = append(attempts[w],
					Attempt(Buyer, "RFQ", id, "item", "fig"), Attempt(Seller, "Quote", id, "price", 5),
					Attempt(Buyer, "Urge", id), Attempt(Buyer, "Accept", id, "address", "here"))
			}
			total += len(attempts[w])
		}
		begin()
		var done sync.WaitGroup
		for w := range workers {
			done.Go(func() {
				for _, a := range attempts[w] {
					outcome, err := e.Attempt(context.Background(), a)
					if err != nil || outcome.Rejection != nil {
						b.Error(err, outcome.Err())
						return
					}
				}
			})
		}
		done.Wait()
		arrived(total)
	}
}

// drainAll receives whatever comes to an identity and counts.
func drainAll(b *testing.B, e adapter.Executor, as enactment.Identity, seen *tally) (stop func()) {
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
			seen.count()
		}
	}()
	return func() {
		require.NoError(b, feed.Close())
		<-done
	}
}

// BenchmarkImmediate prints the rate next to that of raw publishing with compare-and-set in the same run: 64 enactments
// at once, in a file, one replica. With observers a round ends when they have received everything.
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
			seen := newTally()
			for _, as := range []enactment.Identity{Buyer, Seller}[:test.observers] {
				defer drainAll(b, executor(), as, seen)()
			}
			compare(b, 4096, raw(b, s, 64), purchases(b, e, 64, func(attempts int) { seen.wait(attempts * test.observers) }))
		})
	}
}

// pages has attempts made in one enactment, so many at once.
func pages(b *testing.B, e adapter.Executor, atOnce int) side {
	b.Helper()
	page := 0
	return func(n int, begin func()) {
		attempts := make([]enactment.Attempt, n)
		for i := range attempts {
			page++
			attempts[i] = enactment.Attempt{
				ID: fmt.Sprint("b", page), Identity: enactment.Identity{Role: "Writer"}, Action: "Write", Values: enactment.Values{
					"Book": enactment.MustValue("b"), "Page": enactment.MustValue(page), "text": enactment.MustValue("once upon a time"),
				},
			}
		}
		begin()
		var writers sync.WaitGroup
		var next atomic.Int64
		for range atOnce {
			writers.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					outcome, err := e.Attempt(context.Background(), attempts[i])
					if err != nil || outcome.Rejection != nil {
						b.Error(err, outcome.Err())
						return
					}
				}
			})
		}
		writers.Wait()
	}
}

// BenchmarkHotEnactment compares batch finalisation with immediate on one enactment that 64 agents write to, in process:
// on the file store, with every message on disk before it is acknowledged, and on three replicas.
func BenchmarkHotEnactment(b *testing.B) {
	rules := Rules(b, Notes)
	for _, test := range []struct {
		name     string
		options  embedded.Options
		replicas int
		round    int
	}{
		{"file", embedded.Options{}, 1, 1024},
		{"fsync", embedded.Options{SyncAlways: true}, 1, 256},
		{"three replicas", embedded.Options{}, 3, 512},
	} {
		b.Run(test.name, func(b *testing.B) {
			var s *embedded.Server
			if test.replicas == 3 {
				s = cluster(b)[0]
			} else {
				s = store(b, test.options)
			}
			executor := func(config syncserver.ServerConfig) adapter.Executor {
				config.Cache, config.Replicas = 1<<20, test.replicas
				c := serve(b, s, rules, config).Client(syncserver.ClientConfig{Logger: quiet()})
				b.Cleanup(c.Close)
				return c
			}
			immediate := executor(syncserver.ServerConfig{System: "immediate"})
			batch := executor(syncserver.ServerConfig{System: "batch", Window: 20 * time.Millisecond, WindowCount: 64})
			compare(b, test.round, pages(b, immediate, 64), pages(b, batch, 64))
		})
	}
}

// BenchmarkAlone compares one agent in one enactment at a time, over NATS, with a bare request and a bare publish.
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
	publish := raw(b, s, 1)
	payload := make([]byte, 256)
	compare(b, 1024, func(n int, begin func()) {
		publish(n, func() {
			begin()
			for range n {
				if _, err := conn.Request("echo", payload, time.Second); err != nil {
					b.Fatal(err)
				}
			}
		})
	}, purchases(b, e, 1, func(int) {}))
}
