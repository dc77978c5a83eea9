package shopper

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/adapter"
)

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
// subtotal, less discount, and fulfillment, tax and fee.
func (b Bill) AddsUp() bool {
	total, ok := b.Total()
	if !ok || total < 0 {
		return false
	}
	var sum int64
	for _, t := range b.Totals {
		switch t.Type {
		case "subtotal", "fulfillment", "tax", "fee":
			sum += t.Amount
		case "discount":
			sum -= t.Amount
		}
	}
	return sum == total
}

// Money writes an amount in minor units for a person, such as 12.50 EUR.
func (b Bill) Money(amount int64) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	return fmt.Sprintf("%s%d.%02d %s", sign, amount/100, amount%100, b.Currency)
}

// refused tells whether an attempt was decided, and not for it.
func refused(err error) bool {
	_, ok := errors.AsType[*adapter.Rejection](err)
	return ok
}
