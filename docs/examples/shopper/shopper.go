// Package shopper is an example of a platform of one's own, to be copied: an agent that buys one thing at any shop that
// speaks UCP, up to a price. The agent knows the protocol simple-ucp and nothing of HTTP; what becomes of its actions on
// the wire is the outbound bridge's, and under what conditions anything leaves is the call policy's.
package shopper

import (
	"context"
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// Purchase is what to buy and on what conditions.
type Purchase struct {
	// ID is the purchase's name, and Item the product's at the shop.
	ID, Item string
	Quantity int
	// Limit is the highest total to pay, in minor units of Currency, an ISO 4217 code.
	Limit    int64
	Currency string
	// To is where to deliver.
	To model.Destination
	// Payment is the instrument, such as {"handler_id": ..., "token": ..., "brand": ..., "last_digits": ...}.
	Payment map[string]any
	// User is on whose behalf it is bought.
	User string
}

// Ending is how a purchase ended: the business's last action, Completed, Declined, Refused or Cancelled, and what was said
// with it: the order or the reason, none for Cancelled. A reason has a code, a message, and the shop's own messages.
type Ending struct {
	Action string
	Said   enactment.Value
}

// Buy buys at a shop that was discovered. Profile is the URL of the platform's profile, which shops of UCP 2026-01-23 and
// later fetch; approver agrees to the payment, and sink is told of every call. The error says why there is no ending: the
// context has ended, or nobody can tell what became of a call.
func Buy(
	ctx context.Context, shop *ucp.Business, profile string, p Purchase, approver policy.Approver, sink audit.Sink,
) (Ending, error) {
	rules, err := protocols.Load("simple-ucp")
	if err != nil {
		return Ending{}, err
	}
	local := syncserver.NewLocal(rules)
	defer local.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	// The shop plays the Business.
	business, err := ucp.NewOutbound(rules, local, shop, ucp.OutboundOptions{
		Profile: profile, Currency: p.Currency,
		Principal: func(context.Context, enactment.Key, enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: "shopper", Subject: p.User}, nil
		},
		Approvals: approver, Audit: sink, AuditRequired: true,
		OnUnknown: func(u bridge.Unsettled) { fail(fmt.Errorf("nobody knows what became of %s: %s", u.Step, u.Detail)) },
		OnDiverged: func(d bridge.Divergence) {
			fail(fmt.Errorf("the shop did what the protocol does not allow: %s", d.Detail))
		},
	})
	if err != nil {
		return Ending{}, err
	}

	// The agent plays the Platform.
	platform, err := adapter.New(rules, "Platform", local)
	if err != nil {
		return Ending{}, err
	}
	platform.OnEnabled("Complete", func(ctx context.Context, f *adapter.FeasibleAction) error {
		if total, err := totalOf(f); err != nil || total > p.Limit {
			return err
		}
		f.Bind("payment", p.Payment)
		return f.Attempt(ctx).Err(ctx)
	})
	platform.OnEnabled("Cancel", func(ctx context.Context, f *adapter.FeasibleAction) error {
		if total, err := totalOf(f); err == nil && total <= p.Limit {
			return nil
		}
		return f.Attempt(ctx).Err(ctx)
	})
	endings := make(chan Ending, 1)
	for action, says := range map[string]string{"Completed": "order", "Declined": "decline", "Refused": "reason", "Cancelled": ""} {
		platform.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			ending := Ending{Action: action}
			ending.Said, _ = o.Value(says)
			endings <- ending
			return nil
		})
	}

	ran := make(chan error, 2)
	go func() { ran <- business.Run(ctx) }()
	go func() { ran <- platform.Run(ctx) }()
	ending, err := p.await(ctx, platform, endings)
	fail(nil)
	return ending, errors.Join(err, <-ran, <-ran)
}

// await starts the purchase and waits for its end.
func (p Purchase) await(ctx context.Context, platform *adapter.Adapter, endings <-chan Ending) (Ending, error) {
	err := platform.Attempt(ctx, "Create", adapter.Values{
		"cid":         p.ID,
		"line_items":  []any{map[string]any{"item": map[string]any{"id": p.Item}, "quantity": p.Quantity}},
		"buyer":       nil,
		"fulfillment": ucp.Wish{Destination: &p.To},
	}).Err(ctx)
	if err != nil {
		return Ending{}, err
	}
	select {
	case ending := <-endings:
		return ending, nil
	case <-ctx.Done():
		return Ending{}, context.Cause(ctx)
	}
}

// totalOf is what is to be paid: Created has it, and Complete and Cancel refer to that.
func totalOf(f *adapter.FeasibleAction) (int64, error) {
	stated, _ := f.Value("totals")
	var totals []ucp.Total
	if err := stated.Decode(&totals); err != nil {
		return 0, err
	}
	for _, total := range totals {
		if total.Type == "total" {
			return total.Amount, nil
		}
	}
	return 0, errors.New("there is no total")
}
