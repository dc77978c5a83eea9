package mandate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// Signer makes the mandate for a checkout that the user has agreed to pay. Whoever implements it sees to it that they have:
// a platform must not make a mandate without (UCP 2026-04-08, AP2 mandates, user consent). It may block, until a person has
// agreed on another device for instance.
//
// A mandate has to be the same each time that it is made for the same checkout, if the purchase is to go on after a
// restart in the middle of a payment.
type Signer interface {
	// Sign gives the mandate for a checkout, the JSON object that the business has answered with, whose authorization was
	// verified.
	Sign(ctx context.Context, checkout []byte) (string, error)
}

// KeySigner signs as a trusted platform provider: with a key of the platform, which is in its profile. The mandate is a
// SD-JWT without disclosures; it is good until the checkout expires, and is always the same. It has the form of the
// pattern in UCP's schemas, which leaves out the tilde that RFC 9901 has at the end and has no place for a key binding.
type KeySigner struct {
	// Key signs. It is needed.
	Key *signature.Signer
	// Issuer is who the platform is, the URL of its profile; Audience the URL of the business. Either may be empty.
	Issuer, Audience string
}

var _ Signer = (*KeySigner)(nil)

// credential is the type of what a KeySigner makes, an SD-JWT VC.
const credential = "dc+sd-jwt"

// Sign implements [Signer]. The error says that the checkout is none that a business has signed.
func (s *KeySigner) Sign(_ context.Context, checkout []byte) (string, error) {
	canonical, ap2, err := apart(checkout)
	if err != nil {
		return "", err
	}
	var said struct {
		Authorization string `json:"merchant_authorization"`
	}
	header, signed, detached := "", "", false
	if len(ap2) > 0 && json.Unmarshal(ap2, &said) == nil {
		header, signed, detached = strings.Cut(said.Authorization, "..")
	}
	if !detached {
		return "", &Error{Code: AuthorizationMissing, Content: "The checkout is not signed by the business."}
	}
	var until struct {
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(canonical, &until); err != nil {
		until.ExpiresAt = time.Time{} // It is not required, and the mandate is for this checkout alone.
	}
	token := header + "." + base64.RawURLEncoding.EncodeToString(canonical) + "." + signed
	hash, _ := hashed("sha-256", token)
	claims := map[string]any{
		"vct": Type, "checkout": json.RawMessage(checkout), "checkout_jwt": token, "checkout_hash": hash,
	}
	for name, value := range map[string]string{"iss": s.Issuer, "aud": s.Audience} {
		if value != "" {
			claims[name] = value
		}
	}
	if !until.ExpiresAt.IsZero() {
		claims["exp"] = until.ExpiresAt.Unix()
	}
	payload, err := json.Marshal(claims)
	if err == nil {
		payload, err = jcs.Transform(payload)
	}
	if err != nil {
		return "", fmt.Errorf("ucp: a mandate cannot be written")
	}
	return s.Key.Repeatable(credential, payload)
}
