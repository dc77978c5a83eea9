package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/strabo-engine/strabo/enactment"
)

// orderView is an order as the wire shows it: what the checkout was when it was completed. What happens to an order
// after that is no part of the protocol, so nothing is ever fulfilled or adjusted in it.
type orderView struct {
	UCP          metadata        `json:"ucp"`
	ID           string          `json:"id"`
	CheckoutID   string          `json:"checkout_id"`
	PermalinkURL string          `json:"permalink_url"`
	LineItems    []orderLine     `json:"line_items"`
	Fulfillment  orderDelivery   `json:"fulfillment"`
	Totals       enactment.Value `json:"totals"`
}

type orderLine struct {
	ID       string        `json:"id"`
	Item     PresentedGood `json:"item"`
	Quantity orderQuantity `json:"quantity"`
	Totals   []Total       `json:"totals"`
	Status   string        `json:"status"`
}

type orderQuantity struct {
	Total     int64 `json:"total"`
	Fulfilled int64 `json:"fulfilled"`
}

type orderDelivery struct {
	Expectations []expectation `json:"expectations"`
	Events       []struct{}    `json:"events"`
}

// expectation says what goes where, and how.
type expectation struct {
	ID          string          `json:"id"`
	LineItems   []expectedLine  `json:"line_items"`
	MethodType  string          `json:"method_type"`
	Destination json.RawMessage `json:"destination"`
	Description string          `json:"description,omitempty"`
}

type expectedLine struct {
	ID       string `json:"id"`
	Quantity int64  `json:"quantity"`
}

// getOrder shows the order that a checkout has become.
func (in *Inbound) getOrder(ctx context.Context, c call) (int, any, error) {
	in.mu.Lock()
	s, ok := in.orders[c.id]
	in.mu.Unlock()
	if !ok {
		return 0, nil, notFound("Order", c.id)
	}
	checkout, err := in.view(ctx, s)
	if err != nil {
		return 0, nil, err
	}
	order := orderView{
		UCP: spoken(orderCapability), ID: c.id, CheckoutID: s.id, LineItems: []orderLine{}, Totals: checkout.Totals,
		Fulfillment: orderDelivery{Expectations: []expectation{}, Events: []struct{}{}},
	}
	var confirmation struct {
		PermalinkURL string `json:"permalink_url"`
	}
	if checkout.Order != nil {
		if err := checkout.Order.Decode(&confirmation); err != nil {
			return 0, nil, fmt.Errorf("ucp: inbound: order of %s: %w", s.id, err)
		}
	}
	order.PermalinkURL = confirmation.PermalinkURL
	quantities := make(map[string]int64)
	for _, l := range checkout.LineItems {
		quantities[l.ID] = l.Quantity
		order.LineItems = append(order.LineItems, orderLine{
			ID: l.ID, Item: l.Item, Quantity: orderQuantity{Total: l.Quantity}, Totals: l.Totals, Status: "processing",
		})
	}
	if order.Fulfillment.Expectations, err = expectations(checkout.Fulfillment, quantities); err != nil {
		return 0, nil, fmt.Errorf("ucp: inbound: fulfillment of %s: %w", s.id, err)
	}
	return http.StatusOK, order, nil
}

// expectations reads from fulfillment, as it is presented, what was selected.
func expectations(presented any, quantities map[string]int64) ([]expectation, error) {
	text, err := json.Marshal(presented)
	if err != nil {
		return nil, err
	}
	var selected struct {
		Methods []struct {
			ID           string            `json:"id"`
			Type         string            `json:"type"`
			Lines        []string          `json:"line_item_ids"`
			Destinations []json.RawMessage `json:"destinations"`
			Destination  string            `json:"selected_destination_id"`
			Groups       []struct {
				Selected string `json:"selected_option_id"`
				Options  []struct {
					ID    string `json:"id"`
					Title string `json:"title"`
				} `json:"options"`
			} `json:"groups"`
		} `json:"methods"`
	}
	if err := json.Unmarshal(text, &selected); err != nil {
		return nil, err
	}
	expected := []expectation{}
	for _, m := range selected.Methods {
		e := expectation{ID: "expected_" + m.ID, MethodType: m.Type, LineItems: []expectedLine{}}
		for _, id := range m.Lines {
			e.LineItems = append(e.LineItems, expectedLine{ID: id, Quantity: quantities[id]})
		}
		for _, destination := range m.Destinations {
			var named struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(destination, &named); err != nil {
				return nil, err
			}
			if named.ID == m.Destination {
				e.Destination = destination
			}
		}
		for _, g := range m.Groups {
			for _, option := range g.Options {
				if option.ID == g.Selected {
					e.Description = option.Title
				}
			}
		}
		if e.Destination != nil {
			expected = append(expected, e)
		}
	}
	return expected, nil
}
