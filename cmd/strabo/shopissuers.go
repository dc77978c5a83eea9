package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// issuers are those whose credentials the shop trusts when users sign mandates with them: for each the keys, or where they
// are.
type issuers struct {
	keys     map[string][]negotiation.Key
	profiles map[string]string
	fetcher  *profiles.Fetcher
}

// issuers reads the flags --trust-issuer; nil where there are none.
func (c *shopCommand) issuers(fetcher *profiles.Fetcher, platforms *guard.Guard) (*issuers, error) {
	if len(c.TrustIssuer) == 0 {
		return nil, nil
	}
	trusted := &issuers{keys: make(map[string][]negotiation.Key), profiles: make(map[string]string), fetcher: fetcher}
	for _, given := range c.TrustIssuer {
		issuer, where, ok := strings.Cut(given, "=")
		if !ok || issuer == "" || where == "" {
			return nil, fmt.Errorf("--trust-issuer %s: ISSUER=FILE or ISSUER=URL is needed", given)
		}
		if trusted.profiles[issuer] != "" || trusted.keys[issuer] != nil {
			return nil, fmt.Errorf("--trust-issuer %s: it is given twice", issuer)
		}
		if strings.Contains(where, "://") {
			if _, err := platforms.Check(where); err != nil {
				return nil, fmt.Errorf("--trust-issuer %s: %w", issuer, err)
			}
			trusted.profiles[issuer] = where
			continue
		}
		keys, err := keySet(where)
		if err != nil {
			return nil, fmt.Errorf("--trust-issuer %s: %w", issuer, err)
		}
		trusted.keys[issuer] = keys
	}
	return trusted, nil
}

// keySet reads the public keys in a file: a JSON Web Key Set (RFC 7517, section 5), or the profile of a party of UCP.
func keySet(name string) ([]negotiation.Key, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	type key struct {
		negotiation.Key
		Private string `json:"d"`
	}
	var set struct {
		Keys    []key `json:"keys"`
		Signing []key `json:"signing_keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s is no JSON Web Key Set", name)
	}
	var keys []negotiation.Key
	for _, k := range append(set.Keys, set.Signing...) {
		if k.Private != "" {
			return nil, fmt.Errorf("%s has a private key: only the issuer may have that", name)
		}
		if k.Type != "EC" || k.Use == "enc" {
			continue // Issuers have keys for other things, too.
		}
		if _, err := signature.PublicKey(k.Key); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		keys = append(keys, k.Key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key on P-256, P-384 or P-521", name)
	}
	return keys, nil
}

// key finds the key of an issuer: see [mandate.Verifier]. What a credential says that it was issued by somebody who is
// trusted has to be signed by them, and is not looked for among the platform's keys.
func (i *issuers) key(ctx context.Context, issuer, id string) (negotiation.Key, bool, error) {
	unknown := &mandate.Error{Code: mandate.MissingKey, Content: "The issuer of the credential has no such key."}
	if at, ok := i.profiles[issuer]; ok {
		key, err := i.fetcher.Key(ctx, at, id)
		if errors.Is(err, &negotiation.Error{Code: negotiation.KeyNotFound}) {
			unknown.Err = err
			return key, false, unknown
		}
		return key, err == nil, err
	}
	keys, ok := i.keys[issuer]
	if !ok {
		return negotiation.Key{}, false, nil
	}
	for _, key := range keys {
		if key.ID == id || id == "" && len(keys) == 1 {
			return key, true, nil
		}
	}
	return negotiation.Key{}, false, unknown
}
