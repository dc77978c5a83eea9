package signature

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	httpsig "github.com/remitly-oss/httpsig-go"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// responseComponents are what the signature of a response has to cover (UCP 2026-04-08, signatures, REST response
// signing).
func responseComponents(body []byte) []string {
	if len(body) == 0 {
		return []string{"@status"}
	}
	return []string{"@status", "content-digest", "content-type"}
}

// SignResponse signs a response: it adds the headers Content-Digest, Signature-Input and Signature. Content-Type has to be
// there before. The error says what cannot be signed.
func (s *Signer) SignResponse(status int, header http.Header, body []byte) error {
	header.Del("Signature")
	header.Del("Signature-Input")
	if len(body) > 0 {
		header.Set("Content-Digest", Digest(body))
	}
	signs, err := s.covering(responseComponents(body))
	if err == nil {
		err = signs.SignResponse(&http.Response{StatusCode: status, Header: header, Body: http.NoBody})
	}
	if err != nil {
		return fmt.Errorf("ucp: sign a response: %w", err)
	}
	return nil
}

// VerifyResponse tells whether a response with the given body is signed by a key of whoever was asked, and whether the
// signature covers the status and the digest and type of the body. It does not say which request was answered: UCP leaves
// that to the connection. The errors are those of [VerifyRequest]. It blocks as long as keys does.
func VerifyResponse(ctx context.Context, status int, header http.Header, body []byte, keys Keys) (Verified, error) {
	var v Verified
	if header.Get("Signature") == "" || header.Get("Signature-Input") == "" {
		return v, &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The response is not signed."}
	}
	profile, err := v.read(header, body, responseComponents(body), "@status")
	if err != nil {
		return Verified{}, err
	}
	response := &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
	// The library has no context for a response.
	within := func(_ context.Context, id string) (negotiation.Key, error) { return keys(ctx, id) }
	result, err := httpsig.VerifyResponse(response, fetcher{within}, profile)
	return v.judged(result, err)
}
