package adapter_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// bids has several bids an enactment, each with its price, and one item.
const bids = `Bids
who Buyer, Seller
what ID key, bid key, Award
do
  Buyer: Ask(ID, item)
  Seller: Bid(ID, bid, Ask, price, cost)
  Buyer: Look(ID, bid, Bid)
  Buyer: Award(ID, bid, Bid)
sayso
  Buyer: item
  Seller: bid, price, cost
`

// An action that is offered gives what other actions have bound, of those that agree with it and no others.
func TestValueOfWhatAgrees(t *testing.T) {
	rules := rulesOf(t, bids, enactment.WithSecrets("cost"))
	l := local(t, rules)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seller, buyer := agent(t, rules, "Seller", l), agent(t, rules, "Buyer", l)
	seen := make(chan string, 2)
	buyer.OnEnabled("Award", func(_ context.Context, f *adapter.FeasibleAction) error {
		price, ok := f.Value("price")
		item, known := f.Value("item")
		bid, _ := f.Value("bid")
		_, isAttribute := f.Value("Ask")
		_, exists := f.Value("nothing")
		seen <- fmt.Sprint(bid, price, ok, item, known, isAttribute, exists)
		return nil
	})
	require.NoError(t, buyer.Attempt(ctx, "Ask", adapter.Values{"ID": 1, "item": "fig"}).Err(ctx))
	for bid, price := range []int{5, 7} {
		values := adapter.Values{"ID": 1, "bid": bid, "price": price, "cost": 4}
		require.NoError(t, seller.Attempt(ctx, "Bid", values).Err(ctx))
	}
	ended := make(chan error, 1)
	go func() { ended <- buyer.Run(ctx) }()
	require.Equal(t, `0 5 true "fig" true false false`, <-seen)
	require.Equal(t, `1 7 true "fig" true false false`, <-seen)

	// Of the enactment as a whole there is one item, and no one price.
	for f := range buyer.Enabled(ctx) {
		item, ok := f.Enactment.Value("item")
		require.True(t, ok)
		require.Equal(t, `"fig"`, item.String())
		_, ok = f.Enactment.Value("price")
		require.False(t, ok)
	}
	cancel()
	require.NoError(t, <-ended)
}

// Nothing that is printed of an instance has a value in it, since it may be a secret.
func TestInstancesPrintWithoutValues(t *testing.T) {
	rules := rulesOf(t, bids)
	buyer := agent(t, rules, "Buyer", local(t, rules))
	outcome, err := buyer.Attempt(t.Context(), "Ask", adapter.Values{"ID": 1, "item": "fig"}).Outcome(t.Context())
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "instance", outcome.Instance)
	for _, text := range []string{log.String(), fmt.Sprint(outcome.Instance), fmt.Sprintf("%+v", outcome.Instance)} {
		require.Contains(t, text, "Ask by Buyer")
		require.NotContains(t, text, "fig")
	}
}
