package syncserver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/syncserver"
)

// Two attempts that arrive in one window are judged together: both would set the price, and the seller has more say.
func ExampleLocal() {
	protocol, diagnostics := langshaw.Parse([]byte(`Sale
who Buyer, Seller
what ID key, price
do
  Buyer: Offer(ID, price)
  Seller: Quote(ID, price)
sayso
  Seller > Buyer: price
`))
	if diagnostics.HasErrors() {
		log.Fatal(diagnostics)
	}
	rules, err := enactment.Compile(protocol)
	if err != nil {
		log.Fatal(err)
	}
	local := syncserver.NewLocal(rules, syncserver.WithBatch(0, 2)) // a window closes when two have come
	defer local.Close()

	values := func(price int) enactment.Values {
		return enactment.Values{"ID": enactment.MustValue("s1"), "price": enactment.MustValue(price)}
	}
	offered := make(chan enactment.Outcome)
	go func() {
		outcome, err := local.Attempt(context.Background(), enactment.Attempt{
			ID: "a1", Identity: enactment.Identity{Role: "Buyer"}, Action: "Offer", Values: values(1),
		})
		if err != nil {
			log.Fatal(err)
		}
		offered <- outcome
	}()
	_, err = local.Attempt(context.Background(), enactment.Attempt{
		ID: "a2", Identity: enactment.Identity{Role: "Seller"}, Action: "Quote", Values: values(5),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println((<-offered).Err())
	for record := range local.Records(`{"ID":"s1"}`, enactment.Identity{}) {
		fmt.Println(record.Kind, record.Sequence, record.Action)
	}
	// Output:
	// dominated: Quote of Seller binds price with higher authority
	// happened 1 Quote
	// completed 1
}
