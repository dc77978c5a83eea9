package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// signingKeyID is the id of the shop's key in its profile.
const signingKeyID = "shop-1"

// signer gives the key that the shop signs with: that of --signing-key, or of signing.pem beside the keys that seal
// secrets, made if it is missing; one for this process where nothing is kept.
func (c *shopCommand) signer() (*signature.Signer, error) {
	name := c.SigningKey
	switch {
	case name != "":
	case c.Keys != "":
		name = filepath.Join(filepath.Dir(c.Keys), "signing.pem")
	case c.Store != "":
		name = filepath.Join(c.Store, "signing.pem")
	default:
		return signature.Generate(signingKeyID)
	}
	text, err := os.ReadFile(name)
	if err == nil {
		signer, err := signature.ParseSigner(signingKeyID, text)
		if err != nil {
			return nil, fmt.Errorf("--signing-key %s: %w", name, err)
		}
		return signer, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--signing-key: %w", err)
	}
	signer, err := signature.Generate(signingKeyID)
	if err != nil {
		return nil, err
	}
	if text, err = signer.PEM(); err != nil {
		return nil, err
	}
	// Two processes that start at once must not end up with a key each.
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return c.signer()
	}
	if err == nil {
		_, err = file.Write(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("--signing-key: %w", err)
	}
	return signer, nil
}

// releases puts the newer releases of UCP in front of the shop.
func (c *shopCommand) releases(
	inbound http.Handler, signer *signature.Signer, platforms *guard.Guard, keys keyvalue.Store, log *slog.Logger,
) (http.Handler, error) {
	key, err := signer.Public()
	if err != nil {
		return nil, err
	}
	fetcher, err := profiles.New(profiles.Options{Source: platforms})
	if err != nil {
		return nil, err
	}
	return ucp.Releases(inbound, ucp.ReleasesOptions{
		Platforms: fetcher, PublicURL: c.PublicURL, Keys: []negotiation.Key{key}, Signed: c.Signed, Store: keys,
		Name: "strabo shop", Version: version(), Logger: log,
	})
}
