package enactment_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/langshaw"
)

// TestMain has fewer cases drawn than is usual, unless -rapid.checks says how many: .ci/run draws many more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	testspeed.Raise()
	m.Run()
}

const simpleUCP = `SimpleUCP
who Platform, Business
what cid key, Completed or Cancelled or Refused or Declined
do
  Platform: Create(cid, line_items, buyer, fulfillment)
  Business: Created(cid, Create, id, currency, totals)
  Business: Refused(cid, Create, reason)
  Platform: Complete(cid, Created, id, totals, payment)
  Platform: Cancel(cid, Created, id)
  Business: Completed(cid, Complete, order)
  Business: Declined(cid, Complete, decline)
  Business: Cancelled(cid, Cancel)
sayso
  Platform: line_items, buyer, fulfillment, payment
  Business: id, currency, totals, order, reason, decline
nono
  Created Refused
  Completed Cancelled Declined
nogo
  Cancel -/> Complete
`

const purchase = `Purchase
who Buyer, Seller
what ID key, Reject or Deliver
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, Quote, address)
  Buyer: Reject(ID, Quote)
  Seller: Deliver(ID, Accept, address)
sayso
  Buyer > Seller: item
  Seller: price
  Buyer: address
nono
  Accept Reject
`

// quotes has a composite key: many quotes for a request, of which one is awarded.
const quotes = `Quotes
who Buyer, Seller
what ID key, QID key, Award
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, QID, RFQ, item, price)
  Buyer: Award(ID, QID, Quote, price)
  Seller: Withdraw(ID, QID, Quote)
  Buyer: Close(ID, RFQ)
sayso
  Buyer: item
  Seller: price
nono
  Award Withdraw
nogo
  Close -/> Quote
`

// scopedPriority binds x once for each k and m, and A's word goes first.
const scopedPriority = `Scoped Priority
who A, B
what k key, m key, One or Two
do
  A: One(k, m, x)
  B: Two(k, m, x)
  A: Begin(k)
sayso
  A > B: x
`

// freed lets One, which dominates Two, be excluded by Stop, and Two by Last.
const freed = `Freed
who A, B, C
what k key, One or Two
do
  A: One(k, x)
  B: Two(k, x)
  C: Stop(k)
  C: Last(k)
sayso
  A > B: x
nono
  Stop One
  Two Last
`

// crossedPriorities lets each role dominate the other.
const crossedPriorities = `Crossed Priorities
who A, B
what ID key, One, Two
do
  A: One(ID, x, y)
  B: Two(ID, x, y)
sayso
  A > B: x
  B > A: y
`

// fataler is a test or one check of a property.
type fataler interface {
	require.TestingT
	Helper()
}

func compile(t fataler, text string, options ...enactment.Option) *enactment.Rules {
	t.Helper()
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v in\n%s", diagnostics, text)
	r, err := enactment.Compile(p, options...)
	require.NoError(t, err)
	return r
}

func values(t fataler, m map[string]any) enactment.Values {
	t.Helper()
	v, err := enactment.ValuesOf(m)
	require.NoError(t, err)
	return v
}

func parse(t fataler, text string) enactment.Value {
	t.Helper()
	v, err := enactment.ParseValue([]byte(text))
	require.NoError(t, err)
	return v
}

// attempt makes an attempt of a role (or role/party) with the values of a JSON object. Its id is its content, so that
// different attempts of one test have different ids.
func attempt(t fataler, who, action, object string) enactment.Attempt {
	t.Helper()
	role, party, _ := strings.Cut(who, "/")
	v, err := enactment.ParseValues([]byte(object))
	require.NoError(t, err)
	return enactment.Attempt{
		ID: who + " " + action + " " + object, Identity: enactment.Identity{Role: role, Party: party}, Action: action, Values: v,
	}
}

// stateOf is the state of the enactment that an attempt belongs to, with nothing in it.
func stateOf(t fataler, r *enactment.Rules, a enactment.Attempt) *enactment.State {
	t.Helper()
	key, rejection := r.KeyOf(a)
	require.Nil(t, rejection)
	return r.NewState(key)
}

// happen judges attempts one by one and applies them; each must be accepted.
func happen(t fataler, s *enactment.State, attempts ...enactment.Attempt) {
	t.Helper()
	for _, a := range attempts {
		f, outcomes := enactment.Judge(s, a)
		require.NoError(t, outcomes[0].Err(), "%s", a.ID)
		s.Apply(f)
	}
}

// verdicts gives the code of each outcome, "ok" for accepted ones.
func verdicts(outcomes []enactment.Outcome) []string {
	var codes []string
	for _, o := range outcomes {
		if o.Rejection == nil {
			codes = append(codes, "ok")
		} else {
			codes = append(codes, string(o.Rejection.Code))
		}
	}
	return codes
}

// judged gives the verdicts of one window.
func judged(s *enactment.State, window ...enactment.Attempt) []string {
	_, outcomes := enactment.Judge(s, window...)
	return verdicts(outcomes)
}

// enabledActions names what a role may do, in the order of the list.
func enabledActions(s *enactment.State, role string) []string {
	var names []string
	for f := range s.Enabled(role) {
		names = append(names, f.Action)
	}
	return names
}

// feasibleText writes a feasible action as Action(known=value; open:why:rank), whatever the order of its parts and the
// spelling of its values.
func feasibleText(f enactment.Feasible) string {
	var known, open []string
	for _, name := range slices.Sorted(maps.Keys(f.Known)) {
		known = append(known, name+"="+plain(f.Known[name]))
	}
	for _, o := range f.Open {
		open = append(open, fmt.Sprintf("%s:%s:%d", o.Attribute, o.Why, o.Rank))
	}
	slices.Sort(open)
	return fmt.Sprintf("%s(%s; %s)", f.Action, strings.Join(known, ", "), strings.Join(open, ", "))
}

func feasibleTexts(s *enactment.State, role string) []string {
	var texts []string
	for f := range s.Enabled(role) {
		texts = append(texts, feasibleText(f))
	}
	return texts
}

// outcomeText writes everything an outcome says.
func outcomeText(o enactment.Outcome) string {
	if r := o.Rejection; r != nil {
		return fmt.Sprintf("%d %s attribute=%q by=%q: %s", o.Sequence, r.Code, r.Attribute, r.By, r.Detail)
	}
	return fmt.Sprintf("%d %s", o.Sequence, instanceText(o.Instance))
}

func outcomeTexts(outcomes []enactment.Outcome) []string {
	var texts []string
	for _, o := range outcomes {
		texts = append(texts, outcomeText(o))
	}
	return texts
}

// instanceText writes an instance with the values as they are spelt.
func instanceText(i enactment.Instance) string {
	var parts []string
	for name, value := range i.Values() {
		parts = append(parts, name+"="+value.String())
	}
	return fmt.Sprintf("%s/%s %s(%s) hidden=%v parties=%v attempt=%q",
		i.Role, i.Party, i.Action, strings.Join(parts, ", "), slices.Collect(i.Hidden()), i.Parties, i.Attempt)
}

func instanceTexts(s *enactment.State) []string {
	var texts []string
	for i := range s.Instances() {
		texts = append(texts, instanceText(i))
	}
	return texts
}

// created gives a SimpleUCP enactment in which Create and Created have happened.
func created(t testing.TB, r *enactment.Rules, cid string) *enactment.State {
	t.Helper()
	create := enactment.Attempt{
		ID: "1", Identity: enactment.Identity{Role: "Platform"}, Action: "Create",
		Values: values(t, map[string]any{
			"cid": cid, "line_items": []any{map[string]any{"item": map[string]any{"id": "roses"}, "quantity": 2}},
			"buyer": map[string]any{"email": "buyer@example.com"}, "fulfillment": nil,
		}),
	}
	answer := enactment.Attempt{
		ID: "2", Identity: enactment.Identity{Role: "Business"}, Action: "Created",
		Values: values(t, map[string]any{
			"cid": cid, "id": "chk_" + cid, "currency": "USD", "totals": []any{map[string]any{"type": "total", "amount": 7000}},
		}),
	}
	s := stateOf(t, r, create)
	happen(t, s, create, answer)
	return s
}

func complete(t testing.TB, cid string) enactment.Attempt {
	return enactment.Attempt{
		ID: "3", Identity: enactment.Identity{Role: "Platform"}, Action: "Complete",
		Values: values(t, map[string]any{"cid": cid, "payment": map[string]any{"token": "t"}}),
	}
}
