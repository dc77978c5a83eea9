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

// verify checks the signature of a request if there is one, or has to be one. The path is the one below the release.
func (h *releaseHandler) verify(request *http.Request, body []byte) error {
	signed := request.Header.Get("Signature") != "" || request.Header.Get("Signature-Input") != ""
	if h.release != wire.April2026 || !signed && !h.options.Signed {
		return nil
	}
	agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
	if err != nil {
		return err
	}
	_, err = signature.VerifyRequest(request.Context(), h.signed(request), body, func(ctx context.Context, id string) (negotiation.Key, error) {
		return h.options.Platforms.Key(ctx, agent.Profile, id)
	})
	return err
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
		}
		if !ok {
			mcp.Refuse(w, h.release, body, refusal.status, refusal.header, refusal.body.Bytes())
			return
		}
		request.Body = newBody(body)
		inner.ServeHTTP(w, request)
	})
}
