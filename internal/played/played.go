// Package played holds the protocols that executors and agents are tested with, and what makes attempts of them. It is for
// tests only. Start reading at [Purchase].
package played

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Purchase has what the tests need: a price that both may set, the seller with more authority; a pair that exclude each
// other; a nogo between two roles; a value that one role does not see; and a role that is told of completion alone.
const Purchase = `Purchase
who Buyer, Seller, Auditor
what ID key, Accept or Reject
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, item, price, address)
  Buyer: Reject(ID, RFQ)
  Seller: Stop(ID, RFQ)
  Buyer: Urge(ID, RFQ)
  Auditor: File(ID, Accept, report)
sayso
  Buyer: item, address
  Seller > Buyer: price
  Auditor: report
nono
  Accept Reject
nogo
  Stop -/> Urge
`

// Notes has enactments that may be as long as one likes.
const Notes = `Notes
who Writer, Reader
what Book key, Page key, title
do
  Writer: Open(Book, title)
  Writer: Write(Book, Page, text)
sayso
  Writer: title, text
`

// The roles of [Purchase] without parties.
var (
	Buyer   = enactment.Identity{Role: "Buyer"}
	Seller  = enactment.Identity{Role: "Seller"}
	Auditor = enactment.Identity{Role: "Auditor"}
)

// Rules compiles a protocol.
func Rules(t testing.TB, text string, options ...enactment.Option) *enactment.Rules {
	t.Helper()
	protocol, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v", diagnostics)
	rules, err := enactment.Compile(protocol, options...)
	require.NoError(t, err)
	return rules
}

// Attempt makes an attempt of [Purchase] with an id made of what it is about, so that the same call is a copy. Values
// are names and values in turn.
func Attempt(as enactment.Identity, action, id string, values ...any) enactment.Attempt {
	a := enactment.Attempt{
		ID: fmt.Sprintf("%s-%s-%s", as, action, id), Identity: as, Action: action,
		Values: enactment.Values{"ID": enactment.MustValue(id)},
	}
	for i := 0; i < len(values); i += 2 {
		a.Values[values[i].(string)] = enactment.MustValue(values[i+1])
	}
	return a
}

// KeyOf is the enactment of [Purchase] with that ID.
func KeyOf(id string) enactment.Key {
	return enactment.Key(`{"ID":` + enactment.MustValue(id).String() + `}`)
}
