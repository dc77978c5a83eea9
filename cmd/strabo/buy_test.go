package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/demoshop"
)

// lampShop opens the demo shop and gives its URL.
func lampShop(t *testing.T) (string, *demoshop.Shop) {
	t.Helper()
	shop, err := demoshop.New(0)
	require.NoError(t, err)
	server, err := demoshop.Serve(shop, demoshop.ServeOptions{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server.URL, shop
}

var pharos = []string{"--street", "1 Pharos Road", "--city", "Alexandria", "--region", "", "--postal-code", "21500", "--country", "EG"}

// orderID is another each time.
var orderID = regexp.MustCompile(`order_[a-z2-7]+`)

func TestBuy(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		code      int
		out, err  string
		orders    int
	}{
		"order": {
			append([]string{"--item", "lantern-brass"}, pharos...), exitFine,
			"Order ORDER placed, 46.50 EUR: https://lamps.example/orders/ORDER\n", "", 1,
		},
		"two of two things, by courier": {
			append([]string{"--item", "wick-cotton", "--item", "oil-lamp", "--quantity", "2", "--option", "courier"}, pharos...), exitFine,
			"Order ORDER placed, 39.40 EUR: https://lamps.example/orders/ORDER\n", "", 1,
		},
		"paid by name": {
			append([]string{"--item", "oil-lamp", "--pay", "mock_payment_handler:success_token"}, pharos...), exitFine,
			"Order ORDER placed, 14.25 EUR: https://lamps.example/orders/ORDER\n", "", 1,
		},
		"declined": {
			append([]string{"--item", "oil-lamp", "--pay", "mock_payment_handler:fail_token"}, pharos...), exitNo,
			"The shop declined: Payment Failed: Insufficient Funds (Mock) (payment_failed)\n", "", 0,
		},
		"refused": {
			append([]string{"--item", "glass-spare"}, pharos...), exitNo,
			"The shop refused: Insufficient stock for item glass-spare: 0 left (out_of_stock)\n", "", 0,
		},
		"no such option": {
			append([]string{"--item", "oil-lamp", "--option", "drone"}, pharos...), exitNo,
			"Cancelled: the shop does not offer the option drone.\n", "", 0,
		},
		"too dear": {
			append([]string{"--item", "lantern-brass", "--max", "4000"}, pharos...), exitNo,
			"Cancelled: the total is 46.50 EUR, more than 40.00 EUR.\n", "", 0,
		},
		"a customer that the shop knows": {
			[]string{"--item", "oil-lamp", "--buyer", "grace@lighthouse.example"},
			exitFine,
			"Order ORDER placed, 14.25 EUR: https://lamps.example/orders/ORDER\n", "", 1,
		},
		"nowhere to deliver": {
			[]string{"--item", "oil-lamp"},
			exitNo,
			"Cancelled: the shop has no destination for the buyer, and none was given.\n", "", 0,
		},
		"nothing delivered": {
			[]string{"--item", "oil-lamp", "--no-delivery"},
			exitNo,
			"Cancelled: Fulfillment address and option must be selected before completion.\n", "", 0,
		},
		"no number":  {append([]string{"--item", "oil-lamp", "--quantity", "0"}, pharos...), exitWrongUse, "", "strabo: --quantity is 0", 0},
		"half a pay": {append([]string{"--item", "oil-lamp", "--pay", "demo_pay"}, pharos...), exitWrongUse, "", "strabo: --pay must be HANDLER:TOKEN", 0},
		"for nothing": {
			append([]string{"--item", "oil-lamp", "--max", "0"}, pharos...), exitNo, "Cancelled: the total is 14.25 EUR, more than 0.00 EUR.\n", "", 0,
		},
		"just so dear": {
			append([]string{"--item", "oil-lamp", "--max", "1425"}, pharos...), exitFine,
			"Order ORDER placed, 14.25 EUR: https://lamps.example/orders/ORDER\n", "", 1,
		},
		"another currency": {
			append([]string{"--item", "oil-lamp", "--currency", "usd"}, pharos...), exitNo, "Cancelled: the shop's checkout is in \"EUR\", not in USD.\n", "", 0,
		},
		"no currency":       {append([]string{"--item", "oil-lamp", "--currency", "euro"}, pharos...), exitWrongUse, "", "strabo: --currency is \"euro\"", 0},
		"less than nothing": {append([]string{"--item", "oil-lamp", "--max=-1"}, pharos...), exitWrongUse, "", "strabo: --max is -1", 0},
		"no time":           {append([]string{"--item", "oil-lamp", "--timeout=-1s"}, pharos...), exitWrongUse, "", "strabo: --timeout is -1s", 0},
		"no item":           {append([]string{"--item", "oil-lamp", "--item", ""}, pharos...), exitWrongUse, "", "strabo: --item is empty", 0},
		"an order id alone": {append([]string{"--item", "oil-lamp", "--order-id", "a"}, pharos...), exitWrongUse, "", "strabo: --order-id names a purchase in a journal", 0},
		"what to buy":       {nil, exitWrongUse, "", "--item", 0},
	} {
		t.Run(name, func(t *testing.T) {
			url, shop := lampShop(t)
			code, out, err := runStrabo("", append([]string{"buy", "--business", url, "--currency", "EUR"}, test.arguments...)...)
			require.Equal(t, test.code, code, out+err)
			require.Equal(t, test.out, orderID.ReplaceAllString(out, "ORDER"))
			require.Contains(t, err, test.err)
			require.Equal(t, test.orders, shop.Orders())
		})
	}
}

func TestBuyJSON(t *testing.T) {
	url, _ := lampShop(t)
	code, out, err := runStrabo("", append([]string{"buy", "--business", url, "--item", "oil-lamp", "--currency", "EUR", "--json"}, pharos...)...)
	require.Zero(t, code, err)
	for line := range strings.Lines(out) {
		require.Regexp(t, `"kind":"(happened|completed|first_call|approval_decided)",`, line)
	}
	require.Contains(t, out, `"action":"Completed"`)
	require.NotContains(t, out, `"last_digits":"0000"`)
}

func TestBuyWhereThereIsNoShop(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, url := range []string{server.URL, "lamps", "http://127.0.0.1:0"} {
		code, out, err := runStrabo("", "buy", "--business", url, "--item", "oil-lamp")
		require.Equal(t, exitWrongUse, code)
		require.Empty(t, out)
		require.Contains(t, err, "there is no shop to buy at")
	}
}

// TestBuyWithoutAnAnswer: the shop hangs up on everything.
func TestBuyWithoutAnAnswer(t *testing.T) {
	var url string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/ucp" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"ucp": {"version": "2026-01-11", "services": {"dev.ucp.shopping": {"rest": {"endpoint": %q}}},
		  "capabilities": [{"name": "dev.ucp.shopping.checkout", "version": "2026-01-11"},
		  {"name": "dev.ucp.shopping.fulfillment", "version": "2026-01-11", "extends": "dev.ucp.shopping.checkout"}]}, "payment": {"handlers": [{"id": "h", "name": "example.pay", "version": "2026-01-11"}]}}`, url)
	}))
	defer server.Close()
	url = server.URL
	code, out, err := runStrabo("", "buy", "--business", url, "--item", "oil-lamp", "--timeout", "1m")
	require.Equal(t, exitNo, code, err)
	require.Empty(t, out)
	require.Contains(t, err, "strabo: no order: nothing was paid, but ")
}
