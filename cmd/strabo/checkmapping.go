package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/bridge"
)

// mappingReport is what check --mapping --json prints.
type mappingReport struct {
	File     string         `json:"file"`
	Protocol string         `json:"protocol"`
	Faults   []mappingFault `json:"faults"`
}

type mappingFault struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// checkMapping checks the mapping of a bridge with its protocol.
func (c *checkCommand) checkMapping(s *streams) error {
	switch {
	case len(c.Files) != 1:
		return fmt.Errorf("--mapping is checked with one protocol, and %d are given", len(c.Files))
	case c.Format == "sarif":
		return errors.New("--mapping is reported as text or json")
	case c.Mapping == c.Files[0]:
		return errors.New("--mapping and the protocol are the same file")
	}
	rules, err := openRules(s, c.Files[0])
	if err != nil {
		return err
	}
	name, text, err := readProtocol(s, c.Mapping)
	if err != nil {
		return err
	}
	var faults bridge.Faults
	if err := bridge.Check(name, text, rules); err != nil && !errors.As(err, &faults) {
		return err
	}
	if c.isJSON() {
		report := mappingReport{name, rules.Protocol().Name(), []mappingFault{}}
		for _, f := range faults {
			report.Faults = append(report.Faults, mappingFault{f.Line, f.Column, f.Message})
		}
		err = json.NewEncoder(s.out).Encode(report)
	} else if len(faults) > 0 {
		_, err = fmt.Fprintln(s.out, faults)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errPrint, err)
	case len(faults) > 0:
		return errNo
	default:
		return nil
	}
}
