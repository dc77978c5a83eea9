package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/play"
)

type playCommand struct {
	Role []string `name:"role" placeholder:"ROLE" help:"A role that you play; may be given several times. Without it you play all."`
	Seed uint64   `default:"1" help:"How the other roles act; the same seed and the same commands give the same."`
	File string   `arg:"" help:"${openHelp}"`
}

// Help is shown by strabo play --help.
func (playCommand) Help() string {
	return `Enacts the protocol once, with you in it: shows what your roles may do, with what is known and what is to bind, and ` +
		`does what you say; the other roles do one thing each, at random, after each of yours. You see what your roles see. ` +
		`Actions are decided one by one.

Commands are read a line each: the number or the name of an action, why ACTION, pass, history, undo, help, quit. What an ` +
		`action has to bind may follow it (item=fig) or is asked for, a line each. Text that is no JSON is a string.

Exit status: 0, also after quit or an interrupt; 1 if nobody can do anything more and the enactment is not complete, or the protocol has ` +
		`errors; 2 for wrong use.`
}

func (playCommand) examples() string {
	return `  strabo play purchase                          Play all roles of a protocol that ships with strabo.
  strabo play --role Buyer --seed 7 my.lsh      Play one, against chance.
  printf 'RFQ item=fig\nhistory\n' | strabo play --role Buyer purchase
`
}

// Run plays until the person quits or there is nothing left to do.
func (c *playCommand) Run(ctx context.Context, s *streams) error {
	if c.File == standardInput {
		return errors.New("commands are read from standard input, so the protocol cannot be")
	}
	rules, err := openRules(s, c.File)
	if err != nil {
		return err
	}
	err = play.Play(ctx, rules, play.Options{Roles: c.Role, Seed: c.Seed, In: s.in, Out: s.out, Terminal: isTerminal(s.in) && isTerminal(s.out)})
	switch {
	case ctx.Err() != nil: // to interrupt is to quit
		return nil
	case errors.Is(err, play.ErrStuck):
		return errNo
	case err != nil:
		return fmt.Errorf("cannot go on: %w", err)
	default:
		return nil
	}
}

// isTerminal tells whether a person sits at the other end of a stream.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
