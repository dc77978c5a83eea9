package counter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/demoshop"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	leak.Main(m)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// serve opens a demo shop and gives what its discovery says.
func serve(t *testing.T, shop *demoshop.Shop, options demoshop.ServeOptions) *ucp.Business {
	t.Helper()
	options.Logger = quiet()
	server, err := demoshop.Serve(shop, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	business, err := ucp.Discover(t.Context(), client, server.URL)
	require.NoError(t, err)
	return business
}

func open(t *testing.T, business *ucp.Business, options counter.Options) *counter.Counter {
	t.Helper()
	options.Logger, options.Currency = quiet(), demoshop.Currency
	if options.Protocol == "" {
		options.Protocol = "simple-ucp"
	}
	options.Subject, options.Approvals = "ada", policy.StandingGrant{By: "ada"}
	at, err := counter.Open(business, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, at.Close()) })
	return at
}

// neverToBeSeen is part of every payment. The token would not do: shops advertise the ones that may be tried.
const neverToBeSeen = "Berenice 4711"

func paying(token string) func(shopper.Bill) shopper.Decision {
	return func(shopper.Bill) shopper.Decision {
		return shopper.Decision{Pay: map[string]any{
			"handler_id": "mock_payment_handler", "token": token, "brand": "Drachma", "last_digits": "0000",
			"holder": neverToBeSeen,
		}}
	}
}

func wish(item string) shopper.Wish {
	return shopper.Wish{
		LineItems:   []any{map[string]any{"item": map[string]any{"id": item}, "quantity": 1}},
		Buyer:       map[string]any{"email": "ada@example.org"},
		Fulfillment: map[string]any{"destination": map[string]any{"street_address": "1 Pharos Road", "address_country": "EG"}, "option": "cheapest"},
	}
}

// stepwise is a payment in the form of ucp-incremental.
func stepwise(decide func(shopper.Bill) shopper.Decision) func(shopper.Bill) shopper.Decision {
	return func(b shopper.Bill) shopper.Decision {
		d := decide(b)
		if d.Pay != nil {
			d.Pay = map[string]any{"payment": map[string]any{"instruments": []any{d.Pay}}}
		}
		return d
	}
}

// TestEndings drives the whole of it, agent to agent over HTTP, to each end that there is.
func TestEndings(t *testing.T) {
	for name, test := range map[string]struct {
		item   string
		decide func(shopper.Bill) shopper.Decision
		action string
		said   string
	}{
		"completed": {"lantern-brass", paying("success_token"), "Completed", `"order_`},
		"declined":  {"lantern-brass", paying("fail_token"), "Declined", "Insufficient Funds"},
		"refused":   {"glass-spare", paying("success_token"), "Refused", "Insufficient stock for item glass-spare"},
		"unknown":   {"candle", paying("success_token"), "Refused", "Product candle not found"},
		"cancelled": {"lantern-brass", func(shopper.Bill) shopper.Decision { return shopper.Decision{Cancel: true} }, "Cancelled", ""},
	} {
		for _, protocol := range []string{"simple-ucp", "ucp-incremental"} {
			t.Run(name+" by "+protocol, func(t *testing.T) {
				decide := test.decide
				if protocol == "ucp-incremental" {
					decide = stepwise(decide)
				}
				shop, err := demoshop.New(0)
				require.NoError(t, err)
				told := new(story.Story)
				business := serve(t, shop, demoshop.ServeOptions{Recorder: told.Recorder("shop")})
				at := open(t, business, counter.Options{Protocol: protocol, Decide: decide, Recorder: told.Recorder("platform"), Audit: told})
				ending, err := at.Buy(t.Context(), wish(test.item))
				require.NoError(t, err)
				require.Equal(t, test.action, ending.Action)
				if test.said == "" {
					require.True(t, ending.Said.IsZero())
				} else {
					require.Contains(t, ending.Said.String(), test.said)
				}
				orders := 0
				if test.action == "Completed" {
					orders = 1
					total, ok := ending.Bill.Total()
					require.True(t, ok)
					require.EqualValues(t, 4200+450, total)
				}
				require.Equal(t, orders, shop.Orders())
				requireToldWithoutSecrets(t, told)
			})
		}
	}
}

// requireToldWithoutSecrets checks both ways to tell a story: each line of JSON stands alone, and no payment is in it.
func requireToldWithoutSecrets(t *testing.T, told *story.Story) {
	t.Helper()
	var text, lines strings.Builder
	require.NoError(t, told.WriteText(&text))
	require.NoError(t, told.WriteJSON(&lines))
	for line := range strings.Lines(lines.String()) {
		var record struct{ Kind string }
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		require.Contains(t, []string{"happened", "refused", "completed", "first_call", "approval_decided"}, record.Kind)
	}
	require.NotContains(t, text.String(), neverToBeSeen)
	require.NotContains(t, lines.String(), neverToBeSeen)
}

// TestManyBuyersOneLantern: of those who all want the last one, one gets it.
func TestManyBuyersOneLantern(t *testing.T) {
	for name, batch := range map[string]time.Duration{"immediate": 0, "batch": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			shop, err := demoshop.New(0)
			require.NoError(t, err)
			at := open(t, serve(t, shop, demoshop.ServeOptions{Engine: engine.Local(syncserver.WithBatch(batch, 0))}), counter.Options{Decide: paying("success_token")})
			var mu sync.Mutex
			count := make(map[string]int)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					ending, err := at.Buy(t.Context(), wish("lantern-storm"))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						count[err.Error()]++
					} else {
						count[ending.Action]++
					}
				})
			}
			all.Wait()
			require.Equal(t, 1, count["Completed"], "%v", count)
			require.Equal(t, 7, count["Declined"]+count["Refused"], "%v", count)
			require.Equal(t, 1, shop.Orders())
			require.Zero(t, shop.Stock("lantern-storm"))
		})
	}
}

// TestRace lets payments and cancellations cross: each checkout has one end, and the shop's books agree.
func TestRace(t *testing.T) {
	shop, err := demoshop.New(1000)
	require.NoError(t, err)
	at := open(t, serve(t, shop, demoshop.ServeOptions{}), counter.Options{Decide: func(b shopper.Bill) shopper.Decision {
		return shopper.Decision{Pay: paying("success_token")(b).Pay, Cancel: true}
	}})
	count := make(map[string]int)
	for range 30 {
		ending, err := at.Buy(t.Context(), wish("oil-lamp"))
		require.NoError(t, err)
		count[ending.Action]++
	}
	require.Equal(t, 30, count["Completed"]+count["Cancelled"], "%v", count)
	require.Equal(t, count["Completed"], shop.Orders())
	require.EqualValues(t, 1040-count["Completed"], shop.Stock("oil-lamp"))
}

// TestBillThatDoesNotAddUp is never paid, and neither is one that cannot be read.
func TestBillThatDoesNotAddUp(t *testing.T) {
	for _, total := range []string{"99", `"100"`, "100.5", "null"} {
		t.Run(total, func(t *testing.T) { refuseToPay(t, total) })
	}
}

func refuseToPay(t *testing.T, total string) {
	const checkout = `{"id": "c1", "status": %q, "currency": "EUR", "line_items": [{"id": "l", "item": {"id": "x"}, "quantity": 1}],
	  "totals": [{"type": "subtotal", "amount": 100}, {"type": "total", "amount": %s}], "fulfillment": null}`
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		status := "ready_for_complete"
		if strings.HasSuffix(r.URL.Path, "/cancel") {
			status = "canceled"
		}
		if r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "/c1") {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprintf(w, checkout, status, total)
	}))
	defer server.Close()
	at := open(t, &ucp.Business{URL: server.URL, Endpoint: server.URL}, counter.Options{Decide: paying("success_token")})
	ending, err := at.Buy(t.Context(), shopper.Wish{LineItems: wish("x").LineItems})
	require.NoError(t, err)
	require.Equal(t, "Cancelled", ending.Action)
	require.False(t, ending.Bill.AddsUp())
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"POST /checkout-sessions", "POST /checkout-sessions/c1/cancel"}, asked)
}

// TestNobodyCanTell: a shop that breaks off in the middle of the payment leaves the outcome unknown.
func TestNobodyCanTell(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	at := open(t, &ucp.Business{URL: server.URL, Endpoint: server.URL}, counter.Options{Decide: paying("success_token"), Patience: 50 * time.Millisecond})
	_, err := at.Buy(t.Context(), wish("x"))
	var unknown *counter.UnknownError
	require.ErrorAs(t, err, &unknown)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open(t, &ucp.Business{URL: server.URL, Endpoint: server.URL}, counter.Options{Decide: paying("success_token")}).Buy(ctx, wish("x"))
	require.ErrorIs(t, err, context.Canceled)
}
