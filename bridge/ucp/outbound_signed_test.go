package ucp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// signer makes a key of a shop.
func signer(t *testing.T, id string) (*signature.Signer, negotiation.Key) {
	t.Helper()
	s, err := signature.Generate(id)
	require.NoError(t, err)
	public, err := s.Public()
	require.NoError(t, err)
	return s, public
}

// openSigned opens a market at a shop whose profile was discovered with the keys.
func openSigned(t *testing.T, shop *aprilShop, keys []negotiation.Key, change ...func(*ucp.OutboundOptions)) *market {
	t.Helper()
	return openIncremental(t, func(m *market, _ *http.Client) {
		m.business = &ucp.Business{
			URL: shop.server.URL, Endpoint: shop.server.URL, Release: wire.April2026, Profile: &negotiation.Profile{Keys: keys},
		}
	}, change...)
}

// publishes gives the profile of a shop with keys.
func publishes(t *testing.T, keys ...negotiation.Key) http.HandlerFunc {
	t.Helper()
	text, err := json.Marshal(doc{
		"ucp": doc{
			"version": "2026-04-08", "services": doc{"dev.ucp.shopping": []any{}}, "capabilities": doc{}, "payment_handlers": doc{},
		}, "signing_keys": keys,
	})
	require.NoError(t, err)
	return answering(200, string(text))
}

// TestOutboundBelievesWhatIsSigned: an answer whose signature is wrong in any way is none. What has become of the payment
// is asked for then, and the order is known from an answer that is sound.
func TestOutboundBelievesWhatIsSigned(t *testing.T) {
	shops, public := signer(t, "shop-1")
	stranger, _ := signer(t, "shop-1")
	nobody, _ := signer(t, "shop-9")
	type answer struct {
		status int
		header http.Header
		body   []byte
	}
	lies := func(a *answer) { a.body = bytes.ReplaceAll(a.body, []byte(`"ord_1"`), []byte(`"ord_9"`)) }
	for name, test := range map[string]struct {
		tamper func(*answer)
		code   negotiation.Code
	}{
		"another body": {lies, negotiation.DigestMismatch},
		"another body with its digest": {func(a *answer) {
			lies(a)
			a.header.Set("Content-Digest", signature.Digest(a.body))
		}, negotiation.SignatureInvalid},
		"no digest":                  {func(a *answer) { a.header.Del("Content-Digest") }, negotiation.DigestMismatch},
		"another type":               {func(a *answer) { a.header.Set("Content-Type", "text/plain") }, negotiation.SignatureInvalid},
		"signed for another status":  {func(a *answer) { _ = shops.SignResponse(402, a.header, a.body) }, negotiation.SignatureInvalid},
		"by somebody else":           {func(a *answer) { lies(a); _ = stranger.SignResponse(200, a.header, a.body) }, negotiation.SignatureInvalid},
		"by a key that is not there": {func(a *answer) { lies(a); _ = nobody.SignResponse(200, a.header, a.body) }, negotiation.KeyNotFound},
		"half of it":                 {func(a *answer) { a.header.Del("Signature") }, negotiation.SignatureMissing},
		"nonsense":                   {func(a *answer) { a.header.Set("Signature-Input", "sig1=(;") }, negotiation.SignatureInvalid},
		"what it covers cut down": {func(a *answer) {
			lies(a)
			input := a.header.Get("Signature-Input")
			a.header.Set("Signature-Input", strings.Replace(input, ` "content-digest" "content-type"`, "", 1))
		}, negotiation.SignatureInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			var tampered atomic.Bool
			shop.seal = func(line string, status int, header http.Header, body []byte) []byte {
				_ = shops.SignResponse(status, header, body)
				if line == "POST /chk_1/complete" && tampered.CompareAndSwap(false, true) {
					a := answer{status, header, body}
					test.tamper(&a)
					return a.body
				}
				return body
			}
			shop.script["GET /.well-known/ucp"] = []http.HandlerFunc{publishes(t, public), publishes(t, public)}
			m := openSigned(t, shop, []negotiation.Key{public}, func(o *ucp.OutboundOptions) { o.Signed = true })
			m.opens(ada, "Offered")
			m.pays(1)
			require.Contains(t, text(t, m.expect("Completed"), "order"), `"ord_1"`)
			require.True(t, tampered.Load())
			require.Equal(t, []string{"POST ", "GET /chk_1", "POST /chk_1/complete"}, shop.checkoutLines()[:3])
			require.Equal(t, 1, shop.count("POST /chk_1/complete"))
			require.Contains(t, m.told(), "that is not believed: "+string(test.code))
			require.NotContains(t, m.told(), "ord_9")
			require.Equal(t, 1, shop.placed())
		})
	}
}

// checkoutLines lists the requests about checkouts.
func (s *aprilShop) checkoutLines() []string {
	var lines []string
	for _, line := range s.lines() {
		if !strings.Contains(line, ".well-known") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOutboundFollowsAShopToItsNewKey: a key that the profile had not when it was discovered is looked for once, and whoever
// makes one up has the profile fetched no more often.
func TestOutboundFollowsAShopToItsNewKey(t *testing.T) {
	_, old := signer(t, "shop-1")
	next, public := signer(t, "shop-2")
	for _, published := range []bool{true, false} {
		t.Run(fmt.Sprintf("published %t", published), func(t *testing.T) {
			shop := newAprilShop(t)
			shop.seal = func(_ string, status int, header http.Header, body []byte) []byte {
				_ = next.SignResponse(status, header, body)
				return body
			}
			keys := []negotiation.Key{old}
			if published {
				keys = append(keys, public)
			}
			shop.script["GET /.well-known/ucp"] = []http.HandlerFunc{publishes(t, keys...)}
			m := openSigned(t, shop, []negotiation.Key{old})
			if published {
				m.opens(ada, "Offered")
				m.pays(1)
				m.expect("Completed")
			} else {
				m.attempt("Create", opening(ada))
				u := <-m.unknown
				require.Equal(t, "create", u.Step)
				require.Contains(t, u.Detail, string(negotiation.KeyNotFound))
				require.Greater(t, shop.count("POST "), 1, "it was asked for again, under its key")
				require.Empty(t, m.observed)
			}
			require.Equal(t, 1, shop.count("GET /.well-known/ucp"))
		})
	}
}

// TestOutboundTakesOnlySigned: where signatures are required an answer without is none, and a shop that makes none is not
// bought at. Where they are not, it is an answer.
func TestOutboundTakesOnlySigned(t *testing.T) {
	_, public := signer(t, "shop-1")
	shop := newAprilShop(t)
	m := openSigned(t, shop, []negotiation.Key{public})
	m.opens(ada, "Offered")

	shop = newAprilShop(t)
	m = openSigned(t, shop, []negotiation.Key{public}, func(o *ucp.OutboundOptions) { o.Signed = true })
	m.attempt("Create", opening(ada))
	require.Contains(t, (<-m.unknown).Detail, string(negotiation.SignatureMissing))
	require.Empty(t, m.observed)

	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	for _, business := range []*ucp.Business{
		{URL: shop.server.URL, Endpoint: shop.server.URL, Release: wire.April2026, Profile: &negotiation.Profile{}},
		{URL: shop.server.URL, Endpoint: shop.server.URL, Release: wire.January23, Profile: &negotiation.Profile{Keys: []negotiation.Key{public}}},
		{Endpoint: shop.server.URL, Release: wire.April2026},
	} {
		_, err := ucp.NewOutbound(rules, exec, business, ucp.OutboundOptions{Signed: true, Profile: "https://platform.example/"})
		require.ErrorIs(t, err, ucp.ErrUnsigned)
	}
}
