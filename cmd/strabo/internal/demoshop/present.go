package demoshop

import (
	"context"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

// Present shows a checkout as the inbound bridge is to show it: titles, prices, and how it can be delivered.
func (s *Shop) Present(_ context.Context, contents ucp.Contents) (ucp.Presentation, error) {
	wish, err := ReadWish(contents.LineItems, contents.Buyer, contents.Fulfillment)
	if err != nil {
		return ucp.Presentation{}, err
	}
	var p ucp.Presentation
	var subtotal int64
	var lines []string
	for _, line := range wish.Lines {
		item := s.items[line.Item.ID]
		amount := item.Price * line.Quantity
		subtotal += amount
		lines = append(lines, line.ID)
		p.LineItems = append(p.LineItems, ucp.PresentedItem{
			ID: line.ID, Quantity: line.Quantity,
			Item:   ucp.PresentedGood{ID: item.ID, Title: item.Title, Price: item.Price},
			Totals: []ucp.Total{{Type: "subtotal", Amount: amount}, {Type: "total", Amount: amount}},
		})
	}
	p.Fulfillment = s.presentFulfillment(wish, lines, subtotal)
	if unready := s.Unready(wish); unready != nil {
		p.Messages = append(p.Messages, ucp.Message{
			Type: "error", Code: unready.Code, Path: unready.Path, Content: unready.Content, Severity: "recoverable",
		})
	}
	return p, nil
}

// presentedMethod and presentedGroup are fulfillment in UCP's shape: where the goods go, and in which ways they can.
type presentedMethod struct {
	ID                  string           `json:"id"`
	Type                string           `json:"type"`
	Lines               []string         `json:"line_item_ids"`
	Destinations        []map[string]any `json:"destinations,omitempty"`
	SelectedDestination *string          `json:"selected_destination_id,omitempty"`
	Groups              []presentedGroup `json:"groups,omitempty"`
}

type presentedGroup struct {
	ID             string            `json:"id"`
	Lines          []string          `json:"line_item_ids"`
	Options        []presentedOption `json:"options"`
	SelectedOption *string           `json:"selected_option_id,omitempty"`
}

type presentedOption struct {
	ID     string      `json:"id"`
	Title  string      `json:"title"`
	Totals []ucp.Total `json:"totals"`
}

// presentFulfillment shows the one way of fulfillment that the shop has, shipping everything together; nil as long as
// the platform has not asked for it.
func (s *Shop) presentFulfillment(wish Wish, lines []string, subtotal int64) any {
	if len(wish.Fulfillment.Methods) == 0 {
		return nil
	}
	asked := wish.Fulfillment.Methods[0]
	method := presentedMethod{ID: "shipping", Type: "shipping", Lines: lines}
	if email, _ := wish.Buyer["email"].(string); len(asked.Destinations) == 0 && s.customers[email] != nil {
		method.Destinations = append(method.Destinations, s.customers[email])
	}
	for i, destination := range asked.Destinations {
		if destination == nil {
			continue
		}
		if id, ok := destination["id"].(string); !ok || id == "" {
			destination["id"] = fmt.Sprintf("destination_%d", i+1)
		}
		method.Destinations = append(method.Destinations, destination)
	}
	if asked.SelectedDestination != "" {
		method.SelectedDestination = &asked.SelectedDestination
		group := presentedGroup{ID: "parcel", Lines: lines}
		for _, option := range s.delivery {
			price := option.price(subtotal)
			group.Options = append(group.Options, presentedOption{
				ID: option.ID, Title: option.Title,
				Totals: []ucp.Total{{Type: "subtotal", Amount: price}, {Type: "total", Amount: price}},
			})
		}
		if chosen, err := s.chosen(wish); err == nil && chosen != nil {
			group.SelectedOption = &chosen.ID
		}
		method.Groups = []presentedGroup{group}
	}
	return map[string]any{"methods": []presentedMethod{method}}
}

// PaymentHandlers lists how the shop takes money, for discovery.
func PaymentHandlers() []ucp.PaymentHandler {
	const site = "https://lamps.example/"
	return []ucp.PaymentHandler{{
		ID: HandlerID, Name: "example.lamps.demo_pay", Version: "2026-01-11",
		Spec: site + "demo-pay", ConfigSchema: site + "demo-pay/config.json",
		InstrumentSchemas: []string{"https://ucp.dev/schemas/shopping/types/card_payment_instrument.json"},
		Config:            map[string]any{"supported_tokens": Tokens()},
	}}
}
