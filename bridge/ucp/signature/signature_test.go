package signature_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	httpsig "github.com/remitly-oss/httpsig-go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// published are the keys of some signers.
func published(t testing.TB, signers ...*signature.Signer) signature.Keys {
	t.Helper()
	p := &negotiation.Profile{}
	for _, s := range signers {
		key, err := s.Public()
		require.NoError(t, err)
		p.Keys = append(p.Keys, key)
	}
	return func(_ context.Context, id string) (negotiation.Key, error) {
		if key, ok := p.Key(id); ok {
			return key, nil
		}
		return negotiation.Key{}, &negotiation.Error{Code: negotiation.KeyNotFound, Content: "There is no key " + id + "."}
	}
}

func generated(t testing.TB, id string) *signature.Signer {
	t.Helper()
	s, err := signature.Generate(id)
	require.NoError(t, err)
	return s
}

func newRequest(t testing.TB, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("UCP-Agent", `profile="https://platform.example/profile"`)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", "550e8400-e29b-41d4-a716-446655440000")
	}
	return r
}

// Signed by one side and verified by the other, over real HTTP, in every shape that a request has.
func TestRequestsOverHTTP(t *testing.T) {
	signer := generated(t, "platform-1")
	keys := published(t, generated(t, "another"), signer)
	type outcome struct {
		verified signature.Verified
		err      error
	}
	seen := make(chan outcome, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			var v signature.Verified
			v, err = signature.VerifyRequest(r.Context(), r, body, keys)
			seen <- outcome{v, err}
			return
		}
		seen <- outcome{err: err}
	}))
	defer server.Close()
	for _, test := range []struct{ name, method, path, body string }{
		{"create", "POST", "/checkout-sessions", `{"line_items":[]}`},
		{"get", "GET", "/checkout-sessions/chk_1", ""},
		{"a query", "GET", "/orders?x=1&y=%20", ""},
		{"an escaped path", "GET", "/checkout-sessions/a%2Fb%20c", ""},
		{"cancel without a body", "POST", "/checkout-sessions/chk_1/cancel", ""},
		{"the root", "GET", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(t, test.method, server.URL+test.path, test.body)
			require.NoError(t, signer.SignRequest(r, []byte(test.body)))
			response, err := server.Client().Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			got := <-seen
			require.NoError(t, got.err)
			require.Equal(t, "platform-1", got.verified.Key)
			require.True(t, got.verified.Covers("UCP-Agent"))
			require.Equal(t, test.body != "", got.verified.Covers("content-digest"))
			require.Equal(t, test.method == "POST", got.verified.Covers("Idempotency-Key"))
		})
	}
}

func TestTamperedRequests(t *testing.T) {
	signer, other := generated(t, "k"), generated(t, "k")
	const body = `{"total":100}`
	for _, test := range []struct {
		name   string
		change func(r *http.Request)
		body   string
		keys   signature.Keys
		want   negotiation.Code
	}{
		{name: "as it was", body: body},
		{name: "another body", body: `{"total":1}`, want: negotiation.DigestMismatch},
		{name: "no body", body: ``, want: ""},
		{name: "another digest too", body: `{"total":1}`, change: func(r *http.Request) { r.Header.Set("Content-Digest", signature.Digest([]byte(`{"total":1}`))) }, want: negotiation.SignatureInvalid},
		{name: "a digest that is none", body: body, change: func(r *http.Request) { r.Header.Set("Content-Digest", "sha-256=7") }, want: negotiation.DigestMismatch},
		{name: "another method", body: body, change: func(r *http.Request) { r.Method = "PUT" }, want: negotiation.SignatureInvalid},
		{name: "another path", body: body, change: func(r *http.Request) { r.URL.Path = "/checkout-sessions/2/complete" }, want: negotiation.SignatureInvalid},
		{name: "another host", body: body, change: func(r *http.Request) { r.Host = "evil.example" }, want: negotiation.SignatureInvalid},
		{name: "a query that was not there", body: body, change: func(r *http.Request) { r.URL.RawQuery = "admin=1" }, want: negotiation.SignatureInvalid},
		{name: "another key of idempotency", body: body, change: func(r *http.Request) { r.Header.Set("Idempotency-Key", "x") }, want: negotiation.SignatureInvalid},
		{name: "somebody else's profile", body: body, change: func(r *http.Request) { r.Header.Set("UCP-Agent", `profile="https://evil.example"`) }, want: negotiation.SignatureInvalid},
		{name: "another type", body: body, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, want: negotiation.SignatureInvalid},
		{name: "not signed", body: body, change: func(r *http.Request) { r.Header.Del("Signature") }, want: negotiation.SignatureMissing},
		{name: "no input", body: body, change: func(r *http.Request) { r.Header.Del("Signature-Input") }, want: negotiation.SignatureMissing},
		{name: "two inputs", body: body, change: func(r *http.Request) { r.Header.Add("Signature-Input", `sig2=("@method")`) }, want: negotiation.SignatureInvalid},
		{name: "two signatures", body: body, change: func(r *http.Request) { r.Header.Add("Signature", "sig2=:AAAA:") }, want: negotiation.SignatureInvalid},
		{name: "no dictionary", body: body, change: func(r *http.Request) { r.Header.Set("Signature-Input", "((") }, want: negotiation.SignatureInvalid},
		{name: "no bytes", body: body, change: func(r *http.Request) { r.Header.Set("Signature", "sig1=hello") }, want: negotiation.SignatureInvalid},
		{name: "another label", body: body, change: func(r *http.Request) {
			r.Header.Set("Signature", strings.Replace(r.Header.Get("Signature"), "sig1", "sig2", 1))
		}, want: negotiation.SignatureInvalid},
		{name: "only little is covered", body: body, change: func(r *http.Request) {
			r.Header.Set("Signature-Input", `sig1=("@method");keyid="k"`)
		}, want: negotiation.SignatureInvalid},
		{name: "a component that always is empty", body: body, change: func(r *http.Request) {
			r.Header.Set("Signature-Input", strings.Replace(r.Header.Get("Signature-Input"), `"@method"`, `"@method" "@scheme"`, 1))
		}, want: negotiation.SignatureInvalid},
		{name: "no key id", body: body, change: func(r *http.Request) {
			r.Header.Set("Signature-Input", strings.Replace(r.Header.Get("Signature-Input"), `;keyid="k"`, ``, 1))
		}, want: negotiation.SignatureInvalid},
		{name: "a key that is not published", body: body, keys: published(t), want: negotiation.KeyNotFound},
		{name: "somebody else's key of that name", body: body, keys: published(t, other), want: negotiation.SignatureInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(t, "POST", "http://shop.example/checkout-sessions/1/complete", body)
			require.NoError(t, signer.SignRequest(r, []byte(body)))
			if test.change != nil {
				test.change(r)
			}
			keys := test.keys
			if keys == nil {
				keys = published(t, signer)
			}
			if test.name == "no body" { // Then the digest, which is signed, is of something else.
				_, err := signature.VerifyRequest(t.Context(), r, nil, keys)
				require.Error(t, err)
				return
			}
			_, err := signature.VerifyRequest(t.Context(), r, []byte(test.body), keys)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, &negotiation.Error{Code: test.want})
		})
	}
}

// A signature that is good, and by the right key, of something that would be taken for empty or for something else.
func TestGoodSignaturesOfWhatIsNotUnderstood(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, err := signature.NewSigner("k", key)
	require.NoError(t, err)
	needed := []string{"@method", "@authority", "@path", "ucp-agent", "idempotency-key", "content-digest", "content-type"}
	for component, want := range map[string]negotiation.Code{
		"": "", "@scheme": negotiation.SignatureInvalid, "@target-uri": negotiation.SignatureInvalid,
	} {
		t.Run(component, func(t *testing.T) {
			r := newRequest(t, "POST", "http://shop.example/checkout-sessions", `{}`)
			r.Header.Set("Content-Digest", signature.Digest([]byte(`{}`)))
			covered := slices.Clone(needed)
			if component != "" {
				covered = append(covered, component)
			}
			by, err := httpsig.NewSigner(httpsig.SigningProfile{
				Algorithm: httpsig.Algo_ECDSA_P256_SHA256, Fields: httpsig.Fields(covered...),
				Metadata: []httpsig.Metadata{httpsig.MetaCreated, httpsig.MetaKeyID}, Label: "sig1",
			}, httpsig.SigningKey{Key: key, MetaKeyID: "k"})
			require.NoError(t, err)
			require.NoError(t, by.Sign(r))
			_, err = signature.VerifyRequest(t.Context(), r, []byte(`{}`), published(t, signer))
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, &negotiation.Error{Code: want})
		})
	}
}

// A component with parameters means something else than without (RFC 9421, section 2.1), which is not verified here: the
// signature is refused before the library reads it.
func TestComponentsWithParameters(t *testing.T) {
	signer := generated(t, "k")
	keys := published(t, signer)
	for _, component := range []string{`"@method";req`, `"ucp-agent";sf`, `"ucp-agent";key="profile"`, `"content-type";bs`, `"idempotency-key";tr`, `"@path";x=1`} {
		r := newRequest(t, "POST", "http://shop.example/checkout-sessions", "{}")
		require.NoError(t, signer.SignRequest(r, []byte("{}")))
		plain, _, _ := strings.Cut(component, ";")
		signed := r.Header.Get("Signature-Input")
		require.Contains(t, signed, plain)
		r.Header.Set("Signature-Input", strings.Replace(signed, plain, component, 1))
		_, err := signature.VerifyRequest(t.Context(), r, []byte("{}"), keys)
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid}, component)
		require.ErrorContains(t, err, "is not understood", component)
	}
}

func TestAnOldSignatureIsNoLongerGood(t *testing.T) {
	signer := generated(t, "k")
	keys := published(t, signer)
	synctest.Test(t, func(t *testing.T) {
		r := newRequest(t, "GET", "https://shop.example/orders/1", "")
		require.NoError(t, signer.SignRequest(r, nil))
		time.Sleep(signature.MaximumAge - time.Minute)
		_, err := signature.VerifyRequest(t.Context(), r, nil, keys)
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		_, err = signature.VerifyRequest(t.Context(), r, nil, keys)
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid})
	})
}

// The port that goes without saying is not signed, and names of hosts have no capitals (RFC 9421, section 2.2.3).
func TestHostsAreSignedAsTheyAreCalled(t *testing.T) {
	signer := generated(t, "k")
	for url, host := range map[string]string{"https://Shop.example:443/x": "shop.example", "http://shop.example:80/x": "SHOP.example"} {
		r := newRequest(t, "GET", url, "")
		require.NoError(t, signer.SignRequest(r, nil))
		r.Host = host
		_, err := signature.VerifyRequest(t.Context(), r, nil, published(t, signer))
		require.NoError(t, err, url)
		r.Host = host + ":8443"
		_, err = signature.VerifyRequest(t.Context(), r, nil, published(t, signer))
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid}, url)
	}
}

func TestWebhookHeadersAreSignedToo(t *testing.T) {
	signer := generated(t, "shop")
	r := newRequest(t, "POST", "https://platform.example/hook", `{}`)
	r.Header.Set("Webhook-Id", "e1")
	r.Header.Set("Webhook-Timestamp", "1790000000")
	require.NoError(t, signer.SignRequest(r, []byte(`{}`)))
	v, err := signature.VerifyRequest(t.Context(), r, []byte(`{}`), published(t, signer))
	require.NoError(t, err)
	require.True(t, v.Covers("Webhook-Id"))
	r.Header.Set("Webhook-Id", "e2")
	_, err = signature.VerifyRequest(t.Context(), r, []byte(`{}`), published(t, signer))
	require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid})
}

// verifyDetached leaves the id of the key out.
func verifyDetached(ctx context.Context, header string, body []byte, keys signature.Keys) error {
	_, err := signature.VerifyDetached(ctx, header, body, keys)
	return err
}

func TestDetached(t *testing.T) {
	signer, other := generated(t, "shop"), generated(t, "shop")
	body := []byte(`{"id":"order.1"}`)
	header, err := signer.Detached(body)
	require.NoError(t, err)
	require.Contains(t, header, "..")
	keys := published(t, signer)
	id, err := signature.VerifyDetached(t.Context(), header, body, keys)
	require.NoError(t, err)
	require.Equal(t, "shop", id)
	for name, test := range map[string]struct {
		header string
		body   []byte
		keys   signature.Keys
		want   negotiation.Code
	}{
		"another body":        {header, []byte(`{"id":"order.2"}`), keys, negotiation.SignatureInvalid},
		"no header":           {" ", body, keys, negotiation.SignatureMissing},
		"a word":              {"test", body, keys, negotiation.SignatureInvalid},
		"its payload":         {strings.Replace(header, "..", ".e30.", 1), body, keys, negotiation.SignatureInvalid},
		"another key":         {header, body, published(t, other), negotiation.SignatureInvalid},
		"an unknown key":      {header, body, published(t), negotiation.KeyNotFound},
		"no algorithm at all": {"eyJhbGciOiJub25lIn0..", body, keys, negotiation.SignatureInvalid},
		"a shared secret":     {"eyJhbGciOiJIUzI1NiIsImtpZCI6InNob3AifQ..AAAA", body, keys, negotiation.SignatureInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			err := verifyDetached(t.Context(), test.header, test.body, test.keys)
			require.ErrorIs(t, err, &negotiation.Error{Code: test.want})
		})
	}
}

// Only what has the form of a signature is held to be one: of three parts the one in the middle is empty, and no other.
func TestTheFormOfADetachedSignature(t *testing.T) {
	for header, want := range map[string]bool{
		"head..sum": true, "": false, ".": false, "..": false, "...": false, "head..": false, "..sum": false, "head.sum": false,
		"head.body.sum": false, "head..sum.": false, "head..sum.more": false, ".head..sum": false, "head...sum": false,
	} {
		require.Equal(t, want, signature.IsDetached(header), header)
		if !want && header != "" {
			err := verifyDetached(t.Context(), header, []byte("{}"), published(t))
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid}, header)
		}
	}
}

func TestDetachedOfTheEncodedBytes(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	own, err := signature.NewSigner("k", key)
	require.NoError(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	require.NoError(t, err)
	signed, err := signer.Sign([]byte("{}"))
	require.NoError(t, err)
	header, err := signed.DetachedCompactSerialize()
	require.NoError(t, err)
	require.NoError(t, verifyDetached(t.Context(), header, []byte("{}"), published(t, own)))
	err = verifyDetached(t.Context(), header, []byte("[]"), published(t, own))
	require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.SignatureInvalid})
}

func TestKeys(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	large, err := signature.NewSigner("large", key)
	require.NoError(t, err)
	public, err := large.Public()
	require.NoError(t, err)
	require.Equal(t, "ES384", public.Algorithm)
	text, err := large.PEM()
	require.NoError(t, err)
	again, err := signature.ParseSigner("large", text)
	require.NoError(t, err)
	r := newRequest(t, "GET", "https://shop.example/", "")
	require.NoError(t, again.SignRequest(r, nil))
	_, err = signature.VerifyRequest(t.Context(), r, nil, published(t, large))
	require.NoError(t, err)
	header, err := again.Detached([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, verifyDetached(t.Context(), header, []byte("x"), published(t, large)))

	small, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	_, err = signature.NewSigner("small", small)
	require.ErrorIs(t, err, signature.ErrKey)
	_, err = signature.NewSigner("", key)
	require.ErrorIs(t, err, signature.ErrKey)
	for _, text := range []string{"", "no PEM", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		_, err = signature.ParseSigner("k", []byte(text))
		require.ErrorIs(t, err, signature.ErrKey)
	}

	for name, bad := range map[string]negotiation.Key{
		"no point":          {ID: "k", Type: "EC", Curve: "P-256", X: "AA", Y: "AA"},
		"another type":      {ID: "k", Type: "oct", X: "AA"},
		"for encryption":    {ID: "k", Type: "EC", Curve: public.Curve, X: public.X, Y: public.Y, Use: "enc"},
		"another algorithm": {ID: "k", Type: "EC", Curve: public.Curve, X: public.X, Y: public.Y, Algorithm: "ES256"},
	} {
		keys := func(context.Context, string) (negotiation.Key, error) { return bad, nil }
		_, err := signature.VerifyRequest(t.Context(), r, nil, keys)
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.AlgorithmUnsupported}, name)
	}
}

func FuzzVerify(f *testing.F) {
	signer := generated(f, "k")
	r := newRequest(f, "POST", "https://shop.example/x", "{}")
	require.NoError(f, signer.SignRequest(r, []byte("{}")))
	detached, err := signer.Detached([]byte("{}"))
	require.NoError(f, err)
	f.Add(r.Header.Get("Signature-Input"), r.Header.Get("Signature"), r.Header.Get("Content-Digest"), detached, []byte("{}"))
	keys := published(f, signer)
	f.Fuzz(func(t *testing.T, input, sig, digest, detached string, body []byte) {
		r := newRequest(t, "POST", "https://shop.example/x", string(body))
		r.Header.Set("Signature-Input", input)
		r.Header.Set("Signature", sig)
		r.Header.Set("Content-Digest", digest)
		var known *negotiation.Error
		if _, err := signature.VerifyRequest(t.Context(), r, body, keys); err == nil {
			require.True(t, bytes.Equal(body, []byte("{}")))
		} else {
			require.True(t, errors.As(err, &known), "%v", err)
		}
		if err := verifyDetached(t.Context(), detached, body, keys); err == nil {
			require.True(t, bytes.Equal(body, []byte("{}")))
		} else {
			require.True(t, errors.As(err, &known), "%v", err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	signer := generated(b, "k")
	body := []byte(strings.Repeat("x", 2000))
	b.ReportAllocs()
	for b.Loop() {
		r := newRequest(b, "POST", "https://shop.example/checkout-sessions", "{}")
		if err := signer.SignRequest(r, body); err != nil {
			b.Fatal(err)
		}
	}
}
