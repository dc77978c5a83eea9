// Package demoshop is a small shop that sells lamps: a Business agent whose handlers only sell, and the goods, prices,
// stock and till that they sell with. It is what a shop owner would copy to start from.
//
// What may happen when, and what excludes what, is said by the protocol and kept by the engine: no handler in here
// checks it. The shop knows nothing of HTTP; [Shop.Present] tells the inbound bridge how its goods look. Start reading
// at [Shop.Agent].
package demoshop

import (
	"fmt"
	"sync"
)

// Currency is the ISO 4217 code of every price in the shop.
const Currency = "EUR"

// Item is one thing the shop sells.
type Item struct {
	ID, Title string
	// Price is for one piece, in minor units.
	Price int64
	// Stock is how many pieces there are when the shop opens.
	Stock int64
}

// Option is one way to have an order delivered.
type Option struct {
	ID, Title string
	// Price is in minor units.
	Price int64
	// FreeFrom is the subtotal in minor units from which the option costs nothing; 0: it always costs.
	FreeFrom int64
}

// taxPercent is added to goods and delivery alike.
const taxPercent = 20

// Goods lists what a new shop sells.
func Goods() []Item {
	return []Item{
		{ID: "lantern-brass", Title: "Brass Deck Lantern", Price: 4200, Stock: 12},
		{ID: "lantern-storm", Title: "Storm Lantern", Price: 6850, Stock: 1},
		{ID: "wick-cotton", Title: "Cotton Wick, 2 m", Price: 350, Stock: 200},
		{ID: "oil-lamp", Title: "Lamp Oil, 1 l", Price: 975, Stock: 40},
		{ID: "glass-spare", Title: "Spare Lantern Glass", Price: 1100, Stock: 0},
	}
}

// Delivery lists how a new shop delivers.
func Delivery() []Option {
	return []Option{
		{ID: "post", Title: "Parcel Post", Price: 450, FreeFrom: 10000},
		{ID: "courier", Title: "Courier, next day", Price: 1290},
	}
}

// Customers lists where the customers that a new shop knows live, by email, in the form of UCP's shipping destination.
func Customers() map[string]map[string]any {
	return map[string]map[string]any{"grace@lighthouse.example": {
		"id": "home", "full_name": "Grace Keeper",
		"street_address": "1 Pharos Road", "address_locality": "Alexandria", "address_country": "EG",
	}}
}

// Shop holds the goods, the stock and the till. It is safe for concurrent use.
type Shop struct {
	items     map[string]Item
	delivery  []Option
	customers map[string]map[string]any

	mu      sync.Mutex
	stock   map[string]int64
	settled map[string]settlement
	orders  int // that stand
	written int // that were ever written: what the next is numbered after
}

// New opens a shop with the given goods, ways of delivery, and addresses of customers by email.
func New(goods []Item, delivery []Option, customers map[string]map[string]any) *Shop {
	s := &Shop{
		items: make(map[string]Item, len(goods)), delivery: delivery, customers: customers,
		stock: make(map[string]int64, len(goods)), settled: make(map[string]settlement),
	}
	for _, item := range goods {
		s.items[item.ID] = item
		s.stock[item.ID] = item.Stock
	}
	return s
}

// Stock tells how many pieces of an item are left. It is never below zero.
func (s *Shop) Stock(item string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stock[item]
}

// Orders tells how many orders the shop has taken.
func (s *Shop) Orders() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders
}

// No is the shop's way to say no: to price a wish, or to take a payment. It is what reason and decline are bound to.
type No struct {
	// Code is one of UCP's message codes, such as out_of_stock.
	Code string `json:"code"`
	// Content is a sentence for a person.
	Content string `json:"content"`
	// Path is the JSONPath of what it is about in the checkout, if it is about a part.
	Path string `json:"path,omitempty"`
}

// Error gives the sentence.
func (n *No) Error() string { return n.Content }

func no(code, path, format string, arguments ...any) *No {
	return &No{Code: code, Path: path, Content: fmt.Sprintf(format, arguments...)}
}
