package enactment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// The examples of semantics section 3: what an attribute's scope is follows from who carries it.
func TestTheScopeOfAnAttributeIsWhatItsCarriersShare(t *testing.T) {
	const head = "Quotes\nwho B, S\nwhat ID key, QID key, Quote\ndo\n B: RFQ(ID, item)\n S: Quote(ID, QID, price)\n"
	const tail = "sayso\n B: item\n S: price\n"
	rfq := attempt(t, "B", "RFQ", `{"ID":1,"item":"rose"}`)
	quote := func(qid, price string) enactment.Attempt {
		return attempt(t, "S", "Quote", `{"ID":1,"QID":`+qid+`,"price":`+price+`}`)
	}
	t.Run("many quotes an ID", func(t *testing.T) {
		s := stateOf(t, compile(t, head+tail), rfq)
		happen(t, s, rfq, quote(`"a"`, `1`), quote(`"b"`, `2`))
		require.Equal(t, []string{"already_happened"}, judged(s, quote(`"\u0061"`, `3`)))
		require.Equal(t, []string{"already_happened"}, judged(s, attempt(t, "B", "RFQ", `{"ID":1.0,"item":"rose"}`)))
		require.Equal(t, []string{"ok", "ok", "already_happened"}, judged(s, quote(`1`, `1`), quote(`"1"`, `1`), quote(`1.0`, `1`)))
	})
	t.Run("one price an ID", func(t *testing.T) {
		s := stateOf(t, compile(t, head+" B: Receipt(ID, price)\n"+tail), rfq)
		happen(t, s, rfq, quote(`"a"`, `1`))
		require.Equal(t, []string{"bound_differently"}, judged(s, quote(`"b"`, `2`)))
		require.Equal(t, []string{"Quote(ID=1, price=1; QID:key:0)"}, feasibleTexts(s, "S"), "the price is known")
		require.Equal(t, []string{"ok", "ok"}, judged(s, quote(`"b"`, `1.0`), quote(`"c"`, `1`)), "the same price again, and again")
		require.Equal(t, []string{"ok"}, judged(s, attempt(t, "B", "Receipt", `{"ID":1}`)))
		fresh := stateOf(t, compile(t, head+" B: Receipt(ID, price)\n"+tail), rfq)
		require.Equal(t, []string{"ok", "bound_differently"}, judged(fresh, quote(`"a"`, `1`), quote(`"b"`, `2`)))
	})
	t.Run("one quote an ID", func(t *testing.T) {
		s := stateOf(t, compile(t, head+" B: Award(ID, Quote)\n"+tail), rfq)
		require.Equal(t, []string{"ok", "already_happened"}, judged(s, quote(`"a"`, `1`), quote(`"b"`, `2`)))
		happen(t, s, rfq, quote(`"a"`, `1`))
		require.Equal(t, []string{"already_happened"}, judged(s, quote(`"b"`, `2`)))
		require.Empty(t, enabledActions(s, "S"))
		require.Equal(t, []string{"ok"}, judged(s, attempt(t, "B", "Award", `{"ID":1}`)))
	})
}

func TestARequestWithQuotes(t *testing.T) {
	r := compile(t, quotes)
	rfq := attempt(t, "Buyer", "RFQ", `{"ID":1,"item":"rose"}`)
	quote := func(qid, price string) enactment.Attempt {
		return attempt(t, "Seller", "Quote", `{"ID":1,"QID":"`+qid+`","price":`+price+`}`)
	}
	s := stateOf(t, r, rfq)
	require.Equal(t, []string{"RFQ(; ID:key:0, item:sayso:0)"}, feasibleTexts(s, "Buyer"))
	require.Empty(t, enabledActions(s, "Seller"))
	happen(t, s, rfq)
	require.Equal(t, []string{`Quote(ID=1, item="rose"; QID:key:0, price:sayso:0)`}, feasibleTexts(s, "Seller"))
	happen(t, s, quote("a", `5`), quote("b", `4`))
	require.ElementsMatch(t, []string{
		`Award(ID=1, QID="a", price=5; )`, `Award(ID=1, QID="b", price=4; )`, `Close(ID=1; )`,
	}, feasibleTexts(s, "Buyer"))
	require.ElementsMatch(t, []string{
		`Quote(ID=1, item="rose"; QID:key:0, price:sayso:0)`, `Withdraw(ID=1, QID="a"; )`, `Withdraw(ID=1, QID="b"; )`,
	}, feasibleTexts(s, "Seller"))
	for range s.Enabled("Buyer") {
		break // stopping early is fine
	}

	award := attempt(t, "Buyer", "Award", `{"ID":1,"QID":"a"}`)
	withdraw := attempt(t, "Seller", "Withdraw", `{"ID":1,"QID":"a"}`)
	require.Equal(t, []string{"no_sayso"}, judged(s, attempt(t, "Buyer", "Award", `{"ID":1,"QID":"c","price":1}`)))
	require.Equal(t, []string{"not_enabled"}, judged(s, attempt(t, "Buyer", "Award", `{"ID":1,"QID":"c"}`)))
	require.Equal(t, []string{"bound_differently"}, judged(s, attempt(t, "Buyer", "Award", `{"ID":1,"QID":"a","price":4}`)))
	require.Equal(t, []string{"ok", "excluded"}, judged(s, withdraw, award), "exclusion holds between instances that agree")
	f, outcomes := enactment.Judge(s, award, attempt(t, "Seller", "Withdraw", `{"ID":1,"QID":"b"}`))
	require.Equal(t, []string{"ok", "ok"}, verdicts(outcomes), "and not between others")
	require.True(t, f.Completed)
	s.Apply(f)
	require.True(t, s.Complete())
	require.Equal(t, []string{"excluded"}, judged(s, withdraw))
	happen(t, s, attempt(t, "Buyer", "Close", `{"ID":1}`))
	require.Equal(t, []string{"blocked"}, judged(s, quote("c", `3`)), "a close blocks every quote of the request")
}

// Completion wants instances that agree: one's invoice and another's payment do not make a whole.
func TestCompletionWantsInstancesThatAgree(t *testing.T) {
	const text = "Parts\nwho A\nwhat k key, m key, One, Two\ndo\n A: One(k, m)\n A: Two(k, m)\n A: Start(k)\n"
	r := compile(t, text)
	one := func(m string) enactment.Attempt { return attempt(t, "A", "One", `{"k":1,"m":`+m+`}`) }
	two := func(m string) enactment.Attempt { return attempt(t, "A", "Two", `{"k":1,"m":`+m+`}`) }
	s := r.NewState(`{"k":1}`)
	happen(t, s, one(`1`), two(`2`))
	require.False(t, s.Complete())
	f, _ := enactment.Judge(s, two(`3`), one(`3`))
	require.True(t, f.Completed, "by two of one window")
	s.Apply(f)
	f, _ = enactment.Judge(s, two(`1`))
	require.False(t, f.Completed, "said once")
	s.Apply(f)
	require.True(t, s.Complete())
}

// Without a root key the whole system is one enactment.
func TestWithoutARootKeyThereIsOneEnactment(t *testing.T) {
	r := compile(t, "Rootless\nwho A, B\nwhat k key, m key, Two\ndo\n A: One(k, x)\n B: Two(m, x)\nsayso\n A > B: x\n")
	one := attempt(t, "A", "One", `{"k":1,"x":5}`)
	key, rejection := r.KeyOf(one)
	require.Nil(t, rejection)
	require.Equal(t, enactment.Key(`{}`), key)
	s := r.NewState(key)
	happen(t, s, one)
	require.Equal(t, []string{"bound_differently"}, judged(s, attempt(t, "B", "Two", `{"m":2,"x":6}`)), "x is bound once for all")
	happen(t, s, attempt(t, "B", "Two", `{"m":2}`), attempt(t, "A", "One", `{"k":2}`))
	require.True(t, s.Complete())
}

// A key with a sayso is bound freshly by those roles only, and known to the others from what they see.
func TestAKeyWithSayso(t *testing.T) {
	r := compile(t, "Offers\nwho A, B\nwhat k key, m key, Take\ndo\n A: Offer(k, m)\n B: Take(k, m)\n B: Begin(k)\nsayso\n A: m\n")
	offer := func(m string) enactment.Attempt { return attempt(t, "A", "Offer", `{"k":1,"m":`+m+`}`) }
	s := r.NewState(`{"k":1}`)
	require.Equal(t, []string{"Offer(; k:key:0, m:sayso:0)"}, feasibleTexts(s, "A"))
	require.Equal(t, []string{"Begin(; k:key:0)"}, feasibleTexts(s, "B"))
	_, outcomes := enactment.Judge(s, attempt(t, "B", "Take", `{"k":1,"m":1}`))
	require.ErrorIs(t, outcomes[0].Err(), enactment.NoSayso)
	require.Equal(t, "m", outcomes[0].Rejection.Attribute)
	require.Equal(t, []string{"ok", "no_sayso"}, judged(s, offer(`1`), attempt(t, "B", "Take", `{"k":1,"m":1}`)), "judged against the state before the window")
	happen(t, s, offer(`1`), offer(`2`))
	require.Equal(t, []string{"Take(k=1, m=1; )", "Take(k=1, m=2; )", "Begin(k=1; )"}, feasibleTexts(s, "B"))
}

// A role that has seen nothing of an enactment knows no value of its keys: for all it knows it starts one.
func TestARoleThatSeesNothingStarts(t *testing.T) {
	r := compile(t, "Apart\nwho A, B\nwhat k key\ndo\n A: One(k, x)\n B: Two(k, y)\nsayso\n A: x\n B: y\n")
	s := r.NewState(`{"k":1}`)
	happen(t, s, attempt(t, "A", "One", `{"k":1,"x":1}`))
	require.Equal(t, []string{"Two(; k:key:0, y:sayso:0)"}, feasibleTexts(s, "B"))
	happen(t, s, attempt(t, "B", "Two", `{"k":1,"y":1}`))
	require.Empty(t, feasibleTexts(s, "B"))
}

// A key value that is known with some keys of its scope is not known with others, open ones included.
func TestAKeyIsKnownTogetherWithTheKeysOfItsScope(t *testing.T) {
	r := compile(t, "Grid\nwho A, B\nwhat k key, m key, n key\ndo\n A: One(k, m, n)\n B: Two(k, m, n)\n B: Begin(k)\nsayso\n A: m\n")
	s := r.NewState(`{"k":1}`)
	happen(t, s, attempt(t, "A", "One", `{"k":1,"m":1,"n":1}`), attempt(t, "A", "One", `{"k":1,"m":2,"n":2}`))
	require.Equal(t, []string{"Two(k=1, m=1, n=1; )", "Two(k=1, m=2, n=2; )", "Begin(k=1; )"}, feasibleTexts(s, "B"))
	require.Equal(t, []string{"no_sayso"}, judged(s, attempt(t, "B", "Two", `{"k":1,"m":1,"n":2}`)))
	require.Equal(t, []string{"One(k=1; m:sayso:0, n:key:0)"}, feasibleTexts(s, "A"))
}
