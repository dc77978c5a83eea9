package shopper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
)

func TestBill(t *testing.T) {
	bill := func(lines ...shopper.Total) shopper.Bill { return shopper.Bill{Currency: "EUR", Totals: lines} }
	for name, test := range map[string]struct {
		bill   shopper.Bill
		addsUp bool
	}{
		"goods alone":       {bill(shopper.Total{Type: "subtotal", Amount: 5}, shopper.Total{Type: "total", Amount: 5}), true},
		"everything":        {bill(shopper.Total{Type: "subtotal", Amount: 100}, shopper.Total{Type: "items_discount", Amount: 7}, shopper.Total{Type: "discount", Amount: 10}, shopper.Total{Type: "fulfillment", Amount: 5}, shopper.Total{Type: "tax", Amount: 3}, shopper.Total{Type: "fee", Amount: 2}, shopper.Total{Type: "total", Amount: 100}), true},
		"a cent too much":   {bill(shopper.Total{Type: "subtotal", Amount: 5}, shopper.Total{Type: "total", Amount: 6}), false},
		"hidden in the tax": {bill(shopper.Total{Type: "subtotal", Amount: 5}, shopper.Total{Type: "tax", Amount: 1}, shopper.Total{Type: "total", Amount: 5}), false},
		"no total":          {bill(shopper.Total{Type: "subtotal", Amount: 5}), false},
		"two totals":        {bill(shopper.Total{Type: "total"}, shopper.Total{Type: "total"}), false},
		"below nothing":     {bill(shopper.Total{Type: "discount", Amount: 5}, shopper.Total{Type: "total", Amount: -5}), false},
		"no bill":           {bill(), false},
	} {
		require.Equal(t, test.addsUp, test.bill.AddsUp(), name)
	}
	require.Equal(t, "12.05 EUR", bill().Money(1205))
	require.Equal(t, "-0.50 EUR", bill().Money(-50))
}
