package ucp_test

import (
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
		"another release":    {200, `{"ucp":{"version":"2026-04-08","capabilities":{}}}`, `the shop speaks UCP "2026-04-08"`},
		"no release":         {200, `{}`, `the shop speaks UCP ""`},
		"no REST":            {200, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":null}},` + checkout + `}}`, "over REST"},
		"no checkout":        {200, `{"ucp":{"version":"2026-01-11","services":{"dev.ucp.shopping":{"rest":{"endpoint":"http://x"}}}}}`, "over REST"},
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
