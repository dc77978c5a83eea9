package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/demoshop"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

type demoCommand struct {
	engineFlags `set:"executor=local"`

	System string `default:"demo" placeholder:"NAME" help:"What the two systems are called, where they are kept: NAME-platform and NAME-shop. They must not be there."`
	JSON   bool   `name:"json" help:"Print records and calls, one JSON object a line."`
	Cancel bool   `help:"Cancel instead of paying." xor:"story"`
	Race   bool   `help:"Pay and cancel at the same time, again and again." xor:"story"`
	Rounds int    `default:"20" help:"How often to race, at most 1000 times."`
}

// Help is shown by strabo demo --help.
func (demoCommand) Help() string {
	return `Opens a small shop on a free port of this machine and buys a lantern there. The shop is a Business agent ` +
		`behind a bridge that turns HTTP requests into attempts; the shopper is a Platform agent behind a bridge that ` +
		`turns observations into HTTP requests (UCP 2026-01-11). Each side has an engine of its own, which decides: in memory or, ` +
		`with --executor process, a server that keeps everything in NATS JetStream, which runs inside or is your own ` +
		`(--nats). Nothing else changes. What is in a --store can be looked at afterwards with strabo enactments.

Printed is what both engines decided and, between them, the calls. With --json these are records of the engines ` +
		`(kind happened, refused or completed) and of the bridge (kind call: the enactment, the action that the call ` +
		`answers, step, method, url, status, outcome known, open or unknown, and the bodies). Secrets are hidden.

Exit status: 0 if the story came out as it should, 1 if it did not, 2 if it could not be told.`
}

func (demoCommand) examples() string {
	return `  strabo demo                      Buy a lantern.
  strabo demo --cancel             Ask for one, look at the bill, and cancel.
  strabo demo --race --rounds 50   Let a payment and a cancellation race: one of them wins, each time.
  strabo demo --executor process --store ./data
  strabo enactments ls ucp-incremental --system demo-shop --store ./data
  strabo demo --executor nats --finalize batch --window 5ms
  strabo demo --json | jq -r 'select(.status) | [.method, .url, .status] | @tsv'
`
}

// The sides of the demo, as the timeline names them.
const (
	platformSide = "platform"
	shopSide     = "shop"
)

// demoTime is how long the demo may take before it has failed.
const demoTime = time.Minute

// windowsPerRound is more than how many windows a round waits for.
const windowsPerRound = 50

// mostRounds is how many rounds fit into that time with much to spare.
const mostRounds = 1000

// lantern is what the demo buys.
var lantern = shopper.Wish{
	LineItems: []any{
		map[string]any{"item": map[string]any{"id": "lantern-brass"}, "quantity": 1},
		map[string]any{"item": map[string]any{"id": "wick-cotton"}, "quantity": 2},
	},
	Buyer: map[string]any{"full_name": "Grace Keeper", "email": "grace@lighthouse.example"},
	Fulfillment: map[string]any{
		"destination": map[string]any{"street_address": "1 Pharos Road", "address_locality": "Alexandria", "address_country": "EG"},
		"option":      "cheapest",
	},
}

// Run opens the shop, buys there, and tells how it went.
func (c *demoCommand) Run(ctx context.Context, s *streams) (err error) {
	if c.Rounds < 1 {
		return fmt.Errorf("--rounds is %d: at least 1 is needed", c.Rounds)
	}
	if c.Rounds > mostRounds {
		return fmt.Errorf("--rounds is %d: at most %d are run", c.Rounds, mostRounds)
	}
	logger := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	all, err := c.engines(logger)
	if err != nil {
		return err
	}
	defer all.close()
	patience := demoTime
	if c.Race {
		patience += time.Duration(c.Rounds*windowsPerRound) * all.span
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for side, protocol := range map[string]string{shopSide: "ucp-incremental", platformSide: "simple-ucp"} {
		rules, err := protocols.Load(protocol)
		if err != nil {
			return err
		}
		if err := all.claim(ctx, c.system(side), rules); err != nil {
			return err
		}
	}
	told := &story.Story{Comment: explainRevisions()}
	more := 0
	if c.Race { // Nothing is to run out while they race.
		more = 2 * c.Rounds
	}
	lamps, err := demoshop.New(int64(more))
	if err != nil {
		return err
	}
	server, err := demoshop.Serve(lamps, demoshop.ServeOptions{
		Engine: all.of(ctx, c.system(shopSide)), Recorder: told.Recorder(shopSide), Logger: logger,
	})
	if err != nil {
		return err
	}
	endings, err := c.act(ctx, server.URL, all.of(ctx, c.system(platformSide)), told, logger)
	if closing := server.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = told.WriteJSON(s.out)
	} else {
		err = c.tell(s.out, server.URL, told, endings)
	}
	if err == nil && !c.cameOut(endings, lamps, told) {
		fmt.Fprintln(s.err, "strabo: the story did not come out as it should")
		err = errNo
	}
	return err
}

// system is what the system of a side is called.
func (c *demoCommand) system(side string) string { return c.System + "-" + side }

// act buys at the shop, once or as often as there are rounds.
func (c *demoCommand) act(
	ctx context.Context, url string, open engine.Open, told *story.Story, logger *slog.Logger,
) ([]shopper.Ending, error) {
	business, err := ucp.Discover(ctx, nil, url, ucp.ReleasesFor("")...)
	if err != nil {
		return nil, err
	}
	at, err := counter.Open(business, counter.Options{
		Protocol: "simple-ucp", Engine: open, Decide: c.decide, Currency: demoshop.Currency, Recorder: told.Recorder(platformSide), Audit: told, Logger: logger,
		Subject: "shopper", Approvals: policy.StandingGrant{By: "shopper", Reason: "a demonstration"},
	})
	if err != nil {
		return nil, err
	}
	rounds := 1
	if c.Race {
		rounds = c.Rounds
	}
	var endings []shopper.Ending
	for range rounds {
		var ending shopper.Ending
		if ending, err = at.Buy(ctx, lantern); err != nil {
			break
		}
		endings = append(endings, ending)
	}
	if closing := at.Close(); err == nil {
		err = closing
	}
	return endings, err
}

func (c *demoCommand) decide(shopper.Bill) shopper.Decision {
	coins := map[string]any{"handler_id": shop.MockHandler, "token": shop.TokenPays, "brand": "Drachma", "last_digits": "0000"}
	switch {
	case c.Cancel:
		return shopper.Decision{Cancel: true}
	case c.Race:
		return shopper.Decision{Pay: coins, Cancel: true}
	default:
		return shopper.Decision{Pay: coins}
	}
}

// tell prints the story for a person.
func (c *demoCommand) tell(w io.Writer, url string, told *story.Story, endings []shopper.Ending) error {
	if c.Race {
		return tellRace(w, told, endings)
	}
	if _, err := fmt.Fprintf(w, "A shop at %s, and a shopper who has never heard of HTTP.\n\n", url); err != nil {
		return err
	}
	if err := told.WriteText(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", describeEnding(endings[0]))
	return err
}

// explainRevisions explains, where it first occurs, what a change of a checkout is in the shop's engine.
func explainRevisions() func(string, enactment.Record) string {
	seen := false
	return func(side string, r enactment.Record) string {
		if side != shopSide || seen || r.Action != "Update" {
			return ""
		}
		seen = true
		return "What is bound stays bound: a PUT asks for the next revision (rev), and what is paid is a revision and no other."
	}
}

// tally counts how the checkouts ended: by the last thing the shopper heard, and across all enactments of both sides
// those that have two ends.
func tally(endings []shopper.Ending, told *story.Story) (paid, cancelled, neither, both int) {
	for _, ending := range endings {
		switch ending.Action {
		case "Completed":
			paid++
		case "Cancelled":
			cancelled++
		default:
			neither++
		}
	}
	for _, side := range []string{platformSide, shopSide} {
		ends := make(map[enactment.Key]int)
		for _, r := range told.Records(side) {
			if r.Kind == enactment.Happened && (r.Action == "Completed" || r.Action == "Cancelled") {
				ends[r.Enactment]++
			}
		}
		for _, count := range ends {
			both += count - 1
		}
	}
	return paid, cancelled, neither, both
}

// cameOut tells whether the story is the one that was asked for, on both sides and in the shop's books.
func (c *demoCommand) cameOut(endings []shopper.Ending, lamps *demoshop.Shop, told *story.Story) bool {
	paid, cancelled, neither, both := tally(endings, told)
	switch {
	case lamps.Orders() != paid || neither != 0 || both != 0:
		return false
	case c.Race:
		return paid+cancelled == c.Rounds
	case c.Cancel:
		return paid == 0 && cancelled == 1
	default:
		return paid == 1 && cancelled == 0
	}
}

// tellRace prints a line for each round, and the count.
func tellRace(w io.Writer, told *story.Story, endings []shopper.Ending) error {
	var order []enactment.Key
	rounds := make(map[enactment.Key]*round)
	for _, r := range told.Records(platformSide) {
		if rounds[r.Enactment] == nil {
			rounds[r.Enactment] = new(round)
			order = append(order, r.Enactment)
		}
		if r.Action == "Complete" || r.Action == "Cancel" {
			rounds[r.Enactment].attempts = append(rounds[r.Enactment].attempts, r)
		}
	}
	for i, ending := range endings {
		if i >= len(order) {
			break
		}
		if _, err := fmt.Fprintf(w, "round %2d: %s\n", i+1, rounds[order[i]].text(ending)); err != nil {
			return err
		}
	}
	paid, cancelled, neither, both := tally(endings, told)
	_, err := fmt.Fprintf(w, "\n%d rounds: %d paid, %d cancelled, %d neither, %d both\n", len(endings), paid, cancelled, neither, both)
	return err
}

// round is what the shopper attempted in one round, in the order in which it was decided.
type round struct{ attempts []enactment.Record }

// text says how the round ended, and what became of the attempt that did not win.
func (r *round) text(ending shopper.Ending) string {
	winner := map[string]string{"Completed": "Complete", "Cancelled": "Cancel"}[ending.Action]
	text := ending.Action + "."
	for _, attempt := range r.attempts {
		switch {
		case attempt.Action == winner:
		case attempt.Kind == enactment.Refused:
			text += fmt.Sprintf(" %s was refused by the engine (%s).", attempt.Action, attempt.Reason.Code)
		default:
			text += fmt.Sprintf(" %s was attempted too, and came to nothing.", attempt.Action)
		}
	}
	return text
}
