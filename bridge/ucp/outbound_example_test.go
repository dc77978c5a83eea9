package ucp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// A shop that has never heard of the engine plays the Business, with a journal that survives a restart.
func ExampleNewOutbound() {
	ctx := context.Background()
	rules, err := protocols.Load("simple-ucp")
	if err != nil {
		log.Fatal(err)
	}
	business, err := ucp.Discover(ctx, nil, "https://shop.example")
	if err != nil {
		log.Fatal(err)
	}
	journal, err := bridge.OpenFileJournal("outbound.journal")
	if err != nil {
		log.Fatal(err)
	}
	executor := syncserver.NewLocal(rules)
	outbound, err := ucp.NewOutbound(rules, executor, business, ucp.OutboundOptions{
		Journal: journal,
		OnUnknown: func(u bridge.Unsettled) {
			fmt.Printf("nobody knows what became of %s in %s: %s\n", u.Step, u.Enactment, u.Detail)
		},
		OnDiverged: func(d bridge.Divergence) {
			fmt.Printf("shop and protocol differ in %s: %s\n", d.Enactment, d.Detail)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := outbound.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
