package main

import (
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
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
	return signerIn("--signing-key", name, signingKeyID)
}

// releases puts the newer releases of UCP in front of the shop.
func (c *shopCommand) releases(
	inbound http.Handler, fetcher *profiles.Fetcher, keys keyvalue.Store, log *slog.Logger,
) (http.Handler, error) {
	return ucp.Releases(inbound, ucp.ReleasesOptions{
		Platforms: fetcher, PublicURL: c.PublicURL, Signed: c.Signed, Store: keys,
		ContinueURL: c.ContinueURL, Name: "strabo shop", Version: version(), Logger: log,
	})
}
