package ucp

import (
	"encoding/json"
	"fmt"
)

// Checkout is a checkout as a remote shop shows it: the members that matter here, of UCP 2026-01-11, checkout.json and
// fulfillment.json. It is read tolerantly: members may be null or missing, and others may be there.
type Checkout struct {
	ID          string       `json:"id"`
	Status      string       `json:"status"`
	Currency    string       `json:"currency"`
	LineItems   []LineItem   `json:"line_items"`
	Totals      []Total      `json:"totals"`
	Messages    []Message    `json:"messages"`
	ContinueURL string       `json:"continue_url"`
	Fulfillment *Fulfillment `json:"fulfillment"`
	// Order is nil until the checkout is completed.
	Order *OrderReference `json:"order"`
}

// LineItem is a line of a checkout.
type LineItem struct {
	ID   string `json:"id"`
	Item struct {
		ID    string      `json:"id"`
		Title string      `json:"title"`
		Price json.Number `json:"price"`
	} `json:"item"`
	Quantity json.Number `json:"quantity"`
}

// OrderReference says which order a completed checkout has become.
type OrderReference struct {
	ID           string `json:"id"`
	PermalinkURL string `json:"permalink_url,omitempty"`
}

// UnmarshalJSON reads both forms of the order: order{id, permalink_url} of the spec, and order_id with
// order_permalink_url beside the other members.
func (c *Checkout) UnmarshalJSON(text []byte) error {
	type plain Checkout
	wire := struct {
		*plain
		OrderID           string `json:"order_id"`
		OrderPermalinkURL string `json:"order_permalink_url"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(text, &wire); err != nil {
		return fmt.Errorf("ucp: not a checkout: %w", err)
	}
	if c.Order == nil && wire.OrderID != "" {
		c.Order = &OrderReference{ID: wire.OrderID, PermalinkURL: wire.OrderPermalinkURL}
	}
	return nil
}

// Order is an order as a remote shop shows it (UCP 2026-01-11, order.json), read as tolerantly.
type Order struct {
	ID           string  `json:"id"`
	CheckoutID   string  `json:"checkout_id"`
	PermalinkURL string  `json:"permalink_url"`
	Totals       []Total `json:"totals"`
}

// Fulfillment is how the goods of a checkout get to the buyer.
type Fulfillment struct {
	Methods []Method `json:"methods"`
}

// Method is one way of delivery, for some of the lines.
type Method struct {
	ID                    string        `json:"id"`
	Type                  string        `json:"type"`
	LineItemIDs           []string      `json:"line_item_ids"`
	Destinations          []Destination `json:"destinations"`
	SelectedDestinationID string        `json:"selected_destination_id"`
	Groups                []Group       `json:"groups"`
}

// Group is a package, with the options for sending it.
type Group struct {
	ID               string           `json:"id"`
	Options          []ShippingOption `json:"options"`
	SelectedOptionID string           `json:"selected_option_id"`
}

// ShippingOption is one way to send a package.
type ShippingOption struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Amount is the price in minor units of the checkout's currency; nil if the shop does not say.
	Amount *int64 `json:"amount,omitempty"`
}

// UnmarshalJSON reads both forms of the price: totals of the spec, and a flat total.
func (o *ShippingOption) UnmarshalJSON(text []byte) error {
	var wire struct {
		ID     string  `json:"id"`
		Title  string  `json:"title"`
		Totals []Total `json:"totals"`
		Total  *int64  `json:"total"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*o = ShippingOption{ID: wire.ID, Title: wire.Title, Amount: wire.Total}
	for _, total := range wire.Totals {
		if total.Type == "total" {
			o.Amount = &total.Amount
		}
	}
	return nil
}

// Destination is an address that a shop offers for delivery.
type Destination struct {
	ID string `json:"id"`
	Address
}

// UnmarshalJSON reads the address where shops have it: in the destination or in a member address, with the names of the
// spec or with city and region.
func (d *Destination) UnmarshalJSON(text []byte) error {
	var wire struct {
		ID      string   `json:"id"`
		Address *Address `json:"address"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*d = Destination{ID: wire.ID}
	if wire.Address != nil {
		d.Address = *wire.Address
		return nil
	}
	return json.Unmarshal(text, &d.Address)
}

// Address is a postal address (UCP 2026-01-11, postal_address.json).
type Address struct {
	ExtendedAddress string `json:"extended_address,omitempty"`
	StreetAddress   string `json:"street_address,omitempty"`
	Locality        string `json:"address_locality,omitempty"`
	Region          string `json:"address_region,omitempty"`
	Country         string `json:"address_country,omitempty"`
	PostalCode      string `json:"postal_code,omitempty"`
	FirstName       string `json:"first_name,omitempty"`
	LastName        string `json:"last_name,omitempty"`
	FullName        string `json:"full_name,omitempty"`
	PhoneNumber     string `json:"phone_number,omitempty"`
}

// UnmarshalJSON reads city and region where the names of the spec are missing or null.
func (a *Address) UnmarshalJSON(text []byte) error {
	type plain Address
	wire := struct {
		*plain
		City      string `json:"city"`
		RegionToo string `json:"region"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	if a.Locality == "" {
		a.Locality = wire.City
	}
	if a.Region == "" {
		a.Region = wire.RegionToo
	}
	return nil
}
