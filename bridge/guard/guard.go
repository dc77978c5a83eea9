// Package guard makes HTTP requests to URLs that came from a peer: what a shop's discovery document names, where a
// platform wants its notifications, whose profile a header points to. A peer must not be able to have this machine ask
// machines that only it can reach (server-side request forgery).
//
// A [Guard] demands https, follows no redirects, bounds time and size, and looks at the address that a name was resolved
// to when the connection is made, so that a name which is resolved once for a check and then anew (DNS rebinding) wins
// nothing. What a person named, or the configuration, is trusted and may be anywhere: see [Options].
//
// Start reading at [New].
package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const (
	// DefaultTimeout is how long one request may take, to the last byte.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxBytes is how long a body may be.
	DefaultMaxBytes = 1 << 20

	dialTimeout = 10 * time.Second
	// maxHeader is how many bytes of header are read.
	maxHeader = 64 << 10
	// maxURL is how long a URL may be.
	maxURL = 8 << 10
)

// Options configure a [Guard]. The zero value trusts nobody.
type Options struct {
	// Trusted are URLs that a person or the configuration named, of which scheme, host and port count: requests to those
	// origins may be over http, may go to any address, and go through the proxy of the environment. No other request goes
	// through a proxy, since it would be the proxy that resolves the name.
	Trusted []string
	// AllowLoopback lets peers lead to this machine, over http as well: for trying things out.
	AllowLoopback bool
	// Timeout bounds one request, MaxBytes the body that [Guard.Get] reads; the defaults hold where they are 0.
	Timeout  time.Duration
	MaxBytes int64
	// IdleTimeout is how long a connection is kept that is not used; 0 for that of http.DefaultTransport.
	IdleTimeout time.Duration
	// Resolver resolves names; net.DefaultResolver if nil.
	Resolver *net.Resolver
	// TLS is the configuration of https, such as roots of one's own; the usual one if nil.
	TLS *tls.Config
}

// Guard makes requests to URLs that came from a peer. It is safe for concurrent use.
type Guard struct {
	options   Options
	trusted   []string // origins
	transport *http.Transport
	proxyFor  func(*url.URL) (*url.URL, error)

	mu      sync.Mutex
	proxies []string // host and port of those that were used
}

// URLError says why no request is made to a URL.
type URLError struct {
	// URL is without credentials, or empty if it cannot be read.
	URL string
	// Reason is a clause such as "it is not https".
	Reason string
}

// Error says which and why.
func (e *URLError) Error() string {
	if e.URL == "" {
		return "guard: no request is made to the URL: " + e.Reason
	}
	return fmt.Sprintf("guard: no request is made to %s: %s", e.URL, e.Reason)
}

// ErrTooLarge is the error of a body that is longer than allowed.
var ErrTooLarge = errors.New("guard: the body is too large")

// New makes a guard. The error says which trusted URL is none.
func New(options Options) (*Guard, error) {
	g := &Guard{options: options, proxyFor: httpproxy.FromEnvironment().ProxyFunc()}
	if g.options.Timeout <= 0 {
		g.options.Timeout = DefaultTimeout
	}
	if g.options.MaxBytes <= 0 {
		g.options.MaxBytes = DefaultMaxBytes
	}
	for _, text := range options.Trusted {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("guard: a trusted URL is not one of http or https")
		}
		g.trusted = append(g.trusted, originOf(u))
	}
	g.transport = &http.Transport{
		Proxy: g.proxy, DialContext: g.dial, TLSClientConfig: options.TLS, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: g.options.Timeout, MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns: 100, IdleConnTimeout: options.IdleTimeout,
	}
	if g.transport.IdleConnTimeout <= 0 {
		g.transport.IdleConnTimeout = 90 * time.Second
	}
	return g, nil
}

// originOf gives scheme, host and port.
func originOf(u *url.URL) string { return strings.ToLower(u.Scheme) + "://" + hostAndPort(u) }

func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func (g *Guard) trusts(u *url.URL) bool { return slices.Contains(g.trusted, originOf(u)) }

// Check tells whether a request may be made to a URL, as far as the URL itself says: an absolute one of https, without
// credentials and fragment. One of http may be only where it is trusted, or leads to this machine and that is allowed.
// Where a name leads is looked at when a connection is made. The error is a [*URLError] or an [*AddressError].
func (g *Guard) Check(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, &URLError{Reason: "it is too long"}
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, &URLError{Reason: "it cannot be read"}
	}
	return u, g.check(u)
}

func (g *Guard) check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return &URLError{u.Redacted(), "it is not one of https"}
	case u.User != nil:
		return &URLError{u.Redacted(), "it has credentials"}
	case u.Fragment != "":
		return &URLError{u.Redacted(), "it has a fragment"}
	case g.trusts(u):
		return nil
	case u.Scheme != "https" && !(g.options.AllowLoopback && isLoopbackName(u.Hostname())):
		return &URLError{u.Redacted(), "it is not https"}
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.checkAddress(address)
	}
	return nil
}

// isLoopbackName tells whether a host is this machine by its name (RFC 6761).
func isLoopbackName(host string) bool {
	address, err := netip.ParseAddr(host)
	if err == nil {
		return address.Unmap().IsLoopback()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// IsLoopback tells whether a URL leads to this machine by the name of its host.
func IsLoopback(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isLoopbackName(u.Hostname())
}

func (g *Guard) checkAddress(address netip.Addr) error {
	if g.options.AllowLoopback && address.Unmap().IsLoopback() {
		return nil
	}
	return CheckAddress(address)
}

// proxy is the proxy of the environment for what is trusted.
func (g *Guard) proxy(request *http.Request) (*url.URL, error) {
	if !g.trusts(request.URL) {
		return nil, nil
	}
	proxy, err := g.proxyFor(request.URL)
	if err != nil || proxy == nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := hostAndPort(proxy); !slices.Contains(g.proxies, at) {
		g.proxies = append(g.proxies, at)
	}
	return proxy, nil
}

// dial connects to a host and port. The transport keeps connections apart by scheme, host and port, so that one which was
// made for a trusted origin serves no other.
func (g *Guard) dial(ctx context.Context, network, at string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: g.options.Resolver}
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if !g.trustsAddress(at) {
		onlyLoopback := isLoopbackName(host)
		dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(resolved)
			switch {
			case err != nil:
				return fmt.Errorf("guard: %q is no address", resolved)
			case onlyLoopback && !at.Addr().Unmap().IsLoopback():
				return &AddressError{at.Addr(), "another machine than its name says"}
			}
			return g.checkAddress(at.Addr())
		}
	}
	return dialer.DialContext(ctx, network, at)
}

// trustsAddress tells whether a host and port are of an origin that is trusted, or of a proxy.
func (g *Guard) trustsAddress(at string) bool {
	at = strings.ToLower(at)
	if slices.Contains(g.trusted, "https://"+at) || slices.Contains(g.trusted, "http://"+at) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.proxies, at)
}

// Client is an HTTP client of the guard: it checks every request, follows no redirects, and takes no longer than the
// timeout. The error of a request that was not made is a [*net.OpError] of dialling, which says that nothing has left.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Transport: g, Timeout: g.options.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements [http.RoundTripper].
func (g *Guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.check(request.URL); err != nil {
		if request.Body != nil {
			err = errors.Join(err, request.Body.Close())
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return g.transport.RoundTrip(request)
}

// CloseIdleConnections closes the connections that nobody uses.
func (g *Guard) CloseIdleConnections() { g.transport.CloseIdleConnections() }

// Response is what was read of an answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Get asks for what is at a URL and reads it to its end, in at most the timeout. A redirect is an answer like any other.
// accept is the media type that is asked for. The error wraps [ErrTooLarge], a [*URLError] or an [*AddressError] where
// that is why.
func (g *Guard) Get(ctx context.Context, text, accept string) (*Response, error) {
	u, err := g.Check(text)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	request.Header.Set("Accept", accept)
	response, err := g.Client().Do(request)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, g.options.MaxBytes+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if int64(len(body)) > g.options.MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, g.options.MaxBytes)
	}
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}
