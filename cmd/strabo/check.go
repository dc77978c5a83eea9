package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/strabo-engine/strabo/langshaw"
)

type checkCommand struct {
	reportFlags
	Mapping string   `type:"path" placeholder:"FILE" help:"Check the mapping of a bridge in this file instead, with the one protocol that is given, and its companion if that lies beside it."`
	Files   []string `arg:"" name:"file" help:"Protocol files, or names of protocols that ship with strabo; - is standard input."`
}

// Help is shown by strabo check --help.
func (checkCommand) Help() string {
	return `Reads each file as one Langshaw protocol and reports every error and warning in it, with the place, ` +
		`what to do about it and, where there is one, the name that was probably meant. Without findings it prints nothing.

With --mapping it reads a mapping of a bridge (bridge/MAPPING.md) for that protocol, and reports everything that is wrong ` +
		`in it, each with its place. Hooks are Go functions of the program that uses the mapping; that they are there is not ` +
		`checked. With --json there is one object: file, protocol, and faults (line, column, message).

Exit status: 0 without errors (there may be warnings), 1 with errors, 2 when a file cannot be read, and on wrong use.`
}

func (checkCommand) examples() string {
	return `  strabo check purchase.lsh            Check one protocol.
  strabo check protocols/*.lsh         Check many.
  cat purchase.lsh | strabo check -    Check what another program writes.
  strabo check --json purchase.lsh     For a program: file, protocol and diagnostics as JSON.
  strabo check --mapping hotel.outbound.yaml booking.lsh
                                       Check what a bridge is going to do.
  strabo check --format sarif protocols/*.lsh > strabo.sarif
                                       For a code host.
`
}

// standardInput is the name that stands for it on the command line, and stdinName the one in diagnostics.
const (
	standardInput = "-"
	stdinName     = "<stdin>"
)

// Run checks the files in the order given. A file that cannot be read does not keep the others from being checked.
func (c *checkCommand) Run(s *streams) error {
	if c.Mapping != "" {
		return c.checkMapping(s)
	}
	log, err := c.log()
	if err != nil {
		return err
	}
	result := eachFile(s, readOpen, c.Files, log.Fail, func(name string, text []byte) (fine bool, err error) {
		protocol, diagnostics := langshaw.Parse(text)
		switch {
		case log != nil:
			log.AddDiagnostics(name, diagnostics)
		case c.isJSON():
			err = langshaw.WriteJSON(s.out, name, protocol, diagnostics)
		default:
			err = langshaw.WriteText(s.out, name, text, diagnostics)
		}
		return !diagnostics.HasErrors(), err
	})
	if err := writeLog(s, log); err != nil {
		return err
	}
	return result
}

// eachFile reads the files in the order given, by the function read, and hands each to a function, which prints an answer
// and tells whether it is fine. One that cannot be read is reported, also to fail, and does not keep the others from it.
func eachFile(
	s *streams, read func(*streams, string) (name string, text []byte, err error), files []string,
	fail func(error), answer func(name string, text []byte) (fine bool, err error),
) error {
	var result error
	for _, file := range files {
		name, text, err := read(s, file)
		if err != nil {
			fmt.Fprintf(s.err, "strabo: %v\n", err)
			fail(err)
			result = errSaid
			continue
		}
		fine, err := answer(name, text)
		if err != nil {
			return fmt.Errorf("%w: %w", errPrint, err)
		}
		if !fine && result == nil {
			result = errNo
		}
	}
	return result
}

// mostBytes bounds what is read as one protocol: far more than any has, and little enough to hold.
const mostBytes = 64 << 20

var errTooLarge = errors.New("no protocol is that large")

// readProtocol gives the text of a file and the name to call it by. Standard input can be read once.
func readProtocol(s *streams, file string) (name string, text []byte, err error) {
	if file == standardInput {
		if s.in == nil {
			return "", nil, errors.New("standard input can be read once only")
		}
		text, err = readBounded(s.in)
		s.in = nil
		if err != nil {
			err = fmt.Errorf("cannot read standard input: %w", err)
		}
		return stdinName, text, err
	}
	opened, err := os.Open(file)
	if err != nil {
		return file, nil, fmt.Errorf("cannot read the file: %w", err)
	}
	defer opened.Close()
	text, err = readBounded(opened)
	switch {
	case errors.Is(err, errTooLarge):
		err = fmt.Errorf("cannot read the file %s: %w", file, err)
	case err != nil:
		err = fmt.Errorf("cannot read the file: %w", err)
	}
	return file, text, err
}

func readBounded(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		return nil, fmt.Errorf("%w: there are more than %d MiB", errTooLarge, mostBytes>>20)
	}
	return text, err
}
