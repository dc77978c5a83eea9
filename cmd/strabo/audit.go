package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/audit/natsaudit"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

type auditCommand struct {
	File string `type:"path" placeholder:"FILE" xor:"where" required:"" help:"The audit as a file; the full files beside it are read first."`
	NATS string `name:"nats" placeholder:"URL" xor:"where" required:"" help:"The audit as a stream in a NATS."`
	clientFlags
	Stream string `placeholder:"NAME" default:"${auditStream}" help:"Name of the stream in --nats."`

	Kind      []string `placeholder:"KIND,..." help:"Only records of these kinds: ${auditKinds}."`
	Enactment string   `placeholder:"KEY" help:"Only those of one enactment: its root key as JSON, such as '{\"cid\":\"c1\"}'."`
	Operation string   `placeholder:"NAME" help:"Only those of one operation."`
	Action    string   `placeholder:"NAME" help:"Only those that answer one action."`
	Subject   string   `placeholder:"NAME" help:"Only those on behalf of one subject."`
	Since     string   `placeholder:"TIME" help:"Only those from this time on, such as 2026-11-30T12:00:00Z, or 90m for the last 90 minutes."`
	Until     string   `placeholder:"TIME" help:"Only those up to this time."`
	Follow    bool     `short:"f" help:"Go on with what is recorded, until interrupted."`
	Long      bool     `help:"Print all there is: hashes, bodies as they were redacted, and the source of every value."`
	JSON      bool     `name:"json" help:"Print records, one JSON object a line."`
}

// auditVariables are what the help and the defaults of the audit commands refer to.
func auditVariables() kong.Vars {
	var kinds []string
	for _, kind := range audit.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kong.Vars{"auditStream": natsaudit.DefaultStream, "auditKinds": strings.Join(kinds, ", ")}
}

// Help is shown by strabo audit --help.
func (auditCommand) Help() string {
	return `Prints one line for every call that a bridge made, and for every decision not to make one: when, what kind, which ` +
		`enactment, action and operation, the call and what is known afterwards. Secrets are not in an audit.

Exit status: 0 when all was read, 1 when a line of the audit is damaged (which is said on standard error), 2 when it cannot ` +
		`be read.`
}

func (auditCommand) examples() string {
	return `  strabo audit --file audit.jsonl --since 1h
  strabo audit --file audit.jsonl --enactment '{"cid":"c1"}' --long
  strabo audit --nats nats://127.0.0.1:4222 --kind unknown_outcome,denied --follow
`
}

// Run prints the records.
func (c *auditCommand) Run(ctx context.Context, s *streams) error {
	filter, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	records, done, err := c.records(ctx, filter)
	if err != nil {
		return err
	}
	defer done()
	out := bufio.NewWriter(s.out)
	damaged := false
	for r, err := range records {
		var damage *audit.DamagedError
		switch {
		case errors.As(err, &damage):
			fmt.Fprintf(s.err, "strabo: damaged: %s\n", lines(err))
			damaged = true
			continue
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			// Interrupted: what was asked for is done.
		case err != nil:
			return errors.Join(err, out.Flush())
		default:
			err = c.print(out, r)
			if err == nil && c.Follow {
				err = out.Flush()
			}
			if err != nil {
				return fmt.Errorf("%w: %w", errPrint, err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errPrint, err)
	}
	if damaged {
		return errNo
	}
	return nil
}

func (c *auditCommand) filter(now time.Time) (filter audit.Filter, err error) {
	for _, name := range c.Kind {
		kind := audit.Kind(name)
		if !slices.Contains(audit.Kinds(), kind) {
			return filter, fmt.Errorf("--kind %s: there is no such kind of record (see strabo audit --help)", name)
		}
		filter.Kinds = append(filter.Kinds, kind)
	}
	if c.Enactment != "" {
		if filter.Enactment, err = parseKey(c.Enactment); err != nil {
			return filter, err
		}
	}
	filter.Operation, filter.Action, filter.Subject = c.Operation, c.Action, c.Subject
	if filter.Since, err = moment("--since", c.Since, now); err != nil {
		return filter, err
	}
	filter.Until, err = moment("--until", c.Until, now)
	return filter, err
}

// moment reads a time, or how long ago; the zero time for none.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %s: it should be a time such as 2026-11-30T12:00:00Z, or how long ago, such as 90m", flag, text)
	}
	return at, nil
}

// records opens the audit.
func (c *auditCommand) records(ctx context.Context, filter audit.Filter) (iter.Seq2[audit.Record, error], func(), error) {
	if c.File != "" {
		return audit.ReadFile(ctx, c.File, filter, c.Follow), func() {}, nil
	}
	conn, err := c.connect(c.NATS, nats.Name("strabo audit"))
	if err != nil {
		return nil, nil, err
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := natsaudit.Find(opening, conn, natsaudit.Options{Stream: c.Stream})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return stream.Read(ctx, filter, c.Follow), conn.Close, nil
}

func (c *auditCommand) print(out io.Writer, r audit.Record) error {
	if c.JSON {
		line, err := audit.Encode(r)
		if err == nil {
			_, err = fmt.Fprintf(story.EscapeJSON(out), "%s\n", line)
		}
		return err
	}
	_, err := fmt.Fprintln(out, auditLine(r))
	if err != nil || !c.Long {
		return err
	}
	row := func(name, text string) {
		if text != "" && err == nil {
			_, err = fmt.Fprintf(out, "    %-10s %s\n", name, story.Printable(text))
		}
	}
	row("scope", r.Scope)
	row("key", r.KeyHash)
	row("bytes", r.BodyDigest)
	row("request", r.Request)
	row("response", r.Response)
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		row("from", name+": "+r.Sources[name])
	}
	return err
}

// auditLine tells a record in one line.
func auditLine(r audit.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-18s %s", stamp(r.At), printable(string(r.Kind)), printable(string(r.Enactment)))
	word := func(before, text string) {
		if text != "" {
			b.WriteString(before + printable(text))
		}
	}
	word(" ", r.Action)
	word("/", r.Step)
	word(" ", r.Operation)
	if r.Method != "" {
		word(" ", r.Method)
		word(" ", r.URL)
	}
	if r.Attempt > 0 {
		fmt.Fprintf(&b, " #%d", r.Attempt)
	}
	if r.Status != 0 {
		fmt.Fprintf(&b, " %d", r.Status)
	}
	word(" ", r.Outcome)
	if r.Inferred {
		b.WriteString(" (inferred)")
	}
	if r.Latency > 0 {
		fmt.Fprintf(&b, " %s", r.Latency.Round(time.Microsecond))
	}
	word(" risk=", r.Risk)
	word(" subject=", r.Subject)
	word(" approval=", r.Approval)
	word(": ", r.Detail)
	return b.String()
}
