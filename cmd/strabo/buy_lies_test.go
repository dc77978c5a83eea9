package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuyPaysForWhatItHasSeen: the same sum for other goods, said after the bill was looked at, is not paid.
func TestBuyPaysForWhatItHasSeen(t *testing.T) {
	t.Parallel()
	shop := openPaperShop(t, nil)
	honest := shop.lines
	shop.answer = func(operation string, _ http.ResponseWriter, _ *http.Request) bool {
		shop.lines = honest
		if operation == "get" {
			shop.lines = strings.ReplaceAll(honest, `"id":"x"`, `"id":"y"`)
		}
		return false
	}
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitNo, code, err)
	require.Equal(t, "Cancelled: the shop's checkout is not what was asked for: 0 of \"x\" instead of 1, 1 of \"y\" instead of 0.\n", out)
	require.Empty(t, shop.keys("complete"))
	require.Len(t, shop.keys("cancel"), 1)
}

// TestBuyTellsOfAnotherOrder: an order that is placed for something else than was agreed to is told as such, whether the
// shop says so at once or when it is asked. What it says nothing of is as it was.
func TestBuyTellsOfAnotherOrder(t *testing.T) {
	for name, test := range map[string]struct {
		lie  func(*paperShop)
		says string // empty where it is no lie
	}{
		"sum":      {func(s *paperShop) { s.totals = strings.ReplaceAll(s.totals, "3500", "999900") }, "the total of the shop's checkout is 999900 instead of 3500"},
		"cheaper":  {func(s *paperShop) { s.totals = strings.ReplaceAll(s.totals, "3500", "1") }, "the total of the shop's checkout is 1 instead of 3500"},
		"below 0":  {func(s *paperShop) { s.totals = strings.ReplaceAll(s.totals, "3500", "-3500") }, "the total of the shop's checkout is an unclear number instead of 3500"},
		"currency": {func(s *paperShop) { s.currency = "KWD" }, "the shop's checkout is in \"KWD\", not in USD"},
		"goods":    {func(s *paperShop) { s.lines = strings.ReplaceAll(s.lines, `"id":"x"`, `"id":"y"`) }, "the shop's checkout is not what was asked for: 0 of \"x\" instead of 1, 1 of \"y\" instead of 0"},
		"silence":  {func(s *paperShop) { s.lines, s.totals = "null", "null" }, ""},
		"notes": {func(s *paperShop) {
			s.totals = strings.ReplaceAll(s.totals, `"amount"`, `"display_text":"paid","amount"`)
		}, ""},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				shop := openPaperShop(t, nil)
				shop.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
					if operation == "complete" {
						test.lie(shop)
						shop.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
							return operation == "get" && replying("get", 200, shop.checkout("completed", paperOrder))(operation, w, r)
						}
						return asked && replying("complete", 409, `{"detail":"it is over"}`)(operation, w, r)
					}
					return false
				}
				code, out, err := runStrabo("", shop.buy("--max", "3500")...)
				require.Len(t, shop.keys("complete"), 1)
				if test.says == "" {
					require.Equal(t, exitFine, code, err)
					require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\n", out)
					return
				}
				require.Equal(t, exitNo, code, err)
				require.Empty(t, out)
				require.Contains(t, err, "strabo: there is an order, but not as it was agreed to: ")
				require.Contains(t, strings.ReplaceAll(err, `\"`, `"`), test.says)
			})
		}
	}
	shop := openPaperShop(t, nil)
	shop.answer = func(operation string, _ http.ResponseWriter, _ *http.Request) bool {
		if operation == "complete" {
			shop.currency = "KWD"
		}
		return false
	}
	journal := t.TempDir() + "/j"
	for range 2 { // Again out of the journal, without a call.
		code, out, err := runStrabo("", shop.buy("--json", "--journal", journal)...)
		require.Equal(t, exitNo, code, err)
		require.Equal(t, "placed", lastRecord(t, out)["order"])
		require.Equal(t, "diverged", lastRecord(t, out)["kind"])
	}
	require.Len(t, shop.keys("complete"), 1)
}

// TestBuyIsNotLedForEver: a shop that says something else whenever it is looked at, and sends the buyer about, is given up.
// It takes some seconds, so it runs where STRABO_TEST_KILLS asks for heavy tests.
func TestBuyIsNotLedForEver(t *testing.T) {
	if os.Getenv("STRABO_TEST_KILLS") == "" {
		t.Skip("STRABO_TEST_KILLS is not set")
	}
	t.Parallel()
	looks := 0
	shop := openPaperShop(t, nil)
	shop.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
		if operation == "cancel" {
			return false
		}
		looks++
		return replying(operation, map[bool]int{true: 201, false: 200}[operation == "create"], shop.checkout("requires_escalation", fmt.Sprintf(
			`,"continue_url":"https://shop.example/%d","messages":[{"type":"error","code":"c","content":"n %[1]d","severity":"requires_buyer_input"}]`, looks,
		)))(operation, w, r)
	}
	code, out, err := runStrabo("", shop.buy("--timeout", "2m")...)
	require.Equal(t, exitNo, code, err)
	require.Equal(t, "Cancelled: The checkout has changed too often.\n", out)
	require.Less(t, looks, 300)
}
