package langshaw_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

const tender = `Tender
who Buyer, Seller
what ID key, QID key, Award
do
  Buyer: Call(ID, item)
  Seller: Bid(ID, QID, item, price)
  Buyer: Award(ID, QID, Bid)
sayso
  Buyer: item
  Seller > Buyer: price
`

// action and attribute find what must be there.
func action(t *testing.T, p *langshaw.Protocol, name string) *langshaw.Action {
	t.Helper()
	a, ok := p.Action(name)
	require.True(t, ok, name)
	return a
}

func attribute(t *testing.T, p *langshaw.Protocol, name string) *langshaw.Attribute {
	t.Helper()
	a, ok := p.Attribute(name)
	require.True(t, ok, name)
	return a
}

func tenderOf(t *testing.T, more string) *langshaw.Protocol {
	t.Helper()
	p, diagnostics := langshaw.Parse([]byte(tender + more))
	require.False(t, diagnostics.HasErrors(), "%v", diagnostics)
	return p
}

func TestProtocol(t *testing.T) {
	p := tenderOf(t, "nogo Award -/> Bid\n")
	require.Equal(t, "Tender", p.Name())
	require.Equal(t, []string{"Buyer", "Seller"}, slices.Collect(p.Roles()))
	require.True(t, p.HasRole("Buyer"))
	require.False(t, p.HasRole("ID"))
	require.Equal(t, []string{"ID", "QID"}, slices.Collect(p.Keys()))
	require.True(t, p.IsKey("QID"))
	require.False(t, p.IsKey("item"))
	require.Equal(t, []string{"ID"}, slices.Collect(p.RootKey()))
	require.Equal(t, 3, p.ActionCount())
	require.True(t, p.Blocks("Award", "Bid"))
	require.False(t, p.Blocks("Bid", "Award"))

	var names []string
	for a := range p.Attributes() {
		names = append(names, a.Name())
	}
	require.Equal(t, []string{"ID", "item", "Call", "QID", "price", "Bid", "Award"}, names)
	_, ok := p.Action("item")
	require.False(t, ok)
	_, ok = p.Attribute("nothing")
	require.False(t, ok)
}

func TestAction(t *testing.T) {
	p := tenderOf(t, "")
	bid := action(t, p, "Bid")
	require.Equal(t, 1, bid.Index())
	require.Equal(t, "Seller", bid.Role())
	require.Equal(t, []string{"ID", "QID", "item", "price"}, slices.Collect(bid.Attributes()))
	require.Equal(t, []string{"ID", "QID"}, slices.Collect(bid.Keys()))
	require.True(t, bid.Carries("price"))
	require.True(t, bid.Carries("Bid"))
	require.False(t, bid.Carries("Call"))
}

func TestActionOfManyAttributes(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	all := strings.Join(names, ", ")
	p := parseGood(t, "Wide\nwho A\nwhat ID key, One\ndo A: One(ID, "+all+")\nsayso A: "+all)
	for _, name := range names {
		require.True(t, action(t, p, "One").Carries(name))
	}
	require.False(t, action(t, p, "One").Carries("x40"))
}

func TestAttribute(t *testing.T) {
	p := tenderOf(t, "")
	price := attribute(t, p, "price")
	require.False(t, price.IsKey() || price.IsAction())
	require.Equal(t, []string{"Seller", "Buyer"}, slices.Collect(price.Sayso()))
	rank, ok := price.Rank("Buyer")
	require.True(t, ok)
	require.Equal(t, 1, rank)
	_, ok = price.Rank("ID")
	require.False(t, ok)
	require.True(t, price.MayBind("Buyer"))

	item := attribute(t, p, "item")
	require.True(t, item.MayBind("Buyer"))
	require.False(t, item.MayBind("Seller"))
	var carriers []string
	for a := range item.Carriers() {
		carriers = append(carriers, a.Name())
	}
	require.Equal(t, []string{"Call", "Bid"}, carriers)

	bid := attribute(t, p, "Bid")
	require.True(t, bid.IsAction())
	require.False(t, bid.MayBind("Seller"))
}

// TestKeyWithSayso: a key without sayso may be bound by anyone, with sayso by those roles only (semantics section 4).
func TestKeyWithSayso(t *testing.T) {
	free := attribute(t, tenderOf(t, ""), "QID")
	require.True(t, free.IsKey() && free.MayBind("Buyer") && free.MayBind("Seller"))
	held := attribute(t, tenderOf(t, "sayso Seller: QID"), "QID")
	require.True(t, held.MayBind("Seller"))
	require.False(t, held.MayBind("Buyer"))
}

// TestScope follows the examples of semantics section 3.
func TestScope(t *testing.T) {
	for more, want := range map[string]map[string][]string{
		"":                             {"price": {"ID", "QID"}, "Bid": {"ID", "QID"}, "item": {"ID"}, "Call": {"ID"}, "QID": {"ID", "QID"}},
		"do Buyer: Receipt(ID, price)": {"price": {"ID"}, "Bid": {"ID", "QID"}},
		"do Buyer: Close(ID, Bid)":     {"price": {"ID", "QID"}, "Bid": {"ID"}},
		"do Buyer: Note(price)":        {"price": {"ID", "QID"}}, // an action without a key does not count
		"do Buyer: Copy(QID, price)":   {"price": {"QID"}, "QID": {"QID"}},
	} {
		p := tenderOf(t, more)
		for name, scope := range want {
			require.Equal(t, scope, slices.Collect(attribute(t, p, name).Scope()), "%s with %q", name, more)
		}
	}
}

func TestRootKey(t *testing.T) {
	require.Equal(t, []string{"ID"}, slices.Collect(tenderOf(t, "do Buyer: Note(price)").RootKey()))
	require.Empty(t, slices.Collect(tenderOf(t, "do Buyer: Copy(QID)").RootKey()))
}

// TestExcludes also covers large nonos, which are kept in another way.
func TestExcludes(t *testing.T) {
	for _, size := range []int{2, 3, 31, 32, 100} {
		var names []string
		text := "Wide\nwho A\nwhat ID key, Act0\ndo A: Other(ID)\n"
		for i := range size {
			names = append(names, fmt.Sprintf("Act%d", i))
			text += fmt.Sprintf("A: Act%d(ID)\n", i)
		}
		p := parseGood(t, text+"nono\n"+strings.Join(names, " ")+"\nAct0 Other\n")
		last := names[size-1]
		require.True(t, p.Excludes("Act0", last) && p.Excludes(last, "Act0"))
		require.True(t, p.Excludes("Other", "Act0"))
		require.False(t, p.Excludes("Other", last) || p.Excludes(last, last) || p.Excludes(last, "Nothing"))
	}
}

// TestFaultyEntriesAreLeftOut checks that the rest of a protocol with mistakes is there.
func TestFaultyEntriesAreLeftOut(t *testing.T) {
	p, diagnostics := langshaw.Parse([]byte(string(read(t, "testdata/faulty.lsh"))))
	require.True(t, diagnostics.HasErrors())
	require.Equal(t, `Table Booking
who Guest, Host
what booking key, Confirm or Decilne
do
  Host: Offer(booking, Request, tabel)
sayso
  Guest: day
  Guest: seats
  Host > Guest: table
nono
nogo
`, describe(p))
}
