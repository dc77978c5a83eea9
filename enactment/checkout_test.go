package enactment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// The stories of a checkout: a platform buys for a buyer at a business.
func TestCheckoutStories(t *testing.T) {
	r := compile(t, simpleUCP)
	platform := func(action, object string) enactment.Attempt { return attempt(t, "Platform", action, object) }
	business := func(action, object string) enactment.Attempt { return attempt(t, "Business", action, object) }
	create := platform("Create", `{"cid":"c","line_items":[{"id":"roses","quantity":2}],"buyer":{"email":"b@example.com"},"fulfillment":null}`)
	createdBy := business("Created", `{"cid":"c","id":"chk","currency":"USD","totals":[70]}`)
	pay := platform("Complete", `{"cid":"c","payment":{"token":"t"}}`)
	cancel := platform("Cancel", `{"cid":"c"}`)

	t.Run("bought", func(t *testing.T) {
		s := stateOf(t, r, create)
		require.Equal(t, []string{"Create"}, enabledActions(s, "Platform"))
		require.Empty(t, enabledActions(s, "Business"))
		happen(t, s, create)
		require.Empty(t, enabledActions(s, "Platform"))
		require.Equal(t, []string{"Created", "Refused"}, enabledActions(s, "Business"))
		happen(t, s, createdBy)
		require.Equal(t, []string{"Complete", "Cancel"}, enabledActions(s, "Platform"))
		require.Empty(t, enabledActions(s, "Business"))
		happen(t, s, pay)
		require.Equal(t, []string{"Completed", "Declined"}, enabledActions(s, "Business"))
		require.False(t, s.Complete())
		f, _ := enactment.Judge(s, business("Completed", `{"cid":"c","order":"o1"}`))
		require.True(t, f.Completed)
		s.Apply(f)
		require.True(t, s.Complete())
		require.Equal(t, []string{"excluded"}, judged(s, business("Declined", `{"cid":"c","decline":"no"}`)))
	})
	t.Run("refused", func(t *testing.T) {
		s := stateOf(t, r, create)
		happen(t, s, create, business("Refused", `{"cid":"c","reason":"sold out"}`))
		require.True(t, s.Complete())
		require.Equal(t, []string{"excluded"}, judged(s, createdBy))
		require.Empty(t, enabledActions(s, "Platform"))
	})
	t.Run("cancelled before it is paid", func(t *testing.T) {
		s := stateOf(t, r, create)
		happen(t, s, create, createdBy, cancel)
		require.Equal(t, []string{"blocked"}, judged(s, pay))
		happen(t, s, business("Cancelled", `{"cid":"c"}`))
		require.True(t, s.Complete())
	})
	t.Run("cancelled after it is paid", func(t *testing.T) {
		s := stateOf(t, r, create)
		happen(t, s, create, createdBy, pay, cancel)
		require.Equal(t, []string{"Completed", "Declined", "Cancelled"}, enabledActions(s, "Business"), "the business decides")
		completed, cancelled := business("Completed", `{"cid":"c","order":"o1"}`), business("Cancelled", `{"cid":"c"}`)
		require.Equal(t, []string{"ok", "excluded"}, judged(s, completed, cancelled))
		require.Equal(t, []string{"ok", "excluded"}, judged(s, cancelled, completed))
	})
	t.Run("cancelled and paid at once", func(t *testing.T) {
		s := stateOf(t, r, create)
		happen(t, s, create, createdBy)
		require.Equal(t, []string{"ok", "blocked"}, judged(s, cancel, pay))
		require.Equal(t, []string{"ok", "blocked"}, judged(s, pay, cancel), "one role does not do both in one window")
	})
	t.Run("only the business knows the totals", func(t *testing.T) {
		s := stateOf(t, r, create)
		happen(t, s, create)
		require.Equal(t, []string{"no_sayso"}, judged(s, platform("Complete", `{"cid":"c","totals":[1],"payment":1}`)))
		happen(t, s, createdBy)
		require.Equal(t, []string{"bound_differently"}, judged(s, platform("Complete", `{"cid":"c","totals":[1],"payment":1}`)))
	})
	t.Run("who sees what", func(t *testing.T) {
		for _, role := range []string{"Platform", "Business"} {
			for action := range r.Protocol().Actions() {
				sees, hidden := r.Sight(role, action.Name())
				require.True(t, sees, "%s sees %s", role, action.Name())
				if role == "Platform" && action.Name() == "Declined" {
					require.Equal(t, []string{"decline"}, hidden, "what names the action, not why")
				}
			}
		}
	})
}

func TestPurchase(t *testing.T) {
	r := compile(t, purchase)
	rfq := attempt(t, "Buyer", "RFQ", `{"ID":1,"item":"rose"}`)
	quote := attempt(t, "Seller", "Quote", `{"ID":1,"item":"tulip","price":5}`)
	s := stateOf(t, r, rfq)
	require.Equal(t, []string{"RFQ(; ID:key:0, item:sayso:0)"}, feasibleTexts(s, "Buyer"))
	require.Equal(t, []string{"Quote(; ID:key:0, item:sayso:1, price:sayso:0)"}, feasibleTexts(s, "Seller"), "a seller may propose")
	require.Equal(t, []string{"dominated", "ok"}, judged(s, quote, rfq), "the buyer's word goes first")
	happen(t, s, quote)
	require.Equal(t, []string{"bound_differently"}, judged(s, rfq), "but not after")
	require.Equal(t, []string{`RFQ(ID=1, item="tulip"; )`, "Accept(ID=1; address:sayso:0)", "Reject(ID=1; )"}, feasibleTexts(s, "Buyer"))
	accept, reject := attempt(t, "Buyer", "Accept", `{"ID":1,"address":"here"}`), attempt(t, "Buyer", "Reject", `{"ID":1}`)
	require.Equal(t, []string{"ok", "excluded"}, judged(s, reject, accept))
	happen(t, s, accept)
	require.Equal(t, []string{`Deliver(ID=1, address="here"; )`}, feasibleTexts(s, "Seller"))
	happen(t, s, attempt(t, "Seller", "Deliver", `{"ID":1}`))
	require.True(t, s.Complete())
	require.Equal(t, []string{`RFQ(ID=1, item="tulip"; )`}, feasibleTexts(s, "Buyer"), "whatever is left may still happen")
}

func TestApplyRefusesALogOutOfOrder(t *testing.T) {
	r := compile(t, purchase)
	s := r.NewState(`{"ID":1}`)
	f, _ := enactment.Judge(s, attempt(t, "Buyer", "RFQ", `{"ID":1,"item":"rose"}`))
	s.Apply(f)
	require.EqualValues(t, 1, s.Sequence())
	require.Panics(t, func() { s.Apply(f) })
	require.Panics(t, func() { s.Apply(enactment.Finalisation{}) })
	s.Apply(enactment.Finalisation{Sequence: 5})
	require.EqualValues(t, 5, s.Sequence(), "a role that does not see everything sees gaps")
	require.Same(t, r, s.Rules())
}
