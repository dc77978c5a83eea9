// Package hotel is an example of agents for a protocol of one's own, to be copied: two agents who book rooms by hotel.lsh.
// Program agent beside it runs one of them on a server; docs/agents.md walks through both.
package hotel

import (
	"context"
	_ "embed"
	"errors"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

//go:embed hotel.lsh
var text []byte

// Rules compiles the protocol.
func Rules() (*enactment.Rules, error) { return protocols.Compile(text, nil) }

// NewHotel makes a hotel that takes 100 a night and confirms whoever holds a room. It does nothing before Run.
func NewHotel(rules *enactment.Rules, executor adapter.Executor) (*adapter.Adapter, error) {
	hotel, err := adapter.New(rules, "Hotel", executor)
	if err != nil {
		return nil, err
	}
	hotel.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
		// Quote does not carry nights; Ask, to which it refers, does.
		asked, _ := f.Value("nights")
		var nights int64
		if err := asked.Decode(&nights); err != nil {
			return err
		}
		f.Bind("price", 100*nights)
		return f.Attempt(ctx).Err(ctx)
	})
	hotel.OnEnabled("Confirmed", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("number", roomNumber(f.Enactment.Key()))
		err := f.Attempt(ctx).Err(ctx)
		if errors.Is(err, enactment.Blocked) || errors.Is(err, enactment.Excluded) {
			return nil // The guest has cancelled meanwhile, and Cancelled is offered next.
		}
		return err
	})
	hotel.OnEnabled("Cancelled", func(ctx context.Context, f *adapter.FeasibleAction) error {
		err := f.Attempt(ctx).Err(ctx)
		if errors.Is(err, enactment.Excluded) {
			return nil // It was confirmed before.
		}
		return err
	})
	return hotel, nil
}

// roomNumber chooses a room. A handler may be called twice for one booking, so it gives the same again.
func roomNumber(booking enactment.Key) int {
	sum := 0
	for _, letter := range booking {
		sum += int(letter)
	}
	return 100 + sum%100
}

// NewGuest makes a guest who holds what costs no more than the budget, and cancels the rest. Told is called when a booking
// has ended, by Confirmed or by Cancelled. It does nothing before Run; Ask starts a booking.
func NewGuest(
	rules *enactment.Rules, executor adapter.Executor, budget int64, told func(booking enactment.Key, ending string),
) (*adapter.Adapter, error) {
	guest, err := adapter.New(rules, "Guest", executor)
	if err != nil {
		return nil, err
	}
	affordable := func(f *adapter.FeasibleAction) (bool, error) {
		quoted, _ := f.Value("price")
		var price int64
		err := quoted.Decode(&price)
		return price <= budget, err
	}
	guest.OnEnabled("Hold", func(ctx context.Context, f *adapter.FeasibleAction) error {
		if ok, err := affordable(f); !ok || err != nil {
			return err
		}
		f.Bind("name", "Ada")
		return f.Attempt(ctx).Err(ctx)
	})
	guest.OnEnabled("Cancel", func(ctx context.Context, f *adapter.FeasibleAction) error {
		if ok, err := affordable(f); ok || err != nil {
			return err
		}
		return f.Attempt(ctx).Err(ctx)
	})
	for _, ending := range []string{"Confirmed", "Cancelled"} {
		guest.OnObservation(ending, func(_ context.Context, o adapter.Observation) error {
			told(o.Enactment.Key(), ending)
			return nil
		})
	}
	return guest, nil
}

// Ask starts a booking. Asking again under the same name with the same wish is the same, so it may be repeated after a crash.
func Ask(ctx context.Context, guest *adapter.Adapter, booking, room string, nights int) error {
	wish := adapter.Values{"booking": booking, "room": room, "nights": nights}
	return guest.Attempt(ctx, "Ask", wish, adapter.WithAttemptID("ask-"+booking)).Err(ctx)
}
