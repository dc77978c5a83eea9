package ucp

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/strabo-engine/strabo/enactment"
)

// Storefront presents checkouts on behalf of the Business. It is asked for every response and must give the same for
// the same contents; it is called from many goroutines. It is asked about contents that the Business has accepted, and
// a change is not put in force before it could be presented.
type Storefront interface {
	// Present shows contents as the platform is to see them. An error or a panic is answered with 500 and logged.
	Present(ctx context.Context, contents Contents) (Presentation, error)
}

// present asks the Storefront. That it panics is a failure like any other.
func (in *Inbound) present(ctx context.Context, contents Contents) (p Presentation, err error) {
	defer func() {
		if r := recover(); r != nil {
			// Not what it panicked with, for that may quote what is secret.
			err = fmt.Errorf("ucp: inbound: the storefront panicked with a %T\n%s", r, debug.Stack())
		}
	}()
	if p, err = in.options.Storefront.Present(ctx, contents); err != nil {
		return Presentation{}, fmt.Errorf("ucp: inbound: present a checkout: %w", err)
	}
	return p, nil
}

// Contents is what a checkout is about, as bound by Create. Values that were not given are null.
type Contents struct {
	// LineItems is an array of {id, item: {id}, quantity}; the bridge gives each line an id that it keeps.
	LineItems enactment.Value
	// Buyer is the buyer's object.
	Buyer enactment.Value
	// Fulfillment is {methods: [...]} as the platform has selected so far.
	Fulfillment enactment.Value
	// Discounts is {codes: [...]}; null where the protocol does not carry it.
	Discounts enactment.Value
}

// Presentation is what a platform sees of contents beyond what the protocol binds. Its members have the form of the
// wire.
type Presentation struct {
	// LineItems are the lines with titles, prices and totals.
	LineItems []PresentedItem
	// Fulfillment is the fulfillment object with destinations, groups and options, whatever encodes as such; nil:
	// there is none.
	Fulfillment any
	// Discounts is the discounts object; nil: there is none.
	Discounts any
	// Messages are shown with the checkout. One of type error says what is missing before the checkout can be paid:
	// then its status is incomplete, and a complete is answered with 400.
	Messages []Message
}

// PresentedItem is one line of a checkout. Prices and amounts are in minor units of the checkout's currency.
type PresentedItem struct {
	ID       string        `json:"id"`
	Item     PresentedGood `json:"item"`
	Quantity int64         `json:"quantity"`
	Totals   []Total       `json:"totals"`
}

// PresentedGood is what a line is about.
type PresentedGood struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Price    int64  `json:"price"`
	ImageURL string `json:"image_url,omitempty"`
}

// Total is one line of a bill. Amount is in minor units.
type Total struct {
	Type        string `json:"type"`
	DisplayText string `json:"display_text,omitempty"`
	Amount      int64  `json:"amount"`
}

// Message tells a platform what is wrong (type error), must be shown (warning), or is good to know (info).
type Message struct {
	Type     string `json:"type"`
	Code     string `json:"code,omitempty"`
	Path     string `json:"path,omitempty"`
	Content  string `json:"content"`
	Severity string `json:"severity,omitempty"`
}

// Link is a page to be shown with every checkout; Type is a well-known value such as privacy_policy.
type Link struct {
	Type  string `json:"type"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// PaymentHandler is a way to pay, as discovery offers it.
type PaymentHandler struct {
	ID                string         `json:"id"`
	Name              string         `json:"name"`
	Version           string         `json:"version"`
	Spec              string         `json:"spec"`
	ConfigSchema      string         `json:"config_schema"`
	InstrumentSchemas []string       `json:"instrument_schemas"`
	Config            map[string]any `json:"config"`
}
