package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/diagram"
)

type graphCommand struct {
	Format   string `name:"format" enum:"mermaid,dot,svg" default:"mermaid" help:"What to write: mermaid, dot or svg."`
	Role     string `name:"role" help:"Draw what this role does and sees, and no more." placeholder:"ROLE"`
	Sequence bool   `name:"sequence" help:"Draw one way that an enactment goes, as a sequence diagram: give --witness or --run."`
	Witness  string `name:"witness" xor:"source" help:"The way that shows that the protocol is not live, or not safe, or the answer to a question as in strabo verify --query." placeholder:"live|safe|QUESTION"`
	Records  string `name:"run" xor:"source" help:"The way that the records in this file tell; - is standard input." placeholder:"RECORDS"`
	File     string `arg:"" name:"file" help:"A protocol file, - for standard input, or the name of a protocol that ships with strabo."`
}

// Help is shown by strabo graph --help.
func (graphCommand) Help() string {
	return `Draws a protocol: a lane for each role with its actions, an arrow to each action from those that it refers to, a ` +
		`dashed arrow from each that may bind an attribute which it needs, and in red what excludes (nono) or stops (nogo) what. ` +
		`Keys are underlined; what the role may not decide is grey or slanted; actions that complete an enactment stand out. ` +
		`SVG needs nothing installed; Mermaid is shown by many code hosts, and dot is for Graphviz.

With --sequence it draws one enactment: what --witness asks for is found as strabo verify does; --run takes records as ` +
		`strabo writes them, one JSON object a line, and draws the first enactment among them.

Exit status: 0 when it is drawn, 1 when the text has errors or there is no such witness, 2 for wrong use.`
}

func (graphCommand) examples() string {
	return `  strabo graph purchase.lsh                              As Mermaid text.
  strabo graph --format svg purchase.lsh > purchase.svg  As a picture.
  strabo graph --role Shipper purchase.lsh               What the shipper does and sees.
  strabo graph --sequence --witness 'possible Deliver' --format svg \
      purchase.lsh > deliver.svg                         The shortest way to a delivery.
  strabo graph --sequence --witness live broken.lsh      How it gets stuck.
  strabo simulate --json --seed 3 purchase.lsh |
      strabo graph --sequence --run - purchase.lsh       One run at random.
`
}

// mostSeen bounds the actions of a protocol of which it is told who sees what; that takes time with their square.
const mostSeen = 5000

// Run draws one file.
func (c *graphCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	name, text, err := readOpen(s, c.File)
	if err != nil {
		return err
	}
	p, diagnostics := langshaw.Parse(text)
	if diagnostics.HasErrors() {
		if err := langshaw.WriteText(s.err, name, text, diagnostics); err != nil {
			return fmt.Errorf("%w: %w", errPrint, err)
		}
		return errNo
	}
	if c.Role != "" && !p.HasRole(c.Role) {
		return fmt.Errorf("%s has no role %s%s", name, c.Role, didYouMean(c.Role, p))
	}
	var rules *enactment.Rules
	if c.Sequence || c.Role != "" {
		if p.ActionCount() > mostSeen {
			return fmt.Errorf("%w: %d actions, and who sees what is told of %d", diagram.ErrTooLarge, p.ActionCount(), mostSeen)
		}
		if rules, err = enactment.Compile(p); err != nil {
			return err
		}
	}
	var picture bytes.Buffer
	if c.Sequence {
		err = c.drawSequence(ctx, s, &picture, rules)
	} else {
		err = c.drawChart(&picture, p, rules)
	}
	if err != nil {
		return err
	}
	if _, err := s.out.Write(picture.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", errPrint, err)
	}
	return nil
}

// check refuses flags that do not go together.
func (c *graphCommand) check() error {
	source := c.Witness != "" || c.Records != ""
	switch {
	case c.Sequence && !source:
		return errors.New("--sequence needs --witness or --run, to know which way to draw")
	case !c.Sequence && source:
		return errors.New("--witness and --run say what --sequence draws: add it")
	case c.Sequence && c.Format == "dot":
		return errors.New("a sequence is drawn as mermaid or svg, not as dot")
	case c.Records == standardInput && c.File == standardInput:
		return errors.New("standard input can be read once only")
	}
	return nil
}

func didYouMean(role string, p *langshaw.Protocol) string {
	if near := langshaw.Nearest(role, slices.Collect(p.Roles())); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// drawChart draws the protocol; the rules are there if one role's part is asked for.
func (c *graphCommand) drawChart(w io.Writer, p *langshaw.Protocol, rules *enactment.Rules) error {
	var options diagram.Options
	if c.Role != "" {
		options.Role = c.Role
		options.Sees = func(action string) (bool, []string) { return rules.Sight(c.Role, action) }
	}
	chart, err := diagram.Draw(p, options)
	if err != nil {
		return err
	}
	switch c.Format {
	case "dot":
		return chart.WriteDot(w)
	case "svg":
		return chart.WriteSVG(w)
	default:
		return chart.WriteMermaid(w)
	}
}
