package shop_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

func TestReadDataSaysWhatIsWrong(t *testing.T) {
	products := "id,title,price\npen,Pen,100\n"
	for file, test := range map[string]struct{ text, says string }{
		"products.csv":          {"id,title,price\npen,Pen,-1\n", `products.csv, line 2: price is "-1"`},
		"inventory.csv":         {"product_id,quantity\npen,1\nink,1\n", `inventory.csv, line 3: there is no product "ink"`},
		"shipping_rates.csv":    {"id,country_code,service_level,price,title\npost,default,standard,much,Post\n", "price is"},
		"promotions.csv":        {"id,type,min_subtotal,eligible_item_ids,description\np,half_price,,,x\n", "no promotion of type"},
		"discounts.csv":         {"code,type,value,description\nA,percentage,101,x\n", "101 percent"},
		"addresses.csv":         {"id,customer_id,street_address,city,state,postal_code,country\na,nobody,,,,,\n", "there is no customer"},
		"payment_handlers.json": {"{", "payment_handlers.json"},
		"customers.csv":         {"id,name,email\n\"", "customers.csv"},
	} {
		files := fstest.MapFS{"products.csv": {Data: []byte(products)}}
		files[file] = &fstest.MapFile{Data: []byte(test.text)}
		_, err := shop.ReadData(files)
		require.ErrorContains(t, err, test.says, file)
	}
	twice := fstest.MapFS{"products.csv": {Data: []byte(products + "pen,Pen,1\n")}}
	_, err := shop.ReadData(twice)
	require.ErrorContains(t, err, "line 3: id is \"pen\" and should be there once")
	_, err = shop.ReadData(fstest.MapFS{})
	require.ErrorContains(t, err, "products.csv")
	data, err := shop.ReadData(fstest.MapFS{"products.csv": {Data: []byte(products)}, "payment_handlers.json": {Data: []byte(`[{"id": "purse"}]`)}})
	require.NoError(t, err)
	require.Equal(t, "purse", data.Handlers[0].ID)
}

// FuzzReadData: whatever lies in a file, reading it does not panic, and prices are never below zero.
func FuzzReadData(f *testing.F) {
	f.Add("products.csv", []byte("id,title,price\npen,Pen,100\n"))
	f.Add("promotions.csv", []byte("id,type,min_subtotal,eligible_item_ids,description\np,free_shipping,,[\"pen\"],x\n"))
	f.Add("discounts.csv", []byte("code,type,value,description\nA,fixed_amount,5,x\n"))
	f.Add("addresses.csv", []byte("id,customer_id,street_address\na,c,\n"))
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		files := fstest.MapFS{"products.csv": {Data: []byte("id,title,price\npen,Pen,100\n")}, "customers.csv": {Data: []byte("id,name,email\nc,C,c@example.com\n")}}
		switch file {
		case "products.csv", "inventory.csv", "shipping_rates.csv", "promotions.csv", "discounts.csv", "customers.csv", "addresses.csv", "payment_handlers.json":
			files[file] = &fstest.MapFile{Data: text}
		default:
			return
		}
		data, err := shop.ReadData(files)
		if err != nil {
			return
		}
		for _, item := range data.Products {
			require.GreaterOrEqual(t, item.Price, int64(0))
		}
		for _, rate := range data.Rates {
			require.GreaterOrEqual(t, rate.Price, int64(0))
		}
	})
}
