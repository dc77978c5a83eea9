package ucp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/schemas"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// ReleasesOptions configure [Releases].
type ReleasesOptions struct {
	// Platforms fetches the profiles of platforms. It is needed.
	Platforms *profiles.Fetcher
	// Schemas finds out what extensions require; nil: those of UCP are known, and no other is active.
	Schemas *schemas.Library
	// PublicURL is where platforms reach the business; empty: the host that each request was made to, by http.
	PublicURL string
	// Keys are published in the profiles: those that the business signs its webhooks and checkouts with. By default they are
	// what the inner handler's profile has.
	Keys []negotiation.Key
	// Store keeps for each Idempotency-Key of a newer release what it stands for and what was agreed on then, so that a
	// request that is repeated gets the same bytes whatever has become of the platform's profile; it may be that of the
	// [Inbound]'s keys, and has to keep a value for [KeysRemembered]. Nil: what is repeated is negotiated anew.
	Store keyvalue.Store
	// Signed tells that what is asked of checkouts and orders has to be signed, in every release; otherwise a signature is
	// verified where there is one. A platform that was authenticated so owns the checkouts that it creates: nobody else
	// can read, change, complete or cancel them, or read their orders.
	Signed bool
	// Signer signs what is answered in 2026-04-08, with a key that is among Keys; nil: it is not signed.
	Signer *signature.Signer
	// Name and Version are told to clients of MCP.
	Name, Version string
	// ContinueURL is where a buyer can go on by hand when the platform and the business have nothing in common.
	ContinueURL string
	// BodyLimit is the largest request body in bytes; [DefaultBodyLimit] if 0.
	BodyLimit int64
	// BodyTimeout is how long a request's body may take to arrive, where the server can be told so; [DefaultBodyTimeout]
	// if 0.
	BodyTimeout time.Duration
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
	// arrivals are the bodies that all of the releases wait for.
	arrivals arrivals
	// public is PublicURL, read; nil where there is none.
	public *url.URL
}

// Releases puts the newer releases of UCP, over REST and MCP, in front of an [Inbound], which speaks 2026-01-11: what is
// asked in another release is translated for it, and its answer translated back (see package wire). So there is one
// business, with one set of rules, whatever it is asked in.
//
// What the business itself speaks gets an endpoint for MCP too, where JSON-RPC has the tools as methods (UCP 2026-01-11,
// checkout MCP binding). Discovery answers with the profile of 2026-01-11, which the public platforms know, and points to those of the newer
// releases (supported_versions); each is served below /ucp/{release}, with endpoints of its own. There a request has to
// name the profile of its platform, which is fetched; the release has to be the same, and what both can do decides what
// is active: what belongs to an extension that is not is neither read nor shown, and an operation whose capability is not
// is refused. An update replaces the whole checkout, as these releases have it. Problems are answered with UCP's codes
// (UCP 2026-04-08, overview, error handling). A request is verified if it is signed.
//
// The handler is safe for concurrent use if the inner one is. The error says what the options lack.
func Releases(inner http.Handler, options ReleasesOptions) (http.Handler, error) {
	if options.Platforms == nil {
		return nil, errors.New("ucp: releases: no fetcher of profiles")
	}
	if options.Schemas == nil {
		options.Schemas = schemas.New(schemas.Options{})
	}
	setDefault(&options.BodyLimit, DefaultBodyLimit)
	setDefault(&options.BodyTimeout, DefaultBodyTimeout)
	r := &businessReleases{inner: inner, options: options, log: options.Logger, arrivals: arrivals{most: DefaultRequests}}
	if options.PublicURL != "" {
		public, err := url.Parse(options.PublicURL)
		if err != nil || public.Host == "" {
			return nil, fmt.Errorf("ucp: releases: public URL %q is not absolute", options.PublicURL)
		}
		r.public = public
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	mux := http.NewServeMux()
	mux.Handle("/", (&releaseHandler{businessReleases: r, release: wire.January11}).owned(inner))
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, request *http.Request) {
		r.profile(w, request, wire.January11)
	})
	for _, release := range wire.Releases() {
		below := releasesPath + string(release)
		rest := &releaseHandler{businessReleases: r, release: release}
		if release == wire.January11 { // The business speaks it itself, over REST.
			mux.Handle(below+"/mcp", rest.overMCP(mcp.NewHandler(knowing(inner), release, options.Name, options.Version, r.log)))
			continue
		}
		mux.Handle(below+"/", rest.signing(http.StripPrefix(below, rest)))
		mux.Handle(below+"/mcp", rest.signing(rest.overMCP(mcp.NewHandler(http.HandlerFunc(rest.serve), release, options.Name, options.Version, r.log))))
		mux.HandleFunc("GET "+below+discoveryPath, func(w http.ResponseWriter, request *http.Request) {
			r.profile(w, request, release)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		request.Header.Del(verifiedHeader) // Who has signed a request is found out here.
		mux.ServeHTTP(w, request)
	}), nil
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
		said, err := r.ask(request)
		if err == nil {
			text, err = extended(said, p, r.base(request)+releasesPath+string(release)+"/mcp")
		}
		if err != nil {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
	}
	w.Header()["Content-Type"] = jsonContent
	w.Header().Set("Cache-Control", "public, max-age=60") // UCP: at least a minute.
	_, _ = w.Write(text)                                  // Nobody is there to be told.
}

// ask gives what the inner handler says of itself. Nothing of the request gets there but where it was made: a platform's
// headers are about what it asks for, not about this. The error is [profiles.ErrBusy] where the business has no time.
func (r *businessReleases) ask(request *http.Request) ([]byte, error) {
	asked, err := http.NewRequestWithContext(request.Context(), http.MethodGet, discoveryPath, http.NoBody)
	if err != nil {
		return nil, err
	}
	asked.Host, asked.TLS, asked.RemoteAddr = request.Host, request.TLS, request.RemoteAddr
	said := newAnswer()
	r.inner.ServeHTTP(said, asked)
	switch said.status {
	case http.StatusOK:
		return said.body.Bytes(), nil
	case http.StatusServiceUnavailable:
		return nil, profiles.ErrBusy
	}
	return nil, fmt.Errorf("ucp: releases: discovery is answered with status %d", said.status)
}

// extended adds to a profile of 2026-01-11 the endpoint of MCP, and what only later releases have a form for. Readers pass
// over what they do not know.
func extended(said []byte, p *negotiation.Profile, overMCP string) ([]byte, error) {
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
		services, _ := ucp["services"].(wire.Object)
		if service, ok := services[shoppingService].(wire.Object); ok {
			description := ""
			if rest, ok := service["rest"].(wire.Object); ok {
				description, _ = rest["schema"].(string)
			}
			service["mcp"] = wire.Object{"schema": mcpDescription.Replace(description), "endpoint": overMCP}
		}
	}
	if len(p.Keys) > 0 {
		whole["signing_keys"] = p.Keys
	}
	return json.Marshal(whole)
}

// mcpDescription makes of where the description of REST is that of MCP, which lies beside it.
var mcpDescription = strings.NewReplacer("rest.openapi.json", "mcp.openrpc.json", "openapi.json", "openrpc.json")

// profileOf makes the profile for a release of what the business says of itself in 2026-01-11.
func (r *businessReleases) profileOf(request *http.Request, release wire.Release) (*negotiation.Profile, error) {
	said, err := r.ask(request)
	if err != nil {
		return nil, err
	}
	p, err := negotiation.Parse(said)
	if err != nil {
		return nil, fmt.Errorf("ucp: releases: the business's own profile: %w", err)
	}
	base := r.base(request)
	p.Version, p.Form = string(release), release
	if len(r.options.Keys) > 0 {
		p.Keys = r.options.Keys
	}
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
		specification, schema := documentsOf(name)
		for i := range entries {
			entries[i].Version, entries[i].Spec, entries[i].Schema = string(release), site+specification, site+schema
		}
	}
	below := base + releasesPath + string(release)
	entity := func(description string) negotiation.Entity {
		e := negotiation.Entity{
			Version: string(release), Spec: site + "specification/overview", Schema: site + "services/shopping/" + description,
		}
		if release == wire.January23 {
			e.Spec = "" // With it the profile is one of a platform as well, of which the schema of that release allows but one.
		}
		return e
	}
	p.Services = map[string][]negotiation.Service{shoppingService: {
		{Entity: entity("rest.openapi.json"), Transport: negotiation.REST, Endpoint: below},
		{Entity: entity("mcp.openrpc.json"), Transport: negotiation.MCP, Endpoint: below + "/mcp"},
	}}
	return p, nil
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
