package main

import (
	"bytes"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuyOnlySigned: at our own shop, which signs its answers in 2026-04-08, --require-signed buys over both transports.
// What somebody on the way has changed is no answer: whether there is an order is then nobody's guess.
func TestBuyOnlySigned(t *testing.T) {
	t.Parallel()
	profile := publish(t)
	tap := newWiretap(t)
	s := startShop(t, "--local-webhooks", "--durability", "none", "--public-url", tap.URL)
	var err error
	tap.to, err = url.Parse(s.URL)
	require.NoError(t, err)
	buy := func(flags ...string) (int, string, string) {
		return runStrabo("", append([]string{
			"buy", "--business", tap.URL, "--item", "oil-lamp", "--country", "GR", "--profile", profile,
		}, flags...)...)
	}
	for _, transport := range []string{"rest", "mcp"} {
		code, out, err := buy("--require-signed", "--transport", transport)
		require.Equal(t, exitFine, code, out+err)
		require.Contains(t, out, "placed")
	}
	// Nobody gets a signature for what the shop has not said; whoever takes it away is believed where none is required.
	dearer := func(strip bool) func(*http.Request, http.Header, []byte) []byte {
		return func(r *http.Request, header http.Header, body []byte) []byte {
			if strip {
				header.Del("Signature")
				header.Del("Signature-Input")
			}
			if !strings.HasSuffix(r.URL.Path, "/complete") {
				return body
			}
			return bytes.Replace(body, []byte(`"id":"order_`), []byte(`"id":"other_`), 1)
		}
	}
	journal := filepath.Join(t.TempDir(), "journal")
	tap.rewriting(dearer(false))
	code, out, said := buy("--journal", journal)
	require.Equal(t, exitFine, code, out+said)
	require.Contains(t, out, "Order order_", "it was asked for, and the answer to that is sound")
	require.Len(t, tap.completes(), 1)

	tap.rewriting(dearer(true))
	code, out, said = buy()
	require.Equal(t, exitFine, code, out+said)
	require.Contains(t, out, "Order other_")
	code, out, said = buy("--require-signed", "--timeout", "6s")
	require.Equal(t, exitNo, code, out+said)
	require.Contains(t, said, "strabo: no order: nothing was paid, but ")
	require.Contains(t, said, "the shop did not answer: an answer with status 201 came that is not believed: signature_missing: The response is not signed.")

	// A shop that signs nothing is not bought at.
	shop := openPaperShop(t, nil)
	code, _, said = runStrabo("", shop.buy("--require-signed", "--profile", profile)...)
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, said, `there is no shop to buy at: ucp: the shop speaks UCP "2026-01-11", which is none of [2026-04-08]`)
}
