package shop_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// meddled is a store in which something else happens right after it was read.
type meddled struct {
	keyvalue.Store
	meanwhile func()
}

func (m *meddled) Get(ctx context.Context, name string) (keyvalue.Entry, error) {
	entry, err := m.Store.Get(ctx, name)
	if meanwhile := m.meanwhile; meanwhile != nil {
		m.meanwhile = nil
		meanwhile()
	}
	return entry, err
}

// TestStockReadTwice: while what is stored is read for a change, another process sells, and somebody here reads that. The
// change must not take the one for the other.
func TestStockReadTwice(t *testing.T) {
	ctx := t.Context()
	store := &meddled{Store: keyvalue.NewMemory(0)}
	opened := map[string]int64{"pen": 10}
	here, there := shop.NewStock(store, opened), shop.NewStock(store, opened)
	_, err := there.Take(ctx, "first", map[string]int64{"pen": 1})
	require.NoError(t, err)
	store.meanwhile = func() {
		_, err := there.Take(ctx, "second", map[string]int64{"pen": 2})
		require.NoError(t, err)
		left, err := here.Left(ctx, "pen")
		require.NoError(t, err)
		require.Equal(t, int64(7), left)
	}
	_, err = here.Take(ctx, "third", map[string]int64{"pen": 3})
	require.NoError(t, err)
	left, err := shop.NewStock(store, opened).Left(ctx, "pen")
	require.NoError(t, err)
	require.Equal(t, int64(4), left)
}

// heldUp is a stock of which each Take waits until it is let through. It tells of what is given back.
type heldUp struct {
	shop.Stock
	arrived, let, gave chan struct{}
	takes              atomic.Int32
}

func holdUp(stock shop.Stock) *heldUp {
	return &heldUp{Stock: stock, arrived: make(chan struct{}, 100), let: make(chan struct{}), gave: make(chan struct{}, 100)}
}

func (h *heldUp) GiveBack(ctx context.Context, hold, token string, products []string) error {
	err := h.Stock.GiveBack(ctx, hold, token, products)
	h.gave <- struct{}{}
	return err
}

// gives waits until something was given back.
func (h *heldUp) gives(t *testing.T) {
	t.Helper()
	select {
	case <-h.gave:
	case <-time.After(time.Minute):
		require.Fail(t, "nothing was given back")
	}
}

func (h *heldUp) Take(ctx context.Context, hold string, pieces map[string]int64) (string, error) {
	h.takes.Add(1)
	h.arrived <- struct{}{}
	select {
	case <-h.let:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return h.Stock.Take(ctx, hold, pieces)
}

// TestLateForASale: a process that serves a payment which another one has settled meanwhile, and forgotten, notices that
// once, and keeps nothing.
func TestLateForASale(t *testing.T) {
	to := newTown(t)
	stocks := make([]*heldUp, 2)
	var branches [2]*branch
	for i := range branches {
		branches[i] = to.open(t, func(o *shop.Options, _ *ucp.InboundOptions) {
			stocks[i] = holdUp(o.Stock)
			o.Stock = stocks[i]
		})
	}
	first, late := branches[0], branches[1]
	id := first.create("wick-cotton", 3).id()
	var paying sync.WaitGroup
	paying.Go(func() { require.Equal(t, "completed", first.complete(id, shop.TokenPays).state()) })
	<-stocks[0].arrived
	require.Equal(t, "complete_in_progress", late.get(id).state())
	<-stocks[1].arrived
	close(stocks[0].let)
	paying.Wait()
	// With the next sale the hold of the first is forgotten.
	require.Equal(t, "completed", first.complete(first.create("wick-cotton", 1).id(), shop.TokenPays).state())
	close(stocks[1].let)
	stocks[1].gives(t)
	require.Equal(t, int64(196), first.left(t, "wick-cotton", 200))
	_, err := first.store.Get(t.Context(), "payment."+id+".1")
	require.NoError(t, err, "what the first has taken is not given back by the other")
	late.close() // It waits until whatever is being served has been.
	require.Equal(t, int32(1), stocks[1].takes.Load())
}

// till is a till that says no, or waits before it takes.
type till struct {
	shop.Payments
	no           error
	arrived, let chan struct{}
}

func (p *till) Take(ctx context.Context, payment shop.Payment) error {
	if p.no != nil {
		return p.no
	}
	p.arrived <- struct{}{}
	select {
	case <-p.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.Payments.Take(ctx, payment)
}

// TestDeclinedElsewhere: while one process waits for the money, another is told that there is none, and declines. What the
// first gets after that it gives back, the goods and the money.
func TestDeclinedElsewhere(t *testing.T) {
	to := newTown(t)
	slow := &till{arrived: make(chan struct{}, 100), let: make(chan struct{})}
	stock := new(heldUp)
	first := to.open(t, func(o *shop.Options, _ *ucp.InboundOptions) {
		slow.Payments, o.Payments = o.Payments, slow
		stock = holdUp(o.Stock)
		close(stock.let)
		o.Stock = stock
	})
	other := to.open(t, func(o *shop.Options, _ *ucp.InboundOptions) {
		o.Payments = &till{Payments: o.Payments, no: model.Refuse("insufficient_funds", "$.payment_data", "There is none.")}
	})
	id := first.create("wick-cotton", 3).id()
	var paying sync.WaitGroup
	paying.Go(func() {
		answer := first.complete(id, shop.TokenPays)
		assert.Equal(t, http.StatusPaymentRequired, answer.status, answer.raw)
	})
	<-slow.arrived
	require.Eventually(t, func() bool { return other.get(id).state() == "ready_for_complete" }, time.Minute, time.Millisecond)
	paying.Wait()
	close(slow.let)
	stock.gives(t)
	first.leaves(t, "wick-cotton", 200, 200)
	_, err := first.store.Get(t.Context(), "payment."+id+".1")
	require.ErrorIs(t, err, keyvalue.ErrNone, "nobody has bought anything")
}

// TestTidy settles what dead processes have left on hold, and nothing else.
func TestTidy(t *testing.T) {
	to := newTown(t)
	b := to.open(t)
	ctx := t.Context()
	another := shop.NewStock(b.store, to.data.Pieces) // of a process that dies
	paid := b.create("wick-cotton", 3).id()
	require.Equal(t, "completed", b.complete(paid, shop.TokenPays).state())
	_, err := another.Take(ctx, paid+".2", map[string]int64{"wick-cotton": 3, "oil-lamp": 2}) // of a revision that was not paid
	require.NoError(t, err)
	open := b.create("wick-cotton", 4).id()
	_, err = another.Take(ctx, open+".1", map[string]int64{"wick-cotton": 4})
	require.NoError(t, err)
	declined := b.create("wick-cotton", 5).id()
	require.NotEqual(t, "completed", b.complete(declined, shop.TokenLacks).state())
	_, err = another.Take(ctx, declined+".1", map[string]int64{"wick-cotton": 5})
	require.NoError(t, err)
	require.Equal(t, int64(200-3-3-4-5), b.left(t, "wick-cotton", 200))

	require.NoError(t, b.sells.Tidy(ctx, b.rules, b.attendance, time.Now().Add(-time.Minute)))
	require.Equal(t, int64(200-3-3-4-5), b.left(t, "wick-cotton", 200), "nothing is old enough")
	require.NoError(t, b.sells.Tidy(ctx, b.rules, b.attendance, time.Now().Add(time.Minute)))
	require.Equal(t, int64(200-3-4), b.left(t, "wick-cotton", 200))
	require.Equal(t, int64(40), b.left(t, "oil-lamp", 40))
	held, err := another.Held(ctx, time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, open+".1", held[0].Hold, "it may still be paid")
}
