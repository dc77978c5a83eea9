package shop_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// TestStockOfTwoProcesses takes, gives back and sells at random at two processes with one store, and holds what is left
// against a count.
func TestStockOfTwoProcesses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := keyvalue.NewMemory(0)
		opened := map[string]int64{"pen": 5, "ink": 3}
		processes := []*shop.KeptStock{shop.NewStock(store, opened), shop.NewStock(store, opened)}
		left := map[string]int64{"pen": 5, "ink": 3}
		type taken struct {
			token  string
			pieces map[string]int64
		}
		held := make(map[string]taken)
		ctx := t.Context()
		products := func(pieces map[string]int64) (all []string) {
			for product := range pieces {
				all = append(all, product)
			}
			return all
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at := processes[rapid.IntRange(0, 1).Draw(t, "process")]
			name := fmt.Sprint("hold", rapid.IntRange(0, 3).Draw(t, "hold"))
			had, isHeld := held[name]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				pieces := had.pieces
				if !isHeld {
					pieces = map[string]int64{"pen": rapid.Int64Range(1, 4).Draw(t, "pens")}
					if n := rapid.Int64Range(0, 2).Draw(t, "inks"); n > 0 {
						pieces["ink"] = n
					}
				}
				token, err := at.Take(ctx, name, pieces)
				if isHeld {
					require.NoError(t, err)
					require.Equal(t, had.token, token, "it is the same hold")
					continue
				}
				enough := true
				for product, n := range pieces {
					enough = enough && left[product] >= n
				}
				if !enough {
					require.ErrorAs(t, err, new(*shop.Shortage))
					continue
				}
				require.NoError(t, err)
				held[name] = taken{token, pieces}
				for product, n := range pieces {
					left[product] -= n
				}
			case 2:
				require.NoError(t, at.GiveBack(ctx, name, "another", []string{"pen", "ink"}))
				require.NoError(t, at.Sold(ctx, name, "another", []string{"pen", "ink"}))
				for product, n := range left {
					now, err := shop.NewStock(store, opened).Left(ctx, product)
					require.NoError(t, err)
					require.Equal(t, n, now, "whoever has another token gives nothing back")
				}
				if !isHeld {
					continue
				}
				for range 2 { // The second time it is nothing.
					require.NoError(t, at.GiveBack(ctx, name, had.token, products(had.pieces)))
				}
				for product, n := range had.pieces {
					left[product] += n
				}
				delete(held, name)
			case 3:
				if isHeld {
					require.NoError(t, at.Sold(ctx, name, had.token, products(had.pieces)))
					return // The name is not used again: it stands for one payment.
				}
			}
			for product, n := range left {
				now, err := shop.NewStock(store, opened).Left(ctx, product)
				require.NoError(t, err)
				require.Equal(t, n, now, product)
				require.GreaterOrEqual(t, now, int64(0))
			}
		}
	})
}

// TestManyHolds: an entry does not grow with what was sold.
func TestManyHolds(t *testing.T) {
	store := keyvalue.NewMemory(0)
	stock := shop.NewStock(store, map[string]int64{"pen": 2000})
	var selling sync.WaitGroup
	for worker := range 4 {
		selling.Go(func() {
			for n := range 250 {
				name := fmt.Sprint(worker, "-", n)
				token, err := stock.Take(t.Context(), name, map[string]int64{"pen": 1})
				if err == nil {
					err = stock.Sold(t.Context(), name, token, []string{"pen"})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	selling.Wait()
	left, err := stock.Left(t.Context(), "pen")
	require.NoError(t, err)
	require.EqualValues(t, 1000, left)
	entry, err := store.Get(t.Context(), "stock.pen")
	require.NoError(t, err)
	require.Less(t, len(entry.Value), 2000)
}

// slowStore holds back what is put until it is told to go on, and then fails as it is told.
type slowStore struct {
	keyvalue.Store
	began, goOn chan struct{}
	fails       error
	puts        int
}

func (s *slowStore) Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	s.puts++
	s.began <- struct{}{}
	<-s.goOn
	if s.fails != nil {
		return 0, s.fails
	}
	return s.Store.Put(ctx, name, value, revision)
}

// TestStockOfManyAtOnce: what is wanted of one product while another change of it is being stored is stored together, and
// each customer is told what became of their own.
func TestStockOfManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: keyvalue.NewMemory(0), began: make(chan struct{}), goOn: make(chan struct{})}
		stock := shop.NewStock(store, map[string]int64{"pen": 11})
		var buying sync.WaitGroup
		errs := make([]error, 20)
		buy := func(n int) {
			buying.Go(func() {
				_, errs[n] = stock.Take(t.Context(), fmt.Sprint("hold", n), map[string]int64{"pen": 1})
			})
		}
		buy(0)
		<-store.began
		for n := 1; n < len(errs); n++ {
			buy(n)
		}
		synctest.Wait() // until all of them wait for the first
		store.goOn <- struct{}{}
		<-store.began
		store.goOn <- struct{}{}
		buying.Wait()
		require.Equal(t, 2, store.puts)
		refused := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
		require.Len(t, refused, len(errs)-11)
		for _, err := range refused {
			require.ErrorAs(t, err, new(*shop.Shortage))
		}
		require.NoError(t, errs[0])
		left, err := stock.Left(t.Context(), "pen")
		require.NoError(t, err)
		require.Zero(t, left)

		store.fails = keyvalue.ErrUnavailable
		token, err := stock.Take(t.Context(), "hold0", map[string]int64{"pen": 1})
		require.NoError(t, err, "it is taken already")
		giveBack := func(n int) {
			buying.Go(func() { errs[n] = stock.GiveBack(t.Context(), "hold0", token, []string{"pen"}) })
		}
		giveBack(0)
		<-store.began
		giveBack(1)
		giveBack(2)
		synctest.Wait()
		store.goOn <- struct{}{}
		<-store.began
		store.goOn <- struct{}{}
		buying.Wait()
		for _, err := range errs[:3] {
			require.ErrorIs(t, err, keyvalue.ErrUnavailable)
		}
	})
}
