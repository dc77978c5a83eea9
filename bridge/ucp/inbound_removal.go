package ucp

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// OrderKept tells whether the order of a checkout is kept in the store of an [Inbound], where it stays when the log of the
// checkout is removed. Until it is, the log alone has it: that is so for a moment after a payment, and for longer where the
// process died then; any other one that runs keeps it within a minute. A checkout without an order has none to lose.
func OrderKept(ctx context.Context, store keyvalue.Store, happened iter.Seq[enactment.Instance]) (bool, error) {
	standing := model.StandingOf(happened)
	if standing.Completed == nil {
		return true, nil
	}
	order, err := model.ReadOrder(standing.Completed)
	if err != nil {
		return false, fmt.Errorf("ucp: inbound: order of a checkout: %w", err)
	}
	_, err = store.Get(ctx, orderName(order.ID))
	if errors.Is(err, keyvalue.ErrNone) {
		return false, nil
	}
	return err == nil, err
}
