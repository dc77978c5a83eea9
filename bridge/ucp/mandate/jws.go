package mandate

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/enactment"
)

// algorithms are those of the extension (UCP 2026-04-08, AP2 mandates, cryptographic requirements).
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512}

// jws is a JSON Web Signature that is not verified yet.
type jws struct {
	header struct {
		Algorithm string          `json:"alg"`
		KeyID     string          `json:"kid"`
		Type      string          `json:"typ"`
		Critical  json.RawMessage `json:"crit"`
		Plain     *bool           `json:"b64"`
	}
	signed *jose.JSONWebSignature
}

var errHeader = errors.New("a header that is not understood")

// parseJWS reads a signature in compact form. The header is read strictly first: the library passes over what it does not
// know, and takes of two members of one name the last.
func parseJWS(text string) (*jws, error) {
	encoded, _, _ := strings.Cut(text, ".")
	plain, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, errHeader
	}
	value, err := enactment.ParseValue(plain)
	if err != nil {
		return nil, errHeader
	}
	t := new(jws)
	if err := value.Decode(&t.header); err != nil || t.header.Critical != nil || t.header.Plain != nil {
		return nil, errHeader
	}
	if t.signed, err = jose.ParseSignedCompact(text, algorithms); err != nil {
		return nil, err
	}
	return t, nil
}

// unverified gives the payload to find out by whom it says that it was signed. It is not to be believed.
func (t *jws) unverified() []byte { return t.signed.UnsafePayloadWithoutVerification() }

// verify gives the payload if it was signed with the key.
func (t *jws) verify(key negotiation.Key) ([]byte, error) {
	public, err := signature.PublicKey(key)
	if err != nil {
		return nil, err
	}
	return t.verifyBy(public)
}

func (t *jws) verifyBy(public *ecdsa.PublicKey) ([]byte, error) { return t.signed.Verify(public) }

// noKey tells that an error says that there is no such key.
func noKey(err error) bool {
	return errors.Is(err, &negotiation.Error{Code: negotiation.KeyNotFound})
}
