package guard_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/strabo-engine/strabo/bridge/guard"
)

// names is a small DNS server, which answers questions for IPv4 addresses with those of a function.
type names struct {
	conn    net.PacketConn
	answer  func(name string) []netip.Addr
	stopped chan struct{}
}

// resolve starts a server, and gives a resolver that asks it.
func resolve(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &names{conn: conn, answer: answer, stopped: make(chan struct{})}
	go n.serve()
	t.Cleanup(func() {
		_ = conn.Close()
		<-n.stopped
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) serve() {
	defer close(n.stopped)
	buffer := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if message.Unpack(buffer[:size]) != nil || len(message.Questions) != 1 {
			continue
		}
		question := message.Questions[0]
		message.Response, message.Additionals = true, nil
		if question.Type == dnsmessage.TypeA {
			for _, address := range n.answer(strings.TrimSuffix(question.Name.String(), ".")) {
				message.Answers = append(message.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 0},
					Body:   &dnsmessage.AResource{A: address.As4()},
				})
			}
		}
		packed, err := message.Pack()
		if err != nil {
			return
		}
		if _, err := n.conn.WriteTo(packed, from); err != nil {
			return
		}
	}
}

var loopback = netip.MustParseAddr("127.0.0.1")

// secure starts a server on this machine, with a certificate for example.com, that counts its requests.
func secure(t *testing.T, handler http.HandlerFunc) (port string, config *tls.Config, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return u.Port(), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, requests
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

func newGuard(t *testing.T, options guard.Options) *guard.Guard {
	t.Helper()
	g, err := guard.New(options)
	require.NoError(t, err)
	t.Cleanup(g.CloseIdleConnections)
	return g
}

// TestRebinding is a name that leads to a public address when it is looked at, and to this machine when it is used.
func TestRebinding(t *testing.T) {
	port, config, requests := secure(t, hello)
	var asked atomic.Int32
	resolver := resolve(t, func(string) []netip.Addr {
		if asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}
		}
		return []netip.Addr{loopback}
	})
	addresses, err := resolver.LookupNetIP(t.Context(), "ip4", "example.com")
	require.NoError(t, err)
	require.NoError(t, guard.CheckAddress(addresses[0]), "whoever checks a name before it is used is content")

	g := newGuard(t, guard.Options{Resolver: resolver, TLS: config})
	_, err = g.Get(t.Context(), "https://example.com:"+port+"/", "text/plain")
	var refused *guard.AddressError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, loopback, refused.Address)
	var operation *net.OpError
	require.ErrorAs(t, err, &operation)
	require.Equal(t, "dial", operation.Op, "nothing has left")
	require.Zero(t, requests.Load())
	require.GreaterOrEqual(t, asked.Load(), int32(2))

	// Of several addresses only those that are allowed are tried.
	g = newGuard(t, guard.Options{TLS: config, Resolver: resolve(t, func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254"), loopback}
	})})
	_, err = g.Get(t.Context(), "https://example.com:"+port+"/", "text/plain")
	require.ErrorAs(t, err, &refused)
	require.Zero(t, requests.Load())
}

func TestLoopbackIsAllowedByConfigurationOnly(t *testing.T) {
	port, config, requests := secure(t, hello)
	resolver := resolve(t, func(string) []netip.Addr { return []netip.Addr{loopback} })
	for _, options := range []guard.Options{{AllowLoopback: true}, {Trusted: []string{"https://EXAMPLE.com:" + port + "/shop"}}} {
		options.Resolver, options.TLS = resolver, config
		response, err := newGuard(t, options).Get(t.Context(), "https://example.com:"+port+"/", "text/plain")
		require.NoError(t, err)
		require.Equal(t, "hello", string(response.Body))
	}
	require.Equal(t, int32(2), requests.Load())
	// Another port of a host that is trusted is another origin.
	g := newGuard(t, guard.Options{Trusted: []string{"https://example.com:1"}, Resolver: resolver, TLS: config})
	_, err := g.Get(t.Context(), "https://example.com:"+port+"/", "text/plain")
	var refused *guard.AddressError
	require.ErrorAs(t, err, &refused)

	// What is called localhost is this machine, and nothing else.
	plain := httptest.NewServer(http.HandlerFunc(hello))
	defer plain.Close()
	_, plainPort, err := net.SplitHostPort(plain.Listener.Addr().String())
	require.NoError(t, err)
	g = newGuard(t, guard.Options{AllowLoopback: true})
	_, err = g.Get(t.Context(), "http://127.0.0.1:"+plainPort, "text/plain")
	require.NoError(t, err)
	g = newGuard(t, guard.Options{AllowLoopback: true, Resolver: resolve(t, func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}
	})})
	_, err = g.Get(t.Context(), "http://shop.localhost:"+plainPort, "text/plain")
	require.ErrorAs(t, err, &refused)
}

func TestURLs(t *testing.T) {
	strict := newGuard(t, guard.Options{})
	local := newGuard(t, guard.Options{AllowLoopback: true})
	trusting := newGuard(t, guard.Options{Trusted: []string{"http://shop.example", "http://10.0.0.5:8080/base"}})
	for _, test := range []struct {
		url                     string
		strict, local, trusting bool
	}{
		{"https://shop.example/a?b=c", true, true, true},
		{"https://93.184.215.14", true, true, true},
		{"http://shop.example/a", false, false, true},
		{"http://SHOP.example:80/a", false, false, true},
		{"http://shop.example:81/a", false, false, false},
		{"http://10.0.0.5:8080/other", false, false, true},
		{"https://10.0.0.5", false, false, false},
		{"http://localhost:8182", false, true, false},
		{"http://127.0.0.1:8182", false, true, false},
		{"http://[::1]:8182", false, true, false},
		{"https://[::ffff:127.0.0.1]", false, true, false},
		{"https://[fe80::1%25eth0]", false, false, false},
		{"https://169.254.169.254/latest/meta-data", false, false, false},
		{"https://user:password@shop.example", false, false, false},
		{"https://shop.example/#a", false, false, false},
		{"ftp://shop.example", false, false, false},
		{"file:///etc/passwd", false, false, false},
		{"https:shop.example", false, false, false},
		{"//shop.example", false, false, false},
		{"https://", false, false, false},
		{"https://shop.example/\x00", false, false, false},
		{"https://shop.example/" + strings.Repeat("a", 9000), false, false, false},
		{"", false, false, false},
	} {
		for i, g := range []*guard.Guard{strict, local, trusting} {
			_, err := g.Check(test.url)
			require.Equal(t, []bool{test.strict, test.local, test.trusting}[i], err == nil, "%s: %v", test.url, err)
			if err != nil {
				require.NotContains(t, err.Error(), "password")
				_, err := g.Get(t.Context(), test.url, "")
				require.Error(t, err)
			}
		}
	}
	for _, text := range []string{"shop.example", "ftp://shop.example", "http://", "%"} {
		_, err := guard.New(guard.Options{Trusted: []string{text}})
		require.Error(t, err, text)
	}
	// A request that is made past Get is checked too, and has not left.
	_, err := strict.Client().Get("http://shop.example")
	var operation *net.OpError
	require.ErrorAs(t, err, &operation)
	var refused *guard.URLError
	require.ErrorAs(t, err, &refused)
}

func TestAnswersAreBounded(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	port, config, requests := secure(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 101))
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 100<<10))
		case "/slow":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-stop // Not until the client closes: an answer that ends then may be taken for a whole one.
		}
	})
	g := newGuard(t, guard.Options{AllowLoopback: true, TLS: config, MaxBytes: 100})
	at := "https://127.0.0.1:" + port
	response, err := g.Get(t.Context(), at+"/redirect", "text/plain")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, response.Status, "where to go is not for a peer to say")
	require.Equal(t, int32(1), requests.Load())
	_, err = g.Get(t.Context(), at+"/large", "text/plain")
	require.ErrorIs(t, err, guard.ErrTooLarge)
	_, err = g.Get(t.Context(), at+"/header", "text/plain")
	require.Error(t, err)
	hasty := newGuard(t, guard.Options{AllowLoopback: true, TLS: config, Timeout: 100 * time.Millisecond})
	_, err = hasty.Get(t.Context(), at+"/slow", "text/plain")
	var timeout interface{ Timeout() bool }
	require.True(t, errors.As(err, &timeout) && timeout.Timeout(), err)
}

// TestProxy holds that a proxy is used for what a person named, and not for what a peer did: it would resolve the name.
func TestProxy(t *testing.T) {
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		hello(w, r)
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("NO_PROXY", "")
	g := newGuard(t, guard.Options{
		Trusted:  []string{"http://shop.example"},
		Resolver: resolve(t, func(string) []netip.Addr { return []netip.Addr{loopback} }),
	})
	response, err := g.Get(t.Context(), "http://shop.example/", "text/plain")
	require.NoError(t, err)
	require.Equal(t, "hello", string(response.Body))
	_, err = g.Get(t.Context(), "https://other.example/", "text/plain")
	var refused *guard.AddressError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, int32(1), proxied.Load())
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{"https://shop.example", "http://127.0.0.1", "https://[::ffff:10.0.0.1]", "https://0x7f.1/", "https://2130706433/"} {
		f.Add(text)
	}
	g, err := guard.New(guard.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := g.Check(text)
		if err != nil {
			return
		}
		require.Equal(t, "https", u.Scheme)
		require.Nil(t, u.User)
		if address, err := netip.ParseAddr(u.Hostname()); err == nil {
			require.NoError(t, guard.CheckAddress(address))
		}
	})
}
