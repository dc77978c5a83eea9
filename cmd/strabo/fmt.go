package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/strabo-engine/strabo/langshaw"
)

type fmtCommand struct {
	Write bool     `name:"write" short:"w" xor:"mode" help:"Write the result to the file instead of printing it."`
	Diff  bool     `name:"diff" short:"d" xor:"mode" help:"Print what would change, as a unified diff."`
	Check bool     `name:"check" xor:"mode" help:"List the files that would change; exit with 1 if there are any."`
	Files []string `arg:"" name:"file" help:"Protocol files; - is standard input."`
}

// Help is shown by strabo fmt --help.
func (fmtCommand) Help() string {
	return `Prints each protocol in its canonical layout. The meaning, the order of everything and every comment stay; what is ` +
		`formatted already does not change. A file with errors is not formatted, and stays as it is: its errors are reported.

Exit status: 0 when all is done, 1 when a file has errors or, with --check, would change, 2 when a file cannot be read or written.`
}

func (fmtCommand) examples() string {
	return `  strabo fmt purchase.lsh              Print it formatted.
  strabo fmt -w protocols/*.lsh        Format files where they are.
  strabo fmt -d purchase.lsh           See what would change.
  strabo fmt --check protocols/*.lsh   For a hook or CI: which are not formatted?
  strabo fmt - < purchase.lsh          From standard input, as editors do.
`
}

// Run formats the files in the order given. What is wrong with one does not keep the others from being formatted.
func (c *fmtCommand) Run(s *streams) error {
	var result error
	for _, file := range c.Files {
		err := c.format(s, file)
		switch {
		case errors.Is(err, errPrint):
			return err
		case err == nil, errors.Is(err, errNo) && result != nil:
		case errors.Is(err, errNo):
			result = errNo
		default:
			fmt.Fprintf(s.err, "strabo: %v\n", err)
			result = errSaid
		}
	}
	return result
}

// errPrint is wrapped by the failure to print an answer.
var errPrint = errors.New("cannot print the answer")

func (c *fmtCommand) format(s *streams, file string) error {
	if c.Write && file == standardInput {
		return errors.New("standard input cannot be written: leave out -w, and the result is printed")
	}
	name, text, err := readProtocol(s, file)
	if err != nil {
		return err
	}
	formatted, diagnostics := langshaw.Format(text)
	if formatted == nil {
		if err := langshaw.WriteText(s.err, name, text, diagnostics); err != nil {
			return fmt.Errorf("%w: %w", errPrint, err)
		}
		return errNo
	}
	same := bytes.Equal(text, formatted)
	var answer []byte
	switch {
	case c.Write && !same:
		return replaceFile(file, formatted)
	case c.Diff && !same:
		answer = diff.Diff(name, text, name+" (formatted)", formatted)
	case c.Check && !same:
		answer, err = []byte(name+"\n"), errNo
	case !c.Write && !c.Diff && !c.Check:
		answer = formatted
	}
	if _, err := s.out.Write(answer); err != nil {
		return fmt.Errorf("%w: %w", errPrint, err)
	}
	return err
}

// replaceFile gives a file new content: all of it or, when something goes wrong, nothing. Permissions stay, and what a
// symbolic link points to is replaced, not the link.
func replaceFile(file string, content []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", file, err)
		}
	}()
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission // A directory that may be written would let a protected file be replaced.
	}
	return writeText(file, info.Mode().Perm(), content)
}
