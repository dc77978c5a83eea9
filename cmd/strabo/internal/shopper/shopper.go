// Package shopper is a small Platform agent: it asks a Business for goods, looks at the bill, and pays or cancels. It
// is the same agent whether the Business is an agent too or a remote shop behind a bridge: it knows nothing of HTTP.
//
// What may happen when is said by the protocol and kept by the engine. Start reading at [New].
package shopper

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// Wish is what to buy: the values that Create binds, each anything that encoding/json encodes. Buyer and Fulfillment
// may be nil.
type Wish struct {
	// ID names the checkout: what cid is bound to. One is made up if it is empty.
	ID                            string
	LineItems, Buyer, Fulfillment any
	// Codes are discount codes. [New] knows of none.
	Codes []string
}

// Values gives what Create binds, but for the cid.
func (w Wish) Values() adapter.Values {
	return adapter.Values{"line_items": w.LineItems, "buyer": w.Buyer, "fulfillment": w.Fulfillment}
}

// Decision is what the shopper does about a bill.
type Decision struct {
	// Pay is the instrument to pay with; nil: do not pay.
	Pay any
	// Cancel cancels the checkout. With Pay both are attempted at the same time, and the engine decides.
	Cancel bool
	// Why is a sentence about it, for [Ending].
	Why string
}

// Ending is how a checkout ended.
type Ending struct {
	// Action is Completed, Declined, Cancelled or Refused.
	Action string
	// Said is what the Business said with it: the order, or the reason; zero for Cancelled.
	Said enactment.Value
	// Bill is the last that was seen; zero if there was none.
	Bill Bill
	// Why is why the shopper cancelled, if it said so.
	Why string
}

// Shopper is the agent.
type Shopper struct {
	agent  *adapter.Adapter
	decide func(Bill) Decision

	mu      sync.Mutex
	seen    map[enactment.Key]seen
	waiting map[enactment.Key]chan Ending
}

// seen is what the shopper has seen and decided of a checkout.
type seen struct {
	bill Bill
	why  string
}

// New makes a shopper that plays Platform in a protocol such as simple-ucp on an executor. Decide is asked about each
// bill that adds up; one that does not is never paid but cancelled (UCP: a platform must not complete one by itself).
func New(rules *enactment.Rules, executor adapter.Executor, decide func(Bill) Decision, options ...adapter.Option) (*Shopper, error) {
	agent, err := adapter.New(rules, "Platform", executor, options...)
	if err != nil {
		return nil, fmt.Errorf("shopper: %w", err)
	}
	s := &Shopper{
		agent: agent, decide: decide,
		seen: make(map[enactment.Key]seen), waiting: make(map[enactment.Key]chan Ending),
	}

	// The Business has priced the goods: look at what is about to be paid, then pay, or do not.
	agent.OnEnabled("Complete", func(ctx context.Context, f *adapter.FeasibleAction) error {
		decision := Decision{Cancel: true, Why: "the bill does not add up"}
		bill := read(f.Enactment)
		if bill.AddsUp() {
			decision = s.decide(bill)
		}
		s.note(f.Enactment.Key(), seen{bill, decision.Why})
		var ways []func() *adapter.Promise
		if decision.Cancel {
			ways = append(ways, func() *adapter.Promise {
				return agent.Attempt(ctx, "Cancel", adapter.Values{"cid": f.Known["cid"]})
			})
		}
		if decision.Pay != nil {
			f.Bind("payment", decision.Pay)
			ways = append(ways, func() *adapter.Promise { return f.Attempt(ctx) })
		}
		rand.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		var attempts []*adapter.Promise
		for _, attempt := range ways {
			attempts = append(attempts, attempt())
		}
		// A refusal means that the other one was first, and needs no answer: how it ends is observed below.
		for _, attempt := range attempts {
			if err := attempt.Err(ctx); err != nil && ctx.Err() == nil && !refused(err) {
				return err
			}
		}
		return nil
	})

	// The Business has answered: tell whoever waits.
	for action, says := range map[string]string{"Completed": "order", "Declined": "decline", "Refused": "reason", "Cancelled": ""} {
		agent.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			said, _ := o.Value(says)
			s.end(o.Enactment.Key(), action, said)
			return nil
		})
	}
	return s, nil
}

// Run plays Platform until ctx ends. It blocks, and may be called once.
func (s *Shopper) Run(ctx context.Context) error { return s.agent.Run(ctx) }

// Buy starts a checkout and waits for its end. It needs Run to run. The error is why the checkout could not be started,
// or the cause of ctx ending before anybody knew how it ends.
func (s *Shopper) Buy(ctx context.Context, wish Wish) (Ending, error) {
	cid := cmp.Or(wish.ID, uuid.NewString())
	values := wish.Values()
	values["cid"] = cid
	key, rejection := s.agent.Rules().KeyOf(enactment.Attempt{Action: "Create", Values: enactment.Values{"cid": enactment.MustValue(cid)}})
	if rejection != nil {
		return Ending{}, rejection
	}
	ended := make(chan Ending, 1)
	s.mu.Lock()
	s.waiting[key] = ended
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, key)
		delete(s.seen, key)
	}()
	if err := s.agent.Attempt(ctx, "Create", values).Err(ctx); err != nil {
		return Ending{}, fmt.Errorf("shopper: %w", err)
	}
	select {
	case ending := <-ended:
		return ending, nil
	case <-ctx.Done():
		return Ending{}, context.Cause(ctx)
	}
}

func (s *Shopper) end(key enactment.Key, action string, said enactment.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting, ok := s.waiting[key]; ok {
		select {
		case waiting <- Ending{Action: action, Said: said, Bill: s.seen[key].bill, Why: s.seen[key].why}:
		default: // It has ended before: an observation may be handled twice.
		}
	}
}

func (s *Shopper) note(key enactment.Key, what seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[key] = what
}

// read gives the bill that Created brought. One that cannot be read is an empty one, which does not add up.
func read(e adapter.Enactment) Bill {
	var bill Bill
	for i := range e.Instances() {
		if i.Action != "Created" {
			continue
		}
		for name, into := range map[string]any{"currency": &bill.Currency, "totals": &bill.Totals} {
			if value, ok := i.Value(name); !ok || value.Decode(into) != nil {
				return Bill{}
			}
		}
	}
	return bill
}
