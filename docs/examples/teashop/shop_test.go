package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/docs/examples/shopper"
)

// openShop opens the shop on a free port until the test ends.
func openShop(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return "http://" + listener.Addr().String()
}

// platformProfiles serves the profiles of the shopper, one for each release.
func platformProfiles(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	for _, release := range wire.Releases() {
		profile, err := ucp.PlatformProfile(release, "")
		require.NoError(t, err)
		handler, err := ucp.ProfileHandler(profile)
		require.NoError(t, err)
		mux.Handle("/"+string(release), handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/{release}"
}

var athens = model.Destination{
	StreetAddress: "9 New Rd", AddressLocality: "Athens", PostalCode: "10555", AddressCountry: "GR",
}

func purchase(id string) shopper.Purchase {
	return shopper.Purchase{
		ID: id, Item: "assam", Quantity: 2, Limit: 2000, Currency: "EUR", To: athens, User: "ada",
		Payment: map[string]any{
			"handler_id": "mock_payment_handler", "token": "success_token", "brand": "Visa", "last_digits": "4242",
		},
	}
}

var agreed = policy.StandingGrant{By: "ada", Reason: "a test"}

// The shop is bought from in every release, over every transport that the release has.
func TestBoughtFromInEveryRelease(t *testing.T) {
	url, profile := openShop(t), platformProfiles(t)
	for _, release := range []wire.Release{wire.January11, wire.January23, wire.April2026} {
		for _, transport := range []negotiation.Transport{negotiation.REST, negotiation.MCP} {
			if release == wire.January11 && transport == negotiation.MCP {
				continue
			}
			name := string(release) + "-" + string(transport)
			t.Run(name, func(t *testing.T) {
				business, err := ucp.Discover(t.Context(), nil, url, release)
				require.NoError(t, err)
				if transport == negotiation.MCP {
					business.Transport = transport
					business.Endpoint = business.Profile.Endpoint("dev.ucp.shopping", transport)
				}
				var calls []audit.Record
				sink := audit.SinkFunc(func(_ context.Context, r audit.Record) error {
					calls = append(calls, r)
					return nil
				})
				ending, err := shopper.Buy(t.Context(), business, profile, purchase(name), agreed, sink)
				require.NoError(t, err)
				require.Equal(t, "Completed", ending.Action, ending.Said)
				require.Contains(t, ending.Said.String(), `"permalink_url":"`+url+`/orders/`)
				require.NotEmpty(t, calls)
			})
		}
	}
}

// deny refuses to pay, and looks at what it is asked.
type deny struct{ t *testing.T }

func (d deny) Ask(_ context.Context, r approval.Request) (approval.Decision, error) {
	require.Contains(d.t, string(r.Values), `"amount":1330,"type":"total"`, "who agrees is told the sum")
	return approval.Decision{State: approval.Denied, By: "ada", Reason: "no more tea"}, nil
}

func (deny) Wait(context.Context, string) (approval.Decision, error) {
	return approval.Decision{}, errors.New("there is nothing to wait for")
}

// What the shop, the buyer's limit and whoever has to agree say no to is not bought, and why is told.
func TestNotBought(t *testing.T) {
	url, profile := openShop(t), platformProfiles(t)
	business, err := ucp.Discover(t.Context(), nil, url)
	require.NoError(t, err)
	for _, test := range []struct {
		name   string
		change func(*shopper.Purchase)
		asks   policy.Approver
		action string
		says   string
	}{
		{"too dear", func(p *shopper.Purchase) { p.Limit = 100 }, agreed, "Cancelled", ""},
		{"no such tea", func(p *shopper.Purchase) { p.Item = "coffee" }, agreed, "Refused", "coffee not found"},
		{"too much", func(p *shopper.Purchase) { p.Item, p.Quantity = "sencha", 4 }, agreed, "Refused", "out_of_stock"},
		{"too far", func(p *shopper.Purchase) { p.To.AddressCountry = "US" }, agreed, "Refused", "no way to deliver"},
		{"no money", func(p *shopper.Purchase) { p.Payment["token"] = "fail_token" }, agreed, "Declined", "Insufficient Funds"},
		{"nobody agrees", func(*shopper.Purchase) {}, deny{t}, "Declined", "no more tea"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := purchase(strings.ReplaceAll(test.name, " ", "-"))
			test.change(&p)
			ending, err := shopper.Buy(t.Context(), business, profile, p, test.asks, audit.SinkFunc(func(context.Context, audit.Record) error { return nil }))
			require.NoError(t, err)
			require.Equal(t, test.action, ending.Action, ending.Said)
			require.Contains(t, ending.Said.String(), test.says)
		})
	}
}
