package signature_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

func TestCompact(t *testing.T) {
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		signer, err := signature.NewSigner("k", key)
		require.NoError(t, err)
		public, err := signer.Public()
		require.NoError(t, err)
		for name, sign := range map[string]func(string, []byte) (string, error){
			"each another": signer.Compact, "always the same": signer.Repeatable,
		} {
			first, err := sign("kb+jwt", []byte(`{"a":1}`))
			require.NoError(t, err)
			second, err := sign("kb+jwt", []byte(`{"a":1}`))
			require.NoError(t, err)
			require.Equal(t, name == "always the same", first == second)
			signed, err := jose.ParseSignedCompact(first, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(public.Algorithm)})
			require.NoError(t, err)
			require.Equal(t, "k", signed.Signatures[0].Protected.KeyID)
			require.Equal(t, "kb+jwt", signed.Signatures[0].Protected.ExtraHeaders[jose.HeaderType])
			read, err := signature.PublicKey(public)
			require.NoError(t, err)
			payload, err := signed.Verify(read)
			require.NoError(t, err)
			require.Equal(t, `{"a":1}`, string(payload))
		}
	}
}
