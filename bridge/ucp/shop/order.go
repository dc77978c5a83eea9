package shop

import (
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// order writes the order of what the customer has agreed to. Its id follows from that of the checkout, so that it is the
// same whoever writes it.
func (c *customer) order() (model.Order, error) {
	body, totals, err := c.ReadStatement()
	if err != nil {
		return model.Order{}, fmt.Errorf("shop: the last statement: %w", err)
	}
	order := model.Order{CheckoutID: c.cid, Currency: c.shop.Currency, LineItems: []model.OrderLine{}, Totals: totals}
	order.ID = OrderID(c.cid)
	order.PermalinkURL = c.shop.OrderURL + order.ID
	quantities := make(map[string]int64)
	for _, l := range body.LineItems {
		quantities[l.ID] = l.Quantity
		order.LineItems = append(order.LineItems, model.OrderLine{
			ID: l.ID, Item: l.Item, Quantity: model.OrderQuantity{Total: l.Quantity}, Totals: l.Totals, Status: "processing",
		})
	}
	order.Fulfillment = model.OrderFulfillment{Expectations: expectations(body.Fulfillment, quantities), Events: []model.FulfillmentEvent{}}
	return order, nil
}

// OrderID is the id of the order that a checkout becomes.
func OrderID(checkout string) string {
	_, rest, ok := strings.Cut(checkout, "_")
	if !ok {
		rest = checkout
	}
	return "order_" + rest
}

// expectations says what goes where, as it was selected.
func expectations(fulfillment *model.Fulfillment, quantities map[string]int64) []model.Expectation {
	expected := []model.Expectation{}
	if fulfillment == nil {
		return expected
	}
	for _, m := range fulfillment.Methods {
		e := model.Expectation{ID: "expected_" + m.ID, MethodType: m.Type, LineItems: []model.LineQuantity{}}
		for _, id := range m.LineItemIDs {
			e.LineItems = append(e.LineItems, model.LineQuantity{ID: id, Quantity: quantities[id]})
		}
		for _, d := range m.Destinations {
			if d.ID == m.SelectedDestination {
				e.Destination = d
			}
		}
		for _, g := range m.Groups {
			for _, o := range g.Options {
				if o.ID == g.SelectedOption {
					e.Description = o.Title
				}
			}
		}
		expected = append(expected, e)
	}
	return expected
}
