package demoshop

import (
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// HandlerID is the payment handler that the till understands.
const HandlerID = "demo_pay"

// Tokens lists the payment tokens that the demo till knows: the first pays, the others fail in the ways they say.
func Tokens() []string { return []string{"coins", "no_coins", "forged_coins"} }

// Order is what a completed checkout has become: what order is bound to.
type Order struct {
	ID string `json:"id"`
	// PermalinkURL is where the order can be seen.
	PermalinkURL string `json:"permalink_url"`
}

// settlement is the answer to one payment: an order or a no.
type settlement struct {
	order *Order
	no    *No
	taken map[string]int64
}

// Settle takes the goods of a wish out of stock, charges the instrument, and writes the order; or says why not. The
// same checkout is settled once: asked again, the till gives the first answer.
func (s *Shop) Settle(checkout string, w Wish, instrument enactment.Value) (*Order, *No) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, ok := s.settled[checkout]; ok {
		return done.order, done.no
	}
	done := s.settle(w, instrument)
	s.settled[checkout] = done
	return done.order, done.no
}

func (s *Shop) settle(w Wish, instrument enactment.Value) settlement {
	if missing := s.Unready(w); missing != nil {
		return settlement{no: missing}
	}
	if refused := charge(instrument); refused != nil {
		return settlement{no: refused}
	}
	taken := make(map[string]int64)
	for i, line := range w.Lines {
		if left := s.stock[line.Item.ID] - taken[line.Item.ID]; line.Quantity > left {
			return settlement{no: no("out_of_stock", fmt.Sprintf("$.line_items[%d]", i),
				"Insufficient stock of %s: %d wanted, %d left.", line.Item.ID, line.Quantity, left)}
		}
		taken[line.Item.ID] += line.Quantity
	}
	for item, quantity := range taken {
		s.stock[item] -= quantity
	}
	s.orders++
	s.written++
	id := fmt.Sprintf("L%05d", s.written)
	return settlement{order: &Order{ID: id, PermalinkURL: "https://lamps.example/orders/" + id}, taken: taken}
}

// Undo gives the goods of a settled checkout back and forgets its order: for when the checkout ended another way
// before the order could be told.
func (s *Shop) Undo(checkout string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, ok := s.settled[checkout]
	if !ok || done.order == nil {
		return
	}
	for item, quantity := range done.taken {
		s.stock[item] += quantity
	}
	s.orders--
	s.settled[checkout] = settlement{no: no("canceled", "", "The checkout was canceled.")}
}

// charge asks the payment handler for the money. It stands where a real shop calls its payment provider.
func charge(instrument enactment.Value) *No {
	var paid struct {
		Handler    string `json:"handler_id"`
		Credential struct {
			Token string `json:"token"`
		} `json:"credential"`
	}
	if err := instrument.Decode(&paid); err != nil || paid.Handler != HandlerID {
		return no("payment_declined", "$.payment", "The shop takes %s only.", HandlerID)
	}
	switch slices.Index(Tokens(), paid.Credential.Token) {
	case 0:
		return nil
	case 1:
		return no("insufficient_funds", "$.payment", "Insufficient funds.")
	case 2:
		return no("fraud_detected", "$.payment", "The coins are forged.")
	default:
		return no("unknown_token", "$.payment", "The token is not known.")
	}
}
