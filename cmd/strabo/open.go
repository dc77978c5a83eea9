package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

// openHelp says of the argument of commands that enact a protocol what it may be.
const openHelp = "A protocol file, - for standard input, or the name of a protocol that ships with strabo."

// The suffixes of protocol files and their companions.
const (
	protocolSuffix  = ".lsh"
	companionSuffix = ".yaml"
)

// openRules reads a protocol that is to be enacted, with its companion if one lies beside it. A file comes before a
// protocol that ships under the same name; options come after those of the companion. A protocol with errors cannot be enacted: they are reported, and the error
// is errNo.
func openRules(s *streams, file string, options ...enactment.Option) (*enactment.Rules, error) {
	if info, err := os.Stat(file); (err != nil || info.IsDir()) && slices.Contains(protocols.Names(), file) {
		return protocols.Load(file, options...)
	}
	name, text, err := readProtocol(s, file)
	if err != nil {
		return nil, withShipped(file, err)
	}
	protocol, diagnostics := langshaw.Parse(text)
	if diagnostics.HasErrors() {
		if err := langshaw.WriteText(s.err, name, text, diagnostics); err != nil {
			return nil, fmt.Errorf("cannot print the answer: %w", err)
		}
		return nil, errNo
	}
	beside, err := companionOptions(file, protocol)
	if err != nil {
		return nil, err
	}
	rules, err := enactment.Compile(protocol, append(beside, options...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rules, nil
}

// readOpen is readProtocol for commands that read a protocol without its companion: a name that is no file may be that of
// a protocol that ships.
func readOpen(s *streams, file string) (name string, text []byte, err error) {
	if info, err := os.Stat(file); (err != nil || info.IsDir()) && slices.Contains(protocols.Names(), file) {
		text, err = protocols.Source(file)
		return file, text, err
	}
	name, text, err = readProtocol(s, file)
	return name, text, withShipped(file, err)
}

// withShipped says, where no file was found and a bare name was given, which protocols there are.
func withShipped(file string, failure error) error {
	if !errors.Is(failure, fs.ErrNotExist) || strings.ContainsAny(file, `/\.`) {
		return failure
	}
	if _, err := protocols.Source(file); err != nil {
		return fmt.Errorf("%w; and %w", failure, err)
	}
	return failure
}

// companionOptions gives what NAME.yaml says about NAME.lsh; nothing if it is not there.
func companionOptions(file string, protocol *langshaw.Protocol) ([]enactment.Option, error) {
	base, ok := strings.CutSuffix(file, protocolSuffix)
	if !ok {
		return nil, nil
	}
	text, err := os.ReadFile(base + companionSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the companion: %w", err)
	}
	companion, err := protocols.ParseCompanion(text, protocol)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base+companionSuffix, err)
	}
	return companion.Options(), nil
}
