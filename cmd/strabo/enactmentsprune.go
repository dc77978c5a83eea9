package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	JSON     bool          `name:"json" help:"Print one JSON object for each, on a line."`
}

// Help is shown by strabo enactments prune --help.
func (enactmentsPrune) Help() string {
	return `Removes, for good, the logs of enactments that are complete, in which nothing has happened for so long, and that all ` +
		`agents have handled. Servers may run meanwhile, and nobody need be told: a short message stays in the place of each ` +
		`log, by which whatever is attempted in the enactment is refused as expired. Choose longer than --refusal-retention ` +
		`of the servers, and than any agent is ever away.

Prints what was old enough, and what is kept nevertheless.

Exit status: 0 if all was looked at, 2 if not; what was removed by then is.`
}

func (enactmentsPrune) examples() string {
	return `  strabo enactments prune purchase --older 720h --nats nats://127.0.0.1:4222 --dry-run
  strabo enactments prune ucp-incremental --system shop --older 2160h --open --store ./files
`
}

// Run removes, and prints a line for each enactment that is old enough.
func (c *enactmentsPrune) Run(ctx context.Context, s *streams) error {
	if c.Older < 0 {
		return errors.New("--older: what happens later cannot be removed: give a time that has passed, such as 720h")
	}
	archive, rules, done, err := c.archive(ctx, s, c.Protocol)
	if err != nil {
		return err
	}
	defer done()
	ignored, err := identities(rules, c.Ignore)
	if err != nil {
		return err
	}
	var failure error
	err = archive.Prune(ctx, syncserver.PruneConfig{
		Older: c.Older, Open: c.Open, Ignore: ignored, DryRun: c.DryRun,
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
	case c.DryRun:
		fate = "to be removed"
	}
	return fmt.Sprintf("%s  %d  %s  %s  %s", e.Enactment, e.Sequence, state, stamp(e.Latest), fate)
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
