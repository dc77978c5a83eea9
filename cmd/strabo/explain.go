package main

import (
	"fmt"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/explain"
)

type explainCommand struct {
	JSON bool   `name:"json" help:"Print one JSON object, on a line."`
	File string `arg:"" help:"${openHelp}"`
}

// Help is shown by strabo explain --help.
func (explainCommand) Help() string {
	return `Says in sentences what a protocol means: who takes part and who begins; what each role may do, when, how often and ` +
		`what that binds; who decides each attribute, and who before whom; what excludes what; when it is complete; who sees ` +
		`each action and each attribute; and what is secret, by the companion file NAME.yaml beside NAME.lsh.

Exit status: 0, 1 if the protocol has errors, 2 when it cannot be read.`
}

func (explainCommand) examples() string {
	return `  strabo explain purchase                                    A protocol that ships with strabo.
  strabo explain my.lsh                                      Your own.
  strabo explain --json my.lsh | jq '.attributes[] | {attribute, decided_by, seen_by}'
`
}

// Run explains a protocol.
func (c *explainCommand) Run(s *streams) error {
	rules, err := openRules(s, c.File)
	if err != nil {
		return err
	}
	explanation := explain.Of(rules)
	if c.JSON {
		err = explanation.WriteJSON(s.out)
	} else {
		err = explanation.WriteText(s.out)
	}
	if err != nil {
		return fmt.Errorf("cannot print the answer: %w", err)
	}
	return nil
}
