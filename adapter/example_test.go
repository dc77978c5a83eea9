package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/syncserver"
)

// Two agents enact a purchase: the buyer asks, the seller quotes when it may, and the buyer accepts what it can afford.
func Example() {
	protocol, diagnostics := langshaw.Parse([]byte(`Purchase
who Buyer, Seller
what ID key, Accept or Reject
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, Quote, price, address)
  Buyer: Reject(ID, Quote)
sayso
  Buyer: item, address
  Seller: price
nono
  Accept Reject
`))
	if diagnostics.HasErrors() {
		log.Fatal(diagnostics)
	}
	rules, err := enactment.Compile(protocol)
	if err != nil {
		log.Fatal(err)
	}
	local := syncserver.NewLocal(rules)
	defer local.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	seller, err := adapter.New(rules, "Seller", local)
	if err != nil {
		log.Fatal(err)
	}
	seller.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
		fmt.Println("seller may quote for", f.Known["item"])
		f.Bind("price", 20)
		return f.Attempt(ctx).Err(ctx)
	})

	buyer, err := adapter.New(rules, "Buyer", local)
	if err != nil {
		log.Fatal(err)
	}
	buyer.OnObservation("Quote", func(_ context.Context, o adapter.Observation) error {
		price, _ := o.Value("price")
		fmt.Println("buyer sees a quote of", price)
		return nil
	})
	buyer.OnEnabled("Accept", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("address", "Lancaster Ave")
		return f.Attempt(ctx).Err(ctx)
	})
	buyer.OnCompletion(func(_ context.Context, e adapter.Enactment) error {
		fmt.Println("complete:", e)
		cancel()
		return nil
	})

	sold := make(chan error)
	go func() { sold <- seller.Run(ctx) }()
	buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": "p1", "item": "fig"})
	if err := errors.Join(buyer.Run(ctx), <-sold); err != nil {
		log.Fatal(err)
	}
	// Output:
	// seller may quote for "fig"
	// buyer sees a quote of 20
	// complete: {"ID":"p1"}
}

// A refusal says why, and the code can be asked for.
func ExamplePromise() {
	protocol, diagnostics := langshaw.Parse([]byte(`Poll
who Voter
what ID key, vote
do
  Voter: Vote(ID, vote)
sayso
  Voter: vote
`))
	if diagnostics.HasErrors() {
		log.Fatal(diagnostics)
	}
	rules, err := enactment.Compile(protocol)
	if err != nil {
		log.Fatal(err)
	}
	local := syncserver.NewLocal(rules)
	defer local.Close()
	voter, err := adapter.New(rules, "Voter", local)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	outcome, err := voter.Attempt(ctx, "Vote", adapter.Values{"ID": 1, "vote": "yes"}).Outcome(ctx)
	if err != nil {
		log.Fatal(err)
	}
	vote, _ := outcome.Instance.Value("vote")
	fmt.Println("voted", vote)

	err = voter.Attempt(ctx, "Vote", adapter.Values{"ID": 1, "vote": "no"}).Err(ctx)
	fmt.Println(errors.Is(err, enactment.AlreadyHappened))
	if refused, ok := errors.AsType[*adapter.Rejection](err); ok {
		fmt.Println(refused.Detail)
	}
	// Output:
	// voted "yes"
	// true
	// Vote has happened, and happens once
}
