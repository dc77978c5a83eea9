package demoshop

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
)

// Agent makes the shop play Business in a protocol such as simple-ucp on an executor. It does nothing before Run.
func (s *Shop) Agent(rules *enactment.Rules, executor adapter.Executor, options ...adapter.Option) (*adapter.Adapter, error) {
	agent, err := adapter.New(rules, "Business", executor, options...)
	if err != nil {
		return nil, fmt.Errorf("demo shop: %w", err)
	}

	// Somebody wishes for goods: price them, or say why not.
	agent.OnEnabled("Created", func(ctx context.Context, f *adapter.FeasibleAction) error {
		wish, err := wishOf(f.Enactment)
		var totals []ucp.Total
		if err == nil {
			totals, err = s.Price(wish)
		}
		if err != nil {
			return s.sayNo(ctx, agent, f, "Refused", "reason", err)
		}
		f.Bind("id", "lamps-"+uuid.NewString())
		f.Bind("currency", Currency)
		f.Bind("totals", totals)
		return settled(f.Attempt(ctx).Err(ctx))
	})

	// Somebody pays: take the goods from the shelf and the money, or say why not.
	agent.OnEnabled("Completed", func(ctx context.Context, f *adapter.FeasibleAction) error {
		wish, err := wishOf(f.Enactment)
		if err != nil {
			return err
		}
		order, declined := s.Settle(f.Enactment.String(), wish, valueIn(f.Enactment, "Complete", "payment"))
		if declined != nil {
			return s.sayNo(ctx, agent, f, "Declined", "decline", declined)
		}
		f.Bind("order", order)
		err = f.Attempt(ctx).Err(ctx)
		if _, refused := errors.AsType[*adapter.Rejection](err); refused {
			s.Undo(f.Enactment.String())
		}
		return settled(err)
	})

	// Somebody cancels: the shop does not mind.
	agent.OnEnabled("Cancelled", func(ctx context.Context, f *adapter.FeasibleAction) error {
		return settled(f.Attempt(ctx).Err(ctx))
	})
	return agent, nil
}

// sayNo answers an offer with the action that says no to it.
func (s *Shop) sayNo(ctx context.Context, agent *adapter.Adapter, f *adapter.FeasibleAction, action, attribute string, why error) error {
	said, ok := errors.AsType[*No](why)
	if !ok {
		return why
	}
	values := adapter.Values{attribute: said}
	for key, value := range f.Enactment.Key().Values() {
		values[key] = value
	}
	return settled(agent.Attempt(ctx, action, values).Err(ctx))
}

// settled forgives a refusal because something else was first: the engine has decided, and there is nothing to do.
func settled(err error) error {
	if errors.Is(err, enactment.Excluded) || errors.Is(err, enactment.AlreadyHappened) {
		return nil
	}
	return err
}

// wishOf reads what was asked for in an enactment.
func wishOf(e adapter.Enactment) (Wish, error) {
	return ReadWish(valueIn(e, "Create", "line_items"), valueIn(e, "Create", "buyer"), valueIn(e, "Create", "fulfillment"))
}

// valueIn gives the value that an action bound in an enactment, the zero value if it has not.
func valueIn(e adapter.Enactment, action, attribute string) enactment.Value {
	for instance := range e.Instances() {
		if value, ok := instance.Value(attribute); ok && instance.Action == action {
			return value
		}
	}
	return enactment.Value{}
}
