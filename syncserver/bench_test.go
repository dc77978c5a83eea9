package syncserver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

// BenchmarkAttempt measures one accepted attempt that starts an enactment, with immediate finalisation: id, judgement,
// log and answer, nobody listening.
func BenchmarkAttempt(b *testing.B) {
	l := syncserver.NewLocal(played.Rules(b, played.Purchase))
	defer l.Close()
	attempts := starts(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for _, a := range attempts {
		if outcome, err := l.Attempt(context.Background(), a); err != nil || outcome.Rejection != nil {
			b.Fatal(err, outcome.Rejection)
		}
	}
}

// BenchmarkAttemptParallel measures the same from as many goroutines as there are processors.
func BenchmarkAttemptParallel(b *testing.B) {
	l := syncserver.NewLocal(played.Rules(b, played.Purchase))
	defer l.Close()
	next := make(chan enactment.Attempt, b.N)
	for _, a := range starts(b.N) {
		next <- a
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if outcome, err := l.Attempt(context.Background(), <-next); err != nil || outcome.Rejection != nil {
				b.Error(err, outcome.Rejection)
			}
		}
	})
}

// BenchmarkAttemptCopy measures an attempt that was answered before.
func BenchmarkAttemptCopy(b *testing.B) {
	l := syncserver.NewLocal(played.Rules(b, played.Purchase))
	defer l.Close()
	a := starts(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Attempt(context.Background(), a); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeliver measures one delivery: projected and received, its position stored.
func BenchmarkDeliver(b *testing.B) {
	l := syncserver.NewLocal(played.Rules(b, played.Purchase))
	defer l.Close()
	feed, err := l.Join(context.Background(), played.Seller)
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range starts(b.N) {
		if _, err := l.Attempt(context.Background(), a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d, err := feed.Receive(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := feed.Store(context.Background(), d.Key, d.Finalisation.Sequence); err != nil {
			b.Fatal(err)
		}
	}
}

func starts(n int) []enactment.Attempt {
	attempts := make([]enactment.Attempt, n)
	for i := range attempts {
		attempts[i] = played.Attempt(played.Buyer, "RFQ", fmt.Sprint(i), "item", "fig")
		attempts[i].At = time.Now()
	}
	return attempts
}
