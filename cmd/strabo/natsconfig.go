package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

type natsConfigCommand struct {
	partyFlags
	Protocols []string `arg:"" name:"protocol" help:"Protocols by name or file; NAME=PROTOCOL is one under a system name of your own."`
	Format    string   `enum:"plain,jwt" default:"plain" help:"${enum}: accounts in a configuration file, or operator mode."`
	Out       string   `required:"" type:"path" placeholder:"DIR" help:"Directory to write to. Keys that are there are kept."`
	Rotate    []string `sep:"none" placeholder:"NAME" help:"Make a new key for engine or an identity, named as its file without the suffix; may be repeated."`
}

// Help is shown by strabo nats-config --help.
func (natsConfigCommand) Help() string {
	return `Writes the NATS accounts of systems: one for the engine, which holds the streams, and one for each identity, ` +
		`which can do nothing but attempt and observe as that identity. A role without --party has one identity, without ` +
		`a party. All systems that are on one NATS must be named at once.

Written are accounts.conf (plain) or operator.conf (jwt), to be included in the configuration of your NATS servers, and ` +
		`a file with the secret for the engine and for each identity, readable by you alone. The names are printed. Keys ` +
		`that are in the directory are used again: run it again to add parties or systems, and nobody needs a new file. ` +
		`With --rotate the old key is refused as soon as NATS has the new configuration.

Exit status: 0 when they are written, 1 if a protocol has errors, 2 when not.`
}

func (natsConfigCommand) examples() string {
	return `  strabo nats-config purchase --party Buyer=alice,bob --party Seller=shop --out ./accounts
  strabo nats-config purchase --party Buyer=alice,bob --party Seller=shop --out ./accounts --rotate purchase.Buyer.bob
  strabo nats-config deal=deal-1.lsh deal2=deal-2.lsh --format jwt --out ./accounts
`
}

// Run writes the files and prints their names.
func (c *natsConfigCommand) Run(_ context.Context, s *streams) error {
	systems, err := c.systems(s, c.Protocols)
	if err != nil {
		return err
	}
	setup, err := c.setup(systems)
	if err != nil {
		return err
	}
	names, err := writeAccounts(c.Out, setup, c.Format, c.Rotate)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(s.out, filepath.Join(c.Out, name)); err != nil {
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
