package ucp

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// verifiedHeader has the profile of the platform that has signed a request, from where that is found out to where it is
// answered: between the two a library hands on nothing but headers. What a client puts there is taken away before.
const verifiedHeader = "Strabo-Verified-Platform"

// verify checks the signature of a request if there is one, or has to be one, and notes in the request who has signed it.
// The path is the one below the release. Since 2026-04-08 a message is signed; before the documents demand a header
// Request-Signature of every request, say what it is in a webhook alone (order, webhook signature verification), and have
// the same for both in the OpenAPI; so it is taken for the same, a detached signature of the body, and for none where it
// has not that form.
func (h *releaseHandler) verify(request *http.Request, body []byte) error {
	header := request.Header.Get("Request-Signature")
	signed := signature.IsDetached(header)
	if h.release == wire.April2026 {
		signed = request.Header.Get("Signature") != "" || request.Header.Get("Signature-Input") != ""
	}
	if !signed && !h.options.Signed {
		return nil
	}
	agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
	if err != nil {
		return err
	}
	if !signed {
		return &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The request is not signed."}
	}
	keys := func(ctx context.Context, id string) (negotiation.Key, error) {
		return h.options.Platforms.Key(ctx, agent.Profile, id)
	}
	if h.release == wire.April2026 {
		_, err = signature.VerifyRequest(request.Context(), h.signed(request), body, keys)
	} else {
		_, err = signature.VerifyDetached(request.Context(), header, body, keys)
	}
	if err != nil {
		return err
	}
	request.Header.Set(verifiedHeader, agent.Profile)
	return nil
}

// owned verifies what is asked of the inner handler itself, in 2026-01-11. All that is asked of a checkout or an order is;
// the rest is for everybody.
func (h *releaseHandler) owned(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
		ours := first == "checkout-sessions" || first == "orders"
		if !ours || !h.options.Signed && !signature.IsDetached(request.Header.Get("Request-Signature")) {
			inner.ServeHTTP(w, request)
			return
		}
		if h.admit(w, request) {
			knowing(inner).ServeHTTP(w, request)
		}
	})
}

// knowing tells the inner handler who has signed a request.
func knowing(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		request = request.WithContext(signedBy(request.Context(), request.Header.Get(verifiedHeader)))
		request.Header.Del(verifiedHeader)
		inner.ServeHTTP(w, request)
	})
}

// signed gives a request as its sender has made it: at the public URL, where there is one, whatever a proxy has made of
// host, scheme and path on the way. So what was signed for another host is not good here, whatever Host the request has.
func (h *releaseHandler) signed(request *http.Request) *http.Request {
	out := new(http.Request)
	*out = *request
	out.URL = new(url.URL)
	*out.URL = *request.URL
	prefix, escaped := releasesPath+string(h.release), releasesPath+string(h.release)
	if h.public != nil {
		out.Host, out.TLS, out.URL.Scheme = h.public.Host, nil, h.public.Scheme
		prefix = strings.TrimRight(h.public.Path, "/") + prefix
		escaped = strings.TrimRight(h.public.EscapedPath(), "/") + escaped
	}
	raw := request.URL.EscapedPath()
	out.URL.Path, out.URL.RawPath = prefix+request.URL.Path, escaped+raw
	return out
}

// overMCP lets only messages through that are signed as they have to be; what is wrong is said in JSON-RPC. The headers
// that are signed say who asks and what is repeated, and the message may say neither otherwise (UCP 2026-04-08,
// signatures, MCP transport).
func (h *releaseHandler) overMCP(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		refusal := newAnswer()
		body, ok := h.read(w, refusal, request)
		if ok {
			asked := request.Clone(request.Context())
			asked.URL.Path, asked.URL.RawPath = strings.TrimPrefix(request.URL.Path, releasesPath+string(h.release)), ""
			if err := h.verify(asked, body); err != nil {
				h.refuse(refusal, request, err)
				ok = false
			}
			request.Header.Set(verifiedHeader, asked.Header.Get(verifiedHeader))
		}
		if !ok {
			mcp.Refuse(w, h.release, body, refusal.status, refusal.header, refusal.body.Bytes())
			return
		}
		request.Body = newBody(body)
		inner.ServeHTTP(w, request)
	})
}
