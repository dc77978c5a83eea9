package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/schemas"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

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
		return signature.Generate(c.SigningKeyID)
	}
	return signerIn("--signing-key", name, c.SigningKeyID)
}

// further gives the keys of the shop's profiles beside the one that it signs with.
func (c *shopCommand) further(signer *signature.Signer) (keys []negotiation.Key, err error) {
	ids := map[string]bool{signer.ID(): true}
	for _, given := range c.PublishKey {
		id, file, ok := strings.Cut(given, "=")
		if !ok || id == "" || file == "" {
			return nil, fmt.Errorf("--publish-key %s: ID=FILE is needed", given)
		}
		if ids[id] {
			return nil, fmt.Errorf("--publish-key %s: there is another key with this id", given)
		}
		other, err := signerIn("--publish-key", file, id)
		if err != nil {
			return nil, err
		}
		key, err := other.Public()
		if err != nil {
			return nil, err
		}
		keys, ids[id] = append(keys, key), true
	}
	return keys, nil
}

// releases puts the newer releases of UCP in front of the shop.
func (c *shopCommand) releases(
	inbound http.Handler, fetcher *profiles.Fetcher, platforms *guard.Guard, signer *signature.Signer, store keyvalue.Store, log *slog.Logger,
) (http.Handler, error) {
	known := schemas.Options{Source: platforms}
	if c.Schemas != "" {
		known.Directory = os.DirFS(c.Schemas)
	}
	return ucp.Releases(inbound, ucp.ReleasesOptions{
		Platforms: fetcher, Schemas: schemas.New(known), PublicURL: c.PublicURL, Signed: c.Signed, Signer: signer, Store: store,
		ContinueURL: c.ContinueURL, Name: "strabo shop", Version: version(), Logger: log,
	})
}
