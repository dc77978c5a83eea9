package demoshop

import (
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
)

// Wish is what a platform asked for with Create.
type Wish struct {
	Lines       []Line
	Buyer       map[string]any
	Fulfillment Fulfillment
}

// Line is one line of a wish: so many pieces of an item.
type Line struct {
	ID   string `json:"id"`
	Item struct {
		ID string `json:"id"`
	} `json:"item"`
	Quantity int64 `json:"quantity"`
}

// Fulfillment is how the buyer wants the goods: UCP's shape, as far as the shop reads it.
type Fulfillment struct {
	Methods []Method `json:"methods"`
}

// Method is one way of fulfillment; the shop only ships, and ships everything together.
type Method struct {
	ID                  string           `json:"id"`
	Type                string           `json:"type"`
	Destinations        []map[string]any `json:"destinations"`
	SelectedDestination string           `json:"selected_destination_id"`
	Groups              []struct {
		ID             string `json:"id"`
		SelectedOption string `json:"selected_option_id"`
	} `json:"groups"`
}

// ReadWish reads the values that a Create bound. What does not have the shape of a wish is refused with a [*No].
func ReadWish(lines, buyer, fulfillment enactment.Value) (Wish, error) {
	var w Wish
	if err := lines.Decode(&w.Lines); err != nil || len(w.Lines) == 0 {
		return Wish{}, no("invalid", "$.line_items", "line_items must list at least one item and its quantity.")
	}
	if !buyer.IsZero() {
		if err := buyer.Decode(&w.Buyer); err != nil {
			return Wish{}, no("invalid", "$.buyer", "buyer must be an object.")
		}
	}
	if !fulfillment.IsZero() {
		if err := fulfillment.Decode(&w.Fulfillment); err != nil {
			return Wish{}, no("invalid", "$.fulfillment", "fulfillment must be an object with methods.")
		}
	}
	return w, nil
}

// Price computes the bill of a wish: subtotal, fulfillment once an option is chosen, tax, and the total that the
// others add up to. It fails with a [*No] when the shop does not sell what is wished for, or has not enough of it now.
func (s *Shop) Price(w Wish) ([]ucp.Total, error) {
	wanted := make(map[string]int64)
	var subtotal int64
	for i, line := range w.Lines {
		path := fmt.Sprintf("$.line_items[%d]", i)
		item, ok := s.items[line.Item.ID]
		switch {
		case !ok:
			return nil, no("item_unavailable", path, "Product %s not found.", line.Item.ID)
		case line.Quantity < 1:
			return nil, no("invalid", path+".quantity", "The quantity of %s must be at least 1.", item.ID)
		}
		// No sum can overflow: what is wanted is never more than what is there.
		if left := s.Stock(item.ID) - wanted[item.ID]; line.Quantity > left {
			return nil, no("out_of_stock", path, "Insufficient stock of %s: %d wanted, %d left.", item.ID, line.Quantity, left)
		}
		wanted[item.ID] += line.Quantity
		subtotal += item.Price * line.Quantity
	}
	totals := []ucp.Total{{Type: "subtotal", Amount: subtotal}}
	option, err := s.chosen(w)
	if err != nil {
		return nil, err
	}
	sum := subtotal
	if option != nil {
		price := option.price(subtotal)
		totals = append(totals, ucp.Total{Type: "fulfillment", DisplayText: option.Title, Amount: price})
		sum += price
	}
	tax := (sum*taxPercent + 50) / 100
	return append(totals,
		ucp.Total{Type: "tax", DisplayText: fmt.Sprintf("VAT %d%%", taxPercent), Amount: tax},
		ucp.Total{Type: "total", Amount: sum + tax}), nil
}

func (o Option) price(subtotal int64) int64 {
	if o.FreeFrom > 0 && subtotal >= o.FreeFrom {
		return 0
	}
	return o.Price
}

// chosen gives the delivery option that the wish selects, nil when it selects none yet.
func (s *Shop) chosen(w Wish) (*Option, error) {
	for m, method := range w.Fulfillment.Methods {
		if method.Type != "" && method.Type != "shipping" {
			return nil, no("invalid", fmt.Sprintf("$.fulfillment.methods[%d].type", m), "The shop ships; it has no %s.", method.Type)
		}
		for g, group := range method.Groups {
			if group.SelectedOption == "" {
				continue
			}
			i := slices.IndexFunc(s.delivery, func(o Option) bool { return o.ID == group.SelectedOption })
			if i < 0 {
				path := fmt.Sprintf("$.fulfillment.methods[%d].groups[%d].selected_option_id", m, g)
				return nil, no("invalid", path, "There is no delivery option %s.", group.SelectedOption)
			}
			return &s.delivery[i], nil
		}
	}
	return nil, nil
}

// Unready says what the shop still needs before it can take payment for a wish; nil when it can.
func (s *Shop) Unready(w Wish) *No {
	option, err := s.chosen(w)
	if err != nil || option == nil || w.Fulfillment.Methods[0].SelectedDestination == "" {
		return no("missing", "$.fulfillment", "Fulfillment address and option must be selected before completion.")
	}
	return nil
}
