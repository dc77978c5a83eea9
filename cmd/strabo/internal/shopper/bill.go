package shopper

import (
	"errors"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// Bill is what the Business asks for.
type Bill struct {
	// Currency is an ISO 4217 code.
	Currency string
	Totals   []ucp.Total
}

// maxAmount is the largest amount that a bill may have, in minor units: what every JSON reader has exactly.
const maxAmount = 1<<53 - 1

// Total gives the sum to be paid in minor units; false if the bill does not say one, or more than one.
func (b Bill) Total() (int64, bool) {
	var sum int64
	found := 0
	for _, t := range b.Totals {
		if t.Type == "total" {
			sum = t.Amount
			found++
		}
	}
	return sum, found == 1
}

// AddsUp tells whether the bill has one total and it is what its other lines come to: in UCP 2026-01-11 (total.json)
// subtotal, less discount, and fulfillment, tax and fee. An amount below nothing, or above 2^53-1, adds up to nothing.
func (b Bill) AddsUp() bool {
	total, ok := b.Total()
	if !ok {
		return false
	}
	var sum int64
	for _, t := range b.Totals {
		if t.Amount < 0 || t.Amount > maxAmount {
			return false
		}
		switch t.Type {
		case "subtotal", "fulfillment", "tax", "fee":
			sum += t.Amount
		case "discount":
			sum -= t.Amount
		}
		if sum < -maxAmount || sum > maxAmount {
			return false
		}
	}
	return sum == total
}

// Money writes an amount in minor units for a person, such as 12.50 EUR.
func (b Bill) Money(amount int64) string { return Money(amount, b.Currency) }

// refused tells whether an attempt was decided, and not for it.
func refused(err error) bool {
	_, ok := errors.AsType[*adapter.Rejection](err)
	return ok
}
