// Package demoshop opens the shop of lanterns that ships with the engine, in memory and for one process: the Business of
// package shop and the inbound bridge, with an HTTP server in front. Start reading at [Serve].
package demoshop

import (
	"context"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// Currency is the ISO 4217 code of every price in the shop.
const Currency = "EUR"

// Shop is the data of the shop and what it keeps beside its engine's log. It is safe for concurrent use.
type Shop struct {
	data  *shop.Data
	store *keyvalue.Memory
}

// New fills the shelves: as the data say, and with so many more pieces of everything.
func New(more int64) (*Shop, error) {
	data, err := shop.ReadData(shop.Lamps())
	if err != nil {
		return nil, fmt.Errorf("demo shop: %w", err)
	}
	for product := range data.Products {
		data.Pieces[product] += more
	}
	return &Shop{data, keyvalue.NewMemory(0)}, nil
}

// Stock tells how many pieces of an item are left. It is never below zero.
func (s *Shop) Stock(item string) int64 {
	left, err := shop.NewStock(s.store, s.data.Pieces).Left(context.Background(), item)
	if err != nil {
		panic(err) // Memory has no errors.
	}
	return left
}

// Orders tells how many orders the shop has taken.
func (s *Shop) Orders() int {
	orders := 0
	for _, err := range s.store.List(context.Background(), "order.") {
		if err != nil {
			panic(err) // Memory has no errors.
		}
		orders++
	}
	return orders
}
