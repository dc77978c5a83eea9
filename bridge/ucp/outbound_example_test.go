package ucp_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// A shop that has never heard of the engine plays the Business.
func ExampleNewOutbound() {
	ctx := context.Background()
	business, err := ucp.Discover(ctx, nil, "https://shop.example", ucp.ReleasesFor("")...)
	if err != nil {
		log.Fatal(err)
	}
	// What the shop does not have cannot be asked for.
	rules, err := business.Rules("ucp-incremental")
	if err != nil {
		log.Fatal(err)
	}
	// It is in memory, and so is the journal by default. With a syncserver.Client, whose enactments outlive the process, a
	// bridge.FileJournal goes: then no request is sent twice after a restart.
	executor := syncserver.NewLocal(rules)
	outbound, err := ucp.NewOutbound(rules, executor, business, ucp.OutboundOptions{
		// To pay takes somebody to act for, and somebody who has agreed.
		Principal: func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: "ada"}, nil
		},
		Approvals: policy.StandingGrant{By: "ada", Reason: "small purchases"},
		Audit:     audit.NewLog(nil, slog.LevelInfo),
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
