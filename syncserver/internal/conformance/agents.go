package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
)

// agents plays purchases with adapters: two processes of the seller share the work, and each purchase is quoted and
// completed once.
func agents(t *testing.T, system System) {
	const purchases = 12
	rules := played.Rules(t, played.Purchase)
	executor := system(t, rules)
	ctx, stop := context.WithCancel(bounded(t))
	var running sync.WaitGroup
	defer func() {
		stop()
		running.Wait()
	}()
	play := func(role string, set func(*adapter.Adapter)) *adapter.Adapter {
		a, err := adapter.New(rules, role, executor())
		require.NoError(t, err)
		set(a)
		running.Go(func() {
			if err := a.Run(ctx); err != nil {
				t.Errorf("%s: %v", role, err)
			}
		})
		return a
	}
	var mu sync.Mutex
	quoted, observed := map[enactment.Key]int{}, map[enactment.Key]int{}
	for range 2 {
		play("Seller", func(a *adapter.Adapter) {
			a.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
				mu.Lock()
				quoted[f.Enactment.Key()]++
				mu.Unlock()
				if err := f.Bind("price", 5); err != nil {
					return err
				}
				return f.Attempt(ctx).Err(ctx)
			})
			a.OnObservation("Accept", func(_ context.Context, o adapter.Observation) error {
				mu.Lock()
				defer mu.Unlock()
				observed[o.Enactment.Key()]++
				return nil
			})
		})
	}
	completed := make(chan enactment.Key, purchases)
	buyer := play("Buyer", func(a *adapter.Adapter) {
		a.OnObservation("Quote", func(ctx context.Context, o adapter.Observation) error {
			values := adapter.Values{"ID": o.Enactment.Key().Values()["ID"], "address": "here"}
			return a.Attempt(ctx, "Accept", values).Err(ctx)
		})
	})
	play("Auditor", func(a *adapter.Adapter) {
		a.OnCompletion(func(_ context.Context, e adapter.Enactment) error {
			completed <- e.Key()
			return nil
		})
	})
	for n := range purchases {
		require.NoError(t, buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": fmt.Sprint(n), "item": "fig"}).Err(ctx))
	}
	for range purchases {
		select {
		case <-completed:
		case <-ctx.Done():
			require.FailNow(t, "the purchases do not complete")
		}
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(observed) == purchases
	}, patience, patience/1000)
	mu.Lock()
	defer mu.Unlock()
	for n := range purchases {
		require.Equal(t, 1, quoted[played.KeyOf(fmt.Sprint(n))])
		require.Equal(t, 1, observed[played.KeyOf(fmt.Sprint(n))])
	}
}
