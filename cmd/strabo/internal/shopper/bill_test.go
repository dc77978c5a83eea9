package shopper_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
)

func TestBill(t *testing.T) {
	bill := func(lines ...ucp.Total) shopper.Bill { return shopper.Bill{Currency: "EUR", Totals: lines} }
	for name, test := range map[string]struct {
		bill   shopper.Bill
		addsUp bool
	}{
		"goods alone":                {bill(ucp.Total{Type: "subtotal", Amount: 5}, ucp.Total{Type: "total", Amount: 5}), true},
		"everything":                 {bill(ucp.Total{Type: "subtotal", Amount: 100}, ucp.Total{Type: "items_discount", Amount: -7}, ucp.Total{Type: "discount", Amount: -3}, ucp.Total{Type: "fulfillment", Amount: 5}, ucp.Total{Type: "tax", Amount: 3}, ucp.Total{Type: "fee", Amount: 2}, ucp.Total{Type: "total", Amount: 100}), true},
		"a discount that is charged": {bill(ucp.Total{Type: "subtotal", Amount: 100}, ucp.Total{Type: "discount", Amount: 10}, ucp.Total{Type: "total", Amount: 110}), false},
		"a kind of its own":          {bill(ucp.Total{Type: "subtotal", Amount: 100}, ucp.Total{Type: "wrapping", DisplayText: "Wrapping", Amount: 10}, ucp.Total{Type: "total", Amount: 110}), true},
		"a cent too much":            {bill(ucp.Total{Type: "subtotal", Amount: 5}, ucp.Total{Type: "total", Amount: 6}), false},
		"hidden in the tax":          {bill(ucp.Total{Type: "subtotal", Amount: 5}, ucp.Total{Type: "tax", Amount: 1}, ucp.Total{Type: "total", Amount: 5}), false},
		"no total":                   {bill(ucp.Total{Type: "subtotal", Amount: 5}), false},
		"two totals":                 {bill(ucp.Total{Type: "total"}, ucp.Total{Type: "total"}), false},
		"below nothing":              {bill(ucp.Total{Type: "discount", Amount: -5}, ucp.Total{Type: "total", Amount: -5}), false},
		"no bill":                    {bill(), false},
		"wraps": {bill(ucp.Total{Type: "subtotal", Amount: math.MaxInt64}, ucp.Total{Type: "fee", Amount: math.MaxInt64},
			ucp.Total{Type: "fee", Amount: 102}, ucp.Total{Type: "total", Amount: 100}), false},
		"largest":             {bill(ucp.Total{Type: "subtotal", Amount: 1<<53 - 1}, ucp.Total{Type: "total", Amount: 1<<53 - 1}), true},
		"too large":           {bill(ucp.Total{Type: "subtotal", Amount: 1 << 53}, ucp.Total{Type: "total", Amount: 1 << 53}), false},
		"wraps in many":       {bill(append(slices.Repeat([]ucp.Total{{Type: "fee", Amount: 1<<53 - 1}}, 2049), ucp.Total{Type: "total", Amount: 1<<53 - 2049})...), false},
		"a tax below nothing": {bill(ucp.Total{Type: "subtotal", Amount: 5}, ucp.Total{Type: "tax", Amount: -1}, ucp.Total{Type: "total", Amount: 4}), false},
	} {
		require.Equal(t, test.addsUp, test.bill.AddsUp(), name)
	}
}

func TestMoney(t *testing.T) {
	for want, of := range map[string]struct {
		amount   int64
		currency string
	}{
		"12.05 EUR": {1205, "EUR"}, "-0.50 EUR": {-50, "EUR"}, "0.00 USD": {0, "USD"}, "3.500 KWD": {3500, "KWD"}, "0.007 BHD": {7, "BHD"},
		"3500 JPY": {3500, "JPY"}, "0 JPY": {0, "JPY"}, "0.0001 CLF": {1, "CLF"}, "1.00 ???": {100, "???"}, "1.000 kwd": {1000, "kwd"},
		"-92233720368547758.08 EUR": {math.MinInt64, "EUR"},
	} {
		require.Equal(t, want, shopper.Money(of.amount, of.currency))
		require.Equal(t, want, shopper.Bill{Currency: of.currency}.Money(of.amount))
	}
}
