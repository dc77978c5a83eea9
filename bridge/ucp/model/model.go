package model

// Amounts have a sign, as they have in UCP 2026-04-08: a discount is negative.

// LineItem is one line of a checkout as the business shows it. Prices and amounts are in minor units.
type LineItem struct {
	ID       string  `json:"id"`
	Item     Item    `json:"item"`
	Quantity int64   `json:"quantity"`
	Totals   []Total `json:"totals"`
	ParentID string  `json:"parent_id,omitempty"`
}

// Item is what a line is about. Price is for one piece.
type Item struct {
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
	// Lines break the amount down; they add up to it (since 2026-04-08).
	Lines []TotalLine `json:"lines,omitempty"`
}

// TotalLine is a part of a line of a bill.
type TotalLine struct {
	DisplayText string `json:"display_text"`
	Amount      int64  `json:"amount"`
}

// Message tells a platform what is wrong (type error), must be shown (warning), or is good to know (info).
type Message struct {
	Type     string `json:"type"`
	Code     string `json:"code,omitempty"`
	Path     string `json:"path,omitempty"`
	Content  string `json:"content"`
	Severity string `json:"severity,omitempty"`
	// Presentation is disclosure where a warning may not be hidden from the buyer (since 2026-04-08).
	Presentation string `json:"presentation,omitempty"`
	// ImageURL and URL are of a picture and a page that belong to a warning (since 2026-04-08).
	ImageURL string `json:"image_url,omitempty"`
	URL      string `json:"url,omitempty"`
}

// Link is a page to be shown with every checkout; Type is a well-known value such as privacy_policy.
type Link struct {
	Type  string `json:"type"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// Destination is where goods go: a postal address with an id.
type Destination struct {
	ID              string `json:"id,omitempty"`
	FullName        string `json:"full_name,omitempty"`
	FirstName       string `json:"first_name,omitempty"`
	LastName        string `json:"last_name,omitempty"`
	StreetAddress   string `json:"street_address,omitempty"`
	ExtendedAddress string `json:"extended_address,omitempty"`
	AddressLocality string `json:"address_locality,omitempty"`
	AddressRegion   string `json:"address_region,omitempty"`
	PostalCode      string `json:"postal_code,omitempty"`
	AddressCountry  string `json:"address_country,omitempty"`
	PhoneNumber     string `json:"phone_number,omitempty"`
}

// Fulfillment is how the goods get to the buyer.
type Fulfillment struct {
	Methods []Method `json:"methods"`
}

// Method is one way of fulfillment: what goes by it, where it may go, and in which groups.
type Method struct {
	ID                  string        `json:"id"`
	Type                string        `json:"type"`
	LineItemIDs         []string      `json:"line_item_ids"`
	Destinations        []Destination `json:"destinations,omitempty"`
	SelectedDestination string        `json:"selected_destination_id,omitempty"`
	Groups              []Group       `json:"groups,omitempty"`
}

// Group is what is sent together, and the options for that.
type Group struct {
	ID             string   `json:"id"`
	LineItemIDs    []string `json:"line_item_ids"`
	Options        []Option `json:"options"`
	SelectedOption string   `json:"selected_option_id,omitempty"`
}

// Option is one way to have a group sent, and what it costs.
type Option struct {
	ID          string  `json:"id"`
	Title       string  `json:"title"`
	Description string  `json:"description,omitempty"`
	Totals      []Total `json:"totals"`
}

// Discounts are the codes that were asked for and what was applied.
type Discounts struct {
	Codes   []string  `json:"codes"`
	Applied []Applied `json:"applied"`
}

// Applied is a discount that was applied. Amount is what it takes off, as a positive number.
type Applied struct {
	Code   string `json:"code,omitempty"`
	Title  string `json:"title"`
	Amount int64  `json:"amount"`
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

// Order is what a completed checkout has become.
type Order struct {
	ID           string           `json:"id"`
	CheckoutID   string           `json:"checkout_id"`
	PermalinkURL string           `json:"permalink_url"`
	Currency     string           `json:"currency"`
	LineItems    []OrderLine      `json:"line_items"`
	Fulfillment  OrderFulfillment `json:"fulfillment"`
	Adjustments  []Adjustment     `json:"adjustments,omitempty"`
	Totals       []Total          `json:"totals"`
}

// OrderLine is one line of an order. Status is processing, partial or fulfilled.
type OrderLine struct {
	ID       string        `json:"id"`
	Item     Item          `json:"item"`
	Quantity OrderQuantity `json:"quantity"`
	Totals   []Total       `json:"totals"`
	Status   string        `json:"status"`
}

// OrderQuantity is how many pieces were ordered and how many have been delivered.
type OrderQuantity struct {
	Total     int64 `json:"total"`
	Fulfilled int64 `json:"fulfilled"`
}

// OrderFulfillment is what is to be delivered and what has become of that.
type OrderFulfillment struct {
	Expectations []Expectation      `json:"expectations"`
	Events       []FulfillmentEvent `json:"events"`
}

// Expectation says what goes where, and how.
type Expectation struct {
	ID          string         `json:"id"`
	LineItems   []LineQuantity `json:"line_items"`
	MethodType  string         `json:"method_type"`
	Destination Destination    `json:"destination"`
	Description string         `json:"description,omitempty"`
}

// LineQuantity is a number of pieces of a line.
type LineQuantity struct {
	ID       string `json:"id"`
	Quantity int64  `json:"quantity"`
}

// FulfillmentEvent is one thing that happened to goods on their way. OccurredAt is RFC 3339.
type FulfillmentEvent struct {
	ID             string         `json:"id"`
	OccurredAt     string         `json:"occurred_at"`
	Type           string         `json:"type"`
	LineItems      []LineQuantity `json:"line_items"`
	TrackingNumber string         `json:"tracking_number,omitempty"`
	TrackingURL    string         `json:"tracking_url,omitempty"`
	Carrier        string         `json:"carrier,omitempty"`
	Description    string         `json:"description,omitempty"`
}

// Adjustment is a change of what an order costs after it was placed, such as a refund. Status is pending, completed or
// failed.
type Adjustment struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	OccurredAt  string         `json:"occurred_at"`
	Status      string         `json:"status"`
	LineItems   []LineQuantity `json:"line_items,omitempty"`
	Amount      *int64         `json:"amount,omitempty"`
	Description string         `json:"description,omitempty"`
}
