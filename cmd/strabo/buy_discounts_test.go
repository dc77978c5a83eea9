package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// discounting is a shop that knows the code TEN, gives a discount of its own, and says of other codes what it is told to.
func discounting(t *testing.T, messages string) *paperShop {
	t.Helper()
	return openPaperShop(t, func(s *paperShop) {
		s.extensions = []string{"discount", "buyer_consent"}
		s.totals = `[{"type":"subtotal","amount":3500},{"type":"discount","display_text":"Ten Percent","amount":350},
		  {"type":"discount","amount":50},{"type":"fee","amount":100},{"type":"total","amount":3200}]`
		s.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
			if operation == "complete" || operation == "cancel" {
				return false
			}
			said := messages
			if operation != "create" && strings.Contains(messages, `"type":"error"`) {
				said = ""
			}
			status := "ready_for_complete"
			if strings.Contains(said, `"type":"error"`) {
				status = "incomplete"
			}
			fmt.Fprint(w, s.checkout(status, `,"discounts":{"codes":["ten","NOPE"],"applied":[{"code":"ten","title":"Ten Percent","amount":350},
			  {"title":"Of the Season","amount":50}]},"messages":[`+said+`]`))
			return true
		}
	})
}

const bill = `strabo: the bill of the shop:
  Subtotal  35.00 USD
  Ten Percent  -3.50 USD
  Discount  -0.50 USD
  Fee  1.00 USD
  Total  32.00 USD
`

// TestBuyDiscounts: the shop's bill is shown as it is, with what was taken off, and which codes were not taken.
func TestBuyDiscounts(t *testing.T) {
	const taken = "Discount ten, Ten Percent: -3.50 USD\nDiscount Of the Season: -0.50 USD\n"
	for name, test := range map[string]struct {
		messages string
		flags    []string
		code     int
		out, err string
	}{
		"all taken": {"", []string{"--discount", "TEN", "--require-discounts"}, exitFine, "Order O1 placed, 32.00 USD: http://shop.example/o1\n" + taken, bill},
		"one not taken, in words": {
			`{"type":"warning","code":"discount_code_expired","path":"$.discounts.codes[1]","content":"NOPE expired."}`,
			[]string{"--discount", "TEN", "--discount", "NOPE"},
			exitFine,
			"Order O1 placed, 32.00 USD: http://shop.example/o1\n" + taken + "Discount code NOPE was not taken: NOPE expired. (discount_code_expired)\n",
			"strabo: the shop has you know ($.discounts.codes[1]): NOPE expired.\n" + bill,
		},
		"one not taken, without a word": {
			"",
			[]string{"--discount", "TEN", "--discount", "NOPE"},
			exitFine,
			"Order O1 placed, 32.00 USD: http://shop.example/o1\n" + taken + "Discount code NOPE was not taken: the shop does not say why\n", bill,
		},
		"one that has to go first": {
			`{"type":"error","severity":"recoverable","code":"discount_code_invalid","path":"$.discounts.codes[1]","content":"No such code."}`,
			[]string{"--discount", "TEN", "--discount", "NOPE"},
			exitFine,
			"Order O1 placed, 32.00 USD: http://shop.example/o1\n" + taken + "Discount code NOPE was not taken: No such code. (discount_code_invalid)\n", bill,
		},
		"all have to be taken": {
			"",
			[]string{"--discount", "TEN", "--discount", "NOPE", "--require-discounts"},
			exitNo,
			"Cancelled: the discount code NOPE is not taken.\nDiscount code NOPE was not taken: the shop does not say why\n", bill,
		},
		"one that has to go, and all have to be taken": {
			`{"type":"error","severity":"recoverable","code":"discount_code_invalid","path":"$.discounts","content":"No such code."}`,
			[]string{"--discount", "NOPE", "--require-discounts"},
			exitNo,
			"Cancelled: the discount code NOPE is not taken.\nDiscount code NOPE was not taken: No such code. (discount_code_invalid)\n", bill,
		},
	} {
		t.Run(name, func(t *testing.T) {
			shop := discounting(t, test.messages)
			code, out, err := runStrabo("", shop.buy(test.flags...)...)
			require.Equal(t, test.code, code, out+err)
			require.Equal(t, test.out, out)
			require.Contains(t, err, test.err)
			updates := shop.keys("update")
			if !strings.Contains(test.messages, `"type":"error"`) {
				require.Empty(t, updates)
				return
			}
			require.Len(t, updates, 1)
			require.NotContains(t, shop.bodies[1], "NOPE")
			require.Equal(t, len(test.flags) == 4, strings.Contains(shop.bodies[1], "TEN"))
		})
	}
}

// TestBuyDiscountsJSON: machines read the same of the last line, after the platform has said that it has the order.
func TestBuyDiscountsJSON(t *testing.T) {
	shop := discounting(t, `{"type":"warning","code":"discount_code_expired","path":"$.discounts.codes[1]","content":"NOPE \u202eexpired."}`)
	code, out, err := runStrabo("", shop.buy("--discount", "TEN", "--discount", "NOPE", "--json")...)
	require.Equal(t, exitFine, code, err)
	last := lastRecord(t, out)
	require.NotEmpty(t, last["enactment"])
	delete(last, "enactment")
	text, errs := json.Marshal(last)
	require.NoError(t, errs)
	require.JSONEq(t, `{"kind":"discounts","currency":"USD","applied":[{"code":"ten","title":"Ten Percent","amount":350},{"title":"Of the Season","amount":50}],
	  "rejected":[{"code":"NOPE","reason":"discount_code_expired","content":"NOPE \u202eexpired."}]}`, string(text))
	require.NotContains(t, out, "\u202e", "what turns the direction of writing is escaped")
	require.Contains(t, out, `"action":"Receipt"`)
}

// TestBuyConsent: what the buyer says about their data is sent, and nothing that they have not said.
func TestBuyConsent(t *testing.T) {
	shop := discounting(t, "")
	code, _, err := runStrabo("", shop.buy("--buyer", "ada@example.com", "--consent-analytics", "--no-consent-marketing")...)
	require.Equal(t, exitFine, code, err)
	var body struct{ Buyer json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(shop.bodies[0]), &body))
	require.JSONEq(t, `{"email":"ada@example.com","consent":{"analytics":true,"marketing":false}}`, string(body.Buyer))

	shop = discounting(t, "")
	code, _, err = runStrabo("", shop.buy("--buyer", "ada@example.com")...)
	require.Equal(t, exitFine, code, err)
	require.NotContains(t, shop.bodies[0], "consent")
}

// TestBuyWhatTheShopDoesNotHave: a wish that belongs to an extension which is not active is refused in words, and nothing is
// asked of the shop.
func TestBuyWhatTheShopDoesNotHave(t *testing.T) {
	for extension, flags := range map[string][]string{
		"discount codes cannot be asked for at this shop: dev.ucp.shopping.discount is not active":             {"--discount", "TEN"},
		"the buyer's consent cannot be asked for at this shop: dev.ucp.shopping.buyer_consent is not active":   {"--consent-analytics"},
		"delivery cannot be asked for at this shop: dev.ucp.shopping.fulfillment is not active; --no-delivery": {"--no-delivery=false"},
	} {
		shop := openPaperShop(t, nil)
		code, out, err := runStrabo("", shop.buy(flags...)...)
		require.Equal(t, exitNo, code, err)
		require.True(t, strings.HasPrefix(out, "Not asked of the shop: "+extension), out)
		require.Empty(t, shop.asked)

		code, out, err = runStrabo("", shop.buy(append(flags, "--json")...)...)
		require.Equal(t, exitNo, code, err)
		require.Equal(t, "refused", lastRecord(t, out)["kind"])
		require.Contains(t, out, `"code":"guard"`)
	}
}

// TestBuyQuantities: each item has its own number, or that of --quantity.
func TestBuyQuantities(t *testing.T) {
	shop := openPaperShop(t, nil)
	_, _, _ = runStrabo("", shop.buy("--item", "lamp=3", "--item", "oil", "--item", "a=1=2", "--quantity", "7")...)
	var body struct {
		LineItems []struct {
			Item     struct{ ID string }
			Quantity int
		} `json:"line_items"`
	}
	require.NoError(t, json.Unmarshal([]byte(shop.bodies[0]), &body))
	var lines []string
	for _, line := range body.LineItems {
		lines = append(lines, fmt.Sprint(line.Item.ID, " ", line.Quantity))
	}
	require.Equal(t, []string{"x 7", "lamp 3", "oil 7", "a=1 2"}, lines)
}

// TestBuyTellsInputFromReview: the buyer is told whether something is missing or only their word.
func TestBuyTellsInputFromReview(t *testing.T) {
	for severity, says := range map[string]string{
		"requires_buyer_input":  "strabo: the shop needs you: go on at https://shop.example/c/chk1\n  Look.\n",
		"requires_buyer_review": "strabo: you have to look at the order at the shop and agree to it: go on at https://shop.example/c/chk1\n  Look.\n",
	} {
		shop := openPaperShop(t, nil)
		shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
			status, more := "requires_escalation", fmt.Sprintf(`,"continue_url":"https://shop.example/c/chk1","messages":[{"type":"error","code":"look","severity":%q,"content":"Look."}]`, severity)
			if operation == "get" {
				status, more = "completed", paperOrder
			}
			fmt.Fprint(w, shop.checkout(status, more))
			return true
		}
		code, out, err := runStrabo("", shop.buy()...)
		require.Equal(t, exitFine, code, err)
		require.Contains(t, out, "Order O1 placed at the shop")
		require.Contains(t, err, says)
	}
}

// TestBuyOddDiscounts: discounts that cannot be read are not shown, and keep nobody from buying: what is paid is said by the
// totals. Totals that cannot be read are not paid.
func TestBuyOddDiscounts(t *testing.T) {
	for _, odd := range []string{`"ten"`, `{"applied":"ten"}`, `{"applied":[{"amount":"3.50"}]}`, `null`, `{"codes":[1]}`, `[]`} {
		shop := openPaperShop(t, func(s *paperShop) { s.extensions = []string{"discount"} })
		shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
			if operation == "complete" {
				return false
			}
			fmt.Fprint(w, shop.checkout("ready_for_complete", `,"discounts":`+odd))
			return true
		}
		code, out, err := runStrabo("", shop.buy("--discount", "TEN")...)
		require.Equal(t, exitFine, code, err)
		require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\nDiscount code TEN was not taken: the shop does not say why\n", out)
	}
	shop := openPaperShop(t, func(s *paperShop) {
		s.totals = `[{"type":"subtotal","amount":3500},{"type":"total","display_text":5,"amount":3500}]`
	})
	code, out, err := runStrabo("", shop.buy("--max", "1")...)
	require.Equal(t, exitNo, code, err)
	require.Equal(t, "Cancelled: the bill cannot be read.\n", out)
	require.Empty(t, shop.keys("complete"))
}

// TestBuyGoesOnWithoutTheExtension: a purchase that was begun with discounts goes on where the shop has none any more: it has
// been asked for, so nobody says that it was not.
func TestBuyGoesOnWithoutTheExtension(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	shop := openPaperShop(t, func(s *paperShop) { s.extensions = []string{"discount"} })
	shop.answer = replying("complete", http.StatusInternalServerError, "{}")
	code, _, stderr := runStrabo("", shop.buy("--journal", journal, "--discount", "TEN", "--timeout", "2s")...)
	require.Equal(t, exitNo, code)
	require.Contains(t, stderr, "nobody can tell whether there is an order")
	shop.answer, shop.extensions = nil, nil
	code, out, stderr := runStrabo("", shop.buy("--journal", journal, "--discount", "TEN")...)
	require.Equal(t, exitFine, code, stderr)
	require.Contains(t, out, "Order O1 placed")
	require.Len(t, shop.keys("create"), 1)
	require.Len(t, slices.Compact(shop.keys("complete")), 1)
}
