package model

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/enactment"
)

// Wish is what a platform asks for with Create or Update, read.
type Wish struct {
	// Lines are the goods. Each has an id, an item's id and a quantity of at least 1.
	Lines []WishedLine
	// Email is the buyer's, empty where it is not known.
	Email string
	// Buyer is all that is known of the buyer, null where nothing is.
	Buyer enactment.Value
	// Fulfillment is what the platform has selected so far; nil where it has not asked for any. Options are the business's
	// to fill in.
	Fulfillment *Fulfillment
	// Codes are the discount codes; nil where the platform has not said anything of discounts.
	Codes []string
	// Claims are benefits that the buyer claims to be entitled to, such as com.example.loyalty_gold. Claims that are acted on
	// have to be verified before anything is sold (UCP 2026-04-08, checkout, eligibility).
	Claims []string
}

// WishedLine is a number of pieces of an item.
type WishedLine struct {
	ID       string     `json:"id"`
	Item     WishedItem `json:"item"`
	Quantity int64      `json:"quantity"`
	ParentID string     `json:"parent_id,omitempty"`
}

// WishedItem names an item.
type WishedItem struct {
	ID string `json:"id"`
}

// ReadWish reads what a Create or an Update has bound. The error says which part has another shape.
func ReadWish(asked *enactment.Instance) (Wish, error) {
	var w Wish
	var buyer struct {
		Email string `json:"email"`
	}
	var discounts struct {
		Codes []string `json:"codes"`
	}
	var context struct {
		Eligibility []string `json:"eligibility"`
	}
	for _, part := range []struct {
		name string
		into any
	}{
		{"line_items", &w.Lines}, {"buyer", &buyer}, {"fulfillment", &w.Fulfillment}, {"discounts", &discounts}, {"context", &context},
	} {
		value, ok := asked.Value(part.name)
		if !ok {
			return Wish{}, fmt.Errorf("model: %s does not carry %s", asked.Action, part.name)
		}
		if err := read.Into(value, part.name, part.into); err != nil {
			return Wish{}, fmt.Errorf("model: %s: %w", asked.Action, err)
		}
	}
	w.Buyer, _ = asked.Value("buyer")
	w.Email, w.Codes, w.Claims = buyer.Email, discounts.Codes, context.Eligibility
	return w, nil
}

// Body is what a business shows of a checkout beside its totals and messages. It is what checkout is bound to.
type Body struct {
	LineItems   []LineItem      `json:"line_items"`
	Buyer       enactment.Value `json:"buyer"`
	Fulfillment *Fulfillment    `json:"fulfillment,omitempty"`
	Discounts   *Discounts      `json:"discounts,omitempty"`
	Links       []Link          `json:"links"`
	ExpiresAt   string          `json:"expires_at,omitempty"`
	ContinueURL string          `json:"continue_url,omitempty"`
}

// ReadStatement reads what the business stated last: the body and the totals. The error says that nothing was stated, or
// what in it cannot be read.
func (s *Standing) ReadStatement() (Body, []Total, error) {
	var body Body
	if s.Statement == nil {
		return body, nil, errors.New("model: nothing was stated")
	}
	checkout, _ := s.Statement.Value("checkout")
	if err := read.Into(checkout, "checkout", &body); err != nil {
		return body, nil, fmt.Errorf("model: %s: %w", s.Statement.Action, err)
	}
	totals, err := ReadTotals(s.Statement)
	return body, totals, err
}

// ReadTotals reads the totals that an instance carries. The error says what in them cannot be read.
func ReadTotals(of *enactment.Instance) (totals []Total, err error) {
	value, _ := of.Value("totals")
	if err := read.Into(value, "totals", &totals); err != nil {
		return nil, fmt.Errorf("model: %s: %w", of.Action, err)
	}
	return totals, nil
}

// ReadOrder reads the order that an instance carries. The error says what in it cannot be read.
func ReadOrder(of *enactment.Instance) (order Order, err error) {
	value, _ := of.Value("order")
	if err := read.Into(value, "order", &order); err != nil {
		return Order{}, fmt.Errorf("model: %s: %w", of.Action, err)
	}
	return order, nil
}

// No is how a business says no: to a checkout, to a change, to a payment. It is what reason and notice are bound to.
type No struct {
	// Code is one of UCP's message codes, such as out_of_stock.
	Code string `json:"code"`
	// Content is a sentence for a person.
	Content string `json:"content"`
	// Path is the JSONPath of what it is about in the checkout, if it is about a part.
	Path string `json:"path,omitempty"`
}

// Error gives the sentence.
func (n *No) Error() string { return n.Content }

// Refuse makes a No.
func Refuse(code, path, format string, arguments ...any) *No {
	return &No{Code: code, Path: path, Content: fmt.Sprintf(format, arguments...)}
}

// Pieces counts the pieces of each item.
func (w *Wish) Pieces() map[string]int64 {
	pieces := make(map[string]int64, len(w.Lines))
	for _, line := range w.Lines {
		pieces[line.Item.ID] += line.Quantity
	}
	return pieces
}
