package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	httpsig "github.com/remitly-oss/httpsig-go"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// ErrKey says that a key cannot be used: it is none on P-256 or P-384, or cannot be read.
var ErrKey = errors.New("ucp: not a key on P-256 or P-384")

// Signer signs with one private key. It is safe for concurrent use.
type Signer struct {
	id  string
	key *ecdsa.PrivateKey
}

// NewSigner makes a signer of a key, which the profile has under the id. The error is [ErrKey].
func NewSigner(id string, key *ecdsa.PrivateKey) (*Signer, error) {
	if id == "" || key == nil || algorithmOf(key.Curve) == "" {
		return nil, ErrKey
	}
	return &Signer{id, key}, nil
}

// Generate makes a signer with a new key on P-256, which everybody has to be able to verify.
func Generate(id string) (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("ucp: generate a key: %w", err)
	}
	return NewSigner(id, key)
}

// ParseSigner reads the private key of a signer from PEM, as PKCS #8 or SEC 1. The error wraps [ErrKey] and says nothing
// of the key.
func ParseSigner(id string, text []byte) (*Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: no PEM", ErrKey)
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		elliptic, _ := key.(*ecdsa.PrivateKey)
		return NewSigner(id, elliptic)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: neither PKCS #8 nor SEC 1", ErrKey)
	}
	return NewSigner(id, key)
}

// PEM gives the private key as PKCS #8, for a file that nobody else can read.
func (s *Signer) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return nil, fmt.Errorf("ucp: write a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ID is the id of the key.
func (s *Signer) ID() string { return s.id }

// Public is the public key as a profile publishes it.
func (s *Signer) Public() (negotiation.Key, error) {
	var out negotiation.Key
	text, err := jose.JSONWebKey{
		Key: s.key.Public(), KeyID: s.id, Use: "sig", Algorithm: string(joseAlgorithm(s.key.Curve)),
	}.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("ucp: publish a key: %w", err)
	}
	return out, nil
}

// publicKey reads a key of a profile that messages are signed with. The error is that of [PublicKey].
func publicKey(key negotiation.Key) (*ecdsa.PublicKey, error) {
	public, err := PublicKey(key)
	if err == nil && algorithmOf(public.Curve) == "" {
		return nil, unsupported(key, nil)
	}
	return public, err
}

// PublicKey reads a key of a profile, on P-256, P-384 or P-521 and for signatures. Messages are signed on the first two
// alone (UCP 2026-04-08, signatures, algorithms). The error is an [*negotiation.Error] with
// [negotiation.AlgorithmUnsupported].
func PublicKey(key negotiation.Key) (*ecdsa.PublicKey, error) {
	text, err := json.Marshal(key)
	if err != nil {
		return nil, unsupported(key, err)
	}
	var web jose.JSONWebKey
	if err := web.UnmarshalJSON(text); err != nil {
		return nil, unsupported(key, err)
	}
	public, ok := web.Key.(*ecdsa.PublicKey)
	if !ok || key.Use == "enc" || key.Algorithm != "" && key.Algorithm != string(joseAlgorithm(public.Curve)) {
		return nil, unsupported(key, nil)
	}
	return public, nil
}

func unsupported(key negotiation.Key, err error) error {
	return &negotiation.Error{
		Code: negotiation.AlgorithmUnsupported, Err: err,
		Content: fmt.Sprintf("The key %q is none for signatures on a curve that is used here.", key.ID),
	}
}

func algorithmOf(curve elliptic.Curve) httpsig.Algorithm {
	switch curve {
	case elliptic.P256():
		return httpsig.Algo_ECDSA_P256_SHA256
	case elliptic.P384():
		return httpsig.Algo_ECDSA_P384_SHA384
	}
	return ""
}

func joseAlgorithm(curve elliptic.Curve) jose.SignatureAlgorithm {
	switch curve {
	case elliptic.P384():
		return jose.ES384
	case elliptic.P521():
		return jose.ES512
	}
	return jose.ES256
}
