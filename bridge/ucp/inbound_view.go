package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/internal/compact"
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

// capability names a capability; all but the name and version are for discovery only.
type capability struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Spec    string `json:"spec,omitempty"`
	Schema  string `json:"schema,omitempty"`
	Extends string `json:"extends,omitempty"`
	Config  any    `json:"config,omitempty"`
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

// orderLink is what a completed checkout says of its order.
type orderLink struct {
	ID           string `json:"id"`
	PermalinkURL string `json:"permalink_url"`
}

// statedMembers are those of a statement's checkout that go to the wire as they are, since both have the same form.
var statedMembers = []string{"line_items", "buyer", "links", "fulfillment", "discounts", "expires_at", "continue_url"}

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

// view shows a checkout as the wire has it, with more messages than it has of itself. It has no place for a payment. The
// text is put together of values that are sound JSON already: this is what the bridge does most. Mandated tells that the
// extension of mandates is active.
func (in *Inbound) view(s model.Standing, mandated bool, more ...Message) (json.RawMessage, error) {
	value := func(name string) string {
		v, _ := s.Statement.Value(name)
		return v.String()
	}
	body := make(map[string]string, len(statedMembers))
	for name, text := range compact.Members(value("checkout")) {
		if text != "null" {
			body[name] = text
		}
	}
	totals := value("totals")
	if strings.Contains(totals, "discount") {
		all, err := model.ReadTotals(s.Statement)
		if err != nil {
			return nil, fmt.Errorf("ucp: inbound: totals of a statement: %w", err)
		}
		text, err := json.Marshal(lowered(all))
		if err != nil {
			return nil, fmt.Errorf("ucp: inbound: totals of a statement: %w", err)
		}
		totals = string(text)
	}
	messages := value("messages")
	if s.Ended() { // What lacked is of no matter any more.
		messages = "[]"
	}
	const rest = 1024 // what is not counted
	out := make([]byte, 0, len(value("checkout"))+len(totals)+len(messages)+len(in.handlers)+rest)
	out = append(out, `{"ucp":{"version":"`+Release+`","capabilities":[`...)
	out = appendCapability(out, checkoutCapability)
	for _, extension := range []struct {
		name  string
		there bool
	}{
		{consentCapability, strings.Contains(body["buyer"], `"consent"`)},
		{fulfillmentCapability, body["fulfillment"] != ""},
		{discountCapability, body["discounts"] != ""},
		{mandate.Extension, mandated},
	} {
		if extension.there {
			out = appendCapability(append(out, ','), extension.name)
		}
	}
	out = append(out, `]},"id":`...)
	out = append(out, value("id")...)
	out = append(out, `,"status":"`+s.Status()+`","currency":`...)
	out = append(out, value("currency")...)
	out = append(out, `,"totals":`...)
	out = append(out, totals...)
	for _, name := range statedMembers {
		// Nobody can go on with what has ended (UCP 2026-04-08, checkout, continue URL).
		if text := body[name]; text != "" && (name != "continue_url" || !s.Ended()) {
			out = append(append(append(append(out, `,"`...), name...), `":`...), text...)
		}
	}
	if len(more) > 0 {
		text, err := withMessages(messages, more)
		if err != nil {
			return nil, err
		}
		messages = string(text)
	}
	if messages != "[]" {
		out = append(append(out, `,"messages":`...), messages...)
	}
	if order, err := orderOf(&s); err != nil {
		return nil, err
	} else if order != nil {
		text, err := json.Marshal(order)
		if err != nil {
			return nil, fmt.Errorf("ucp: inbound: order of a checkout: %w", err)
		}
		out = append(append(out, `,"order":`...), text...)
	}
	out = append(out, `,"payment":{"handlers":`...)
	out = append(out, in.handlers...)
	return append(out, `,"instruments":[]}}`...), nil
}

// withMessages gives messages together with those that are stated, each of them once.
func withMessages(statement string, messages []Message) ([]byte, error) {
	var stated []Message
	if err := json.Unmarshal([]byte(statement), &stated); err != nil {
		return nil, fmt.Errorf("ucp: inbound: messages of a statement: %w", err)
	}
	all := slices.Clone(messages)
	for _, m := range stated {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("ucp: inbound: messages of a checkout: %w", err)
	}
	return text, nil
}

func appendCapability(out []byte, name string) []byte {
	return append(append(append(out, `{"name":"`...), name...), `","version":"`+Release+`"}`...)
}

// orderOf says what a checkout has become; nil if there is no order.
func orderOf(s *model.Standing) (*orderLink, error) {
	ended := s.Completed
	if ended == nil {
		ended = s.BuyerCompleted
	}
	if ended == nil {
		return nil, nil
	}
	order, _ := ended.Value("order")
	link := new(orderLink)
	if err := read.Into(order, "order", link); err != nil {
		return nil, fmt.Errorf("ucp: inbound: order of a checkout: %w", err)
	}
	return link, nil
}

// documentsOf gives the places of the specification and the schema of a capability, below the site of a release.
func documentsOf(capability string) (specification, schema string) {
	short := capability[strings.LastIndexByte(capability, '.')+1:]
	specification = strings.ReplaceAll(short, "_", "-")
	if capability == mandate.Extension {
		specification = "ap2-mandates"
	}
	return "specification/" + specification, "schemas/shopping/" + short + ".json"
}

// discover answers with the Business's profile.
func (in *Inbound) discover(_ context.Context, c call) (*result, error) {
	site := "https://ucp.dev/"
	description := "services/shopping/rest.openapi.json"
	handlers := in.options.PaymentHandlers
	if in.options.Documents != nil {
		site = c.base + documentsPath
		description = "services/shopping/openapi.json" // as it lies among the documents of the release
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
		SigningKeys []negotiation.Key `json:"signing_keys,omitempty"`
	}
	profile.UCP.Version = Release
	profile.UCP.Services = map[string]service{shoppingService: {
		Version: Release, Spec: site + "specification/reference",
		REST: rest{Schema: site + description, Endpoint: c.base},
	}}
	offered := []string{checkoutCapability, orderCapability, fulfillmentCapability, discountCapability, consentCapability}
	if in.options.Mandates != nil {
		offered = append(offered, mandate.Extension)
	}
	for _, name := range offered {
		specification, schema := documentsOf(name)
		offer := capability{Name: name, Version: Release, Spec: site + specification, Schema: site + schema}
		if name == mandate.Extension {
			offer.Config = json.RawMessage(mandateFormats)
		}
		if name != checkoutCapability && name != orderCapability {
			offer.Extends = checkoutCapability
		}
		profile.UCP.Capabilities = append(profile.UCP.Capabilities, offer)
	}
	var err error
	if profile.SigningKeys, err = in.options.Mandates.published(); err != nil {
		return nil, err
	}
	profile.Payment.Handlers = handlers
	if handlers == nil {
		profile.Payment.Handlers = []PaymentHandler{}
	}
	return &result{status: http.StatusOK, body: profile}, nil
}
