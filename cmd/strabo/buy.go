package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
)

type buyCommand struct {
	Business string   `required:"" placeholder:"URL" help:"The shop; its discovery document is looked for below."`
	Item     []string `required:"" placeholder:"ID" help:"What to buy; may be given more than once."`
	Quantity int64    `default:"1" help:"How many of each."`
	Buyer    string   `placeholder:"EMAIL" help:"Who buys. Some shops know where their customers live."`
	Pay      string   `placeholder:"HANDLER:TOKEN" help:"What to pay with; by default the first test token that the shop's discovery offers, or else a made-up token for its first handler."`
	Max      int64    `placeholder:"AMOUNT" help:"Cancel if the total is more than this, in minor units."`
	Currency string   `default:"USD" help:"What to buy in, an ISO 4217 code."`

	Option     string `default:"cheapest" help:"The id of the delivery option, or cheapest."`
	NoDelivery bool   `help:"Have nothing delivered, as with digital goods."`
	Street     string `group:"Address" help:"Street and number. Without an address the shop's first for the buyer is taken."`
	City       string `group:"Address" help:"The locality."`
	Region     string `group:"Address" help:"The region or state."`
	PostalCode string `group:"Address" help:"The postal code."`
	Country    string `group:"Address" help:"The country, a two-letter code."`

	Timeout time.Duration `default:"2m" help:"How long to wait, also for finding out what became of a lost call."`
	JSON    bool          `name:"json" help:"Print records and calls, one JSON object a line, instead of the order."`
}

// Help is shown by strabo buy --help.
func (buyCommand) Help() string {
	return `Buys at a shop that speaks UCP 2026-01-11 over REST, with the Platform agent of strabo demo, and prints the ` +
		`order. The bill is looked at before it is paid: if it does not add up, or is above --max, the checkout is cancelled.

Exit status: 0 if the order was placed; 1 if there is no order (the shop refused or declined, in its own words, or the ` +
		`checkout was cancelled), or if nobody can tell whether there is one; 2 on wrong use, and if there is no such shop, ` +
		`so that nothing was asked of it.`
}

func (buyCommand) examples() string {
	return `  strabo buy --business http://localhost:8182 --item pot_ceramic --quantity 2 --buyer john.doe@example.com
  strabo buy --business http://localhost:3000 --item bouquet_roses --pay mock_payment_handler:success_token
  strabo buy --business https://shop.example --item lamp --street '9 New Rd' --city Austin --region TX \
      --postal-code 73301 --country US --max 10000
  strabo buy --business http://localhost:8182 --item orchid_white --json | jq -r 'select(.kind == "call").url'
`
}

// Run buys.
func (c *buyCommand) Run(ctx context.Context, s *streams) error {
	if c.Quantity < 1 {
		return fmt.Errorf("--quantity is %d: at least 1 is needed", c.Quantity)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	business, err := ucp.Discover(ctx, nil, c.Business)
	if err != nil {
		return fmt.Errorf("there is no shop to buy at: %w", err)
	}
	instrument, err := c.instrument(business)
	if err != nil {
		return err
	}
	if c.Pay == "" {
		fmt.Fprintf(s.err, "strabo: paying with %s\n", story.Printable(fmt.Sprint(instrument["handler_id"])))
	}

	told := new(story.Story)
	at, err := counter.Open(business, counter.Options{
		Decide: func(bill shopper.Bill) shopper.Decision {
			if total, _ := bill.Total(); c.Max > 0 && total > c.Max {
				return shopper.Decision{Cancel: true}
			}
			return shopper.Decision{Pay: instrument}
		},
		Currency: c.Currency, Recorder: told.Recorder(platformSide), Call: told.Call, Patience: c.Timeout,
		Logger: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	ending, buying := at.Buy(ctx, c.wish())
	if err := at.Close(); err != nil {
		return err
	}
	if c.JSON {
		if err := told.WriteJSON(s.out); err != nil {
			return err
		}
	}
	return c.answer(s, ending, buying)
}

// answer says how it ended.
func (c *buyCommand) answer(s *streams, ending shopper.Ending, err error) error {
	if err != nil {
		var unknown *counter.UnknownError
		if errors.As(err, &unknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			fmt.Fprintf(s.err, "strabo: nobody can tell whether there is an order: %s\n", story.Printable(err.Error()))
			return errNo
		}
		return err
	}
	said := describeEnding(ending)
	switch total, _ := ending.Bill.Total(); {
	case ending.Action != "Cancelled":
	case !ending.Bill.AddsUp():
		said = "Cancelled: the bill does not add up."
	case c.Max > 0 && total > c.Max:
		said = fmt.Sprintf("Cancelled: the total is %s.", ending.Bill.Money(total))
	}
	if !c.JSON {
		if _, err := fmt.Fprintln(s.out, said); err != nil {
			return err
		}
	}
	if ending.Action != "Completed" {
		return errNo
	}
	return nil
}

// describeEnding says for a person how a checkout ended.
func describeEnding(ending shopper.Ending) string {
	switch ending.Action {
	case "Completed":
		var order struct {
			ID           string `json:"id"`
			PermalinkURL string `json:"permalink_url"`
		}
		if err := ending.Said.Decode(&order); err != nil {
			return "Order placed, but the shop's words for it are not understood: " + story.Printable(ending.Said.String())
		}
		text := "Order " + story.Printable(order.ID) + " placed"
		if total, ok := ending.Bill.Total(); ok {
			text += ", " + story.Printable(ending.Bill.Money(total))
		}
		if order.PermalinkURL != "" {
			text += ": " + story.Printable(order.PermalinkURL)
		}
		return text
	case "Cancelled":
		return "Cancelled."
	default:
		return "The shop " + strings.ToLower(ending.Action) + ": " + story.Printable(wordsOf(ending.Said))
	}
}

// wordsOf finds the sentence in a reason, whatever shape it has; the reason itself if there is none.
func wordsOf(reason enactment.Value) string {
	var sentence string
	if reason.Decode(&sentence) == nil {
		return sentence
	}
	var said struct {
		Message any    `json:"message"`
		Content string `json:"content"`
		Detail  any    `json:"detail"`
		Code    any    `json:"code"`
	}
	if reason.Decode(&said) != nil {
		return reason.String()
	}
	message, _ := said.Message.(string)
	detail, _ := said.Detail.(string)
	text := cmp.Or(message, said.Content, detail)
	if text == "" {
		return reason.String()
	}
	if code, ok := said.Code.(string); ok && code != "" {
		text += " (" + code + ")"
	}
	return text
}

// wish is what the flags ask for.
func (c *buyCommand) wish() shopper.Wish {
	var lines []any
	for _, id := range c.Item {
		lines = append(lines, map[string]any{"item": map[string]any{"id": id}, "quantity": c.Quantity})
	}
	wish := shopper.Wish{LineItems: lines}
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
