package ucp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// ReleasesOptions configure [Releases].
type ReleasesOptions struct {
	// Platforms fetches the profiles of platforms. It is needed.
	Platforms *profiles.Fetcher
	// PublicURL is where platforms reach the business; empty: the host that each request was made to, by http.
	PublicURL string
	// Keys are published in the profiles: those that the business signs its webhooks with.
	Keys []negotiation.Key
	// Signed tells that requests of 2026-04-08 have to be signed; otherwise a signature is verified where there is one.
	Signed bool
	// Name and Version are told to clients of MCP.
	Name, Version string
	// ContinueURL is where a buyer can go on by hand when the platform and the business have nothing in common.
	ContinueURL string
	// BodyLimit is the largest request body in bytes; [DefaultBodyLimit] if 0.
	BodyLimit int64
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// releasesPath is below what the newer releases are served.
const releasesPath = "/ucp/"

// businessReleases answer requests of the newer releases, by a handler for 2026-01-11.
type businessReleases struct {
	inner   http.Handler
	options ReleasesOptions
	log     *slog.Logger
}

// Releases puts the newer releases of UCP, over REST and MCP, in front of an [Inbound], which speaks 2026-01-11: what is
// asked in another release is translated for it, and its answer translated back (see package wire). So there is one
// business, with one set of rules, whatever it is asked in.
//
// Discovery answers with the profile of 2026-01-11, which the public platforms know, and points to those of the newer
// releases (supported_versions); each is served below /ucp/{release}, with endpoints of its own. There a request has to
// name the profile of its platform, which is fetched; the release has to be the same, and what both can do decides what
// is active: what belongs to an extension that is not is neither read nor shown. Problems are answered with UCP's codes
// (UCP 2026-04-08, overview, error handling). A request is verified if it is signed.
//
// The handler is safe for concurrent use if the inner one is. The error says what the options lack.
func Releases(inner http.Handler, options ReleasesOptions) (http.Handler, error) {
	if options.Platforms == nil {
		return nil, errors.New("ucp: releases: no fetcher of profiles")
	}
	setDefault(&options.BodyLimit, DefaultBodyLimit)
	r := &businessReleases{inner: inner, options: options, log: options.Logger}
	if r.log == nil {
		r.log = slog.Default()
	}
	mux := http.NewServeMux()
	mux.Handle("/", inner)
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, request *http.Request) {
		r.profile(w, request, wire.January11)
	})
	for _, release := range wire.Releases() {
		if release == wire.January11 {
			continue
		}
		below := releasesPath + string(release)
		rest := &releaseHandler{businessReleases: r, release: release}
		mux.Handle(below+"/", http.StripPrefix(below, rest))
		mux.Handle(below+"/mcp", rest.verified(mcp.NewHandler(http.HandlerFunc(rest.serve), options.Name, options.Version)))
		mux.HandleFunc("GET "+below+discoveryPath, func(w http.ResponseWriter, request *http.Request) {
			r.profile(w, request, release)
		})
	}
	return mux, nil
}

// base is where the business is reached.
func (r *businessReleases) base(request *http.Request) string {
	if r.options.PublicURL != "" {
		return strings.TrimRight(r.options.PublicURL, "/")
	}
	scheme := "http"
	if request.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + request.Host
}

// profile serves the business's profile for a release.
func (r *businessReleases) profile(w http.ResponseWriter, request *http.Request, release wire.Release) {
	p, err := r.profileOf(request, release)
	var text []byte
	if err == nil {
		text, err = p.Encode()
	}
	if err != nil {
		r.log.ErrorContext(request.Context(), "ucp: the profile cannot be made", "release", release, "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	if release == wire.January11 {
		// What the business itself says, as it says it, and where the others are.
		if text, err = extended(r.ask(request), p); err != nil {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
	}
	w.Header()["Content-Type"] = jsonContent
	w.Header().Set("Cache-Control", "public, max-age=60") // UCP: at least a minute.
	_, _ = w.Write(text)                                  // Nobody is there to be told.
}

// ask gives what the inner handler says of itself.
func (r *businessReleases) ask(request *http.Request) []byte {
	asked := request.Clone(request.Context())
	asked.URL.Path, asked.URL.RawPath = discoveryPath, ""
	asked.Method, asked.Body = http.MethodGet, http.NoBody
	asked.ContentLength = 0
	said := newAnswer()
	r.inner.ServeHTTP(said, asked)
	return said.body.Bytes()
}

// extended adds to a profile of 2026-01-11 what only later releases have a form for. Readers pass over what they do not
// know.
func extended(said []byte, p *negotiation.Profile) ([]byte, error) {
	whole, err := wire.Decode(said)
	if err != nil {
		return nil, err
	}
	if ucp, ok := whole["ucp"].(wire.Object); ok {
		supported := wire.Object{}
		for release, at := range p.SupportedVersions {
			supported[release] = at
		}
		ucp["supported_versions"] = supported
	}
	if len(p.Keys) > 0 {
		whole["signing_keys"] = p.Keys
	}
	return json.Marshal(whole)
}

// profileOf makes the profile for a release of what the business says of itself in 2026-01-11.
func (r *businessReleases) profileOf(request *http.Request, release wire.Release) (*negotiation.Profile, error) {
	p, err := negotiation.Parse(r.ask(request))
	if err != nil {
		return nil, fmt.Errorf("ucp: releases: the business's own profile: %w", err)
	}
	base := r.base(request)
	p.Keys, p.Version, p.Form = r.options.Keys, string(release), release
	if release == wire.January11 {
		p.SupportedVersions = map[string]string{}
		for _, other := range wire.Releases() {
			if other != release {
				p.SupportedVersions[string(other)] = base + releasesPath + string(other) + discoveryPath
			}
		}
		return p, nil
	}
	site := "https://ucp.dev/" + string(release) + "/"
	for name, entries := range p.Capabilities {
		short := name[strings.LastIndexByte(name, '.')+1:]
		for i := range entries {
			entries[i].Version = string(release)
			entries[i].Spec = site + "specification/" + strings.ReplaceAll(short, "_", "-")
			entries[i].Schema = site + "schemas/shopping/" + short + ".json"
		}
	}
	below := base + releasesPath + string(release)
	entity := func(description string) negotiation.Entity {
		return negotiation.Entity{
			Version: string(release), Spec: site + "specification/overview", Schema: site + "services/shopping/" + description,
		}
	}
	p.Services = map[string][]negotiation.Service{shoppingService: {
		{Entity: entity("rest.openapi.json"), Transport: negotiation.REST, Endpoint: below},
		{Entity: entity("mcp.openrpc.json"), Transport: negotiation.MCP, Endpoint: below + "/mcp"},
	}}
	return p, nil
}

// verify checks the signature of a request if there is one, or has to be one.
func (h *releaseHandler) verify(request *http.Request, body []byte) error {
	signed := request.Header.Get("Signature") != "" || request.Header.Get("Signature-Input") != ""
	if h.release != wire.April2026 || !signed && !h.options.Signed {
		return nil
	}
	agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
	if err != nil {
		return err
	}
	_, err = signature.VerifyRequest(request.Context(), request, body, func(ctx context.Context, id string) (negotiation.Key, error) {
		return h.options.Platforms.Key(ctx, agent.Profile, id)
	})
	return err
}

// verified lets only requests through that are signed as they have to be.
func (h *releaseHandler) verified(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, ok := h.read(w, request)
		if !ok {
			return
		}
		if err := h.verify(request, body); err != nil {
			h.refuse(w, request, err)
			return
		}
		request.Body = newBody(body)
		inner.ServeHTTP(w, request)
	})
}

// platformOf negotiates with the platform of a request.
func (h *releaseHandler) platformOf(request *http.Request) (*negotiation.Agreement, error) {
	agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
	if err != nil {
		return nil, err
	}
	theirs, err := h.options.Platforms.Get(request.Context(), agent.Profile)
	if err != nil {
		return nil, err
	}
	spoken := theirs.Version
	if theirs.Form == h.release && wire.Release(spoken).Known() {
		spoken = string(h.release) // The documents of 2026-01-23 call it 2026-01-11.
	}
	if _, err := negotiation.Accept([]wire.Release{h.release}, spoken); err != nil {
		return nil, err
	}
	ours, err := h.profileOf(request, h.release)
	if err != nil {
		return nil, err
	}
	if theirs.Version != string(h.release) {
		for _, entries := range ours.Capabilities {
			for i := range entries {
				entries[i].Version = theirs.Version
			}
		}
	}
	return negotiation.Negotiate(h.release, theirs, ours, nil)
}

// newAnswer keeps an answer in memory.
func newAnswer() *keptAnswer { return &keptAnswer{header: http.Header{}} }

type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *keptAnswer) Header() http.Header { return a.header }

func (a *keptAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *keptAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// pass copies the headers of an answer but those that are about its bytes.
func (a *keptAnswer) pass(w http.ResponseWriter) {
	for name, values := range a.header {
		if !slices.Contains([]string{"Content-Length", "Content-Type", "Content-Digest"}, name) {
			w.Header()[name] = values
		}
	}
}
