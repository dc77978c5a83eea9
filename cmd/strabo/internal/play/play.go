// Package play lets a person sit at the table of one enactment: it shows what the person's roles may do, reads what is
// to be done, and tells what came of it. The other roles act at random.
//
// It decides nothing: whether an action is enabled, and why not, is said by package enactment. Start reading at Play.
package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
)

// Options say who plays and how.
type Options struct {
	// Roles are those of the person, in any order; all if there are none.
	Roles []string
	// Seed begins the generator from which the other roles take what they do.
	Seed uint64
	// In and Out are where commands are read, a line each, and answers are written.
	In  io.Reader
	Out io.Writer
	// Terminal tells that a person sits at both, so that it is worth asking for a line.
	Terminal bool
}

// ErrStuck is returned by [Play] when nobody can do anything more and the enactment is not complete.
var ErrStuck = errors.New("play: nobody can do anything more")

// longest is how many bytes a line may have.
const longest = 1 << 20

// Play plays one enactment until the person quits, which the end of the input does too, or nobody can do anything more.
// It blocks until then or until the context ends; in that case a line that is being read is waited for in the background,
// and lost. The error is ErrStuck, the cause for which the context ended, or says that a role does not exist, that the
// input cannot be read or the output not be written.
func Play(ctx context.Context, rules *enactment.Rules, options Options) error {
	s := &session{
		Options: options, done: ctx.Done(), rules: rules, out: &writer{to: options.Out}, lines: bufio.NewScanner(options.In),
		random: rand.New(rand.NewPCG(options.Seed, 0)), values: table.NewInventor(rules),
	}
	s.table = table.New(rules, s.record)
	s.lines.Buffer(nil, longest)
	if err := s.seat(); err != nil {
		return err
	}
	s.welcome()
	for s.out.err == nil {
		if len(s.mine()) == 0 {
			s.pass()
		}
		if len(s.mine()) == 0 {
			return s.end()
		}
		if !s.current {
			s.show()
		}
		line, ok := s.read("> ")
		if !ok || !s.obey(line) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the scanner may still be at work
	}
	return errors.Join(s.lines.Err(), s.out.err)
}

// session is an enactment that is being played.
type session struct {
	Options
	done   <-chan struct{}
	rules  *enactment.Rules
	table  *table.Table
	out    *writer
	lines  *bufio.Scanner
	random *rand.Rand
	others []string
	values *table.Inventor
	// records are what the person has seen, and told is how many of them have been shown.
	records []enactment.Record
	told    int
	// before has, for each action of the person, how much there was of the log and of the records.
	before  []mark
	attempt int
	// shown is what the person may do, as numbered; current tells that it has been shown.
	shown   []table.Choice
	current bool
}

type mark struct{ log, records int }

// writer remembers the first failure, so that it need be looked at once only.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) printf(format string, arguments ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format, arguments...)
	}
}

// seat says who plays what, in the order of the protocol.
func (s *session) seat() error {
	for _, role := range s.Roles {
		if !s.rules.Protocol().HasRole(role) {
			roles := strings.Join(slices.Collect(s.rules.Protocol().Roles()), ", ")
			return fmt.Errorf("%s has no role %q: its roles are %s", s.rules.Protocol().Name(), role, roles)
		}
	}
	var mine []string
	for role := range s.rules.Protocol().Roles() {
		if len(s.Roles) == 0 || slices.Contains(s.Roles, role) {
			mine = append(mine, role)
		} else {
			s.others = append(s.others, role)
		}
	}
	s.Roles = mine
	return nil
}

// read gives the next line; false at the end of the input and of the context. Only a terminal is asked for it.
func (s *session) read(prompt string) (string, bool) {
	if s.Terminal {
		s.out.printf("%s", prompt)
	}
	scanned := make(chan bool, 1)
	go func() { scanned <- s.lines.Scan() }()
	ok := false
	select {
	case ok = <-scanned:
	case <-s.done:
	}
	if !ok {
		if s.Terminal {
			s.out.printf("\n")
		}
		return "", false
	}
	return strings.TrimSpace(s.lines.Text()), true
}

// mine lists what the person's roles may do.
func (s *session) mine() []table.Choice { return s.table.Choices(s.Roles...) }

// do attempts a choice, and says how it was answered. Time is the number of the attempt: nothing at a table depends on
// clocks.
func (s *session) do(choice table.Choice, bound enactment.Values) enactment.Outcome {
	values := make(enactment.Values)
	for name, value := range choice.Known {
		if s.rules.Protocol().IsKey(name) {
			values[name] = value
		}
	}
	for name, value := range bound {
		values[name] = value
	}
	s.attempt++
	s.current = false
	attempt := enactment.Attempt{
		ID: fmt.Sprintf("a-%d", s.attempt), Identity: enactment.Identity{Role: choice.Role}, Action: choice.Action, Values: values,
	}
	return s.table.Judge(time.Unix(int64(s.attempt), 0), attempt)[0]
}

// record keeps what the person sees of what is recorded: what any of the person's roles sees.
func (s *session) record(r enactment.Record) {
	switch r.Kind {
	case enactment.Refused:
		if !slices.Contains(s.Roles, r.Role) {
			return
		}
	case enactment.Happened:
		unseen, any := s.unseen(r.Action)
		if !any {
			return
		}
		maps.DeleteFunc(r.Values, func(name string, _ enactment.Value) bool { return slices.Contains(unseen, name) })
		r.Hidden = slices.DeleteFunc(r.Hidden, func(name string) bool { return slices.Contains(unseen, name) })
	}
	s.records = append(s.records, r)
}

// unseen lists the attributes of an action that none of the person's roles sees; any is false if none sees any of it.
func (s *session) unseen(action string) (unseen []string, any bool) {
	for _, role := range s.Roles {
		sees, hidden := s.rules.Sight(role, action)
		switch {
		case !sees:
		case !any:
			unseen, any = hidden, true
		default:
			unseen = slices.DeleteFunc(unseen, func(name string) bool { return !slices.Contains(hidden, name) })
		}
	}
	return unseen, any
}

// mostKeys is how many values the other roles make up for a key outside the root key, lest they go on for ever.
const mostKeys = 3

// pass lets each of the other roles do something, in random order.
func (s *session) pass() {
	order := slices.Clone(s.others)
	s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for {
		acted := false
		for _, role := range order {
			acted = s.actAtRandom(role) || acted
		}
		s.tell()
		// Where the person has nothing to do, the others go on.
		if !acted || len(s.mine()) > 0 {
			return
		}
	}
}

// actAtRandom has a role do something that it may; false if there is nothing.
func (s *session) actAtRandom(role string) bool {
	var choices []table.Choice
	for _, choice := range s.table.Choices(role) {
		if settled, ok := table.Settle(s.table.State(), choice.Feasible, mostKeys); ok {
			choices = append(choices, table.Choice{Role: role, Feasible: settled})
		}
	}
	choices = slices.DeleteFunc(choices, func(choice table.Choice) bool {
		return slices.ContainsFunc(choice.Open, func(open enactment.Open) bool {
			return s.rules.Protocol().IsKey(open.Attribute) && s.values.Made(open.Attribute) >= mostKeys
		})
	})
	if len(choices) == 0 {
		return false
	}
	choice := choices[s.random.IntN(len(choices))]
	bound := make(enactment.Values)
	for _, open := range choice.Open {
		bound[open.Attribute] = s.values.Take(open.Attribute)
	}
	s.do(choice, bound)
	return true
}

// tell shows the records that are new.
func (s *session) tell() {
	lines := s.history()
	for _, line := range lines[s.told:] {
		s.out.printf("  %s\n", line)
	}
	s.told = len(lines)
}

// history gives a line for each record.
func (s *session) history() []string {
	told := &story.Story{Timeless: true, Always: table.InnerKeys(s.rules.Protocol())}
	for _, record := range s.records {
		told.Recorder("")(record)
	}
	var text strings.Builder
	if err := told.WriteText(&text); err != nil {
		panic(fmt.Sprintf("play: %v", err)) // a strings.Builder takes everything
	}
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")[:len(s.records)]
}
