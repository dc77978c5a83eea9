package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

type enactmentsPrune struct {
	systemFlags
	Protocol string        `arg:"" help:"Protocol by name or file."`
	Older    time.Duration `required:"" placeholder:"DURATION" help:"For how long nothing must have happened in them, such as 720h."`
	Open     bool          `help:"Also those that are not complete."`
	Ignore   []string      `placeholder:"ROLE/PARTY" sep:"none" help:"Who is not waited for: agents that only look, or will not come back; may be repeated."`
	DryRun   bool          `help:"Remove nothing, and print what would be removed."`
	Force    bool          `help:"Take an --older of less than 24h, for which answers are kept: whoever then repeats a request of which the answer was lost gets no answer any more."`
	JSON     bool          `name:"json" help:"Print one JSON object for each, on a line."`
}

// Help is shown by strabo enactments prune --help.
func (enactmentsPrune) Help() string {
	return `Removes, for good, the logs of enactments that are complete, in which nothing has happened for so long, and that all ` +
		`agents have handled. Servers may run meanwhile, and nobody need be told: a short message stays in the place of each ` +
		`log, by which whatever is attempted in the enactment is refused as expired. Choose longer than --refusal-retention ` +
		`of the servers, and than any agent is ever away; less than 24h is refused without --force.

Of a system of strabo shop, a checkout is kept until its order, and what is on hold for it, are settled without its log: ` +
		`that is done within minutes where the shop is open.

Prints what was old enough, and what is kept nevertheless.

Exit status: 0 if all was looked at, 2 if not; what was removed by then is.`
}

func (enactmentsPrune) examples() string {
	return `  strabo enactments prune purchase --older 720h --nats nats://127.0.0.1:4222 --dry-run
  strabo enactments prune ucp-incremental --system shop --older 2160h --store ./files
`
}

// Run removes, and prints a line for each enactment that is old enough.
func (c *enactmentsPrune) Run(ctx context.Context, s *streams) error {
	if c.Older < 0 {
		return errors.New("--older: what happens later cannot be removed: give a time that has passed, such as 720h")
	}
	if c.Older < answered && !c.Force && !c.DryRun {
		return fmt.Errorf("--older %s: answers may still be asked for of what happened less than %s ago: give at least that, or --force",
			c.Older, answered)
	}
	archive, rules, conn, err := c.archiveAt(ctx, s, c.Protocol)
	if err != nil {
		return err
	}
	defer conn.close()
	ignored, err := identities(rules, c.Ignore)
	if err != nil {
		return err
	}
	keep, err := c.needed(ctx, conn.conn, rules)
	if err != nil {
		return err
	}
	var failure error
	err = archive.Prune(ctx, syncserver.PruneConfig{
		Older: c.Older, Open: c.Open, Ignore: ignored, Keep: keep, DryRun: c.DryRun,
	}, func(e syncserver.Prunable) bool {
		if c.JSON {
			failure = printLine(s, e)
		} else {
			_, failure = fmt.Fprintln(s.out, story.Printable(c.line(e)))
		}
		return failure == nil
	})
	if errors.Is(err, syncserver.ErrNotRemovable) {
		err = fmt.Errorf("%w: it was made by an earlier version. Make a backup, remove the system, and restore it", err)
	}
	return errors.Join(failure, err)
}

// line says for a person what became of an enactment.
func (c *enactmentsPrune) line(e syncserver.Prunable) string {
	state, fate := "open", "removed"
	if e.Complete {
		state = "complete"
	}
	switch {
	case e.Kept == syncserver.KeptUnhandled:
		fate = "kept, not handled by " + e.Behind
	case e.Kept == syncserver.KeptChanged:
		fate = "kept, something has happened"
	case e.Kept == keptOrder:
		fate = "kept, the shop has not kept its order yet"
	case e.Kept == keptHold:
		fate = "kept, the shop has goods on hold for it"
	case c.DryRun:
		fate = "to be removed"
	}
	return fmt.Sprintf("%s  %d  %s  %s  %s", e.Enactment, e.Sequence, state, stamp(e.Latest), fate)
}

// answered is how long it takes until nobody need be answered any more about what has happened: as long as servers keep
// refusals where nobody says otherwise, and as long as a shop keeps the answers of Idempotency-Keys.
const answered = max(syncserver.DefaultServerRetention, ucp.KeysRemembered)

// Why a shop still needs the log of a checkout.
const (
	keptOrder syncserver.Kept = "order"
	keptHold  syncserver.Kept = "hold"
)

// needed tells of the system of a shop which checkouts it still needs the logs of; nil for any other system.
func (c *enactmentsPrune) needed(
	ctx context.Context, conn *nats.Conn, rules *enactment.Rules,
) (func(context.Context, *enactment.State) (syncserver.Kept, error), error) {
	store, err := natskv.Find(ctx, conn, shopBucket(cmp.Or(c.System, syncserver.SystemName(rules))))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	onHold, err := shop.OnHold(ctx, store)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, state *enactment.State) (syncserver.Kept, error) {
		for _, held := range onHold[checkoutOf(state)] {
			if !held.Sold(state.Instances()) {
				return keptHold, nil
			}
		}
		kept, err := ucp.OrderKept(ctx, store, state.Instances())
		if err == nil && !kept {
			return keptOrder, nil
		}
		return "", err
	}, nil
}

// checkoutOf is the id of a checkout.
func checkoutOf(state *enactment.State) (checkout string) {
	if state.Empty() {
		return ""
	}
	first := state.Instance(0)
	if cid, ok := first.Value("cid"); !ok || cid.Decode(&checkout) != nil {
		return ""
	}
	return checkout
}

// identities reads identities as they are printed: ROLE, or ROLE/PARTY.
func identities(rules *enactment.Rules, texts []string) ([]enactment.Identity, error) {
	var all []enactment.Identity
	for _, text := range texts {
		role, party, _ := strings.Cut(text, "/")
		if !slices.Contains(slices.Collect(rules.Protocol().Roles()), role) {
			return nil, fmt.Errorf("--ignore %s: %s has no role %s", text, rules.Protocol().Name(), role)
		}
		all = append(all, enactment.Identity{Role: role, Party: party})
	}
	return all, nil
}
