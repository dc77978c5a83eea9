package enactment_test

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

const order = `Order
who Buyer, Seller
what ID key, Confirm or Decline
do
  Buyer: Ask(ID, item)
  Seller: Confirm(ID, Ask, price)
  Seller: Decline(ID, Ask)
sayso
  Buyer: item
  Seller: price
nono
  Confirm Decline
`

// An enactment from its start to its end: what may happen is listed, what is attempted is judged, what is decided is
// applied.
func Example() {
	protocol, diagnostics := langshaw.Parse([]byte(order))
	if diagnostics.HasErrors() {
		fmt.Println(diagnostics)
		return
	}
	rules, err := enactment.Compile(protocol)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := enactment.Attempt{
		ID: "1", Identity: enactment.Identity{Role: "Buyer"}, Action: "Ask",
		Values: enactment.Values{"ID": enactment.MustValue("o1"), "item": enactment.MustValue("rose")},
	}
	key, _ := rules.KeyOf(ask)
	state := rules.NewState(key)
	finalisation, _ := enactment.Judge(state, ask)
	state.Apply(finalisation)

	for feasible := range state.Enabled("Seller") {
		fmt.Println("Seller may", feasible.Action, "and has to bind", len(feasible.Open))
	}
	confirm := enactment.Attempt{
		ID: "2", Identity: enactment.Identity{Role: "Seller"}, Action: "Confirm",
		Values: enactment.Values{"ID": enactment.MustValue("o1"), "price": enactment.MustValue(5)},
	}
	decline := enactment.Attempt{
		ID: "3", Identity: enactment.Identity{Role: "Seller"}, Action: "Decline",
		Values: enactment.Values{"ID": enactment.MustValue("o1")},
	}
	finalisation, outcomes := enactment.Judge(state, confirm, decline)
	state.Apply(finalisation)
	for _, outcome := range outcomes {
		fmt.Println(outcome.Instance.Action, outcome.Err())
	}
	fmt.Println(key, "is complete:", state.Complete())
	// Output:
	// Seller may Confirm and has to bind 1
	// Seller may Decline and has to bind 0
	// Confirm <nil>
	//  excluded: Decline and Confirm exclude each other, and Confirm has happened
	// {"ID":"o1"} is complete: true
}

// A role that is refused learns why, as a code that does not change and a sentence that may.
func ExampleJudge() {
	protocol, _ := langshaw.Parse([]byte(order))
	rules, _ := enactment.Compile(protocol)
	_, outcomes := enactment.Judge(rules.NewState(`{"ID":"o1"}`), enactment.Attempt{
		ID: "1", Identity: enactment.Identity{Role: "Seller"}, Action: "Confirm",
		Values: enactment.Values{"ID": enactment.MustValue("o1"), "price": enactment.MustValue(5)},
	})
	err := outcomes[0].Err()
	fmt.Println(errors.Is(err, enactment.NotEnabled))
	fmt.Println(err)
	// Output:
	// true
	// not_enabled: Confirm needs Ask, which has not happened; Buyer may do it
}

// What a role may do before anything has happened.
func ExampleRules_Starts() {
	protocol, _ := langshaw.Parse([]byte(order))
	rules, _ := enactment.Compile(protocol)
	for feasible := range rules.Starts("Buyer") {
		for _, open := range feasible.Open {
			fmt.Println(feasible.Action, open.Attribute, open.Why)
		}
	}
	// Output:
	// Ask ID key
	// Ask item sayso
}

// A guard says what the language cannot.
func ExampleWithGuards() {
	protocol, _ := langshaw.Parse([]byte(order))
	rules, _ := enactment.Compile(protocol, enactment.WithGuards(enactment.Guard{
		Name: "items have a name", Action: "Ask", Detail: "name the item",
		Allow: func(_ enactment.View, candidate enactment.Instance) bool {
			item, _ := candidate.Value("item")
			return !item.Equal(enactment.MustValue(""))
		},
	}))
	_, outcomes := enactment.Judge(rules.NewState(`{"ID":"o1"}`), enactment.Attempt{
		ID: "1", Identity: enactment.Identity{Role: "Buyer"}, Action: "Ask",
		Values: enactment.Values{"ID": enactment.MustValue("o1"), "item": enactment.MustValue("")},
	})
	fmt.Println(outcomes[0].Err())
	// Output:
	// guard: name the item
}
