package signature

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// Detached gives the header Request-Signature of a body (UCP 2026-01-23, order, webhook signature verification): a JSON
// Web Signature of the bytes as they are, without them (RFC 7515, appendix F, and RFC 7797).
func (s *Signer) Detached(body []byte) (string, error) {
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: joseAlgorithm(s.key.Curve), Key: jose.JSONWebKey{Key: s.key, KeyID: s.id}},
		(&jose.SignerOptions{}).WithBase64(false),
	)
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	text, err := signed.DetachedCompactSerialize()
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	return text, nil
}

// IsDetached tells whether a header Request-Signature has the form of a signature at all. The public servers and their
// clients put any text there, since their documents demand the header and leave open what it is in a request.
func IsDetached(header string) bool {
	parts := strings.Split(header, ".")
	return len(parts) == 3 && parts[0] != "" && parts[1] == "" && parts[2] != ""
}

// VerifyDetached tells whether a header Request-Signature is a good signature of the body, and gives the id of its key.
// Both ways to sign are taken: the bytes as they are (RFC 7797), and their base64url form (RFC 7515). The errors are those
// of [VerifyRequest].
func VerifyDetached(ctx context.Context, header string, body []byte, keys Keys) (string, error) {
	if strings.TrimSpace(header) == "" {
		return "", &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The message has no Request-Signature."}
	}
	invalid := func(err error) (string, error) {
		return "", &negotiation.Error{
			Code: negotiation.SignatureInvalid, Content: "Request-Signature is no good signature of the body.", Err: err,
		}
	}
	// The library splits at dots and so takes a payload for detached only where there is none.
	if !IsDetached(header) {
		return invalid(nil)
	}
	signed, err := jose.ParseDetached(header, body, []jose.SignatureAlgorithm{jose.ES256, jose.ES384})
	if err != nil || len(signed.Signatures) != 1 {
		return invalid(err)
	}
	id := signed.Signatures[0].Protected.KeyID
	if id == "" {
		return "", &negotiation.Error{Code: negotiation.SignatureInvalid, Content: "Request-Signature names no key."}
	}
	key, err := keys(ctx, id)
	if err != nil {
		return "", err
	}
	public, err := publicKey(key)
	if err != nil {
		return "", err
	}
	if err := signed.DetachedVerify(body, public); err != nil {
		return invalid(err)
	}
	return id, nil
}
