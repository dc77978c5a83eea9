package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/natsconfig"
)

type natsConfigCommand struct {
	partyFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	System   string `placeholder:"NAME" help:"Name of the system; made of the protocol's name by default."`
	Format   string `enum:"plain,jwt" default:"plain" help:"${enum}: accounts in a configuration file, or operator mode."`
	Out      string `required:"" type:"path" placeholder:"DIR" help:"Directory to write to; its files must not be there."`
}

// Help is shown by strabo nats-config --help.
func (natsConfigCommand) Help() string {
	return `Writes the NATS accounts of a system: one for the engine, which holds the streams, and one for each identity, ` +
		`which can do nothing but attempt and observe as that identity. A role without --party has one identity, without ` +
		`a party.

Written are accounts.conf (plain) or operator.conf (jwt), to be included in the configuration of your NATS servers, and ` +
		`a file with the secret for the engine and for each identity, readable by you alone. The names are printed.

Exit status: 0 when they are written, 2 when not.`
}

func (natsConfigCommand) examples() string {
	return `  strabo nats-config purchase --party Buyer=alice,bob --party Seller=shop --out ./accounts
  strabo nats-config simple-ucp --format jwt --out ./accounts
`
}

// Run writes the files and prints their names.
func (c *natsConfigCommand) Run(s *streams) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	rules, err := openRules(s, c.Protocol, options...)
	if err != nil {
		return err
	}
	if c.System == "" {
		c.System = syncserver.SystemName(rules)
	}
	setup, err := natsconfig.New(c.System, identitiesOf(rules, c.Party)...)
	if err != nil {
		return err
	}
	files, err := setup.PlainFiles()
	if c.Format == "jwt" {
		files, err = setup.JWTFiles()
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(c.Out, f.Name)); err == nil {
			return fmt.Errorf("%s is there already", filepath.Join(c.Out, f.Name))
		}
	}
	if err := writeFiles(c.Out, files); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(s.out, filepath.Join(c.Out, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// identitiesOf lists the identities of a protocol: each role with each of its parties, or with none.
func identitiesOf(rules *enactment.Rules, flags []string) []enactment.Identity {
	parties := make(map[string][]string)
	for _, text := range flags {
		role, names, _ := strings.Cut(text, "=")
		parties[role] = append(parties[role], strings.Split(names, ",")...)
	}
	var all []enactment.Identity
	for role := range rules.Protocol().Roles() {
		if len(parties[role]) == 0 {
			all = append(all, enactment.Identity{Role: role})
		}
		for _, party := range parties[role] {
			all = append(all, enactment.Identity{Role: role, Party: party})
		}
	}
	return all
}

// writeFiles writes files to a directory, secrets readable by their owner alone.
func writeFiles(dir string, files []natsconfig.File) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var failure error
	for _, f := range files {
		mode := os.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		failure = errors.Join(failure, os.WriteFile(filepath.Join(dir, f.Name), f.Text, mode))
	}
	return failure
}
