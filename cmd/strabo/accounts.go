package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/syncserver/natsconfig"
)

// accountsFile holds the accounts where the configuration is plain.
const accountsFile = "accounts.conf"

// setup makes accounts for every identity of systems.
func (f partyFlags) setup(systems []served) (*natsconfig.Setup, error) {
	var setup *natsconfig.Setup
	for n, system := range systems {
		identities := identitiesOf(system.rules, f.Party)
		var err error
		if n == 0 {
			setup, err = natsconfig.New(system.name, identities...)
		} else {
			err = setup.Add(system.name, identities...)
		}
		if err != nil {
			return nil, err
		}
	}
	return setup, nil
}

// writeAccounts writes accounts to a directory, in the format named, with the keys that are there, but for those to be
// rotated. It gives the names of the files.
func writeAccounts(dir string, setup *natsconfig.Setup, format string, rotate []string) ([]string, error) {
	kept, err := readSecrets(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range rotate {
		if name == "engine" && format == "jwt" {
			return nil, errors.New("--rotate engine: in operator mode the engine's old user must be revoked, with nsc")
		}
		before := len(kept)
		for _, file := range []string{name + ".nk", name + ".creds", "account." + natsconfig.EngineAccount + "." + name + ".nk"} {
			delete(kept, file)
		}
		if len(kept) == before {
			return nil, fmt.Errorf("--rotate %s: no file in %s has a key of that name", name, dir)
		}
	}
	if err := setup.Keep(kept); err != nil {
		return nil, err
	}
	files, err := setup.PlainFiles()
	if format == "jwt" {
		files, err = setup.JWTFiles()
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		permissions := os.FileMode(0o644)
		if f.Secret {
			permissions = 0o600
		}
		if err := writeText(filepath.Join(dir, f.Name), permissions, f.Text); err != nil {
			return nil, err
		}
		names = append(names, f.Name)
	}
	return names, nil
}

// readSecrets reads the files with keys of a directory, which may be missing.
func readSecrets(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, entry := range entries {
		if !slices.Contains([]string{".nk", ".creds"}, filepath.Ext(entry.Name())) {
			continue
		}
		if files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// accountsIn gives the accounts of a store and how the engine is let in, nothing if it has none: once it has, every server
// on it has them.
func accountsIn(store string) (config string, engine []nats.Option, err error) {
	dir := filepath.Join(store, "accounts")
	text, err := os.ReadFile(filepath.Join(dir, accountsFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case err != nil:
		return "", nil, err
	}
	// What was stored before there were accounts is not the engine's.
	if streams, err := os.ReadDir(filepath.Join(store, "jetstream", "$G", "streams")); err == nil && len(streams) > 0 {
		return "", nil, fmt.Errorf("%s has systems that were made without accounts: move %s away, back them up, and restore them in "+
			"another directory that has accounts (strabo nats-config --out OTHER/accounts)", store, dir)
	}
	option, err := nats.NkeyOptionFromSeed(filepath.Join(dir, "engine.nk"))
	if err != nil {
		return "", nil, fmt.Errorf("the engine's key: %w", err)
	}
	return string(text), []nats.Option{option}, nil
}
