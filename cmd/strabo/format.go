package main

import (
	"errors"
	"fmt"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/sarif"
)

// reportFlags choose how findings are printed.
type reportFlags struct {
	Format string `name:"format" enum:"text,json,sarif" default:"text" help:"How to print what is found: text, json or sarif (for code hosts)."`
	JSON   bool   `name:"json" help:"As --format json: one JSON object for each file, on a line."`
}

func (f reportFlags) isJSON() bool { return f.JSON || f.Format == "json" }

// log gives the log to collect findings in, if they are to be printed as SARIF; otherwise nil.
func (f reportFlags) log() (*sarif.Log, error) {
	switch {
	case f.Format != "sarif":
		return nil, nil
	case f.JSON:
		return nil, errors.New("--json and --format sarif cannot be used together")
	default:
		return sarif.New(version()), nil
	}
}

// writeLog prints a log, if there is one, once all files have been looked at.
func writeLog(s *streams, log *sarif.Log) error {
	if log == nil {
		return nil
	}
	if err := log.Write(s.out); err != nil {
		return fmt.Errorf("%w: %w", errPrint, err)
	}
	return nil
}
