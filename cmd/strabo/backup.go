package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/strabo-engine/strabo/syncserver"
)

type backupCommand struct {
	systemFlags
	Protocol    string `arg:"" help:"Protocol by name or file."`
	Out         string `required:"" type:"path" placeholder:"FILE" help:"File to write, readable by you alone."`
	WithSecrets bool   `help:"Write secrets in the clear, so that no keys are needed to restore."`
}

// Help is shown by strabo backup --help.
func (backupCommand) Help() string {
	return `Writes the log of a system, and how far its agents have handled it, to a file that strabo restore reads. It may ` +
		`run while servers do: what happens meanwhile may be missing. Secrets stay sealed, and the keys are not in the file: ` +
		`keep them too.

Exit status: 0 when it is written, 2 when not.`
}

func (backupCommand) examples() string {
	return `  strabo backup purchase --nats nats://127.0.0.1:4222 --keys ./keys --out purchase.backup
  strabo backup purchase --store ./data --with-secrets --out purchase.backup
`
}

// Run writes.
func (c *backupCommand) Run(ctx context.Context, s *streams) error {
	archive, _, done, err := c.archive(ctx, s, c.Protocol)
	if err != nil {
		return err
	}
	defer done()
	return writeWhole(c.Out, 0o600, func(w io.Writer) error {
		_, err := archive.Backup(ctx, w, c.WithSecrets)
		return err
	})
}

type restoreCommand struct {
	systemFlags
	Protocol string `arg:"" help:"Protocol by name or file."`
	In       string `arg:"" help:"File that strabo backup has written; - is standard input."`
	Replicas int    `default:"1" help:"How many servers of a NATS cluster keep each stream."`
}

// Help is shown by strabo restore --help.
func (restoreCommand) Help() string {
	return `Makes a system from a backup. There must be none of its name.

Exit status: 0 when it is there, 2 when not.`
}

func (restoreCommand) examples() string {
	return `  strabo restore purchase purchase.backup --store ./data
`
}

// Run restores.
func (c *restoreCommand) Run(ctx context.Context, s *streams) error {
	rules, err := openRules(s, c.Protocol)
	if err != nil {
		return err
	}
	if c.NATS == "" && c.Store == "" {
		return errors.New("say where to: --nats URL or --store DIR")
	}
	in := s.in
	if c.In != standardInput {
		file, err := os.Open(c.In)
		if err != nil {
			return err
		}
		defer file.Close()
		in = io.Reader(file)
	}
	store, err := c.open(natsSettings{}, nil)
	if err != nil {
		return err
	}
	defer store.close()
	config := syncserver.ServerConfig{System: c.System, Keys: store.keys, Replicas: c.Replicas}
	if _, err := syncserver.Restore(ctx, store.conn, rules, config, in); err != nil {
		return fmt.Errorf("not restored: %w", err)
	}
	return nil
}
