package signature

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
	httpsig "github.com/remitly-oss/httpsig-go"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// Keys finds a key of whoever a message says it is from. It may fetch a profile again where it does not know the id, and
// returns the error, an [*negotiation.Error], that the message is answered with: [negotiation.KeyNotFound] where there is
// no such key.
type Keys func(ctx context.Context, id string) (negotiation.Key, error)

// label is the one that the specification's examples have.
const label = httpsig.DefaultSignatureLabel

// MaximumAge is how long a signature with a time of creation is good. UCP leaves the time out or to the parties; a
// business has to know an idempotency key for 24 hours at least, so nothing older may count.
const MaximumAge = 24 * time.Hour

// Digest is the header Content-Digest of a body (RFC 9530).
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// webhookHeaders are not among what UCP has signed. They are signed here all the same: otherwise whoever captures a
// webhook can send it again under another id.
var webhookHeaders = []string{"webhook-id", "webhook-timestamp"}

// components are what the signature of a message has to cover (UCP 2026-04-08, signatures, REST request signing).
func components(r *http.Request, body []byte) []string {
	names := []string{"@method", "@authority", "@path"}
	if r.URL.RawQuery != "" {
		names = append(names, "@query")
	}
	names = append(names, present(r.Header, "ucp-agent", "idempotency-key")...)
	if len(body) > 0 {
		names = append(names, "content-digest", "content-type")
	}
	return names
}

func present(header http.Header, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return len(header.Values(name)) == 0 })
}

// plain gives a request with exactly what is signed, in the form in which it is: the authority in lower case and without
// the port that goes without saying, the path as it is on the wire (RFC 9421, section 2.2).
func plain(ctx context.Context, r *http.Request, body []byte) *http.Request {
	host := strings.ToLower(r.Host)
	if host == "" {
		host = strings.ToLower(r.URL.Host)
	}
	secure := r.TLS != nil || r.URL.Scheme == "https"
	if secure {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	out := &http.Request{
		Method: r.Method, Host: host, Header: r.Header, URL: &url.URL{Path: path, RawQuery: r.URL.RawQuery},
		Body: io.NopCloser(bytes.NewReader(body)),
	}
	return out.WithContext(ctx)
}

// SignRequest signs a request with the given body, which is not read from the request: it adds the headers Content-Digest,
// Signature-Input and Signature. Whatever headers the signature covers (UCP-Agent, Idempotency-Key, Content-Type, and
// Webhook-Id and Webhook-Timestamp) have to be there before. The error says what cannot be signed.
func (s *Signer) SignRequest(r *http.Request, body []byte) error {
	r.Header.Del("Signature")
	r.Header.Del("Signature-Input")
	if len(body) > 0 {
		r.Header.Set("Content-Digest", Digest(body))
	}
	covered := append(components(r, body), present(r.Header, slices.Clone(webhookHeaders)...)...)
	signs, err := s.covering(covered)
	if err == nil {
		err = signs.Sign(plain(r.Context(), r, body))
	}
	if err != nil {
		return fmt.Errorf("ucp: sign: %w", err)
	}
	return nil
}

func (s *Signer) covering(components []string) (*httpsig.Signer, error) {
	return httpsig.NewSigner(httpsig.SigningProfile{
		Algorithm: algorithmOf(s.key.Curve),
		Fields:    httpsig.Fields(components...),
		Metadata:  []httpsig.Metadata{httpsig.MetaCreated, httpsig.MetaKeyID},
		Label:     label,
	}, httpsig.SigningKey{Key: s.key, MetaKeyID: s.id})
}

// Verified is what a good signature says.
type Verified struct {
	// Key is the id of the key.
	Key string
	// Covered are the components that are signed, such as "@method" and "webhook-id", in the order of the signature.
	// What else the header says may have been changed on the way.
	Covered []string
}

// Covers tells whether a header, or a component such as "@path", is signed.
func (v Verified) Covers(component string) bool {
	return slices.Contains(v.Covered, strings.ToLower(component))
}

// VerifyRequest tells whether a request with the given body is signed by a key of whoever the header UCP-Agent names,
// and whether the signature covers what it has to: method, authority, path and query, UCP-Agent, Idempotency-Key, and the
// digest and type of the body. The error is an [*negotiation.Error]: [negotiation.SignatureMissing],
// [negotiation.SignatureInvalid], [negotiation.DigestMismatch], [negotiation.AlgorithmUnsupported], or what keys
// returns. It blocks as long as keys does.
func VerifyRequest(ctx context.Context, r *http.Request, body []byte, keys Keys) (Verified, error) {
	return verifyRequest(ctx, r, body, keys, components(r, body))
}

// VerifyWebhook does what [VerifyRequest] does, for a webhook, whose signature need not cover UCP-Agent: the document of
// orders shows one that does not (UCP 2026-04-08, order, webhook signature verification). So the keys have to be those of
// a business that is known otherwise.
func VerifyWebhook(ctx context.Context, r *http.Request, body []byte, keys Keys) (Verified, error) {
	needed := slices.DeleteFunc(components(r, body), func(name string) bool { return name == "ucp-agent" })
	return verifyRequest(ctx, r, body, keys, needed)
}

func verifyRequest(ctx context.Context, r *http.Request, body []byte, keys Keys, needed []string) (Verified, error) {
	var v Verified
	if r.Header.Get("Signature") == "" || r.Header.Get("Signature-Input") == "" {
		return v, &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The request is not signed."}
	}
	profile, err := v.read(r.Header, body, needed, "@method", "@authority", "@path", "@query")
	if err != nil {
		return Verified{}, err
	}
	result, err := httpsig.Verify(plain(ctx, r, body), fetcher{keys}, profile)
	return v.judged(result, err)
}

func invalid(content string, err error) error {
	return &negotiation.Error{Code: negotiation.SignatureInvalid, Content: content, Err: err}
}

// read finds out what the signature of a message covers, and whether that is what it has to; derived are the components
// that a message of its kind has beside its headers. It gives what the library is to verify.
//
// The library takes the first line of each header, takes components that it does not know for empty, and panics on
// parameters of a wrong type, so what reaches it is checked first.
func (v *Verified) read(header http.Header, body []byte, needed []string, derived ...string) (httpsig.VerifyProfile, error) {
	input, name, err := signatureInput(header)
	if err != nil {
		return httpsig.VerifyProfile{}, invalid("The header Signature-Input cannot be read.", err)
	}
	for _, name := range input.Params.Names() {
		value, _ := input.Params.Get(name)
		if !parameterFits(name, value) {
			return httpsig.VerifyProfile{}, invalid(fmt.Sprintf("The signature has a parameter %s that is not understood.", name), nil)
		}
	}
	for _, item := range input.Items {
		component, ok := item.Value.(string)
		if !ok || len(item.Params.Names()) > 0 || strings.HasPrefix(component, "@") && !slices.Contains(derived, component) {
			return httpsig.VerifyProfile{}, invalid(fmt.Sprintf("The signature covers %v, which is not understood.", item.Value), nil)
		}
		v.Covered = append(v.Covered, component)
	}
	for _, component := range needed {
		if !v.Covers(component) {
			return httpsig.VerifyProfile{}, invalid("The signature does not cover "+component+".", nil)
		}
	}
	if len(body) > 0 && !digests(header, body) {
		return httpsig.VerifyProfile{}, &negotiation.Error{Code: negotiation.DigestMismatch, Content: "The body is not the one of Content-Digest."}
	}
	return httpsig.VerifyProfile{
		SignatureLabel:       name,
		RequiredMetadata:     []httpsig.Metadata{httpsig.MetaKeyID},
		AllowedAlgorithms:    []httpsig.Algorithm{httpsig.Algo_ECDSA_P256_SHA256, httpsig.Algo_ECDSA_P384_SHA384},
		CreatedValidDuration: MaximumAge,
	}, nil
}

// judged gives what the library has found.
func (v *Verified) judged(result httpsig.VerifyResult, err error) (Verified, error) {
	var known *negotiation.Error
	switch {
	case err == nil:
		v.Key, err = result.KeyID()
		return *v, err
	case errors.As(err, &known):
		return Verified{}, known
	}
	return Verified{}, invalid("The signature does not verify.", err)
}

// parameterFits tells whether a parameter of a signature is one of RFC 9421, section 2.3, and of its type.
func parameterFits(name string, value any) bool {
	switch name {
	case "created", "expires":
		_, ok := value.(int64)
		return ok
	case "nonce", "alg", "keyid", "tag":
		_, ok := value.(string)
		return ok
	}
	return false
}

// signatureInput gives the components of the signature: the one labelled sig1, or the only one.
func signatureInput(header http.Header) (httpsfv.InnerList, string, error) {
	lines := header.Values("Signature-Input")
	if len(lines) != 1 || len(header.Values("Signature")) != 1 {
		return httpsfv.InnerList{}, "", errors.New("more than one line")
	}
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return httpsfv.InnerList{}, "", err
	}
	name := label
	if names := dictionary.Names(); len(names) == 1 {
		name = names[0]
	}
	member, _ := dictionary.Get(name)
	list, ok := member.(httpsfv.InnerList)
	if !ok {
		return list, name, fmt.Errorf("no signature %s", name)
	}
	return list, name, nil
}

// digests tells whether Content-Digest has the SHA-256 of the body.
func digests(header http.Header, body []byte) bool {
	dictionary, err := httpsfv.UnmarshalDictionary(header.Values("Content-Digest"))
	if err != nil {
		return false
	}
	member, _ := dictionary.Get("sha-256")
	item, ok := member.(httpsfv.Item)
	got, isBytes := item.Value.([]byte)
	want := sha256.Sum256(body)
	return ok && isBytes && bytes.Equal(got, want[:])
}

// fetcher gives the library the keys.
type fetcher struct{ keys Keys }

func (f fetcher) FetchByKeyID(ctx context.Context, _ http.Header, id string) (httpsig.KeySpecer, error) {
	key, err := f.keys(ctx, id)
	if err != nil {
		return nil, err
	}
	public, err := publicKey(key)
	if err != nil {
		return nil, err
	}
	return httpsig.KeySpec{KeyID: id, Algo: algorithmOf(public.Curve), PubKey: public}, nil
}

func (fetcher) Fetch(context.Context, http.Header, httpsig.MetadataProvider) (httpsig.KeySpecer, error) {
	return nil, &negotiation.Error{Code: negotiation.SignatureInvalid, Content: "The signature names no key."}
}
