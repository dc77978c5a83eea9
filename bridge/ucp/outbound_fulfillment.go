package ucp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// Choices decide what the Platform left open. A nil function takes what the field says. They must give the same result
// for the same input, block no longer than the context lives, and may be called from several goroutines. An id that was
// not offered is refused, as is the empty one.
type Choices struct {
	// Destination picks one of the destinations that the shop keeps for the buyer, at least one, where the wish names
	// none; by default the first.
	Destination func(ctx context.Context, offered []model.Destination) (id string, err error)
	// Option picks one of the options that a shop offers for a package, at least one, where the wish is the cheapest;
	// by default the first of those that cost least.
	Option func(ctx context.Context, offered []model.Option) (id string, err error)
}

// The moves of arranging fulfillment, in order: a shop may need each of them once.
const (
	moveNothing = "nothing" // the checkout is still to be created
	moveCreate  = "create"  // tell at once what can be told
	moveOffer   = "offer"   // tell that delivery is wanted, and where to
	movePlace   = "place"   // select the destination
	moveChoose  = "choose"  // select the options
	moveDone    = "done"    // nothing is left to do
)

var moves = []string{moveNothing, moveCreate, moveOffer, movePlace, moveChoose}

// arrangement is what the hook is told.
type arrangement struct {
	After string `json:"after"`
	// Active tells whether the extension is active with the shop; left out where that is not known, so that it is tried.
	Active      *bool              `json:"active"`
	ID          string             `json:"id"`
	Wish        *Wish              `json:"wish"`
	Fulfillment *model.Fulfillment `json:"fulfillment"`
	Buyer       *struct {
		Email string `json:"email"`
	} `json:"buyer"`
}

// arranged is what the hook answers: the next move and what to send with it, if anything.
type arranged struct {
	Step        string             `json:"step"`
	Fulfillment *fulfillmentUpdate `json:"fulfillment"`
}

type fulfillmentUpdate struct {
	Methods []methodUpdate `json:"methods"`
}

func arrangedAs(step string, methods ...methodUpdate) arranged {
	return arranged{step, &fulfillmentUpdate{methods}}
}

// methodUpdate is a method as an update sends it. Nothing of what a shop said is sent back but ids: the Python sample
// fails on its own addresses.
type methodUpdate struct {
	ID                    string              `json:"id,omitempty"`
	Type                  string              `json:"type"`
	LineItemIDs           []string            `json:"line_item_ids,omitempty"`
	Destinations          []model.Destination `json:"destinations,omitempty"`
	SelectedDestinationID string              `json:"selected_destination_id,omitempty"`
	Groups                []groupUpdate       `json:"groups,omitempty"`
}

type groupUpdate struct {
	ID               string `json:"id,omitempty"`
	SelectedOptionID string `json:"selected_option_id,omitempty"`
}

// unfit is the reason of a [bridge.NoChoice] of this package, in the form of the shops' own refusals.
func unfit(code, format string, arguments ...any) error {
	return &bridge.NoChoice{Reason: map[string]string{"code": code, "message": fmt.Sprintf(format, arguments...)}}
}

// arrange is the hook fulfillment: it compares what is wanted with what the shop has and says what to do next. Shops
// differ in how much they take at once, and answer as if they had understood what they have not, so every answer is
// looked at.
func (c Choices) arrange(ctx context.Context, input any) (any, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	var a arrangement
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, unfit("fulfillment_invalid", "the fulfillment cannot be arranged: %v", err)
	}
	if a.Wish == nil {
		return arranged{Step: moveDone}, nil
	}
	a.Wish.Type = cmp.Or(a.Wish.Type, "shipping")
	return c.next(ctx, a)
}

// Delivery is what is to be asked of a shop next, so that a checkout is delivered as is wished.
type Delivery struct {
	// Move says what it is for, and goes into the next call of [Choices.Deliver]; DeliveryArranged if nothing is left.
	Move string
	// Fulfillment is the whole member fulfillment of the request; nil for none.
	Fulfillment any
}

// DeliveryArranged is the [Delivery.Move] when nothing is left to do.
const DeliveryArranged = moveDone

// Deliver compares a wish (see [Wish]) with the fulfillment of a checkout, both anything that encoding/json encodes, and
// says what to do next. After is the move that was made last, empty before the checkout is created; there are at most four
// after another. Buyer is the buyer of the checkout, id a name for it. It calls the functions of Choices and blocks as they
// do. The error is a [*bridge.NoChoice] if the wish cannot be fulfilled; its reason has code and message.
func (c Choices) Deliver(ctx context.Context, after, id string, wish, buyer, fulfillment any) (Delivery, error) {
	found, err := c.arrange(ctx, map[string]any{
		"after": cmp.Or(after, moveNothing), "id": id, "wish": wish, "buyer": buyer, "fulfillment": fulfillment,
	})
	if err != nil {
		return Delivery{}, err
	}
	next, ok := found.(arranged)
	if !ok || next.Fulfillment == nil {
		return Delivery{Move: DeliveryArranged}, nil
	}
	return Delivery{Move: next.Step, Fulfillment: next.Fulfillment}, nil
}

// may tells whether a move is still to come.
func (a arrangement) may(move string) bool {
	return slices.Index(moves, move) > slices.Index(moves, a.After)
}

func (c Choices) next(ctx context.Context, a arrangement) (any, error) {
	var methods []model.Method
	if a.Fulfillment != nil {
		methods = a.Fulfillment.Methods
	}
	offered := slices.ContainsFunc(methods, func(m model.Method) bool { return m.Type == a.Wish.Type })
	if !offered {
		first := methodUpdate{Type: a.Wish.Type, Destinations: a.newDestinations()}
		switch {
		case a.may(moveCreate):
			return arrangedAs(moveCreate, first), nil
		case a.may(moveOffer):
			return arrangedAs(moveOffer, first), nil
		}
		return nil, unfit("fulfillment_unavailable", "the shop offers no %s", a.Wish.Type)
	}
	updates := make([]methodUpdate, len(methods))
	step := moveDone
	advance := func(to string) {
		if step == moveDone || slices.Index(moves, to) < slices.Index(moves, step) {
			step = to
		}
	}
	for i, m := range methods {
		u := &updates[i]
		*u = methodUpdate{ID: m.ID, Type: m.Type, LineItemIDs: m.LineItemIDs, SelectedDestinationID: m.SelectedDestination}
		if m.Type != a.Wish.Type {
			u.Groups = sameGroups(m)
			continue
		}
		move, err := c.place(ctx, a, m, u)
		if err == nil && move == moveDone {
			move, err = c.options(ctx, a, m, u)
		}
		if err != nil {
			return nil, err
		}
		if move != moveDone {
			advance(move)
		}
	}
	return arrangedAs(step, updates...), nil
}

func sameGroups(m model.Method) []groupUpdate {
	var same []groupUpdate
	for _, g := range m.Groups {
		same = append(same, groupUpdate{ID: g.ID, SelectedOptionID: g.SelectedOption})
	}
	return same
}

// place sees to it that the method goes to the wanted destination.
func (c Choices) place(ctx context.Context, a arrangement, m model.Method, u *methodUpdate) (string, error) {
	id, listed, err := c.destination(ctx, a, m)
	switch {
	case err != nil:
		return "", err
	case listed && m.SelectedDestination == id:
		return moveDone, nil
	case listed && a.may(movePlace):
		u.SelectedDestinationID = id
		return movePlace, nil
	case listed:
		return "", unfit("destination_not_taken", "the shop does not deliver to the destination that was selected")
	case a.may(moveOffer):
		u.SelectedDestinationID = ""
		u.Destinations = a.newDestinations()
		return moveOffer, nil
	case a.Wish.Destination != nil && a.may(movePlace):
		own := a.ownDestination()
		u.Destinations, u.SelectedDestinationID = []model.Destination{own}, own.ID
		return movePlace, nil
	case a.Wish.Destination != nil:
		return "", unfit("destination_not_taken", "the shop does not take the destination")
	case a.Wish.DestinationID != "":
		return "", unfit("destination_unknown", "the shop has no destination %s", a.Wish.DestinationID)
	default:
		return "", unfit("destination_required", "the shop has no destination for the buyer, and none was given")
	}
}

// destination finds the wanted destination among those that the shop lists.
func (c Choices) destination(ctx context.Context, a arrangement, m model.Method) (id string, listed bool, err error) {
	switch {
	case a.Wish.DestinationID != "":
		id = a.Wish.DestinationID
	case a.Wish.Destination != nil:
		for _, d := range m.Destinations {
			if sameAddress(*a.Wish.Destination, d) {
				return d.ID, true, nil
			}
		}
		return "", false, nil
	case len(m.Destinations) == 0:
		return "", false, nil
	case c.Destination == nil:
		id = m.Destinations[0].ID
	default:
		if id, err = c.Destination(ctx, m.Destinations); err != nil {
			return "", false, err
		}
		if !lists(m.Destinations, id) {
			return "", false, unfit("destination_unknown", "the destination %q was chosen, which the shop does not offer", id)
		}
	}
	return id, lists(m.Destinations, id), nil
}

func lists(destinations []model.Destination, id string) bool {
	return slices.ContainsFunc(destinations, func(d model.Destination) bool { return d.ID == id })
}

// sameAddress tells whether what is said of an address, a, agrees with another.
func sameAddress(a, b model.Destination) bool {
	pairs := [][2]string{
		{a.ExtendedAddress, b.ExtendedAddress},
		{a.StreetAddress, b.StreetAddress},
		{a.AddressLocality, b.AddressLocality},
		{a.AddressRegion, b.AddressRegion},
		{a.AddressCountry, b.AddressCountry},
		{a.PostalCode, b.PostalCode},
	}
	for _, p := range pairs {
		if p[0] != "" && !strings.EqualFold(strings.TrimSpace(p[0]), strings.TrimSpace(p[1])) {
			return false
		}
	}
	return true
}

// newDestinations is the wanted address as it is offered to a shop, which gives it an id. The Python sample cannot do
// that for a buyer without an email.
func (a arrangement) newDestinations() []model.Destination {
	switch {
	case a.Wish.Destination == nil:
		return nil
	case a.Buyer == nil || a.Buyer.Email == "":
		return []model.Destination{a.ownDestination()}
	default:
		return []model.Destination{*a.Wish.Destination}
	}
}

// ownDestination is the wanted address with an id that no other checkout uses, since the Python sample keeps one table
// of ids for all buyers.
func (a arrangement) ownDestination() model.Destination {
	own := *a.Wish.Destination
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%+v", a.ID, own))
	own.ID = "dest_" + hex.EncodeToString(sum[:8])
	return own
}

// options sees to it that each package of the method goes the wanted way.
func (c Choices) options(ctx context.Context, a arrangement, m model.Method, u *methodUpdate) (string, error) {
	move := moveDone
	for _, g := range m.Groups {
		id, err := c.option(ctx, a.Wish.Option, g.Options)
		if err != nil {
			return "", err
		}
		u.Groups = append(u.Groups, groupUpdate{ID: g.ID, SelectedOptionID: id})
		if g.SelectedOption != id {
			move = moveChoose
		}
	}
	if move == moveChoose && !a.may(moveChoose) {
		return "", unfit("fulfillment_option_not_taken", "the shop does not take the option that was selected")
	}
	return move, nil
}

// option picks one of the options. Nothing else is taken instead of what was wished: a sample shop that is given an
// option it does not know completes the order without charging for delivery.
func (c Choices) option(ctx context.Context, wish OptionWish, offered []model.Option) (string, error) {
	if len(offered) == 0 {
		return "", unfit("fulfillment_option_unavailable", "the shop offers no way to deliver to the destination")
	}
	wanted := func(o model.Option) bool {
		return wish.ID != "" && o.ID == wish.ID || wish.Title != "" && strings.EqualFold(o.Title, wish.Title)
	}
	if wish != (OptionWish{}) {
		at := slices.IndexFunc(offered, wanted)
		if at < 0 {
			return "", unfit("fulfillment_option_unavailable", "the shop does not offer the option %s", cmp.Or(wish.Title, wish.ID))
		}
		return offered[at].ID, nil
	}
	if c.Option == nil {
		return cheapest(offered).ID, nil
	}
	id, err := c.Option(ctx, slices.Clone(offered))
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(offered, func(o model.Option) bool { return o.ID == id }) {
		return "", unfit("fulfillment_option_unavailable", "the option %q was chosen, which the shop does not offer", id)
	}
	return id, nil
}

// cheapest gives the first of the options that cost least; those without a price come last.
func cheapest(offered []model.Option) model.Option {
	return slices.MinFunc(offered, func(a, b model.Option) int {
		price, priced := priceOf(a)
		other, alsoPriced := priceOf(b)
		switch {
		case priced && alsoPriced:
			return cmp.Compare(price, other)
		case priced:
			return -1
		case alsoPriced:
			return 1
		default:
			return 0
		}
	})
}

// priceOf gives what an option costs in minor units of the checkout's currency; false if the shop does not say.
func priceOf(option model.Option) (int64, bool) {
	for _, total := range slices.Backward(option.Totals) {
		if total.Type == "total" {
			return total.Amount, true
		}
	}
	return 0, false
}
