package shop

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// Statement is what the shop says of a wish.
type Statement struct {
	Body     model.Body
	Totals   []model.Total
	Messages []model.Message
}

// Ready tells that the wish can be paid for as it is.
func (s *Statement) Ready() bool {
	return !slices.ContainsFunc(s.Messages, func(m model.Message) bool { return m.Type == "error" })
}

// mostAmount is the largest amount that every platform can read: 2^53 - 1 (UCP 2026-04-08, types/amount).
const mostAmount = 1<<53 - 1

// Price says what a wish comes to. The error is a [*model.No] if the shop does not have what is wished for.
func (s *Shop) Price(ctx context.Context, asked *enactment.Instance) (Statement, error) {
	wish, err := model.ReadWish(asked)
	if err != nil {
		return Statement{}, model.Refuse("invalid", "$", "The checkout cannot be read.")
	}
	st := Statement{Messages: []model.Message{}}
	st.Body = model.Body{Buyer: wish.Buyer, Links: s.Links}
	subtotal, err := s.priceLines(ctx, wish, &st.Body)
	if err != nil {
		return Statement{}, err
	}
	st.Totals = []model.Total{{Type: "subtotal", Amount: subtotal}}
	sum := subtotal
	shipping, err := s.arrange(ctx, wish, &st, subtotal)
	if err != nil {
		return Statement{}, err
	}
	if shipping != nil {
		st.Totals = append(st.Totals, model.Total{Type: "fulfillment", DisplayText: shipping.Title, Amount: shipping.Price})
		sum += shipping.Price
	}
	if wish.Codes != nil {
		applied, err := s.Discounts.Apply(ctx, wish.Codes, sum)
		if err != nil {
			return Statement{}, err
		}
		for _, a := range applied {
			st.Totals = append(st.Totals, model.Total{Type: "discount", DisplayText: a.Title, Amount: -a.Amount})
			sum -= a.Amount
		}
		st.Body.Discounts = &model.Discounts{Codes: wish.Codes, Applied: applied}
		st.Messages = append(st.Messages, rejectedCodes(wish.Codes, applied)...)
	}
	for i := range wish.Claims { // This shop has nothing for members or holders of cards.
		st.Messages = append(st.Messages, model.Message{
			Type: "warning", Code: "eligibility_not_accepted", Path: fmt.Sprintf("$.context.eligibility[%d]", i),
			Content: "The shop has no benefit for this claim.",
		})
	}
	st.Totals = append(st.Totals, model.Total{Type: "total", Amount: sum})
	return st, nil
}

// priceLines prices the goods and gives what they come to.
func (s *Shop) priceLines(ctx context.Context, wish model.Wish, body *model.Body) (subtotal int64, err error) {
	wanted := make(map[string]int64, len(wish.Lines))
	body.LineItems = make([]model.LineItem, 0, len(wish.Lines))
	for i, line := range wish.Lines {
		path := func(member string) string { return fmt.Sprintf("$.line_items[%d]%s", i, member) }
		item, ok, err := s.Catalogue.Product(ctx, line.Item.ID)
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, model.Refuse("item_unavailable", path(""), "Product %s not found", line.Item.ID)
		case line.Quantity < 1:
			return 0, model.Refuse("invalid", path(".quantity"), "The quantity of %s must be at least 1.", item.ID)
		}
		left, err := s.Stock.Left(ctx, item.ID)
		if err != nil {
			return 0, err
		}
		if line.Quantity > left-wanted[item.ID] {
			return 0, outOfStock(path(""), &Shortage{Product: item.ID, Left: left})
		}
		wanted[item.ID] += line.Quantity
		if item.Price > 0 && line.Quantity > (mostAmount-subtotal)/item.Price {
			return 0, model.Refuse("invalid", path(".quantity"), "That is more than can be counted.")
		}
		amount := item.Price * line.Quantity
		subtotal += amount
		body.LineItems = append(body.LineItems, model.LineItem{
			ID: line.ID, Item: item, Quantity: line.Quantity, ParentID: line.ParentID,
			Totals: []model.Total{{Type: "subtotal", Amount: amount}, {Type: "total", Amount: amount}},
		})
	}
	return subtotal, nil
}

// arrange says how the goods can be sent, and gives the way that is chosen, nil while none is. What lacks is a message.
func (s *Shop) arrange(ctx context.Context, wish model.Wish, st *Statement, subtotal int64) (*ShippingOption, error) {
	if wish.Fulfillment == nil || len(wish.Fulfillment.Methods) == 0 {
		st.Messages = append(st.Messages, lacking("$.fulfillment"))
		return nil, nil
	}
	asked := wish.Fulfillment.Methods[0]
	switch {
	case len(wish.Fulfillment.Methods) > 1:
		return nil, model.Refuse("invalid", "$.fulfillment.methods[1]", "The shop sends everything together.")
	case asked.Type != "" && asked.Type != "shipping":
		return nil, model.Refuse("invalid", "$.fulfillment.methods[0].type", "The shop ships; it has no %s.", asked.Type)
	}
	method := model.Method{ID: asked.ID, Type: "shipping"}
	if method.ID == "" {
		method.ID = "method_1"
	}
	for _, line := range st.Body.LineItems {
		method.LineItemIDs = append(method.LineItemIDs, line.ID)
	}
	var err error
	if method.Destinations, method.SelectedDestination, err = s.destinations(ctx, wish.Email, asked); err != nil {
		return nil, err
	}
	chosen, err := s.choose(ctx, asked, &method, st, subtotal)
	if err != nil {
		return nil, err
	}
	st.Body.Fulfillment = &model.Fulfillment{Methods: []model.Method{method}}
	switch {
	case chosen != nil:
	case method.SelectedDestination == "":
		st.Messages = append(st.Messages, lacking("$.fulfillment.methods[0].selected_destination_id"))
	case len(method.Groups) > 0 && len(method.Groups[0].Options) > 0:
		st.Messages = append(st.Messages, lacking("$.fulfillment.methods[0].groups[0].selected_option_id"))
	}
	return chosen, nil
}

// lacking says that something is not selected yet. The words are those of the public samples.
func lacking(path string) model.Message {
	return model.Message{
		Type: "error", Code: "missing", Path: path, Severity: "recoverable",
		Content: "Fulfillment address and option must be selected before completion.",
	}
}

// destinations lists where the goods may go, and the one that is selected. Those that the platform gives are kept for
// the customer, and may get another id by that.
func (s *Shop) destinations(ctx context.Context, email string, asked model.Method) (all []model.Destination, selected string, err error) {
	selected = asked.SelectedDestination
	if len(asked.Destinations) == 0 && email != "" {
		all, err = s.Customers.Addresses(ctx, email)
		return all, selected, err
	}
	for _, given := range asked.Destinations {
		kept, err := s.Customers.Remember(ctx, email, given)
		if err != nil {
			return nil, "", err
		}
		if given.ID != "" && given.ID == selected {
			selected = kept.ID
		}
		all = append(all, kept)
	}
	return all, selected, nil
}

// choose lists the options of the selected destination in the method and gives the one that is selected.
func (s *Shop) choose(ctx context.Context, asked model.Method, method *model.Method, st *Statement, subtotal int64) (*ShippingOption, error) {
	at := slices.IndexFunc(method.Destinations, func(d model.Destination) bool { return d.ID == method.SelectedDestination })
	if method.SelectedDestination == "" || at < 0 {
		if method.SelectedDestination != "" {
			st.Messages = append(st.Messages, notThere("$.fulfillment.methods[0].selected_destination_id", "destination", method.SelectedDestination))
			method.SelectedDestination = ""
		}
		return nil, nil
	}
	if method.Destinations[at].AddressCountry == "" {
		st.Messages = append(st.Messages, model.Message{
			Type: "error", Code: "missing", Path: fmt.Sprintf("$.fulfillment.methods[0].destinations[%d].address_country", at),
			Content: "The country is needed to send anything there.", Severity: "recoverable",
		})
		return nil, nil
	}
	options, err := s.Shipping.Options(ctx, method.Destinations[at], st.Body.LineItems, subtotal)
	if err != nil {
		return nil, err
	}
	group := model.Group{ID: method.ID + "_group_1", LineItemIDs: method.LineItemIDs, Options: make([]model.Option, 0, len(options))}
	wanted := ""
	if len(asked.Groups) > 0 {
		wanted = asked.Groups[0].SelectedOption
		if asked.Groups[0].ID != "" {
			group.ID = asked.Groups[0].ID
		}
	}
	var chosen *ShippingOption
	for i, o := range options {
		group.Options = append(group.Options, model.Option{
			ID: o.ID, Title: o.Title, Totals: []model.Total{{Type: "subtotal", Amount: o.Price}, {Type: "total", Amount: o.Price}},
		})
		if o.ID == wanted {
			chosen = &options[i]
			group.SelectedOption = o.ID
		}
	}
	method.Groups = []model.Group{group}
	if len(options) == 0 {
		st.Messages = append(st.Messages, model.Message{
			Type: "error", Code: "address_undeliverable", Path: fmt.Sprintf("$.fulfillment.methods[0].destinations[%d]", at),
			Content: "The shop does not send there.", Severity: "recoverable",
		})
		return nil, nil
	}
	if wanted != "" && chosen == nil {
		st.Messages = append(st.Messages, notThere("$.fulfillment.methods[0].groups[0].selected_option_id", "fulfillment option", wanted))
	}
	if chosen != nil && chosen.Price > math.MaxInt64-subtotal {
		return nil, fmt.Errorf("shop: option %s costs too much", chosen.ID)
	}
	return chosen, nil
}

func notThere(path, what, id string) model.Message {
	return model.Message{
		Type: "error", Code: "invalid", Path: path, Content: fmt.Sprintf("There is no %s %s.", what, id), Severity: "recoverable",
	}
}

func outOfStock(path string, s *Shortage) *model.No {
	return model.Refuse("out_of_stock", path, "Insufficient stock for item %s: %d left", s.Product, s.Left)
}

func errorOf(no *model.No) model.Message {
	return model.Message{Type: "error", Code: no.Code, Path: no.Path, Content: no.Content, Severity: "recoverable"}
}

// rejectedCodes warns of codes that were not applied (UCP 2026-04-08, discount, rejected codes).
func rejectedCodes(codes []string, applied []model.Applied) []model.Message {
	var warnings []model.Message
	var used int // Those that are applied are in the order of the codes.
	for i, code := range codes {
		if used < len(applied) && applied[used].Code == code {
			used++
			continue
		}
		warning := model.Message{
			Type: "warning", Code: "discount_code_invalid", Path: fmt.Sprintf("$.discounts.codes[%d]", i),
			Content: fmt.Sprintf("The discount code %q is not known, or takes nothing off.", code),
		}
		if slices.ContainsFunc(applied[:used], func(a model.Applied) bool { return strings.EqualFold(a.Code, code) }) {
			warning.Code, warning.Content = "discount_code_already_applied", fmt.Sprintf("The discount code %q is applied once.", code)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}
