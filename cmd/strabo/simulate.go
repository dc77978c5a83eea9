package main

import (
	"context"
	"fmt"
	"io"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/simulation"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
)

type simulateCommand struct {
	Seed  uint64 `default:"1" help:"Which run; the same seed gives the same."`
	Runs  int    `default:"1" help:"How many runs, with the seeds that follow. Many are counted, not shown."`
	Batch bool   `help:"Judge attempts in windows instead of one by one."`
	Keys  int    `default:"3" help:"How many values to make up for each key outside the root key."`
	JSON  bool   `name:"json" help:"Print the records of one run, or the counts of many, as JSON."`
	File  string `arg:"" help:"${openHelp}"`
}

// Help is shown by strabo simulate --help.
func (simulateCommand) Help() string {
	return `Has agents enact the protocol at random until nobody has anything left to do. An agent attempts whatever is ` +
		`enabled as far as its role has seen; attempts and observations take their time and overtake each other, so ` +
		`attempts are refused too, as they would be. Values are made up: item-1, item-2.

One run is told as a timeline or, with --json, in records (kind happened, refused or completed), one a line; a step ` +
		`of the simulation counts as a millisecond. Many runs are counted: how they ended (complete; stuck: not complete, ` +
		`and nothing is enabled; unfinished: it could go on with more values for keys or in more steps), why attempts were refused, and ` +
		`which actions happened. A seed that is named there shows its run.

Secrets are hidden. Exit status: 0, or 1 if a run got stuck or the protocol has errors, 2 for wrong use.`
}

func (simulateCommand) examples() string {
	return `  strabo simulate purchase                       One run of a protocol that ships with strabo.
  strabo simulate --seed 7 my.lsh                Another run, of your own.
  strabo simulate --runs 1000 --batch my.lsh     What can happen, and how often?
  strabo simulate --json my.lsh | jq -r 'select(.kind == "happened") | .action'
`
}

// Run simulates.
func (c *simulateCommand) Run(ctx context.Context, s *streams) error {
	if c.Runs < 1 || c.Keys < 1 {
		return fmt.Errorf("--runs and --keys must be at least 1")
	}
	rules, err := openRules(s, c.File)
	if err != nil {
		return err
	}
	options := simulation.Options{Seed: c.Seed, Batch: c.Batch, Keys: c.Keys}
	stuck := false
	if c.Runs == 1 {
		stuck, err = c.tell(ctx, s.out, rules, options)
	} else {
		var summary simulation.Summary
		if summary, err = simulation.Summarise(ctx, rules, options, c.Runs); err != nil {
			return fmt.Errorf("cannot simulate: %w", err)
		}
		stuck = summary.Endings[simulation.Stuck] > 0
		if c.JSON {
			err = summary.WriteJSON(s.out)
		} else {
			err = summary.WriteText(s.out)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot print the answer: %w", err)
	case stuck:
		return errNo
	default:
		return nil
	}
}

// tell shows one run.
func (c *simulateCommand) tell(ctx context.Context, w io.Writer, rules *enactment.Rules, options simulation.Options) (stuck bool, err error) {
	told := &story.Story{Always: table.InnerKeys(rules.Protocol())}
	options.Recorder = told.Recorder("")
	ending, end, err := simulation.Enact(ctx, rules, options)
	if err != nil {
		return false, fmt.Errorf("cannot simulate: %w", err)
	}
	if c.JSON {
		return ending == simulation.Stuck, told.WriteJSON(w)
	}
	if err := told.WriteText(w); err != nil {
		return false, err
	}
	switch ending {
	case simulation.Complete:
		_, err = fmt.Fprintln(w, "\nIt is complete, and nobody has anything left to do.")
	case simulation.Unfinished:
		_, err = fmt.Fprintln(w, "\nIt is not complete. It could go on, but only with more values for keys (see --keys) or in more steps than a run may have.")
	case simulation.Stuck:
		err = writeStuck(w, end)
	}
	return ending == simulation.Stuck, err
}

// mostObstacles is how many reasons for which nothing is enabled are told.
const mostObstacles = 50

// writeStuck says of an enactment in which nothing is enabled why each action that has not happened is not.
func writeStuck(w io.Writer, end *table.Table) error {
	if _, err := fmt.Fprintln(w, "\nIt is not complete, and nobody can do anything more:"); err != nil {
		return err
	}
	told := 0
	for action := range end.State().Rules().Protocol().Actions() {
		for _, obstacle := range end.Why(action, nil) {
			if obstacle.Rejection == nil || obstacle.Rejection.Code == enactment.AlreadyHappened {
				continue
			}
			if told++; told > mostObstacles {
				_, err := fmt.Fprintln(w, "  and so on.")
				return err
			}
			if _, err := fmt.Fprintf(w, "  %s\n", obstacle.Rejection.Detail); err != nil {
				return err
			}
		}
	}
	return nil
}
