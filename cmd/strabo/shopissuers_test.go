package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// TestShopTrustsIssuers: users sign mandates with credentials of banks that the shop was told to trust, by their keys or by
// where these are; those of others, and presentations for another checkout, are refused.
func TestShopTrustsIssuers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profile := publish(t, "--mandate-key", filepath.Join(dir, "mandates.pem"))
	bank, bankKeys := newIssuer(t, dir, "bank")
	credit, creditKeys := newIssuer(t, dir, "credit")
	other, _ := newIssuer(t, dir, "other")
	at := publish(t, "--signing-key", creditKeys.private, "--signing-key-id", "credit-1")
	s := startShop(t, "--local-webhooks", "--durability", "none", "--trust-issuer", "https://bank.example="+bankKeys.public,
		"--trust-issuer", "https://credit.example="+strings.ReplaceAll(at, "{release}", "2026-04-08"))
	holder, err := signature.Generate("holder")
	require.NoError(t, err)
	base := s.URL + "/ucp/2026-04-08/checkout-sessions"
	ask := func(url, body string) (int, string) {
		request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("UCP-Agent", `profile="`+strings.ReplaceAll(profile, "{release}", "2026-04-08")+`"`)
		request.Header.Set("Idempotency-Key", rand.Text())
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	open := func() (id, checkout string) {
		status, text := ask(base, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"fulfillment":{"methods":[{"type":"shipping",
			"destinations":[{"id":"d","address_country":"GR"}],"selected_destination_id":"d","groups":[{"selected_option_id":"post"}]}]}}`)
		require.Equal(t, http.StatusCreated, status, text)
		var said struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(text), &said))
		return said.ID, text
	}
	present := func(issuer string, by *signature.Signer, checkout string) string {
		public, err := holder.Public()
		require.NoError(t, err)
		credential, err := json.Marshal(map[string]any{"iss": issuer, "vct": "com.emvco.dpc", "cnf": map[string]any{"jwk": public}})
		require.NoError(t, err)
		issued, err := by.Compact("dc+sd-jwt", credential)
		require.NoError(t, err)
		sum := sha256.Sum256([]byte(issued + "~"))
		said, err := json.Marshal(map[string]any{
			"aud": s.URL, "nonce": rand.Text(), "iat": time.Now().Unix(), "checkout": json.RawMessage(checkout),
			"sd_hash": base64.RawURLEncoding.EncodeToString(sum[:]),
		})
		require.NoError(t, err)
		binding, err := holder.Compact("kb+jwt", said)
		require.NoError(t, err)
		return issued + "~" + binding
	}
	pay := func(id, token string) string {
		_, text := ask(base+"/"+id+"/complete", fmt.Sprintf(`{"payment":{"instruments":[{"id":"i","handler_id":"mock_payment_handler","type":"card",
			"selected":true,"credential":{"type":"token","token":"success_token"}}]},"ap2":{"checkout_mandate":%q}}`, token))
		return text
	}
	_, twin := open()
	for issuer, by := range map[string]*signature.Signer{"https://bank.example": bank, "https://credit.example": credit} {
		id, checkout := open()
		require.Contains(t, pay(id, present(issuer, other, checkout)), "agent_missing_key", "of another bank by this name")
		require.Contains(t, pay(id, present("https://other.example", by, checkout)), "agent_missing_key", "nobody whom the shop was told of")
		require.Contains(t, pay(id, present(issuer, by, twin)), "mandate_scope_mismatch", "the same goods at the same price, in another checkout")
		token := present(issuer, by, checkout)
		require.Contains(t, pay(id, token), `"completed"`)
		later, _ := open()
		require.Contains(t, pay(later, token), "mandate_scope_mismatch", "one that was used")
	}
}

// issuerFiles are where the keys of an issuer are.
type issuerFiles struct{ private, public string }

func newIssuer(t *testing.T, dir, name string) (*signature.Signer, issuerFiles) {
	t.Helper()
	s, err := signature.Generate(name + "-1")
	require.NoError(t, err)
	files := issuerFiles{filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".json")}
	text, err := s.PEM()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.private, text, 0o600))
	public, err := s.Public()
	require.NoError(t, err)
	text, err = json.Marshal(map[string]any{"keys": []any{public, map[string]any{"kty": "RSA", "kid": "x", "n": "AQ", "e": "AQAB"}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.public, text, 0o600))
	return s, files
}

// TestShopLooksAtItsIssuersFirst: a shop does not open with an issuer that it could not trust.
func TestShopLooksAtItsIssuersFirst(t *testing.T) {
	dir := t.TempDir()
	_, files := newIssuer(t, dir, "bank")
	write := func(name string, content any) string {
		text, err := json.Marshal(content)
		require.NoError(t, err)
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	off := negotiation.Key{ID: "a", Type: "EC", Curve: "P-256", X: "AQ", Y: "AQ"}
	for says, flags := range map[string][]string{
		"ISSUER=FILE or ISSUER=URL is needed": {"https://bank.example"},
		"it is given twice":                   {"https://bank.example=" + files.public, "https://bank.example=" + files.public},
		"no such file":                        {"https://bank.example=" + filepath.Join(dir, "none")},
		"is no JSON Web Key Set":              {"https://bank.example=" + files.private},
		"has no key on P-256, P-384 or P-521": {"https://bank.example=" + write("empty", map[string]any{"keys": []any{}})},
		"algorithm_unsupported":               {"https://bank.example=" + write("off", map[string]any{"keys": []any{off}})},
		"has a private key":                   {"https://bank.example=" + write("private", map[string]any{"keys": []any{map[string]any{"kty": "EC", "kid": "a", "d": "SECRET"}}})},
		"http://bank.example/p":               {"https://bank.example=http://bank.example/p"},
	} {
		arguments := []string{"shop", "--listen", "127.0.0.1:0", "--durability", "none"}
		for _, flag := range flags {
			arguments = append(arguments, "--trust-issuer", flag)
		}
		code, out, err := runStrabo("", arguments...)
		require.Equal(t, exitWrongUse, code)
		require.Empty(t, out)
		require.Contains(t, err, says)
		require.NotContains(t, err, "SECRET")
		require.False(t, bytes.Contains([]byte(err), []byte("BEGIN")))
	}
}
