package ucp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

func TestDiscover(t *testing.T) {
	onBothShops(t, func(t *testing.T, s *shop) {
		for _, url := range []string{s.server.URL, s.server.URL + "/"} {
			b, err := ucp.Discover(t.Context(), s.server.Client(), url)
			require.NoError(t, err)
			assert.Equal(t, s.server.URL, b.Endpoint, "a slash at the end does not count")
			assert.Equal(t, ucp.Release, b.Version)
			assert.True(t, b.Can("dev.ucp.shopping.checkout"))
			assert.False(t, b.Can("dev.ucp.shopping.cart"))
			handler, ok := b.Handler("google_pay")
			assert.True(t, ok)
			assert.Equal(t, "1.0", handler.Version, "versions of handlers are the handler's affair")
			_, ok = b.Handler("mock_payment_handler")
			assert.False(t, ok)
		}
	})
}

func TestDiscoverRefuses(t *testing.T) {
	const checkout = `"capabilities":[{"name":"dev.ucp.shopping.checkout","version":"2026-01-11"}]`
	tests := map[string]struct {
		status int
		body   string
		want   string
	}{
		"another release":    {200, `{"ucp":{"version":"2025-04-08","capabilities":{}}}`, `the shop speaks UCP "2025-04-08"`},
		"no release":         {200, `{}`, "no ucp.version"},
		"no REST":            {200, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":null}},` + checkout + `}}`, "over REST"},
		"no checkout":        {200, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":{"endpoint":"/"}}}}}`, "over REST"},
		"a strange endpoint": {200, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":{"endpoint":"ftp://x"}}},` + checkout + `}}`, "is no http"},
		"no JSON":            {200, `hello`, "not a discovery document"},
		"an error":           {404, ``, "status 404"},
		"a redirect":         {302, ``, "status 302"},
		"too much":           {200, strings.Repeat(" ", 2<<20), "more than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			_, err := ucp.Discover(t.Context(), server.Client(), server.URL)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := ucp.Discover(t.Context(), nil, "shop.example")
	require.Error(t, err)
}

// TestAShopLeadsNowhereElse is about endpoints that a shop on this machine names, and one on the public internet.
func TestAShopLeadsNowhereElse(t *testing.T) {
	endpoint := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":{"endpoint":%q}}},`+
			`"capabilities":[{"name":"dev.ucp.shopping.checkout","version":"2026-01-11"}]}}`, endpoint)
	}))
	defer server.Close()
	public := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}}
	defer public.CloseIdleConnections()
	for to, want := range map[string]struct{ fromHere, fromPublic bool }{
		"/checkouts":                  {true, true},
		"https://pay.shop.example":    {true, true},
		"http://pay.shop.example":     {false, false},
		"http://127.0.0.1:9":          {true, false},
		"https://localhost:9":         {true, true}, // Where a name leads is looked at when it is called.
		"http://localhost:9":          {true, false},
		"https://10.0.0.1":            {false, false},
		"https://169.254.169.254/a":   {false, false},
		"https://[::ffff:10.0.0.1]/a": {false, false},
		"https://[fd00:ec2::254]":     {false, false},
	} {
		endpoint = to
		for _, test := range []struct {
			client *http.Client
			url    string
			want   bool
		}{{nil, server.URL, want.fromHere}, {public, "http://shop.example", want.fromPublic}} {
			_, err := ucp.Discover(t.Context(), test.client, test.url)
			if test.want {
				require.NoError(t, err, to)
				continue
			}
			require.ErrorIs(t, err, ucp.ErrUnsafeEndpoint, to)
		}
	}
}
