package ucp_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestInboundNullInAnArray: a null in an array is refused before anything is attempted, and the checkout stays.
func TestInboundNullInAnArray(t *testing.T) {
	s := newSystem(t, nil)
	path := "/checkout-sessions/" + s.ready(t)
	for body, at := range map[string]string{
		`{"line_items": [null]}`: "$.line_items[0]",
		`{"line_items": [{"item": {"id": "pen"}, "quantity": 1}, null]}`:                 "$.line_items[1]",
		`{"fulfillment": {"methods": [null]}}`:                                           "$.fulfillment.methods[0]",
		`{"fulfillment": {"methods": [{"destinations": [null]}]}}`:                       "$.fulfillment.methods[0].destinations[0]",
		`{"fulfillment": {"methods": [{"groups": [null]}]}}`:                             "$.fulfillment.methods[0].groups[0]",
		`{"fulfillment": {"methods": [{"line_item_ids": [null]}]}}`:                      "$.fulfillment.methods[0].line_item_ids[0]",
		`{"fulfillment": {"methods": [{"destinations": [{"lines": [[null]]}]}]}}`:        "$.fulfillment.methods[0].destinations[0].lines[0][0]",
		`{"discounts": {"codes": [null]}}`:                                               "$.discounts.codes[0]",
		`{"buyer": {"phones": [null]}}`:                                                  "$.buyer.phones[0]",
		`{"fulfillment": {"methods": [{"type": "shipping", "destinations": ["home"]}]}}`: "$.fulfillment.methods[0].destinations[0]",
	} {
		before := s.records.String()
		create := body
		if !strings.Contains(body, "line_items\": [") || strings.Contains(body, "fulfillment") {
			create = `{"line_items": [{"item": {"id": "pen"}, "quantity": 1}], ` + body[1:]
		}
		for _, r := range []response{s.ask("POST", "/checkout-sessions", create), s.ask("PUT", path, body)} {
			require.Equal(t, 422, r.status, "%s\n%s", body, r.raw)
			require.Contains(t, r.raw, `"path":"`+at+`"`)
		}
		require.Equal(t, before, s.records.String())
	}
	require.Equal(t, "ready_for_complete", s.ask("GET", path, "").state())
}

// TestInboundReadsByNameAndValue: names of members count with their case, numbers by their value.
func TestInboundReadsByNameAndValue(t *testing.T) {
	s := newSystem(t, nil)
	for number, quantity := range map[string]int{"10": 10, "1e1": 10, "1E+1": 10, "1.0": 1, "0.1e1": 1, "100e-1": 10, "0.0010e3": 1} {
		r := s.ask("POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "pen"}, "quantity": `+number+`}]}`)
		require.Equal(t, 201, r.status, "%s %s", number, r.raw)
		require.EqualValues(t, 100*quantity, r.total("total"), number)
	}
	for _, number := range []string{"1.5", "1e-1", "1e999999999", "1e99999999999999999999", "9223372036854775808", `"1"`, "true", "[1]", "0e5", "-1e1", "-0", "1e-99999999999999999999"} {
		r := s.ask("POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "pen"}, "quantity": `+number+`}]}`)
		require.Equal(t, 422, r.status, "%s %s", number, r.raw)
	}
	for _, body := range []string{
		`{"LINE_ITEMS": [{"item": {"id": "pen"}, "quantity": 1}]}`,
		`{"line_items": [{"Item": {"id": "pen"}, "quantity": 1}]}`,
		`{"line_items": [{"item": {"ID": "pen"}, "quantity": 1}]}`,
		`{"line_items": [{"item": {"id": "pen"}, "Quantity": 1}]}`,
	} {
		require.Equal(t, 422, s.ask("POST", "/checkout-sessions", body).status, body)
	}
	path := "/checkout-sessions/" + s.ready(t)
	for _, body := range []string{
		strings.Replace(paying(goodToken), "payment_data", "Payment_Data", 1), strings.Replace(paying(goodToken), "handler_id", "HANDLER_ID", 1),
	} {
		r := s.ask("POST", path+"/complete", body)
		require.Contains(t, []int{400, 422}, r.status, r.raw)
	}
	require.Equal(t, 201, s.ask("POST", "/checkout-sessions", onePen+`, "Line_Items": null}`).status, "another member is another member")
}

// moodyStorefront panics while it is told to.
type moodyStorefront struct {
	*stall
	broken atomic.Bool
}

func (m *moodyStorefront) Present(ctx context.Context, contents ucp.Contents) (ucp.Presentation, error) {
	if m.broken.Load() || strings.Contains(contents.LineItems.String(), "ink") {
		panic(fmt.Sprint("no mood for ", contents.Buyer))
	}
	return m.stall.Present(ctx, contents)
}

// TestInboundStorefrontPanics: that is answered with 500 and leaves the checkout as it was, also where only the contents
// that are asked for cannot be presented.
func TestInboundStorefrontPanics(t *testing.T) {
	moody := new(moodyStorefront)
	s := newSystem(t, func(st *stall, o *ucp.InboundOptions) {
		moody.stall = st
		o.Storefront = moody
	})
	path := "/checkout-sessions/" + s.ready(t)
	before := s.ask("GET", path, "")
	r := s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`)
	require.Equal(t, 500, r.status, r.raw)
	require.Equal(t, before.raw, s.ask("GET", path, "").raw)
	// The answer does not wait for that.
	require.Eventually(t, func() bool { return strings.Count(s.records.String(), `"action":"Cancel"`) == 1 }, time.Minute, time.Millisecond,
		"what could not be shown is let go")

	moody.broken.Store(true)
	require.Equal(t, 500, s.ask("GET", path, "").status)
	require.Equal(t, 500, s.ask("PUT", path, `{"buyer": {"email": "b"}}`).status)
	require.Equal(t, 500, s.ask("POST", path+"/complete", paying(goodToken)).status)
	moody.broken.Store(false)
	require.Equal(t, before.raw, s.ask("GET", path, "").raw)
	require.Equal(t, 200, s.ask("POST", path+"/complete", paying(goodToken)).status)

	moody.broken.Store(true)
	paid := s.ask("GET", path, "")
	require.Equal(t, 200, paid.status, "an order is told even if the goods cannot be shown")
	require.Equal(t, "completed", paid.state())
	requireSchema(t, checkoutSchema, paid.raw)
	require.Contains(t, s.logged.String(), "the storefront panicked with a string")
	require.NotContains(t, s.logged.String(), "no mood")
}

// TestInboundOtherCurrency: a platform that asks for another currency than the shop's is told.
func TestInboundOtherCurrency(t *testing.T) {
	s := newSystem(t, nil)
	const warning = `"code":"currency_unavailable"`
	r := s.ask("POST", "/checkout-sessions", strings.Replace(onePen, "EUR", "USD", 1)+"}")
	require.Equal(t, 201, r.status)
	require.Equal(t, "EUR", r.body["currency"])
	require.Contains(t, r.raw, warning)
	requireSchema(t, checkoutSchema, r.raw)
	path := "/checkout-sessions/" + r.id()
	require.Contains(t, s.ask("GET", path, "").raw, warning)
	require.Contains(t, s.ask("PUT", path, `{"buyer": null}`).raw, warning)
	require.NotContains(t, s.ask("PUT", path, `{"currency": "EUR"}`).raw, warning)
}
