package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw/diagram"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

func (c *graphCommand) drawSequence(ctx context.Context, s *streams, w io.Writer, rules *enactment.Rules) error {
	var sequence diagram.Sequence
	var err error
	if c.Records != "" {
		sequence, err = c.runSequence(s, rules)
	} else {
		sequence, err = c.witnessSequence(ctx, s, rules)
	}
	if err != nil {
		return err
	}
	if c.Role != "" {
		sequence = sequence.As(c.Role)
	}
	if c.Format == "svg" {
		return sequence.WriteSVG(w)
	}
	return sequence.WriteMermaid(w)
}

// witnessSequence finds the witness that was asked for.
func (c *graphCommand) witnessSequence(ctx context.Context, s *streams, rules *enactment.Rules) (diagram.Sequence, error) {
	p := rules.Protocol()
	sequence := diagram.Sequence{Title: p.Name(), Roles: slices.Collect(p.Roles())}
	var options verify.Options
	if c.Witness != "live" && c.Witness != "safe" {
		query, err := verify.ParseQuery(c.Witness)
		if err != nil {
			return sequence, err
		}
		options.Queries = []verify.Query{query}
	}
	report := verify.Verify(ctx, p, options)
	var steps [][]string
	var verdict verify.Verdict
	switch c.Witness {
	case "live":
		steps, verdict = report.LiveWitness, report.Live
		sequence.Title += " is not live"
		sequence.End = append([]string{"Nothing is enabled any more, and the enactment is not complete:"}, report.Stuck...)
	case "safe":
		steps, verdict = report.SafeWitness, report.Safe
		sequence.Title += " is not safe"
		sequence.End = []string{fmt.Sprintf("Now %s and %s, which exclude each other, can both happen,", report.Pair[0], report.Pair[1]), "and neither has authority over the other."}
	default:
		answer := report.Answers[0]
		if answer.Err != nil {
			return sequence, answer.Err
		}
		steps, verdict = answer.Witness, answer.Holds
		sequence.Title += ": " + c.Witness
	}
	if steps == nil && (verdict == verify.Yes || len(options.Queries) > 0 || verdict == verify.Unknown) {
		fmt.Fprintf(s.err, "strabo: %s: %s: there is no witness to draw\n", c.Witness, verdict)
		return sequence, errNo
	}
	for _, step := range steps {
		var drawn diagram.Step
		for _, name := range step {
			// A witness that tells several values of a key apart names them in brackets.
			name, _, _ = strings.Cut(name, "[")
			if a, ok := p.Action(name); ok {
				drawn = append(drawn, diagram.EventOf(p, a, seer(rules, name)))
			}
		}
		sequence.Steps = append(sequence.Steps, drawn)
	}
	return sequence, nil
}

// seer tells which roles learn of an action, and what of it stays hidden from them.
func seer(rules *enactment.Rules, action string) func(string) (bool, []string) {
	return func(role string) (bool, []string) { return rules.Sight(role, action) }
}
