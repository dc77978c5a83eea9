package ucp

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// The capabilities that the bridge speaks.
const (
	checkoutCapability    = "dev.ucp.shopping.checkout"
	fulfillmentCapability = "dev.ucp.shopping.fulfillment"
	discountCapability    = "dev.ucp.shopping.discount"
	orderCapability       = "dev.ucp.shopping.order"
)

// capability names a capability; all but the name and version are for discovery only.
type capability struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Spec    string `json:"spec,omitempty"`
	Schema  string `json:"schema,omitempty"`
	Extends string `json:"extends,omitempty"`
}

type metadata struct {
	Version      string       `json:"version"`
	Capabilities []capability `json:"capabilities"`
}

func spoken(names ...string) metadata {
	m := metadata{Version: Release, Capabilities: []capability{}}
	for _, name := range names {
		m.Capabilities = append(m.Capabilities, capability{Name: name, Version: Release})
	}
	return m
}

// checkoutView is a checkout as the wire shows it. It has no place for a payment.
type checkoutView struct {
	UCP         metadata         `json:"ucp"`
	ID          string           `json:"id"`
	LineItems   []PresentedItem  `json:"line_items"`
	Buyer       *enactment.Value `json:"buyer,omitempty"`
	Status      string           `json:"status"`
	Currency    enactment.Value  `json:"currency"`
	Totals      enactment.Value  `json:"totals"`
	Messages    []Message        `json:"messages,omitempty"`
	Links       []Link           `json:"links"`
	Payment     paymentView      `json:"payment"`
	Order       *enactment.Value `json:"order,omitempty"`
	Fulfillment any              `json:"fulfillment,omitempty"`
	Discounts   any              `json:"discounts,omitempty"`
}

type paymentView struct {
	Handlers    []PaymentHandler `json:"handlers"`
	Instruments []struct{}       `json:"instruments"`
}

// shown is what a chain shows at one moment.
type shown struct {
	member   *member
	facts    facts
	contents Contents
	codes    enactment.Value
	currency string
}

// now reads what a chain shows; the problem is 404 while the Business has not created anything.
func (in *Inbound) now(s *session) (shown, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	m := s.inForce()
	f := m.facts()
	if f.create == nil || f.created == nil {
		return shown{}, notFound("Checkout session", s.id)
	}
	return shown{member: m, facts: f, contents: contentsOf(f), codes: s.codes, currency: s.currency}, nil
}

func contentsOf(f facts) Contents {
	value := func(name string) enactment.Value {
		if v, ok := f.create.Value(name); ok {
			return v
		}
		return null
	}
	return Contents{
		LineItems: value("line_items"), Buyer: value("buyer"), Fulfillment: value("fulfillment"), Discounts: value("discounts"),
	}
}

// view shows a chain as the wire has it.
func (in *Inbound) view(ctx context.Context, s *session) (*checkoutView, error) {
	now, err := in.now(s)
	if err != nil {
		return nil, err
	}
	p, err := in.present(ctx, now.contents)
	switch {
	case err == nil:
	case now.facts.completed == nil:
		return nil, err
	default: // That there is an order has to be said, also by a shop that cannot show its goods.
		in.log.ErrorContext(ctx, "ucp: a completed checkout is shown without its goods", "error", err)
		p = Presentation{LineItems: []PresentedItem{}, Messages: []Message{{Type: "warning", Code: "incomplete_view", Content: "The goods cannot be shown."}}}
	}
	v := &checkoutView{
		ID: s.id, LineItems: p.LineItems, Status: now.facts.status(missing(p.Messages) == nil),
		Messages: slices.Clone(p.Messages), Links: in.options.Links,
		Payment:     paymentView{Handlers: in.options.PaymentHandlers, Instruments: []struct{}{}},
		Fulfillment: p.Fulfillment, Discounts: p.Discounts,
	}
	v.Currency, _ = now.facts.created.Value("currency")
	// UCP leaves it to the business what it sells in; but a platform that asked for something else must not overlook it.
	var currency string
	if now.currency != "" && v.Currency.Decode(&currency) == nil && currency != now.currency {
		v.Messages = append(v.Messages, Message{
			Type: "warning", Code: "currency_unavailable", Path: "$.currency",
			Content: "The currency is " + currency + ", not the one that was asked for.",
		})
	}
	v.Totals, _ = now.facts.created.Value("totals")
	if v.Links == nil {
		v.Links = []Link{}
	}
	if v.Payment.Handlers == nil {
		v.Payment.Handlers = []PaymentHandler{}
	}
	capabilities := []string{checkoutCapability}
	if p.Fulfillment != nil {
		capabilities = append(capabilities, fulfillmentCapability)
	}
	if p.Discounts != nil {
		capabilities = append(capabilities, discountCapability)
	}
	v.UCP = spoken(capabilities...)
	if !now.contents.Buyer.Equal(null) {
		v.Buyer = &now.contents.Buyer
	}
	switch f := now.facts; v.Status {
	case "completed":
		if order, ok := f.completed.Value("order"); ok {
			v.Order = &order
		}
		v.Messages = slices.DeleteFunc(v.Messages, func(m Message) bool { return m.Type == "error" })
	case "canceled":
		v.Messages = slices.DeleteFunc(v.Messages, func(m Message) bool { return m.Type == "error" })
	default:
		if f.declined != nil {
			v.Messages = append(v.Messages, declined(f).message())
		}
		if f.cancel != nil && !f.over() {
			v.Messages = append(v.Messages, Message{Type: "info", Content: "The checkout is being canceled or replaced."})
		}
	}
	if v.Discounts == nil && !now.codes.IsZero() && !now.codes.Equal(null) {
		v.Messages = append(v.Messages, Message{
			Type: "warning", Code: "discount_code_invalid", Path: "$.discounts.codes", Content: "Discount codes are not taken here.",
		})
	}
	return v, nil
}

// missing gives the first message that keeps a checkout from being paid.
func missing(messages []Message) *Message {
	i := slices.IndexFunc(messages, func(m Message) bool { return m.Type == "error" })
	if i < 0 {
		return nil
	}
	return &messages[i]
}

// discover answers with the Business's profile.
func (in *Inbound) discover(_ context.Context, c call) (int, any, error) {
	const site = "https://ucp.dev/"
	type rest struct {
		Schema   string `json:"schema"`
		Endpoint string `json:"endpoint"`
	}
	type service struct {
		Version string `json:"version"`
		Spec    string `json:"spec"`
		REST    rest   `json:"rest"`
	}
	var profile struct {
		UCP struct {
			Version      string             `json:"version"`
			Services     map[string]service `json:"services"`
			Capabilities []capability       `json:"capabilities"`
		} `json:"ucp"`
		Payment struct {
			Handlers []PaymentHandler `json:"handlers"`
		} `json:"payment"`
	}
	profile.UCP.Version = Release
	profile.UCP.Services = map[string]service{shoppingService: {
		Version: Release, Spec: site + "specification/reference",
		REST: rest{Schema: site + "services/shopping/rest.openapi.json", Endpoint: c.base},
	}}
	offered := []string{checkoutCapability, orderCapability, fulfillmentCapability}
	if in.carriesDiscounts {
		offered = append(offered, discountCapability)
	}
	for _, name := range offered {
		short := name[strings.LastIndexByte(name, '.')+1:]
		offer := capability{
			Name: name, Version: Release, Spec: site + "specification/" + short, Schema: site + "schemas/shopping/" + short + ".json",
		}
		if name == fulfillmentCapability || name == discountCapability {
			offer.Extends = checkoutCapability
		}
		profile.UCP.Capabilities = append(profile.UCP.Capabilities, offer)
	}
	profile.Payment.Handlers = in.options.PaymentHandlers
	if profile.Payment.Handlers == nil {
		profile.Payment.Handlers = []PaymentHandler{}
	}
	return http.StatusOK, profile, nil
}
