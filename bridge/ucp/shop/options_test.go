package shop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// A shop that lacks something is told what.
func TestNewSaysWhatLacks(t *testing.T) {
	data, err := shop.ReadData(shop.Lamps())
	require.NoError(t, err)
	store := keyvalue.NewMemory(0)
	whole := shop.Options{
		Currency: "EUR", OrderURL: "https://lamps.example/orders/", Catalogue: data, Shipping: data, Discounts: data,
		Stock: shop.NewStock(store, nil), Payments: shop.NewTill(store, nil), Customers: shop.NewCustomers(store, nil),
	}
	_, err = shop.New(whole)
	require.NoError(t, err)
	for says, lack := range map[string]func(*shop.Options){
		"no currency":                        func(o *shop.Options) { o.Currency = "" },
		`URL of orders, "", is not absolute`: func(o *shop.Options) { o.OrderURL = "" },
		`"/orders/", is not absolute`:        func(o *shop.Options) { o.OrderURL = "/orders/" },
		"Options.Stock is missing":           func(o *shop.Options) { o.Stock = nil },
		"Options.Customers is missing":       func(o *shop.Options) { o.Customers = nil },
	} {
		without := whole
		lack(&without)
		_, err := shop.New(without)
		require.ErrorContains(t, err, says)
	}
}
