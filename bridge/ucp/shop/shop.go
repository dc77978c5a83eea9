// Package shop is a complete Business for UCP, to be copied and changed by whoever opens a shop: what it decides is in
// the handlers of [Shop.Agent], and what it knows comes by the interfaces that [Options] lists.
//
// What may happen when, what excludes what and who was first is said by the protocol ucp-incremental and kept by the
// engine; no handler in here checks it. The shop knows nothing of HTTP and of no release of UCP: it speaks that of
// package model, and the bridge in front of it translates. It must bear that a handler is called twice, by two processes
// even; so everything that reaches beyond the enactment is asked for under a name that stays the same.
//
// [Open] makes a shop of the CSV files that the public samples use. Start reading at [Shop.Agent].
package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// Catalogue says what there is to buy.
type Catalogue interface {
	// Product gives a product by its id; false if the shop does not have it. Its price is for one piece, in minor units.
	Product(ctx context.Context, id string) (model.Item, bool, error)
}

// Stock holds the goods. What is taken is taken under the name of a hold, once, and by one of its takers: each gets a
// token, the same as long as the hold stands.
type Stock interface {
	// Left tells how many pieces of a product can be had. It may be a little behind: taking them is what counts.
	Left(ctx context.Context, product string) (int64, error)
	// Take takes pieces of products, all or none. The error is a [*Shortage] if there are not enough.
	Take(ctx context.Context, hold string, pieces map[string]int64) (token string, err error)
	// GiveBack undoes a Take, if the hold still has the token; else it does nothing.
	GiveBack(ctx context.Context, hold, token string, products []string) error
	// Sold tells that what was taken is gone for good, so that nothing has to be remembered of the hold.
	Sold(ctx context.Context, hold, token string, products []string) error
}

// Shortage says that a product is not there in the number that was wanted.
type Shortage struct {
	Product string
	Left    int64
}

// Error says what lacks.
func (s *Shortage) Error() string { return "shop: not enough of " + s.Product }

// Shipping says how goods can be sent, and what that costs.
type Shipping interface {
	// Options lists the ways to a destination, the usual one first. Subtotal is what the goods cost.
	Options(ctx context.Context, destination model.Destination, lines []model.LineItem, subtotal int64) ([]ShippingOption, error)
}

// ShippingOption is one way to send goods. Price is in minor units.
type ShippingOption struct {
	ID, Title string
	Price     int64
}

// Discounts says what codes take off.
type Discounts interface {
	// Apply applies codes in the order in which they were given to an amount, and gives what they take off, never more
	// than the amount. Codes that are not known are left out.
	Apply(ctx context.Context, codes []string, amount int64) ([]model.Applied, error)
}

// Payments takes money.
type Payments interface {
	// Handlers lists the ways to pay, as discovery offers them.
	Handlers() []model.PaymentHandler
	// Take takes money once for each name of a payment: asked again it answers the same. The error is a [*model.No] if the
	// payment is declined.
	Take(ctx context.Context, payment Payment) error
	// GiveBack undoes what was taken under a name; if nothing was, it does nothing.
	GiveBack(ctx context.Context, name string) error
}

// Payment is what is to be paid, and with what.
type Payment struct {
	// Name is the payment's own, the same whenever it is asked for again.
	Name string
	// Checkout is the id of the checkout that is paid for.
	Checkout string
	// Amount is in minor units of the currency, an ISO 4217 code.
	Amount   int64
	Currency string
	// Instrument is the payment instrument with its credential, as the platform sent it. Never log it.
	Instrument enactment.Value
}

// Customers knows where customers live.
type Customers interface {
	// Addresses lists what is known of the customer with an email.
	Addresses(ctx context.Context, email string) ([]model.Destination, error)
	// Remember keeps an address and gives it with its id: that of the same address if it is known, else the one that it
	// has, else a new one. An empty email stands for a customer who is not known; then nothing is kept.
	Remember(ctx context.Context, email string, address model.Destination) (model.Destination, error)
}

// Options says what a shop is made of. All interfaces are needed.
type Options struct {
	// Currency is the ISO 4217 code of all prices.
	Currency  string
	Catalogue Catalogue
	Stock     Stock
	Shipping  Shipping
	Discounts Discounts
	Payments  Payments
	Customers Customers
	// Links are legal and help pages, shown in every checkout.
	Links []model.Link
	// OrderURL is where a customer sees an order, an absolute URL; the order's id is added to it.
	OrderURL string
	// ContinueURL is where a customer goes on with a checkout by hand, an absolute URL of https (UCP 2026-04-08, checkout,
	// continue URL); the checkout's id is added to it. Empty: there is no such place, so no checkout may need one.
	ContinueURL string
	// Life is how long a checkout can be paid after it was created; 6 hours, UCP's own default, if it is 0.
	Life time.Duration
	// Store keeps how far checkouts were looked through for those of which the time is over; see [Shop.Expire]. Processes of
	// one shop share it. Nil: it is kept in memory, and what is there is looked through anew when the shop opens.
	Store keyvalue.Store
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Shop sells. It is safe for concurrent use.
type Shop struct {
	Options
	name string // of this process, among those of the shop
	log  *slog.Logger
}

// New makes a shop. The error says what lacks.
func New(options Options) (*Shop, error) {
	if at, err := url.Parse(options.ContinueURL); options.ContinueURL != "" && (err != nil || at.Scheme != "https" || at.Host == "") {
		return nil, fmt.Errorf("shop: the URL to continue at, %q, is not absolute and https", options.ContinueURL)
	}
	if options.Currency == "" {
		return nil, errors.New("shop: no currency")
	}
	if at, err := url.Parse(options.OrderURL); err != nil || !at.IsAbs() || at.Host == "" {
		return nil, fmt.Errorf("shop: the URL of orders, %q, is not absolute: UCP wants one where a customer sees an order", options.OrderURL)
	}
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"Catalogue", options.Catalogue == nil},
		{"Stock", options.Stock == nil},
		{"Shipping", options.Shipping == nil},
		{"Discounts", options.Discounts == nil},
		{"Payments", options.Payments == nil},
		{"Customers", options.Customers == nil},
	} {
		if part.missing {
			return nil, fmt.Errorf("shop: Options.%s is missing", part.name)
		}
	}
	for _, link := range options.Links {
		if at, err := url.Parse(link.URL); err != nil || !at.IsAbs() || link.Type == "" {
			return nil, fmt.Errorf("shop: the link %s=%q has no type, or no absolute URL", link.Type, link.URL)
		}
	}
	if options.Links == nil {
		options.Links = []model.Link{}
	}
	if options.Life == 0 {
		options.Life = 6 * time.Hour
	}
	if options.Store == nil {
		options.Store = keyvalue.NewMemory(0)
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	return &Shop{Options: options, name: uuid.NewString(), log: options.Logger}, nil
}
