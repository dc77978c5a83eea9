package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// This file is the model on the wire of UCP 2026-01-11: capabilities are a list, payment handlers stand in payment, and
// discounts among totals are positive.

// The capabilities that the bridge speaks.
const (
	checkoutCapability    = "dev.ucp.shopping.checkout"
	fulfillmentCapability = "dev.ucp.shopping.fulfillment"
	discountCapability    = "dev.ucp.shopping.discount"
	consentCapability     = "dev.ucp.shopping.buyer_consent"
	orderCapability       = "dev.ucp.shopping.order"
)

// mandate is what a checkout mandate looks like (UCP 2026-01-11, ap2_mandate.json).
var mandate = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+(~[A-Za-z0-9_-]+)*$`)

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
	m := metadata{Version: Release, Capabilities: make([]capability, 0, len(names))}
	for _, name := range names {
		m.Capabilities = append(m.Capabilities, capability{Name: name, Version: Release})
	}
	return m
}

// checkoutView is a checkout as the wire shows it. It has no place for a payment.
type checkoutView struct {
	UCP         metadata        `json:"ucp"`
	ID          enactment.Value `json:"id"`
	LineItems   json.RawMessage `json:"line_items"`
	Buyer       json.RawMessage `json:"buyer,omitempty"`
	Status      string          `json:"status"`
	Currency    enactment.Value `json:"currency"`
	Totals      []Total         `json:"totals"`
	Messages    json.RawMessage `json:"messages,omitempty"`
	Links       json.RawMessage `json:"links"`
	ExpiresAt   json.RawMessage `json:"expires_at,omitempty"`
	ContinueURL json.RawMessage `json:"continue_url,omitempty"`
	Payment     paymentView     `json:"payment"`
	Order       *orderLink      `json:"order,omitempty"`
	Fulfillment json.RawMessage `json:"fulfillment,omitempty"`
	Discounts   json.RawMessage `json:"discounts,omitempty"`
}

type paymentView struct {
	Handlers    []PaymentHandler `json:"handlers"`
	Instruments []struct{}       `json:"instruments"`
}

// orderLink is what a completed checkout says of its order.
type orderLink struct {
	ID           string `json:"id"`
	PermalinkURL string `json:"permalink_url"`
}

// stated is the body of a statement, in pieces that go to the wire as they are.
type stated struct {
	LineItems   json.RawMessage `json:"line_items"`
	Buyer       json.RawMessage `json:"buyer"`
	Links       json.RawMessage `json:"links"`
	Fulfillment json.RawMessage `json:"fulfillment"`
	Discounts   json.RawMessage `json:"discounts"`
	ExpiresAt   json.RawMessage `json:"expires_at"`
	ContinueURL json.RawMessage `json:"continue_url"`
}

// lowered gives totals as the wire has them.
func lowered(totals []Total) []Total {
	for i := range totals {
		if t := &totals[i]; t.Type == "discount" || t.Type == "items_discount" {
			t.Amount = -t.Amount
		}
	}
	return totals
}

// etagOf names what a checkout shows: a revision, and what has become of it.
func etagOf(s *model.Standing) string {
	return `"` + strconv.FormatInt(s.Revision, 10) + "-" + s.Status() + `"`
}

// view shows a checkout as the wire has it.
func (in *Inbound) view(s model.Standing) (*checkoutView, error) {
	v := &checkoutView{
		Status:  s.Status(),
		Payment: paymentView{Handlers: in.options.PaymentHandlers, Instruments: []struct{}{}},
	}
	if v.Payment.Handlers == nil {
		v.Payment.Handlers = []PaymentHandler{}
	}
	v.ID, _ = s.Statement.Value("id")
	v.Currency, _ = s.Statement.Value("currency")
	body, _ := s.Statement.Value("checkout")
	var said stated
	if err := body.Decode(&said); err != nil {
		return nil, fmt.Errorf("ucp: inbound: checkout of a statement: %w", err)
	}
	totals, _ := s.Statement.Value("totals")
	if err := totals.Decode(&v.Totals); err != nil {
		return nil, fmt.Errorf("ucp: inbound: totals of a statement: %w", err)
	}
	v.Totals = lowered(v.Totals)
	v.LineItems, v.Links, v.Fulfillment, v.Discounts = said.LineItems, said.Links, said.Fulfillment, said.Discounts
	v.ExpiresAt, v.ContinueURL = said.ExpiresAt, said.ContinueURL
	capabilities := []string{checkoutCapability}
	if len(said.Buyer) > 0 && string(said.Buyer) != "null" {
		v.Buyer = said.Buyer
		if strings.Contains(string(said.Buyer), `"consent"`) {
			capabilities = append(capabilities, consentCapability)
		}
	}
	if said.Fulfillment != nil {
		capabilities = append(capabilities, fulfillmentCapability)
	}
	if said.Discounts != nil {
		capabilities = append(capabilities, discountCapability)
	}
	v.UCP = spoken(capabilities...)
	if !s.Ended() {
		if messages, _ := s.Statement.Value("messages"); messages.String() != "[]" {
			v.Messages = json.RawMessage(messages.String())
		}
		return v, nil
	}
	return v, in.showOrder(&s, v)
}

// showOrder says what the checkout has become.
func (in *Inbound) showOrder(s *model.Standing, v *checkoutView) error {
	ended := s.Completed
	if ended == nil {
		ended = s.BuyerCompleted
	}
	if ended == nil {
		return nil
	}
	order, _ := ended.Value("order")
	v.Order = new(orderLink)
	if err := order.Decode(v.Order); err != nil {
		return fmt.Errorf("ucp: inbound: order of a checkout: %w", err)
	}
	return nil
}

// discover answers with the Business's profile.
func (in *Inbound) discover(_ context.Context, c call) (*result, error) {
	site := "https://ucp.dev/"
	handlers := in.options.PaymentHandlers
	if in.options.Documents != nil {
		site = c.base + documentsPath
		handlers = make([]PaymentHandler, len(handlers))
		for i, h := range in.options.PaymentHandlers {
			h.Spec, h.ConfigSchema = site+"handlers/"+h.ID, site+"handlers/"+h.ID+"/config.json"
			h.InstrumentSchemas = []string{site + "schemas/shopping/types/card_payment_instrument.json"}
			handlers[i] = h
		}
	}
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
	for _, name := range []string{
		checkoutCapability, orderCapability, fulfillmentCapability, discountCapability, consentCapability,
	} {
		short := name[strings.LastIndexByte(name, '.')+1:]
		offer := capability{
			Name: name, Version: Release, Spec: site + "specification/" + strings.ReplaceAll(short, "_", "-"),
			Schema: site + "schemas/shopping/" + short + ".json",
		}
		if name != checkoutCapability && name != orderCapability {
			offer.Extends = checkoutCapability
		}
		profile.UCP.Capabilities = append(profile.UCP.Capabilities, offer)
	}
	profile.Payment.Handlers = handlers
	if handlers == nil {
		profile.Payment.Handlers = []PaymentHandler{}
	}
	return &result{status: http.StatusOK, body: profile}, nil
}
