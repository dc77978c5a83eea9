package ucp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/guard"
)

// Release is the wire release that a remote shop must speak.
const Release = "2026-01-11"

const (
	shoppingService  = "dev.ucp.shopping"
	discoveryPath    = "/.well-known/ucp"
	discoveryTimeout = 30 * time.Second
	maxDiscovery     = 1 << 20
)

// Business is a remote shop as its discovery document presents it (UCP 2026-01-11, discovery profile).
type Business struct {
	// URL is where it was looked for, Version the release it speaks.
	URL, Version string
	// Endpoint is where its checkouts are, without a slash at the end.
	Endpoint string
	// Capabilities and Handlers are in the order of the document. The handlers are those that may be paid with.
	Capabilities []Capability
	Handlers     []PaymentHandler
}

// Capability is something that a shop can do, such as dev.ucp.shopping.checkout.
type Capability struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Extends is the capability that it adds to; empty for one of its own.
	Extends string `json:"extends"`
}

// Can tells whether the shop has the capability.
func (b *Business) Can(capability string) bool {
	return slices.ContainsFunc(b.Capabilities, func(c Capability) bool { return c.Name == capability })
}

// Handler finds a payment handler by its id.
func (b *Business) Handler(id string) (PaymentHandler, bool) {
	for _, h := range b.Handlers {
		if h.ID == id {
			return h, true
		}
	}
	return PaymentHandler{}, false
}

// VersionError says that a shop speaks another release.
type VersionError struct{ Version string }

// Error says which.
func (e *VersionError) Error() string {
	return fmt.Sprintf("ucp: the shop speaks UCP %q, not %s", e.Version, Release)
}

// ErrUnsafeEndpoint says that a shop has its checkouts where they are not called: on http, where anybody could read the
// payment, or at an address that is not of the public internet.
var ErrUnsafeEndpoint = errors.New("ucp: the shop's checkouts are not in a place where they may be called")

// ErrNoREST says that a shop has no checkouts over REST.
var ErrNoREST = errors.New("ucp: the shop offers no " + shoppingService + " checkouts over REST")

// Elsewhere gives the host, with its port, where the shop's checkouts are if that is not the one that the shop was looked
// for at, so that a person can be told whom the payment goes to; empty if it is the same.
func (b *Business) Elsewhere() string {
	at, err := url.Parse(b.URL)
	to, err2 := url.Parse(b.Endpoint)
	if err != nil || err2 != nil || hostOf(at) == hostOf(to) {
		return ""
	}
	return to.Host
}

// hostOf is the host of a URL with the port, also where that is the scheme's own.
func hostOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return strings.ToLower(u.Hostname()) + ":" + port
}

// Discover reads what a shop says of itself at /.well-known/ucp below the URL, which a person named and which is trusted.
// It blocks until the document is there, at most 30 seconds; redirects are not followed, so that nobody leads from https
// to http. Fields that it does not know and nulls are fine. A nil client is one of its own. The URL may have neither a
// query nor a fragment. The endpoint, which the shop names, may be on another host, see [Business.Elsewhere]; but it is
// on https then, and not at an address that only this machine can reach, see package guard: an address is refused here if
// the endpoint is one, and what a name leads to when it is called. A shop on this machine may name another place on it.
// The endpoint has no credentials, query or fragment. The error is a [*VersionError] if the shop speaks another release,
// [ErrNoREST] if it has no checkout over REST, and [ErrUnsafeEndpoint] if the endpoint may not be called.
func Discover(ctx context.Context, client *http.Client, businessURL string) (*Business, error) {
	base, err := url.Parse(businessURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("ucp: %q is no http or https URL of a shop", businessURL)
	}
	if strings.ContainsAny(businessURL, "?#") {
		return nil, fmt.Errorf("ucp: %q has a query or a fragment, which the URL of a shop has not", businessURL)
	}
	text, err := fetchProfile(ctx, client, strings.TrimRight(businessURL, "/")+discoveryPath)
	if err != nil {
		return nil, err
	}
	return readProfile(businessURL, base, text)
}

// idleTimeout is shorter than the 5 s after which both public sample shops close a connection: one that is closed while
// a request is on its way makes a call whose fate is unknown.
const idleTimeout = 2 * time.Second

// guardOf makes what keeps a shop from leading this machine where it should not go. The URL of the shop is trusted; a
// shop on this machine may lead to others on it.
func guardOf(businessURL string) (*guard.Guard, error) {
	return guard.New(guard.Options{
		Trusted: []string{businessURL}, AllowLoopback: guard.IsLoopback(businessURL), IdleTimeout: idleTimeout,
		Timeout: noTimeout, // Whoever makes the requests bounds them.
	})
}

// noTimeout is longer than any call.
const noTimeout = 24 * time.Hour

func fetchProfile(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if client == nil {
		own, err := guardOf(from)
		if err != nil {
			return nil, fmt.Errorf("ucp: discover: %w", err)
		}
		defer own.CloseIdleConnections()
		client = own.Client()
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := own.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDiscovery+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ucp: discover: %s answers with status %d", from, response.StatusCode)
	case len(text) > maxDiscovery:
		return nil, fmt.Errorf("ucp: discover: the document has more than %d bytes", maxDiscovery)
	}
	return text, nil
}

// profile is the part of a discovery document that matters. It is read leniently, member by member, since shops differ
// in what they leave out.
type profile struct {
	UCP struct {
		Version  string `json:"version"`
		Services map[string]struct {
			REST *struct {
				Endpoint string `json:"endpoint"`
			} `json:"rest"`
		} `json:"services"`
		Capabilities []Capability `json:"capabilities"`
	} `json:"ucp"`
	Payment *struct {
		Handlers []PaymentHandler `json:"handlers"`
	} `json:"payment"`
}

func readProfile(businessURL string, base *url.URL, text []byte) (*Business, error) {
	// Later releases have another shape, so the version is looked at before anything else.
	var version struct {
		UCP struct {
			Version string `json:"version"`
		} `json:"ucp"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("ucp: discover: not a discovery document: %w", err)
	}
	if version.UCP.Version != Release {
		return nil, &VersionError{version.UCP.Version}
	}
	var p profile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil {
		return nil, fmt.Errorf("ucp: discover: not a discovery document of %s: %w", Release, err)
	}
	rest := p.UCP.Services[shoppingService].REST
	if rest == nil || rest.Endpoint == "" {
		return nil, ErrNoREST
	}
	endpoint, err := base.Parse(rest.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("ucp: discover: the endpoint %q is no http or https URL", rest.Endpoint)
	}
	switch {
	case base.Scheme == "https" && endpoint.Scheme != "https":
		return nil, fmt.Errorf("%w: the shop is on https, and %s is not", ErrUnsafeEndpoint, endpoint.Redacted())
	case endpoint.User != nil || endpoint.ForceQuery || endpoint.RawQuery != "" || strings.Contains(rest.Endpoint, "#"):
		return nil, fmt.Errorf("ucp: discover: the endpoint %s has credentials, a query or a fragment", endpoint.Redacted())
	}
	b := &Business{
		URL: businessURL, Version: p.UCP.Version,
		Endpoint:     strings.TrimRight(endpoint.String(), "/"),
		Capabilities: p.UCP.Capabilities,
	}
	if p.Payment != nil {
		b.Handlers = p.Payment.Handlers
	}
	if !b.Can(checkoutCapability) {
		return nil, ErrNoREST
	}
	peer, err := guardOf(businessURL)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	if _, err := peer.Check(endpoint.String()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsafeEndpoint, err)
	}
	return b, nil
}
