package adapter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
		var d diary
		d.offered(buyer, "RFQ", "Accept", "Reject", "Urge")
		run(t, buyer)
		require.Empty(t, d.settled(), "what starts an enactment is not offered")

		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		require.Equal(t, []string{
			`offer Accept(ID="1" item="fig"; price address)`, `offer Reject(ID="1"; )`, `offer Urge(ID="1"; )`,
		}, d.settled())

		accepted(t, seller, "Quote", adapter.Values{"ID": "1", "price": 5})
		require.Equal(t, []string{`offer Accept(ID="1" item="fig" price=5; address)`}, d.settled(),
			"again when more is known, and only that")

		accepted(t, seller, "Stop", adapter.Values{"ID": "1"})
		require.Empty(t, d.settled())
		accepted(t, buyer, "Reject", adapter.Values{"ID": "1"})
		require.Empty(t, d.settled())
	})
}

// notes has an action that can happen many times in an enactment.
const notes = `Notes
who Buyer, Seller
what ID key, NID key
do
  Buyer: Ask(ID)
  Seller: Note(ID, NID, Ask, text)
sayso
  Seller: text
`

func TestOfferWithAnOpenKeyIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, notes)
		l := local(t, rules)
		buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
		var d diary
		seller.OnEnabled("Note", func(ctx context.Context, f *adapter.FeasibleAction) error {
			d.note("offer %s", describe(f))
			require.NoError(t, f.Bind("NID", 1))
			require.NoError(t, f.Bind("text", "hello"))
			require.NoError(t, f.Attempt(ctx).Err(ctx))
			require.NoError(t, f.Bind("NID", 2), "the same offer serves for another value of the key")
			return f.Attempt(ctx).Err(ctx)
		})
		run(t, seller)
		accepted(t, buyer, "Ask", adapter.Values{"ID": "1"})
		require.Equal(t, []string{`offer Note(ID="1"; NID text)`}, d.settled())
		require.Len(t, l.History(played.KeyOf("1")), 3)
	})
}

// TestDominatedIsOfferedAgain: in one window the seller's price wins, and the buyer is then asked again, with it.
func TestDominatedIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
		var d diary
		buyer.OnEnabled("Accept", func(ctx context.Context, f *adapter.FeasibleAction) error {
			d.note("offer %s", describe(f))
			if _, known := f.Known["price"]; !known {
				f.Bind("price", 1)
			}
			f.Bind("address", "here")
			outcome, err := f.Attempt(ctx).Outcome(ctx)
			d.note("at %d: %v", outcome.Sequence, err)
			return nil
		})
		seller.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
			f.Bind("price", 5)
			return f.Attempt(ctx).Err(ctx)
		})
		run(t, buyer)
		run(t, seller)
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		time.Sleep(time.Minute)
		require.Equal(t, []string{
			`offer Accept(ID="1" item="fig"; price address)`,
			"at 2: dominated: Quote of Seller binds price with higher authority",
			`offer Accept(ID="1" item="fig" price=5; address)`,
			"at 3: <nil>",
		}, d.settled())
	})
}

// TestBlockedBesideIsOfferedAgain: of two actions of one role in a window the earlier wins. A nogo from the later one
// would have stopped the earlier one, and stops nothing the other way round, so the later one is still enabled.
func TestBlockedBesideIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, `Closing
who Buyer, Seller
what ID key, Close
do
  Buyer: Ask(ID)
  Seller: Note(ID, Ask)
  Seller: Close(ID, Ask)
nogo
  Close -/> Note
`)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
		var d diary
		seller.OnEnabled("Note", func(ctx context.Context, f *adapter.FeasibleAction) error {
			f.Attempt(ctx) // The promise is kept by Run.
			return nil
		})
		seller.OnEnabled("Close", func(ctx context.Context, f *adapter.FeasibleAction) error {
			time.Sleep(time.Millisecond) // Note arrives first.
			d.note("close: %v", f.Attempt(ctx).Err(ctx))
			return nil
		})
		run(t, buyer)
		run(t, seller)
		accepted(t, buyer, "Ask", adapter.Values{"ID": "1"})
		time.Sleep(time.Minute)
		require.Equal(t, []string{
			"close: blocked: Note goes before, and Close in the same window would have stopped it",
			"close: <nil>",
		}, d.settled())
	})
}

// TestDominatedWaitsForWhatDecided: the answer may come before the delivery of what it tells of.
func TestDominatedWaitsForWhatDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		s.answer = func(context.Context, enactment.Attempt) (enactment.Outcome, error) {
			return enactment.Outcome{Rejection: &enactment.Rejection{Code: enactment.Dominated, By: "Seller"}, Sequence: 3}, nil
		}
		buyer := agent(t, rules, "Buyer", s)
		var d diary
		attempts := 0
		buyer.OnEnabled("Accept", func(ctx context.Context, f *adapter.FeasibleAction) error {
			d.note("offer at %d", f.Enactment.Sequence())
			if attempts++; attempts == 1 {
				require.ErrorIs(t, f.Attempt(ctx).Err(ctx), enactment.Dominated)
			}
			return nil
		})
		run(t, buyer)
		s.deliveries <- s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
		require.Equal(t, []string{"offer at 1"}, d.settled())
		s.deliveries <- s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))
		require.Empty(t, d.settled(), "what dominated it has not been seen yet")
		s.deliveries <- s.delivery(t, "1", 3, s.instance(t, "Seller", "Stop", "1", nil))
		require.Equal(t, []string{"offer at 3"}, d.settled(), "again, although no more is known of it")
		s.deliveries <- s.delivery(t, "1", 4)
		require.Empty(t, d.settled())
	})
}

// TestDominatedByWhatIsHidden: nothing is to be waited for when the role does not see what dominated it.
func TestDominatedByWhatIsHidden(t *testing.T) {
	const hidden = `Hidden
who A, B
what ID key, End, K key
do
  A: Go(ID)
  A: End(ID)
  A: X(ID, K)
  B: Y(ID, K, Go)
sayso
  A > B: K
`
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, hidden)
		l := local(t, rules, syncserver.WithBatch(time.Second, 0))
		high, low := agent(t, rules, "A", l), agent(t, rules, "B", l)
		sees, _ := rules.Sight("B", "X")
		require.False(t, sees, "the protocol must be such a one")
		var d diary
		low.OnEnabled("Y", func(ctx context.Context, f *adapter.FeasibleAction) error {
			d.note("offer %s", describe(f))
			f.Bind("K", 1)
			if err := f.Attempt(ctx).Err(ctx); err != nil {
				require.ErrorIs(t, err, enactment.Dominated)
			}
			return nil
		})
		high.OnEnabled("X", func(ctx context.Context, f *adapter.FeasibleAction) error {
			f.Bind("K", 1)
			return f.Attempt(ctx).Err(ctx)
		})
		run(t, low)
		run(t, high)
		accepted(t, high, "Go", adapter.Values{"ID": "1"})
		time.Sleep(time.Minute)
		require.Equal(t, []string{`offer Y(ID="1"; K)`, `offer Y(ID="1"; K)`}, d.settled())
		require.Len(t, l.History(played.KeyOf("1")), 3)
	})
}

// TestNoOfferIsMadeOfWhatIsOutOfDate: what the agent knows to have happened is waited for.
func TestNoOfferIsMadeOfWhatIsOutOfDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		s := scripted(rules)
		s.answer = func(context.Context, enactment.Attempt) (enactment.Outcome, error) {
			return enactment.Outcome{Sequence: 3}, nil
		}
		buyer := agent(t, rules, "Buyer", s)
		var d diary
		buyer.OnEnabled("Reject", func(ctx context.Context, f *adapter.FeasibleAction) error {
			d.note("offer %s", describe(f))
			return f.Attempt(ctx).Err(ctx)
		})
		d.offered(buyer, "Accept", "Urge")
		run(t, buyer)
		// Of a long log nothing is offered before its end has come.
		first := s.delivery(t, "1", 1, s.instance(t, "Buyer", "RFQ", "1", adapter.Values{"item": "fig"}))
		first.More = true
		s.deliveries <- first
		require.Empty(t, d.settled())
		s.deliveries <- s.delivery(t, "1", 2, s.instance(t, "Buyer", "Urge", "1", nil))
		require.Equal(t, []string{`offer Accept(ID="1" item="fig"; price address)`, `offer Reject(ID="1"; )`}, d.settled())
		// The buyer has rejected, but has not been delivered it yet.
		s.deliveries <- s.delivery(t, "2", 1, s.instance(t, "Buyer", "RFQ", "2", adapter.Values{"item": "fig"}))
		require.Equal(t, []string{
			`offer Accept(ID="2" item="fig"; price address)`, `offer Reject(ID="2"; )`,
		}, d.settled(), "the rest waits for 3")
		s.deliveries <- s.delivery(t, "2", 3, s.instance(t, "Buyer", "Reject", "2", nil))
		require.Equal(t, []string{`offer Urge(ID="2"; )`}, d.settled())
	})
}

func TestSeveralHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase)
		l := local(t, rules)
		buyer := agent(t, rules, "Buyer", l)
		var d diary
		for _, name := range []string{"one", "two"} {
			buyer.OnObservation("RFQ", func(context.Context, adapter.Observation) error {
				d.note("%s sees", name)
				return nil
			})
			buyer.OnEnabled("Accept", func(_ context.Context, f *adapter.FeasibleAction) error {
				d.note("%s may %v", name, f.Bind("price", 1))
				return nil
			})
			buyer.OnCompletion(func(_ context.Context, e adapter.Enactment) error {
				d.note("%s completes %s", name, e)
				return nil
			})
		}
		run(t, buyer)
		accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "fig"})
		require.Equal(t, []string{"one sees", "two sees", "one may <nil>", "two may <nil>"}, d.settled())
		accepted(t, buyer, "Reject", adapter.Values{"ID": "1"})
		require.Equal(t, []string{`one completes {"ID":"1"}`, `two completes {"ID":"1"}`}, d.settled())
	})
}
