package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
)

// quantified is an item with its number.
var quantified = regexp.MustCompile(`^(.*)=([0-9]+)$`)

// lines are the items that the flags ask for.
func (c *buyCommand) lines() ([]any, error) {
	var lines []any
	for _, item := range c.Item {
		id, quantity := item, c.Quantity
		if parts := quantified.FindStringSubmatch(item); parts != nil {
			var err error
			if quantity, err = strconv.ParseInt(parts[2], 10, 64); err != nil || quantity < 1 || quantity > mostPieces {
				return nil, fmt.Errorf("--item %s: a number from 1 to %d is needed after the =", item, int64(mostPieces))
			}
			if id = parts[1]; id == "" {
				return nil, fmt.Errorf("--item %s: the id of what to buy is needed before the =", item)
			}
		}
		lines = append(lines, map[string]any{"item": map[string]any{"id": id}, "quantity": quantity})
	}
	return lines, nil
}

// mostPieces is the largest number that every reader of JSON has exactly.
const mostPieces = 1<<53 - 1

// consent is what the buyer has said about their data; nil if nothing. Nothing is assumed (UCP 2026-04-08, buyer consent,
// security considerations).
func (c *buyCommand) consent() map[string]any {
	var consent map[string]any
	for purpose, said := range map[string]*bool{
		"analytics": c.Analytics, "preferences": c.Preferences, "marketing": c.Marketing, "sale_of_data": c.SaleOfData,
	} {
		if said != nil {
			if consent == nil {
				consent = make(map[string]any)
			}
			consent[purpose] = *said
		}
	}
	return consent
}

// about is what makes a purchase in a journal the same: where and what is bought.
func (c *buyCommand) about(business *ucp.Business) ([]any, error) {
	wish, err := c.wish()
	if err != nil {
		return nil, err
	}
	about := []any{business.Endpoint, c.Currency, wish.Values()}
	if len(wish.Codes) > 0 { // Else it is what it was before there were codes.
		about = append(about, wish.Codes)
	}
	return about, nil
}

// wish is what the flags ask for.
func (c *buyCommand) wish() (shopper.Wish, error) {
	lines, err := c.lines()
	if err != nil {
		return shopper.Wish{}, err
	}
	wish := shopper.Wish{ID: uuid.NewString(), LineItems: lines, Codes: c.Discount}
	buyer := make(map[string]any)
	if c.Buyer != "" {
		buyer["email"] = c.Buyer
	}
	if consent := c.consent(); consent != nil {
		buyer["consent"] = consent
	}
	if len(buyer) > 0 {
		wish.Buyer = buyer
	}
	if c.NoDelivery {
		return wish, nil
	}
	fulfillment := map[string]any{"option": c.Option}
	if c.Option != "cheapest" {
		fulfillment["option"] = map[string]any{"id": c.Option}
	}
	destination := make(map[string]any)
	for name, value := range map[string]string{
		"street_address": c.Street, "address_locality": c.City, "address_region": c.Region,
		"postal_code": c.PostalCode, "address_country": c.Country,
	} {
		if value != "" {
			destination[name] = value
		}
	}
	if len(destination) > 0 {
		fulfillment["destination"] = destination
	}
	wish.Fulfillment = fulfillment
	return wish, nil
}

// madeUpToken pays where a shop names no token to test it with: it is refused by whoever checks.
const madeUpToken = "strabo-made-up-token"

// instrument is what to pay with, in the form of UCP's card payment instrument.
func (c *buyCommand) instrument(business *ucp.Business) (map[string]any, error) {
	handler, token := "", ""
	if c.Pay != "" {
		handler, token, _ = strings.Cut(c.Pay, ":")
	} else {
		for _, offered := range business.Handlers {
			if tokens, ok := offered.Config["supported_tokens"].([]any); ok && len(tokens) > 0 {
				if first, ok := tokens[0].(string); ok {
					handler, token = offered.ID, first
					break
				}
			}
		}
		if handler == "" && len(business.Handlers) > 0 {
			handler, token = business.Handlers[0].ID, madeUpToken
		}
		if handler == "" {
			return nil, errors.New("the shop's discovery offers no way to pay, so --pay is needed")
		}
	}
	return map[string]any{
		"handler_id": handler, "brand": "Visa", "last_digits": "0000",
		"credential": map[string]any{"type": "token", "token": token},
	}, nil
}
