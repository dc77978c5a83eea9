package main

import (
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
)

// wish is what the flags ask for.
func (c *buyCommand) wish() shopper.Wish {
	var lines []any
	for _, id := range c.Item {
		lines = append(lines, map[string]any{"item": map[string]any{"id": id}, "quantity": c.Quantity})
	}
	wish := shopper.Wish{ID: uuid.NewString(), LineItems: lines}
	if c.Buyer != "" {
		wish.Buyer = map[string]any{"email": c.Buyer}
	}
	if c.NoDelivery {
		return wish
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
	return wish
}

// madeUpToken pays where a shop names no token to test it with: it is refused by whoever checks.
const madeUpToken = "strabo-made-up-token"

// instrument is what to pay with, in the form of UCP's card payment instrument.
func (c *buyCommand) instrument(business *ucp.Business) (map[string]any, error) {
	handler, token := "", ""
	if c.Pay != "" {
		var ok bool
		if handler, token, ok = strings.Cut(c.Pay, ":"); !ok || handler == "" || token == "" {
			return nil, errors.New("--pay must be HANDLER:TOKEN")
		}
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
