package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// teas are what there is to buy: prices in cents, for one piece.
var teas = map[string]model.Item{
	"assam":  {ID: "assam", Title: "Assam, 100 g", Price: 490},
	"sencha": {ID: "sencha", Title: "Sencha, 100 g", Price: 790},
}

// catalogue implements shop.Catalogue.
type catalogue struct{}

func (catalogue) Product(_ context.Context, id string) (model.Item, bool, error) {
	tea, ok := teas[id]
	return tea, ok, nil
}

// shipping implements shop.Shipping: by post within Greece, free from 20 euros; nowhere else.
type shipping struct{}

func (shipping) Options(
	_ context.Context, to model.Destination, _ []model.LineItem, subtotal int64,
) ([]shop.ShippingOption, error) {
	if to.AddressCountry != "GR" {
		return nil, nil
	}
	post := shop.ShippingOption{ID: "post", Title: "By post", Price: 350}
	if subtotal >= 2000 {
		post.Price = 0
	}
	return []shop.ShippingOption{post}, nil
}

// discounts implements shop.Discounts: one code, a tenth off.
type discounts struct{}

func (discounts) Apply(_ context.Context, codes []string, amount int64) ([]model.Applied, error) {
	for _, code := range codes {
		if code == "TEATIME" {
			return []model.Applied{{Code: code, Title: "Tea time", Amount: amount / 10}}, nil
		}
	}
	return nil, nil
}

// teashop is a shop in the memory of this process.
type teashop struct {
	stop     context.CancelFunc
	local    *syncserver.Local
	follower *adapter.Follower
	business *shop.Shop
	agent    *adapter.Adapter
	inbound  *ucp.Inbound
	peers    *guard.Guard
	web      http.Handler
}

// open makes the shop that is reached at a URL. It does nothing before run; close it afterwards.
func open(ctx context.Context, url string) (t *teashop, err error) {
	t = new(teashop)
	ctx, t.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			t.close()
			t = nil
		}
	}()
	rules, err := protocols.Load("ucp-incremental",
		enactment.WithParties("Business", "teashop"), enactment.WithParties("Platform", "web"))
	if err != nil {
		return t, err
	}
	t.local = syncserver.NewLocal(rules)

	// What is decided: everything that Options asks for may be your own.
	store := keyvalue.NewMemory(0)
	till := shop.NewTill(store, shop.DefaultHandlers()) // takes no money
	t.business, err = shop.New(shop.Options{
		Currency: "EUR", Catalogue: catalogue{}, Shipping: shipping{}, Discounts: discounts{}, Payments: till,
		Stock:     shop.NewStock(store, map[string]int64{"assam": 100, "sencha": 3}),
		Customers: shop.NewCustomers(store, nil),
		Links:     []model.Link{{Type: "privacy_policy", URL: url + "/privacy"}},
		OrderURL:  url + "/orders/",
	})
	if err != nil {
		return t, err
	}
	if t.agent, err = t.business.Agent(rules, t.local); err != nil {
		return t, err
	}

	// What speaks to platforms. They name the URLs of their profiles, so a guard asks for these.
	if t.peers, err = guard.New(guard.Options{AllowLoopback: true}); err != nil { // AllowLoopback: for trying out
		return t, err
	}
	if t.follower, err = adapter.Follow(ctx, t.local, enactment.Identity{Role: "Platform", Party: "web"}); err != nil {
		return t, err
	}
	keys := keyvalue.NewMemory(ucp.KeysRemembered)
	if t.inbound, err = ucp.NewInbound(rules, t.follower, ucp.InboundOptions{
		Keys: keys, Store: store, PaymentHandlers: till.Handlers(), PublicURL: url, Client: t.peers.Client(),
	}); err != nil {
		return t, err
	}
	fetcher, err := profiles.New(profiles.Options{Source: t.peers})
	if err != nil {
		return t, err
	}
	t.web, err = ucp.Releases(t.inbound, ucp.ReleasesOptions{
		Platforms: fetcher, PublicURL: url, Store: keys, Name: "teashop", Version: "1.0.0",
	})
	return t, err
}

// run sells until ctx ends; the web must be served meanwhile.
func (t *teashop) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parts := []func() error{
		func() error { return t.agent.Run(ctx) },
		func() error { return t.inbound.Run(ctx) },
		func() error { return t.business.Run(ctx, t.agent, t.local) },
	}
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			defer stop()
			ended <- part()
		}()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		return fmt.Errorf("teashop: %w", err)
	}
	return nil
}

// close ends what open began.
func (t *teashop) close() {
	t.stop() // The follower receives until its context ends.
	if t.follower != nil {
		_ = t.follower.Close()
	}
	if t.local != nil {
		t.local.Close()
	}
	if t.peers != nil {
		t.peers.CloseIdleConnections()
	}
}
