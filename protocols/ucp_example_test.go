package protocols_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// sellLilies is a Business: it prices what is asked for, and takes money.
func sellLilies(ctx context.Context, rules *enactment.Rules, executor adapter.Executor) error {
	shop, err := adapter.New(rules, "Business", executor)
	if err != nil {
		return err
	}
	// state says what the checkout comes to, as the revision after the one that o was about.
	state := func(ctx context.Context, o adapter.Observation, fulfillment string) error {
		action, messages, amount := "Offered", []string{}, 5000
		if fulfillment == "null" {
			action, messages, amount = "NeedsInput", []string{"Where shall it go?"}, 4500
		}
		return shop.Attempt(ctx, action, adapter.Values{
			"cid": o.Enactment.Key().Values()["cid"], "rev": revisionIn(o) + 1, "id": "chk_1", "checkout": "3 lilies",
			"messages": messages, "currency": "USD", "totals": []any{
				map[string]any{"type": "subtotal", "amount": amount}, map[string]any{"type": "total", "amount": amount},
			},
		}).Err(ctx)
	}
	for _, asked := range []string{"Create", "Update"} {
		shop.OnObservation(asked, func(ctx context.Context, o adapter.Observation) error {
			fulfillment, _ := o.Value("fulfillment")
			return state(ctx, o, fulfillment.String())
		})
	}
	shop.OnObservation("Declined", func(ctx context.Context, o adapter.Observation) error {
		return state(ctx, o, "as before") // it may still be had, for another card
	})
	shop.OnEnabled("Completed", func(ctx context.Context, f *adapter.FeasibleAction) error {
		for i := range f.Enactment.Instances() {
			card, _ := i.Value("credential")
			if rev, _ := i.Value("rev"); i.Action == "Complete" && rev.Equal(f.Known["rev"]) && card.String() == `"empty card"` {
				return shop.Attempt(ctx, "Declined", adapter.Values{"cid": f.Known["cid"], "rev": rev, "notice": "no funds"}).Err(ctx)
			}
		}
		f.Bind("order", "ord_1")
		return f.Attempt(ctx).Err(ctx)
	})
	return shop.Run(ctx)
}

// buyLilies is a Platform: it fills in what it is asked for, and pays what it is offered.
func buyLilies(ctx context.Context, rules *enactment.Rules, executor adapter.Executor, cards ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shopper, err := adapter.New(rules, "Platform", executor)
	if err != nil {
		return err
	}
	// ask says all that is asked for; what is not is null.
	ask := func(fulfillment any, more adapter.Values) adapter.Values {
		more["cid"], more["line_items"], more["fulfillment"] = "c1", "3 lilies", fulfillment
		for _, nothing := range []string{"buyer", "discounts", "instruments", "context"} {
			more[nothing] = nil
		}
		return more
	}
	shopper.OnObservation("NeedsInput", func(ctx context.Context, o adapter.Observation) error {
		messages, _ := o.Value("messages")
		fmt.Printf("revision %d: %s\n", revisionIn(o), messages)
		return shopper.Attempt(ctx, "Update", ask("by mail", adapter.Values{"rev": revisionIn(o), "cause": "key-1"})).Err(ctx)
	})
	shopper.OnEnabled("Complete", func(ctx context.Context, f *adapter.FeasibleAction) error {
		fmt.Printf("revision %s for %s: paying with the %s\n", f.Known["rev"], f.Known["totals"], cards[0])
		f.Bind("credential", cards[0])
		f.Bind("cause", "key for the "+cards[0])
		cards = cards[1:]
		return f.Attempt(ctx).Err(ctx)
	})
	shopper.OnObservation("Declined", func(_ context.Context, o adapter.Observation) error {
		notice, _ := o.Value("notice")
		fmt.Printf("revision %d: declined, %s\n", revisionIn(o), notice)
		return nil
	})
	shopper.OnObservation("Completed", func(_ context.Context, o adapter.Observation) error {
		order, _ := o.Value("order")
		fmt.Println("order", order)
		cancel()
		return nil
	})
	shopper.Attempt(ctx, "Create", ask(nil, adapter.Values{"rev": 0, "profile": nil}))
	return shopper.Run(ctx)
}

func revisionIn(o adapter.Observation) (revision int) {
	value, _ := o.Value("rev")
	if err := value.Decode(&revision); err != nil {
		panic(err) // guards let nothing else through
	}
	return revision
}

// meet has a shopper's agent and a shop meet on an executor.
func meet(rules *enactment.Rules, executor adapter.Executor) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sold := make(chan error)
	go func() { sold <- sellLilies(ctx, rules, executor) }()
	err := buyLilies(ctx, rules, executor, "empty card", "full card")
	cancel()
	return errors.Join(err, <-sold)
}

// The same agents deal with each other whether attempts are decided one by one or in windows.
func TestAgentsMeetInWindows(t *testing.T) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	orders := 0
	local := syncserver.NewLocal(rules, syncserver.WithBatch(time.Millisecond, 0), syncserver.WithRecorder(func(r enactment.Record) {
		if r.Kind == enactment.Happened && r.Action == "Completed" {
			orders++
		}
	}))
	defer local.Close()
	require.NoError(t, meet(rules, local))
	require.Equal(t, 1, orders)
}

// A shopper's agent and a shop meet on ucp-incremental.
func Example_checkout() {
	rules, err := protocols.Load("ucp-incremental")
	if err != nil {
		fmt.Println(err)
		return
	}
	local := syncserver.NewLocal(rules)
	defer local.Close()
	if err := meet(rules, local); err != nil {
		fmt.Println(err)
	}
	// Output:
	// revision 1: ["Where shall it go?"]
	// revision 2 for [{"amount":5000,"type":"subtotal"},{"amount":5000,"type":"total"}]: paying with the empty card
	// revision 2: declined, "no funds"
	// revision 3 for [{"amount":5000,"type":"subtotal"},{"amount":5000,"type":"total"}]: paying with the full card
	// order "ord_1"
}
