package shopper

import (
	"errors"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Bill is what the Business asks for.
type Bill struct {
	// Currency is an ISO 4217 code.
	Currency string
	// Totals are those of the model of package wire: discounts are below zero.
	Totals []ucp.Total
	// Discounts are what lowers it, and the codes that do not. [New] knows of none.
	Discounts Discounts
}

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

// AddsUp tells whether the bill may be paid without a look at it, see [wire.CheckTotals].
func (b Bill) AddsUp() bool {
	totals := make([]any, len(b.Totals))
	for i, t := range b.Totals {
		entry := wire.Object{"type": t.Type, "amount": t.Amount}
		if t.DisplayText != "" {
			entry["display_text"] = t.DisplayText
		}
		if len(t.Lines) > 0 {
			lines := make([]any, len(t.Lines))
			for i, line := range t.Lines {
				lines[i] = wire.Object{"display_text": line.DisplayText, "amount": line.Amount}
			}
			entry["lines"] = lines
		}
		totals[i] = entry
	}
	return wire.CheckTotals(totals) == nil
}

// Money writes an amount in minor units for a person, such as 12.50 EUR.
func (b Bill) Money(amount int64) string { return Money(amount, b.Currency) }

// refused tells whether an attempt was decided, and not for it.
func refused(err error) bool {
	_, ok := errors.AsType[*adapter.Rejection](err)
	return ok
}
