package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

// releases are those that are spoken, the preferred ones first.
func (c *buyCommand) releases() []wire.Release {
	switch {
	case c.Release != "":
		return []wire.Release{wire.Release(c.Release)}
	case c.RequireSigned:
		return []wire.Release{wire.April2026}
	}
	return ucp.ReleasesFor(c.Profile)
}

// discover finds a shop that can be called over a transport; over any if it is empty.
func discover(ctx context.Context, url, transport string, spoken ...wire.Release) (*ucp.Business, error) {
	if transport == "" {
		return ucp.Discover(ctx, nil, url, spoken...)
	}
	return ucp.DiscoverOver(ctx, nil, url, negotiation.Transport(transport), spoken...)
}

// Run buys.
func (c *buyCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	held, done, err := c.hold(s)
	if err != nil {
		return err
	}
	defer done()
	following, under := held.following, held.under
	business, err := discover(ctx, c.Business, c.Transport, c.releases()...)
	if err != nil {
		return fmt.Errorf("there is no shop to buy at: %w", err)
	}
	if c.Profile == "" && business.Release != wire.January11 {
		fmt.Fprintf(s.err, "strabo: shops of UCP %s ask for the platform's profile, so --profile is needed (see strabo profile)\n", business.Release)
	}
	instrument, err := c.instrument(business)
	if err != nil {
		return err
	}
	if c.Pay == "" {
		fmt.Fprintf(s.err, "strabo: paying with %s\n", story.Short(fmt.Sprint(instrument["handler_id"]), longestID))
	}
	purchase, err := c.purchase(ctx, held.journal, business, s)
	if err != nil {
		return err
	}
	told := new(story.Story)
	at, err := counter.Open(business, counter.Options{
		Profile: c.Profile, Signer: held.signer, Signed: c.RequireSigned, Mandate: c.mandates(held.mandates, business, s), Orders: following.orders, Changed: following.changed,
		Decide: func(bill shopper.Bill) shopper.Decision {
			c.show(s, bill)
			// What an earlier process has asked of the shop is not to be changed now.
			if resumed := purchase != nil && purchase.Decided == "Complete"; !resumed {
				if why := c.objection(bill); why != "" || purchase != nil && purchase.Decided == "Cancel" {
					return shopper.Decision{Cancel: true, Why: why}
				}
			}
			return shopper.Decision{Pay: map[string]any{"payment": map[string]any{"instruments": []any{instrument}}}}
		},
		Show:     func(m ucp.Message) { showWarning(s, m) },
		HandOff:  func(url string, why []ucp.Message) { handOff(s, url, why) },
		Currency: c.Currency, PlainPages: c.PlainHTTP, Recorder: told.Recorder(platformSide), Purchase: purchase, Patience: patience(ctx),
		Policy: under.policy, Audit: audit.All(told, under.audit), AuditRequired: c.Audit != "", Hasher: under.hasher,
		Logger:  slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelError})),
		Subject: c.subject(), Approvals: under.approvals,
	})
	if err != nil {
		return err
	}
	wish, err := c.wish()
	if err != nil {
		return err
	}
	if purchase != nil {
		wish.ID = purchase.ID
	}
	ending, buying := at.Buy(ctx, wish)
	// From here on something may have been asked of the shop, so whatever fails, what came of that is said.
	if buying == nil && following.orders != nil && ordered(ending) {
		answered := c.answer(s, told, following, wish.ID, ending, nil)
		following.run(whole, at, told)
		if closing := at.Close(); closing != nil {
			fmt.Fprintf(s.err, "strabo: %s\n", story.Short(closing.Error(), longestWords))
		}
		return answered
	}
	closing := at.Close()
	if closing != nil {
		fmt.Fprintf(s.err, "strabo: %s\n", story.Short(closing.Error(), longestWords))
	}
	var refused *adapter.Rejection
	if errors.As(buying, &refused) {
		// What the rules of the shop do not allow has not been asked of it.
		ending, buying = shopper.Ending{Action: notAsked, Why: refused.Detail}, nil
		if wish.Fulfillment != nil && !business.Active(deliveryExtension) {
			ending.Why += "; --no-delivery asks for none"
		}
	}
	var unknown *counter.UnknownError
	if buying = at.Account(wish.ID, buying); buying != nil && !errors.As(buying, &unknown) {
		if closing != nil {
			return errSaid
		}
		return buying
	}
	return c.answer(s, told, following, wish.ID, ending, unknown)
}

// patience is how long one call may be followed up: less than there is time, so that it can be said what came of it.
func patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline)*9/10, time.Millisecond)
}

// objection says why a bill is not to be paid; empty if it is.
func (c *buyCommand) objection(bill shopper.Bill) string {
	total, _ := bill.Total()
	switch {
	case !strings.EqualFold(bill.Currency, c.Currency):
		return fmt.Sprintf("the bill is in %s, not in %s", story.Short(bill.Currency, longestID), c.Currency)
	case total < 0:
		return fmt.Sprintf("the total is %s: the shop would owe it, and that is for a person to agree to", bill.Money(total))
	case c.RequireDiscounts && len(bill.Discounts.Rejected) > 0:
		return "the discount code " + story.Short(bill.Discounts.Rejected[0].Code, longestID) + " is not taken"
	case c.Max != nil && total > *c.Max:
		return fmt.Sprintf("the total is %s, more than %s", bill.Money(total), bill.Money(*c.Max))
	default:
		return ""
	}
}
