package ucp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Release is the wire release that the inbound side speaks of itself.
const Release = "2026-01-11"

const (
	shoppingService  = "dev.ucp.shopping"
	discoveryPath    = "/.well-known/ucp"
	discoveryTimeout = 30 * time.Second
	maxDiscovery     = 1 << 20
)

// Business is a remote shop as its discovery document presents it (UCP, discovery profile).
type Business struct {
	// URL is where it was looked for, Version what it calls the release it speaks.
	URL, Version string
	// Release is the form of what is said to it and what it says, the newest that both sides know; 2026-01-11 if empty.
	Release wire.Release
	// Transport is how it is called: over REST where it can be, else over MCP; REST if empty.
	Transport negotiation.Transport
	// Endpoint is where its checkouts are, without a slash at the end.
	Endpoint string
	// Capabilities and Handlers are in the order of the document, or by name if it has none. The handlers are those that
	// may be paid with.
	Capabilities []Capability
	Handlers     []PaymentHandler
	// ProfileURLs are where the business's profile is: first that of the release that was chosen, then its discovery
	// document where that is another.
	ProfileURLs []string
	// Profile is the document, of the release that was chosen; nil where the business was not discovered.
	Profile *negotiation.Profile
	// Agreement is what the shop and a platform with [PlatformProfile] can do together (UCP 2026-04-08, overview,
	// intersection algorithm); nil where the business was not discovered. See [Business.Active].
	Agreement *negotiation.Agreement
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

// VersionError says that a shop speaks none of the releases that were asked for.
type VersionError struct {
	// Version is what it speaks, Spoken what was asked for.
	Version string
	Spoken  []wire.Release
}

// Error says which it speaks.
func (e *VersionError) Error() string {
	return fmt.Sprintf("ucp: the shop speaks UCP %q, which is none of %v", e.Version, e.Spoken)
}

// ErrUnsafeEndpoint says that a shop has its checkouts where they are not called: on http, where anybody could read the
// payment, or at an address that is not of the public internet.
var ErrUnsafeEndpoint = errors.New("ucp: the shop's checkouts are not in a place where they may be called")

// ErrNoCheckouts says that a shop has no checkouts that could be called.
var ErrNoCheckouts = errors.New("ucp: the shop offers no " + shoppingService + " checkouts")

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
// The endpoint has no credentials, query or fragment. The first of the releases is taken that the shop speaks too, if need
// be by another document that the shop points to; without any they are all that are known, newest first, which is right for
// a platform that has a profile: [ReleasesFor] gives those of any platform. A draft that is newer than all is taken for the
// newest.
// The error is a [*VersionError] if there is none, [ErrNoCheckouts] if the shop has no checkouts over REST or MCP, and
// [ErrUnsafeEndpoint] if the endpoint may not be called.
func Discover(ctx context.Context, client *http.Client, businessURL string, spoken ...wire.Release) (*Business, error) {
	said, err := find(ctx, client, businessURL)
	if err != nil {
		return nil, err
	}
	if len(spoken) == 0 {
		spoken = wire.Releases()
	}
	return said.business(ctx, client, spoken, negotiation.REST, negotiation.MCP)
}

// ReleasesFor gives the releases for [Discover] of a platform whose profile is at a URL (see [OutboundOptions.Profile]), the
// preferred ones first: newest first, but oldest first where the URL is empty, since shops of the later releases refuse whoever
// has no profile to show.
func ReleasesFor(profile string) []wire.Release {
	releases := wire.Releases()
	if profile == "" {
		slices.Reverse(releases)
	}
	return releases
}

// DiscoverOver is [Discover] for a platform that calls over one transport: the first of the releases is taken in which
// the shop has checkouts over that. The error wraps [ErrNoCheckouts] if there is none.
func DiscoverOver(
	ctx context.Context, client *http.Client, businessURL string, transport negotiation.Transport, spoken ...wire.Release,
) (*Business, error) {
	said, err := find(ctx, client, businessURL)
	if err != nil {
		return nil, err
	}
	if len(spoken) == 0 {
		spoken = wire.Releases()
	}
	var missing error
	for _, release := range spoken {
		b, err := said.business(ctx, client, []wire.Release{release}, transport)
		var other *VersionError
		switch {
		case err == nil:
			return b, nil
		case errors.Is(err, ErrNoCheckouts):
			missing = err
		case errors.As(err, &other):
			if missing == nil {
				missing = &VersionError{other.Version, spoken}
			}
		default:
			return nil, err
		}
	}
	return nil, missing
}

// discovered is a discovery document and where it was found.
type discovered struct {
	url  string
	base *url.URL
	text []byte
}

// find reads the document of a shop.
func find(ctx context.Context, client *http.Client, businessURL string) (*discovered, error) {
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
	return &discovered{businessURL, base, text}, nil
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

// business reads what the document says for the first of the releases that the shop speaks, over the first of the
// transports that it has.
func (d *discovered) business(
	ctx context.Context, client *http.Client, spoken []wire.Release, transports ...negotiation.Transport,
) (*Business, error) {
	p, err := negotiation.Parse(d.text)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: not a discovery document: %w", err)
	}
	release, elsewhere, err := negotiation.Choose(p, spoken)
	if err != nil {
		return nil, &VersionError{p.Version, spoken}
	}
	if elsewhere != "" {
		if p, err = leaf(ctx, client, d.url, elsewhere, release); err != nil {
			return nil, err
		}
	}
	b := &Business{
		URL: d.url, Version: p.Version, Release: release, Profile: p,
		ProfileURLs: []string{strings.TrimRight(d.url, "/") + discoveryPath},
	}
	if elsewhere != "" {
		b.ProfileURLs = append([]string{elsewhere}, b.ProfileURLs...)
	}
	said := ""
	for _, transport := range transports {
		if said = p.Endpoint(shoppingService, transport); said != "" {
			b.Transport = transport
			break
		}
	}
	if said == "" {
		return nil, fmt.Errorf("%w over %s", ErrNoCheckouts, listed(transports))
	}
	if b.Endpoint, err = endpointOf(d.url, d.base, said); err != nil {
		return nil, err
	}
	b.list(p)
	if !b.Can(checkoutCapability) {
		return nil, ErrNoCheckouts
	}
	if b.Agreement, err = agreementWith(release, p, false); err != nil {
		return nil, err
	}
	if !b.Active(checkoutCapability) {
		return nil, fmt.Errorf("%w in a version that is spoken here", ErrNoCheckouts)
	}
	return b, nil
}

// listed names transports for a person, such as REST or MCP.
func listed(transports []negotiation.Transport) string {
	names := make([]string, len(transports))
	for i, transport := range transports {
		names[i] = strings.ToUpper(string(transport))
	}
	return strings.Join(names, " or ")
}

// list flattens what a profile offers.
func (b *Business) list(p *negotiation.Profile) {
	for _, name := range slices.Sorted(maps.Keys(p.Capabilities)) {
		for _, c := range p.Capabilities[name] {
			parent := ""
			if len(c.Extends) > 0 {
				parent = c.Extends[0]
			}
			b.Capabilities = append(b.Capabilities, Capability{Name: name, Version: c.Version, Extends: parent})
		}
	}
	for _, id := range p.HandlerIDs {
		name, h, _ := p.HandlerByID(id)
		handler := PaymentHandler{ID: id, Name: name, Version: h.Version, Spec: h.Spec, ConfigSchema: h.Schema}
		if json.Unmarshal(h.Config, &handler.Config) != nil { // A configuration may be anything; only objects are known.
			handler.Config = nil
		}
		b.Handlers = append(b.Handlers, handler)
	}
}

// leaf reads the document of one release that a shop points to.
func leaf(ctx context.Context, client *http.Client, businessURL, at string, release wire.Release) (*negotiation.Profile, error) {
	peer, err := guardOf(businessURL)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	defer peer.CloseIdleConnections()
	if _, err := peer.Check(at); err != nil {
		return nil, fmt.Errorf("ucp: discover: the document for %s: %w", release, err)
	}
	if client == nil {
		client = peer.Client()
	}
	text, err := fetchProfile(ctx, client, at)
	if err != nil {
		return nil, err
	}
	p, err := negotiation.Parse(text)
	if err == nil {
		err = negotiation.CheckLeaf(p, release)
	}
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	return p, nil
}

// endpointOf checks where a shop says its checkouts are.
func endpointOf(businessURL string, base *url.URL, said string) (string, error) {
	endpoint, err := base.Parse(said)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return "", fmt.Errorf("ucp: discover: the endpoint %q is no http or https URL", said)
	}
	switch {
	case base.Scheme == "https" && endpoint.Scheme != "https":
		return "", fmt.Errorf("%w: the shop is on https, and %s is not", ErrUnsafeEndpoint, endpoint.Redacted())
	case endpoint.User != nil || endpoint.ForceQuery || endpoint.RawQuery != "" || strings.Contains(said, "#"):
		return "", fmt.Errorf("ucp: discover: the endpoint %s has credentials, a query or a fragment", endpoint.Redacted())
	}
	peer, err := guardOf(businessURL)
	if err != nil {
		return "", fmt.Errorf("ucp: discover: %w", err)
	}
	if _, err := peer.Check(endpoint.String()); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnsafeEndpoint, err)
	}
	return strings.TrimRight(endpoint.String(), "/"), nil
}
