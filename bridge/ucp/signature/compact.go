package signature

import (
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"fmt"
	"math/big"

	"github.com/go-jose/go-jose/v4"
)

// Compact gives a JSON Web Signature of a payload with the payload in it (RFC 7515, compact serialization). Its header has
// alg and kid, and typ if kind is not empty. Each signature is another.
func (s *Signer) Compact(kind string, payload []byte) (string, error) {
	return s.compact(jose.JSONWebKey{Key: s.key, KeyID: s.id}, kind, payload)
}

// Repeatable is Compact with a signature that is always the same (RFC 6979), so that what is signed again after a restart
// is the same message.
func (s *Signer) Repeatable(kind string, payload []byte) (string, error) {
	return s.compact(repeatable{s}, kind, payload)
}

func (s *Signer) compact(key any, kind string, payload []byte) (string, error) {
	options := &jose.SignerOptions{}
	if kind != "" {
		options = options.WithType(jose.ContentType(kind))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: joseAlgorithm(s.key.Curve), Key: key}, options)
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		return "", fmt.Errorf("ucp: sign: %w", err)
	}
	return text, nil
}

// repeatable signs without randomness.
type repeatable struct{ *Signer }

var _ jose.OpaqueSigner = repeatable{}

// Public gives the id alone: with a key the library would put that into the header.
func (r repeatable) Public() *jose.JSONWebKey { return &jose.JSONWebKey{KeyID: r.id} }

func (r repeatable) Algs() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{joseAlgorithm(r.key.Curve)}
}

func (r repeatable) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	hash, sum := crypto.SHA256, sha256.Sum256(payload)
	digest := sum[:]
	if r.Algs()[0] == jose.ES384 {
		longer := sha512.Sum384(payload)
		hash, digest = crypto.SHA384, longer[:]
	}
	encoded, err := r.key.Sign(nil, digest, hash) // Without a source of randomness, by RFC 6979.
	if err != nil {
		return nil, err
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(encoded, &parts); err != nil {
		return nil, err
	}
	size := (r.key.Curve.Params().BitSize + 7) / 8
	out := make([]byte, 2*size)
	parts.R.FillBytes(out[:size])
	parts.S.FillBytes(out[size:])
	return out, nil
}
