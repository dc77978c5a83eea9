package langshaw_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

const purchase = `Sale
who Buyer, Seller
what ID key, Deliver or Reject
do
  Buyer: Ask(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, Quote, price)
  Buyer: Reject(ID, Quote)
  Seller: Deliver(ID, Accept, item)
sayso
  Buyer: item
  Seller: price
nono
  Accept Reject
`

func ExampleParse() {
	protocol, diagnostics := langshaw.Parse([]byte(purchase))
	if diagnostics.HasErrors() {
		fmt.Println(diagnostics)
		return
	}
	for action := range protocol.Actions() {
		fmt.Println(action.Role(), "may", action.Name(), slices.Collect(action.Attributes()))
	}
	fmt.Println("Accept excludes Reject:", protocol.Excludes("Accept", "Reject"))
	// Output:
	// Buyer may Ask [ID item]
	// Seller may Quote [ID item price]
	// Buyer may Accept [ID Quote price]
	// Buyer may Reject [ID Quote]
	// Seller may Deliver [ID Accept item]
	// Accept excludes Reject: true
}

func ExampleWriteText() {
	text := []byte(strings.Replace(purchase, "Accept Reject", "Accept Rejcet", 1))
	_, diagnostics := langshaw.Parse(text)
	if err := langshaw.WriteText(os.Stdout, "sale.lsh", text, diagnostics); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sale.lsh:14:10: error[unknown-action]: `Rejcet` is no action: nono names actions that do declares
	//       Accept Rejcet
	//              ^^^^^^
	// did you mean Reject?
}

func ExampleWriteJSON() {
	protocol, diagnostics := langshaw.Parse([]byte(purchase + "  Accept\n"))
	if err := langshaw.WriteJSON(os.Stdout, "sale.lsh", protocol, diagnostics); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"file":"sale.lsh","protocol":"Sale","diagnostics":[{"code":"short-nono","severity":"error","message":"`Accept` stands alone: a nono is two or more actions on one line, as in `Accept Reject`","suggestion":"","start":{"line":15,"column":3,"offset":269},"end":{"line":15,"column":9,"offset":275}}]}
}

func ExampleDiagnostics() {
	load := func(text string) (*langshaw.Protocol, error) {
		protocol, diagnostics := langshaw.Parse([]byte(text))
		if diagnostics.HasErrors() {
			return nil, fmt.Errorf("the protocol is faulty: %w", diagnostics)
		}
		return protocol, nil
	}
	_, err := load(strings.Replace(purchase, "Buyer, Seller", "Buyer", 1))
	fmt.Println(err)
	var diagnostics langshaw.Diagnostics
	if errors.As(err, &diagnostics) {
		fmt.Println(diagnostics[0].Code == langshaw.CodeUnknownRole, diagnostics[0].Span.Start.Line)
	}
	// Output:
	// the protocol is faulty: 6:3: error[unknown-role]: `Seller` is no role: add it to who
	// true 6
}

func ExampleAttribute_Scope() {
	protocol, _ := langshaw.Parse([]byte(purchase))
	price, _ := protocol.Attribute("price")
	fmt.Println("one price for each", slices.Collect(price.Scope()))
	fmt.Println("bound by", slices.Collect(price.Sayso()))
	// Output:
	// one price for each [ID]
	// bound by [Seller]
}
