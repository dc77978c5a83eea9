package adapter_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/internal/played"
)

// BenchmarkTrade measures one enactment from end to end: the buyer's RFQ, the seller's offer and Quote, the buyer's
// offer and Accept, and completion, with 64 enactments under way at a time.
func BenchmarkTrade(b *testing.B) {
	rules := played.Rules(b, played.Purchase)
	l := local(b, rules)
	var completed sync.WaitGroup
	completed.Add(b.N)
	places := make(chan struct{}, 64)
	buyer, seller := trade(b, rules, l, func() {
		completed.Done()
		<-places
	})
	run(b, buyer)
	run(b, seller)
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		places <- struct{}{}
		buyer.Attempt(context.Background(), "RFQ", adapter.Values{"ID": strconv.Itoa(n), "item": "fig"})
	}
	completed.Wait()
	b.StopTimer()
}

// BenchmarkRoundTrip measures one offer, attempt and observation in an enactment that has just begun, nothing else
// being under way: the time from a buyer's RFQ until the buyer observes the quote.
func BenchmarkRoundTrip(b *testing.B) {
	rules := played.Rules(b, played.Purchase)
	l := local(b, rules)
	buyer, seller := agent(b, rules, "Buyer", l), agent(b, rules, "Seller", l)
	seller.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("price", 5)
		return f.Attempt(ctx).Err(ctx)
	})
	quoted := make(chan struct{})
	buyer.OnObservation("Quote", func(context.Context, adapter.Observation) error {
		quoted <- struct{}{}
		return nil
	})
	run(b, buyer)
	run(b, seller)
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		buyer.Attempt(context.Background(), "RFQ", adapter.Values{"ID": strconv.Itoa(n), "item": "fig"})
		<-quoted
	}
	b.StopTimer()
}

// BenchmarkAttempt measures one accepted attempt with its promise, nobody listening.
func BenchmarkAttempt(b *testing.B) {
	rules := played.Rules(b, played.Purchase)
	buyer := agent(b, rules, "Buyer", local(b, rules))
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		p := buyer.Attempt(context.Background(), "RFQ", adapter.Values{"ID": strconv.Itoa(n), "item": "fig"})
		if err := p.Err(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
