package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/natsapproval"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

type approvalsCommand struct {
	Ls    approvalsLs    `cmd:"" help:"List what waits for somebody to agree."`
	Show  approvalsShow  `cmd:"" help:"Show one question: what would be sent, and why somebody is asked."`
	Grant approvalsGrant `cmd:"" help:"Agree to a call."`
	Deny  approvalsDeny  `cmd:"" help:"Refuse a call."`
}

func (approvalsCommand) examples() string {
	return approvalsLs{}.examples() + approvalsShow{}.examples() + approvalsGrant{}.examples() + approvalsDeny{}.examples()
}

// approvalsFlags say where questions are kept.
type approvalsFlags struct {
	Dir  string `type:"path" placeholder:"DIR" xor:"where" required:"" help:"Directory in which the bridge keeps its questions."`
	NATS string `name:"nats" placeholder:"URL" xor:"where" required:"" help:"NATS in which the bridge keeps its questions."`
	clientFlags
	Bucket string `placeholder:"NAME" default:"${approvalBucket}" help:"Name of the key-value store in --nats."`
	JSON   bool   `name:"json" help:"Print JSON objects, one a line."`
}

// open opens the store.
func (f *approvalsFlags) open(ctx context.Context) (approval.Store, func(), error) {
	if f.Dir != "" {
		if _, err := os.Stat(f.Dir); err != nil {
			return nil, nil, fmt.Errorf("--dir: %w", err) // It is the bridge's to make.
		}
		store, err := approval.OpenFileStore(f.Dir, approval.FileOptions{})
		if err != nil {
			return nil, nil, err
		}
		return store, func() { _ = store.Close() }, nil
	}
	conn, err := f.connect(f.NATS, nats.Name("strabo approvals"))
	if err != nil {
		return nil, nil, err
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := natsapproval.Find(opening, conn, natsapproval.Options{Bucket: f.Bucket})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return store, conn.Close, nil
}

// shownDigest is how much of a digest stands in a reference: enough that no two questions that somebody could be made to
// confuse have the same.
const shownDigest = 16

// reference names a question together with its bytes: who grants it grants what was shown under it.
func reference(r approval.Request) string { return r.ID + "@" + r.Digest[:shownDigest] }

// shownApproval is a question as it is told to a program.
type shownApproval struct {
	Reference string `json:"reference"`
	approval.Entry
}

func printApproval(s *streams, entry approval.Entry) error {
	return printLine(s, shownApproval{reference(entry.Request), entry})
}

type approvalsLs struct {
	approvalsFlags
	All bool `help:"Also those that are decided or expired."`
}

// Help is shown by strabo approvals ls --help.
func (approvalsLs) Help() string {
	return `Prints the reference of each question, how it stands, when it was asked and until when it may be answered, and what it is ` +
		`about. A reference names the exact bytes that would be sent, so that agreeing to it agrees to nothing else.`
}

func (approvalsLs) examples() string {
	return `  strabo approvals ls --dir ./approvals
  strabo approvals ls --nats nats://127.0.0.1:4222 --all --json
`
}

// Run lists questions in the order in which they were asked.
func (c *approvalsLs) Run(ctx context.Context, s *streams) error {
	store, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	entries, failure := store.List(ctx)
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, entry := range entries {
		if !c.All && entry.Decision.State != approval.Pending {
			continue
		}
		if c.JSON {
			err = errors.Join(err, printApproval(s, entry))
			continue
		}
		r := entry.Request
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", reference(r), entry.Decision.State, stamp(r.At), until(r.Expires),
			printable(r.Operation), printable(string(r.Enactment)), printable(strings.Join(r.Labels, "; ")))
	}
	return errors.Join(err, table.Flush(), failure)
}

func until(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return stamp(at)
}

type approvalsShow struct {
	approvalsFlags
	Reference string `arg:"" help:"The reference that ls prints, or the id before its @."`
}

func (approvalsShow) examples() string {
	return `  strabo approvals show --dir ./approvals 91f0-pay@0123456789abcdef
`
}

// Run shows one question.
func (c *approvalsShow) Run(ctx context.Context, s *streams) error {
	store, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	entry, err := find(ctx, store, c.Reference, s)
	if err != nil {
		return err
	}
	if c.JSON {
		return printApproval(s, entry)
	}
	return showApproval(s.out, entry)
}

// find gets the question with a reference, which may be an id alone.
func find(ctx context.Context, store approval.Store, text string, s *streams) (approval.Entry, error) {
	id, digest, _ := strings.Cut(text, "@")
	entry, err := store.Get(ctx, id)
	switch {
	case errors.Is(err, approval.ErrNotFound):
		fmt.Fprintf(s.err, "strabo: there is no question %s\n", printable(id))
		return entry, errNo
	case err != nil:
		return entry, err
	case !strings.HasPrefix(entry.Request.Digest, digest):
		fmt.Fprintf(s.err, "strabo: %s has changed since: it is %s now, see strabo approvals show\n", id, reference(entry.Request))
		return entry, errNo
	}
	return entry, nil
}

func showApproval(to io.Writer, entry approval.Entry) error {
	r, d := entry.Request, entry.Decision
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "%s\t%s\n", name, story.Printable(text))
		}
	}
	line("reference", reference(r))
	state := string(d.State)
	if d.By != "" {
		state += " by " + d.By
	}
	if !d.At.IsZero() {
		state += " at " + stamp(d.At)
	}
	line("state", state)
	line("reason", d.Reason)
	line("question", r.Prompt)
	for _, label := range r.Labels {
		line("asked for", label)
	}
	line("operation", r.Operation)
	line("scope", r.Scope)
	line("enactment", string(r.Enactment))
	line("action", r.Action)
	line("step", r.Step)
	line("asked", stamp(r.At))
	line("expires", until(r.Expires))
	line("bytes", r.Digest)
	if len(r.Arguments) > 0 {
		line("arguments", "")
	}
	if err := out.Flush(); err != nil || len(r.Arguments) == 0 {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, r.Arguments, "  ", "  "); err != nil {
		return err
	}
	text := strings.Split(pretty.String(), "\n")
	for i := range text {
		text[i] = story.Printable(text[i])
	}
	_, err := fmt.Fprintf(to, "arguments, redacted:\n  %s\n", strings.Join(text, "\n"))
	return err
}

// decideFlags are what a decision needs.
type decideFlags struct {
	approvalsFlags
	Reference string `arg:"" help:"The reference that ls prints, with its @: it names the bytes that are decided about."`
	By        string `placeholder:"NAME" help:"Who decides; the user's name by default."`
	Reason    string `placeholder:"TEXT" help:"Why, for the record."`
}

const decideHelp = `A reference names the exact bytes that would be sent: if the request has changed since it was shown, nothing is decided. The ` +
	`first decision stands.

Exit status: 0 when it is decided so, 1 when it has been decided otherwise or before, has expired or has changed, or there is ` +
	`no such question, 2 when it could not be tried.`

func (c *decideFlags) decide(ctx context.Context, s *streams, granted bool) error {
	_, digest, _ := strings.Cut(c.Reference, "@")
	if len(digest) < shownDigest {
		return fmt.Errorf("%s does not say which bytes are meant: give the whole reference that strabo approvals ls prints, with its @", printable(c.Reference))
	}
	by := c.By
	if by == "" {
		current, err := user.Current()
		if err != nil {
			return fmt.Errorf("say who decides, with --by: %w", err)
		}
		by = current.Username
	}
	store, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	entry, err := find(ctx, store, c.Reference, s)
	if err != nil {
		return err
	}
	id := entry.Request.ID
	err = store.Decide(ctx, id, approval.Verdict{Granted: granted, Digest: entry.Request.Digest, By: by, Reason: c.Reason})
	refusals := []error{approval.ErrDecided, approval.ErrExpired, approval.ErrChanged, approval.ErrNotFound}
	refused := slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) })
	if err != nil && !refused {
		return err
	}
	entry, getErr := store.Get(ctx, id)
	if getErr != nil {
		return getErr
	}
	d := entry.Decision
	said := fmt.Sprintf("%s %s", d.State, reference(entry.Request))
	if d.By != "" {
		said += fmt.Sprintf(" by %s at %s", printable(d.By), stamp(d.At))
	}
	switch {
	case refused:
		fmt.Fprintf(s.err, "strabo: %v: %s\n", err, said)
		return errNo
	case c.JSON:
		return printApproval(s, entry)
	default:
		_, err = fmt.Fprintln(s.out, said)
		return err
	}
}

type approvalsGrant struct{ decideFlags }

// Help is shown by strabo approvals grant --help.
func (approvalsGrant) Help() string { return decideHelp }

func (approvalsGrant) examples() string {
	return `  strabo approvals grant --dir ./approvals 91f0-pay@0123456789abcdef --reason "as agreed by telephone"
`
}

// Run grants.
func (c *approvalsGrant) Run(ctx context.Context, s *streams) error { return c.decide(ctx, s, true) }

type approvalsDeny struct{ decideFlags }

// Help is shown by strabo approvals deny --help.
func (approvalsDeny) Help() string { return decideHelp }

func (approvalsDeny) examples() string {
	return `  strabo approvals deny --dir ./approvals 91f0-pay@0123456789abcdef --reason "too much"
`
}

// Run denies.
func (c *approvalsDeny) Run(ctx context.Context, s *streams) error { return c.decide(ctx, s, false) }
