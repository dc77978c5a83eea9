package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// signerIn gives the key in a file that a flag names, which is made if it is missing. Of several processes that make it at once one wins,
// and all have its key.
func signerIn(flag, name, id string) (*signature.Signer, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSigner(name, id); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	signer, err := signature.ParseSigner(id, text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return signer, nil
}

// makeSigner writes a new key to a file, unless there is one by now. The file is there with all that is in it, or not at
// all, so that nobody reads half a key.
func makeSigner(name, id string) error {
	signer, err := signature.Generate(id)
	if err != nil {
		return err
	}
	text, err := signer.PEM()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".signing-*") // Nobody else can read it.
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err = os.Link(file.Name(), name); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
