package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

type enactmentsCommand struct {
	Ls     enactmentsLs     `cmd:"" help:"List enactments and how they stand."`
	Show   enactmentsShow   `cmd:"" help:"Show what happened in one, and what each role may do."`
	Watch  enactmentsWatch  `cmd:"" help:"Print what happens, as it happens."`
	Export enactmentsExport `cmd:"" help:"Print every record, secrets hidden."`
	Verify enactmentsVerify `cmd:"" help:"Judge logs again, finalisation by finalisation."`
	Prune  enactmentsPrune  `cmd:"" help:"Remove those that have ended and are old."`
}

func (enactmentsCommand) examples() string {
	return enactmentsLs{}.examples() + enactmentsShow{}.examples() + enactmentsWatch{}.examples() +
		enactmentsExport{}.examples() + enactmentsVerify{}.examples() + enactmentsPrune{}.examples()
}

type enactmentsLs struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	Open     bool   `help:"Only those that are not complete."`
	JSON     bool   `name:"json" help:"Print one JSON object for each, on a line."`
}

func (enactmentsLs) examples() string {
	return `  strabo enactments ls purchase --nats nats://127.0.0.1:4222
  strabo enactments ls purchase --store ./data --open
`
}

// Run lists enactments in the order in which they began.
func (c *enactmentsLs) Run(ctx context.Context, s *streams) error {
	archive, _, done, err := c.archive(ctx, s, c.Protocol)
	if err != nil {
		return err
	}
	defer done()
	all, err := archive.Enactments(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, e := range all {
		if c.Open && e.Complete {
			continue
		}
		if c.JSON {
			if err := printLine(s, e); err != nil {
				return err
			}
			continue
		}
		state := "open"
		if e.Complete {
			state = "complete"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", story.Printable(string(e.Enactment)), e.Sequence, state, strings.Join(e.Last, " "), stamp(e.Latest))
	}
	return table.Flush()
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

type enactmentsShow struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	Key      string `arg:"" help:"Root key of the enactment as JSON, such as '{\"ID\":\"1\"}'."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

func (enactmentsShow) examples() string {
	return `  strabo enactments show purchase '{"ID":"1"}' --store ./data
`
}

// shown is what show prints with --json.
type shown struct {
	Enactment enactment.Key `json:"enactment"`
	Sequence  uint64        `json:"sequence"`
	Complete  bool          `json:"complete"`
	// Needs are the parts of what that nothing has satisfied, each with its alternatives.
	Needs    [][]string            `json:"needs,omitempty"`
	Parties  map[string]string     `json:"parties,omitempty"`
	Timeline []enactment.Record    `json:"timeline"`
	Enabled  map[string][]possible `json:"enabled"`
	// Pending are attempts that wait for their window.
	Pending []syncserver.PendingAttempt `json:"pending,omitempty"`
}

// possible is an action that a role may do, and what it would have to bind.
type possible struct {
	Action string   `json:"action"`
	Open   []string `json:"open,omitempty"`
}

// Run shows one enactment.
func (c *enactmentsShow) Run(ctx context.Context, s *streams) error {
	archive, rules, done, err := c.archive(ctx, s, c.Protocol)
	if err != nil {
		return err
	}
	defer done()
	key, err := parseKeyOf(rules, c.Key)
	if err != nil {
		return err
	}
	state, err := archive.State(ctx, key)
	if err != nil {
		return err
	}
	if state.Empty() {
		fmt.Fprintf(s.err, "strabo: nothing has happened in %s\n", key)
		return errNo
	}
	answer := shown{
		Enactment: key, Sequence: state.Sequence(), Complete: state.Complete(), Needs: needs(state), Parties: map[string]string{},
		Enabled: map[string][]possible{},
	}
	if answer.Pending, err = archive.Pending(ctx, key); err != nil {
		return err
	}
	if err := archive.Records(ctx, key, func(r enactment.Record) bool {
		answer.Timeline = append(answer.Timeline, r)
		return true
	}); err != nil {
		return err
	}
	for role := range rules.Protocol().Roles() {
		if party, taken := state.Party(role); taken && party != "" {
			answer.Parties[role] = party
		}
		for f := range state.Enabled(role) {
			p := possible{Action: f.Action}
			for _, open := range f.Open {
				p.Open = append(p.Open, open.Attribute)
			}
			answer.Enabled[role] = append(answer.Enabled[role], p)
		}
	}
	if c.JSON {
		return printLine(s, answer)
	}
	return answer.writeText(s.out, slices.Collect(rules.Protocol().Roles()))
}

// writeText is for a person: what happened, how it stands, and what may come.
func (a *shown) writeText(w io.Writer, roles []string) error {
	var text strings.Builder
	for _, r := range a.Timeline {
		fmt.Fprintln(&text, line(r))
	}
	switch {
	case a.Complete:
		fmt.Fprintln(&text, "complete")
	default:
		fmt.Fprintln(&text, "open")
		for _, alternatives := range a.Needs {
			fmt.Fprintf(&text, "needs %s\n", strings.Join(alternatives, " or "))
		}
	}
	for _, role := range roles {
		if party := a.Parties[role]; party != "" {
			fmt.Fprintf(&text, "%s is %s\n", role, party)
		}
	}
	for _, p := range a.Pending {
		fmt.Fprintf(&text, "%s waits with %s since %s\n", enactment.Identity{Role: p.Role, Party: p.Party}, p.Action, stamp(p.Arrived))
	}
	for _, role := range roles {
		for _, p := range a.Enabled[role] {
			fmt.Fprintf(&text, "%s may %s", role, p.Action)
			if len(p.Open) > 0 {
				fmt.Fprintf(&text, ", binding %s", strings.Join(p.Open, ", "))
			}
			fmt.Fprintln(&text)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// needs lists the parts of what that nothing satisfies which has happened.
func needs(state *enactment.State) [][]string {
	var missing [][]string
	for c := range state.Rules().Protocol().What() {
		alternatives := slices.Collect(c.Alternatives())
		met := false
		for instance := range state.Instances() {
			action, _ := state.Rules().Protocol().Action(instance.Action)
			met = met || slices.ContainsFunc(alternatives, action.Carries)
		}
		if !met {
			missing = append(missing, alternatives)
		}
	}
	return missing
}

func parseKey(text string) (enactment.Key, error) {
	var key enactment.Key
	if err := key.UnmarshalJSON([]byte(text)); err != nil || key == "" {
		return "", fmt.Errorf("%s is no root key: it should be a JSON object, such as {\"ID\":\"1\"}", text)
	}
	return key, nil
}

// parseKeyOf reads the root key of an enactment of a protocol.
func parseKeyOf(rules *enactment.Rules, text string) (enactment.Key, error) {
	names := slices.Collect(rules.Protocol().RootKey())
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) == nil && len(members) == len(names) &&
		!slices.ContainsFunc(names, func(name string) bool { return members[name] == nil }) {
		return parseKey(text)
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q:%q", name, strconv.Itoa(i+1))
	}
	return "", fmt.Errorf("%s is no root key of %s: it should be a JSON object such as {%s}", text, rules.Protocol().Name(), strings.Join(names, ","))
}

// line is a record for a person. Names in it may be anybody's invention, if the attempt was refused.
func line(r enactment.Record) string { return story.Printable(lineOf(r)) }

func lineOf(r enactment.Record) string {
	text := fmt.Sprintf("%s %s %d", stamp(r.At), r.Enactment, r.Sequence)
	switch r.Kind {
	case enactment.Completed:
		return text + " complete"
	case enactment.Refused:
		text += fmt.Sprintf(" %s refused %s (%s)", enactment.Identity{Role: r.Role, Party: r.Party}, r.Action, r.Reason)
	default:
		text += fmt.Sprintf(" %s %s", enactment.Identity{Role: r.Role, Party: r.Party}, r.Action)
	}
	names := make([]string, 0, len(r.Values))
	for name := range r.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text += fmt.Sprintf(" %s=%s", name, r.Values[name])
	}
	for _, name := range r.Hidden {
		text += fmt.Sprintf(" %s=…", name)
	}
	return text
}

type enactmentsWatch struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	Key      string `arg:"" optional:"" help:"Root key of one enactment as JSON; else all."`
	JSON     bool   `name:"json" help:"Print records, one JSON object a line."`
}

func (enactmentsWatch) examples() string {
	return `  strabo enactments watch purchase --nats nats://127.0.0.1:4222
`
}

// Run prints what happened and what happens until it is interrupted.
func (c *enactmentsWatch) Run(ctx context.Context, s *streams) error {
	archive, key, done, err := c.one(ctx, s, c.Protocol, c.Key)
	if err != nil {
		return err
	}
	defer done()
	var failure error
	err = archive.Watch(ctx, key, printer(s, c.JSON, &failure))
	if failure != nil {
		return failure
	}
	return err
}

// one opens the log, and reads the key of an enactment if there is one.
func (f *systemFlags) one(ctx context.Context, s *streams, protocol, text string) (*syncserver.Archive, enactment.Key, func(), error) {
	archive, rules, done, err := f.archive(ctx, s, protocol)
	if err != nil || text == "" {
		return archive, "", done, err
	}
	key, err := parseKeyOf(rules, text)
	if err != nil {
		done()
		return nil, "", nil, err
	}
	return archive, key, done, nil
}

func printer(s *streams, asJSON bool, failure *error) func(enactment.Record) bool {
	return func(r enactment.Record) bool {
		if asJSON {
			*failure = printLine(s, r)
		} else {
			_, *failure = fmt.Fprintln(s.out, line(r))
		}
		return *failure == nil
	}
}

type enactmentsExport struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	Key      string `arg:"" optional:"" help:"Root key of one enactment as JSON; else all."`
}

func (enactmentsExport) examples() string {
	return `  strabo enactments export purchase --store ./data > log.jsonl
`
}

// Run prints records, one JSON object a line.
func (c *enactmentsExport) Run(ctx context.Context, s *streams) error {
	archive, key, done, err := c.one(ctx, s, c.Protocol, c.Key)
	if err != nil {
		return err
	}
	defer done()
	var failure error
	if err := archive.Records(ctx, key, printer(s, true, &failure)); err != nil {
		return err
	}
	return failure
}

type enactmentsVerify struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	Key      string `arg:"" optional:"" help:"Root key of one enactment as JSON; else all."`
	JSON     bool   `name:"json" help:"Print the answer as JSON."`
}

// Help is shown by strabo enactments verify --help.
func (enactmentsVerify) Help() string {
	return `Judges what the log holds again: each finalisation must be one that would be accepted, all of it together. Prints ` +
		`what is not so.

Exit status: 0 if all of it is, 1 if not, 2 if the log could not be read.`
}

func (enactmentsVerify) examples() string {
	return `  strabo enactments verify purchase --store ./data
`
}

// Run judges again.
func (c *enactmentsVerify) Run(ctx context.Context, s *streams) error {
	archive, key, done, err := c.one(ctx, s, c.Protocol, c.Key)
	if err != nil {
		return err
	}
	defer done()
	faults := []syncserver.Fault{}
	judged, err := archive.Verify(ctx, key, func(f syncserver.Fault) { faults = append(faults, f) })
	if err != nil {
		return err
	}
	if c.JSON {
		err = printLine(s, struct {
			Judged int                `json:"judged"`
			Faults []syncserver.Fault `json:"faults"`
		}{judged, faults})
	} else {
		for _, f := range faults {
			_, err = fmt.Fprintf(s.out, "%s %d: %s\n", story.Printable(string(f.Enactment)), f.Sequence, story.Printable(f.Detail))
		}
	}
	if err == nil && len(faults) > 0 {
		err = errNo
	}
	return err
}
