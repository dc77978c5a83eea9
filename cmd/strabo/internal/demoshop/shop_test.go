package demoshop_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/demoshop"
	"github.com/strabo-engine/strabo/enactment"
)

// wish reads one from JSON, as a Create would have bound it.
func wish(t require.TestingT, lines, fulfillment string) demoshop.Wish {
	parse := func(text string) enactment.Value {
		value, err := enactment.ParseValue([]byte(text))
		require.NoError(t, err)
		return value
	}
	w, err := demoshop.ReadWish(parse(lines), parse("null"), parse(fulfillment))
	require.NoError(t, err)
	return w
}

// delivered is fulfillment with an option chosen.
func delivered(option string) string {
	return `{"methods": [{"type": "shipping", "selected_destination_id": "d", "groups": [{"selected_option_id": "` + option + `"}]}]}`
}

func TestPrice(t *testing.T) {
	shop := demoshop.New(demoshop.Goods(), demoshop.Delivery(), demoshop.Customers())
	for name, test := range map[string]struct {
		lines, fulfillment string
		want               []ucp.Total
	}{
		"goods alone": {
			`[{"item": {"id": "wick-cotton"}, "quantity": 3}]`, "null",
			[]ucp.Total{{Type: "subtotal", Amount: 1050}, {Type: "tax", DisplayText: "VAT 20%", Amount: 210}, {Type: "total", Amount: 1260}},
		},
		"delivered": {
			`[{"item": {"id": "wick-cotton"}, "quantity": 1}]`, delivered("courier"),
			[]ucp.Total{
				{Type: "subtotal", Amount: 350},
				{Type: "fulfillment", DisplayText: "Courier, next day", Amount: 1290},
				{Type: "tax", DisplayText: "VAT 20%", Amount: 328},
				{Type: "total", Amount: 1968},
			},
		},
		"free from 100.00": {
			`[{"item": {"id": "lantern-brass"}, "quantity": 3}]`, delivered("post"),
			[]ucp.Total{
				{Type: "subtotal", Amount: 12600},
				{Type: "fulfillment", DisplayText: "Parcel Post", Amount: 0},
				{Type: "tax", DisplayText: "VAT 20%", Amount: 2520},
				{Type: "total", Amount: 15120},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			totals, err := shop.Price(wish(t, test.lines, test.fulfillment))
			require.NoError(t, err)
			require.Equal(t, test.want, totals)
		})
	}
}

func TestPriceSaysNo(t *testing.T) {
	shop := demoshop.New(demoshop.Goods(), demoshop.Delivery(), demoshop.Customers())
	for lines, want := range map[string]demoshop.No{
		`[{"item": {"id": "candle"}, "quantity": 1}]`:      {"item_unavailable", "Product candle not found.", "$.line_items[0]"},
		`[{"item": {"id": "glass-spare"}, "quantity": 1}]`: {"out_of_stock", "Insufficient stock of glass-spare: 1 wanted, 0 left.", "$.line_items[0]"},
		`[{"item": {"id": "oil-lamp"}, "quantity": 40}, {"item": {"id": "oil-lamp"}, "quantity": 9223372036854775807}]`: {
			"out_of_stock", "Insufficient stock of oil-lamp: 9223372036854775807 wanted, 0 left.", "$.line_items[1]",
		},
		`[{"item": {"id": "oil-lamp"}, "quantity": 0}]`: {"invalid", "The quantity of oil-lamp must be at least 1.", "$.line_items[0].quantity"},
		`[{"item": {"id": "lantern-storm"}, "quantity": 1}, {"item": {"id": "lantern-storm"}, "quantity": 1}]`: {
			"out_of_stock", "Insufficient stock of lantern-storm: 1 wanted, 0 left.", "$.line_items[1]",
		},
	} {
		_, err := shop.Price(wish(t, lines, "null"))
		var said *demoshop.No
		require.ErrorAs(t, err, &said, lines)
		require.Equal(t, want, *said)
	}
	_, err := shop.Price(wish(t, `[{"item": {"id": "oil-lamp"}, "quantity": 1}]`, delivered("drone")))
	require.ErrorContains(t, err, "no delivery option drone")

	for _, lines := range []string{"[]", "null", `{"item": 1}`, `"oil"`} {
		value, err := enactment.ParseValue([]byte(lines))
		require.NoError(t, err)
		_, err = demoshop.ReadWish(value, enactment.Value{}, enactment.Value{})
		require.ErrorContains(t, err, "line_items", lines)
	}
}

// TestBillsAddUp: whatever is wished for, the total is what the other lines come to.
func TestBillsAddUp(t *testing.T) {
	goods := demoshop.Goods()
	for i := range goods {
		goods[i].Stock = 1_000_000
	}
	shop := demoshop.New(goods, demoshop.Delivery(), demoshop.Customers())
	rapid.Check(t, func(t *rapid.T) {
		lines := ""
		for i := range rapid.IntRange(1, 4).Draw(t, "lines") {
			if i > 0 {
				lines += ","
			}
			item := rapid.SampledFrom(goods).Draw(t, "item").ID
			lines += fmt.Sprintf(`{"item": {"id": %q}, "quantity": %d}`, item, rapid.Int64Range(1, 1000).Draw(t, "quantity"))
		}
		fulfillment := rapid.SampledFrom([]string{"null", delivered("post"), delivered("courier")}).Draw(t, "fulfillment")
		totals, err := shop.Price(wish(t, "["+lines+"]", fulfillment))
		require.NoError(t, err)
		sum := int64(0)
		for _, line := range totals[:len(totals)-1] {
			require.GreaterOrEqual(t, line.Amount, int64(0))
			sum += line.Amount
		}
		require.Equal(t, ucp.Total{Type: "total", Amount: sum}, totals[len(totals)-1])
	})
}

func instrument(handler, token string) enactment.Value {
	return enactment.MustValue(map[string]any{"handler_id": handler, "credential": map[string]any{"type": "token", "token": token}})
}

func TestSettle(t *testing.T) {
	shop := demoshop.New(demoshop.Goods(), demoshop.Delivery(), demoshop.Customers())
	w := wish(t, `[{"item": {"id": "oil-lamp"}, "quantity": 3}]`, delivered("post"))
	coins := instrument("demo_pay", "coins")

	for name, test := range map[string]struct {
		wish       demoshop.Wish
		instrument enactment.Value
		code       string
	}{
		"no delivery":     {wish(t, `[{"item": {"id": "oil-lamp"}, "quantity": 3}]`, "null"), coins, "missing"},
		"another handler": {w, instrument("iou", "coins"), "payment_declined"},
		"no funds":        {w, instrument("demo_pay", "no_coins"), "insufficient_funds"},
		"forged":          {w, instrument("demo_pay", "forged_coins"), "fraud_detected"},
		"unknown":         {w, instrument("demo_pay", "shells"), "unknown_token"},
		"no instrument":   {w, enactment.MustValue(7), "payment_declined"},
		"too much":        {wish(t, `[{"item": {"id": "oil-lamp"}, "quantity": 41}]`, delivered("post")), coins, "out_of_stock"},
	} {
		order, no := shop.Settle(name, test.wish, test.instrument)
		require.Nil(t, order, name)
		require.Equal(t, test.code, no.Code, name)
	}
	require.EqualValues(t, 40, shop.Stock("oil-lamp"))

	order, no := shop.Settle("c", w, coins)
	require.Nil(t, no)
	again, _ := shop.Settle("c", w, coins)
	require.Equal(t, order, again)
	require.EqualValues(t, 37, shop.Stock("oil-lamp"))
	require.Equal(t, 1, shop.Orders())

	shop.Undo("c")
	shop.Undo("c")
	shop.Undo("never settled")
	require.EqualValues(t, 40, shop.Stock("oil-lamp"))
	require.Zero(t, shop.Orders())
	_, no = shop.Settle("c", w, coins)
	require.Equal(t, "canceled", no.Code)
	other, _ := shop.Settle("d", w, coins)
	require.NotEqual(t, order.ID, other.ID)
}

// TestStockIsNeverBelowZero lets many buy what there is too little of.
func TestStockIsNeverBelowZero(t *testing.T) {
	shop := demoshop.New([]demoshop.Item{{ID: "oil", Price: 1, Stock: 25}}, demoshop.Delivery(), nil)
	w := wish(t, `[{"item": {"id": "oil"}, "quantity": 2}]`, delivered("post"))
	var orders atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if order, _ := shop.Settle(fmt.Sprint(i), w, instrument("demo_pay", "coins")); order != nil {
				orders.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 12, orders.Load())
	require.EqualValues(t, 1, shop.Stock("oil"))
}
