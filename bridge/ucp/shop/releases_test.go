package shop_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// agency is a platform that publishes profiles, one for each release, and others that it should not have.
type agency struct {
	*httptest.Server
	signer *signature.Signer
}

func newAgency(t *testing.T) *agency {
	t.Helper()
	signer, err := signature.Generate("agency-1")
	require.NoError(t, err)
	key, err := signer.Public()
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, release := range wire.Releases() {
		p, err := ucp.PlatformProfile(release, "", key)
		require.NoError(t, err)
		handler, err := ucp.ProfileHandler(p)
		require.NoError(t, err)
		mux.Handle("/"+string(release), handler)
		delete(p.Capabilities, "dev.ucp.shopping.discount")
		plain, err := ucp.ProfileHandler(p)
		require.NoError(t, err)
		mux.Handle("/plain/"+string(release), plain)
	}
	mux.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ucp":{"version":"2026-04-08","capabilities":{}}}`)
	})
	entries := func(host string, names ...string) string {
		said := []string{}
		for _, name := range names {
			said = append(said, `"dev.ucp.shopping.`+name+`":[{"version":"2026-04-08","schema":"https://`+host+`/s.json"}]`)
		}
		return `{"ucp":{"version":"2026-04-08","capabilities":{` + strings.Join(said, ",") + `}}}`
	}
	mux.HandleFunc("/orders", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, entries("ucp.dev", "order")) })
	mux.HandleFunc("/foreign", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, entries("evil.example", "checkout", "order"))
	})
	mux.HandleFunc("/old", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ucp":{"version":"2020-01-01"}}`)
	})
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `hello`) })
	a := &agency{httptest.NewServer(mux), signer}
	t.Cleanup(a.Close)
	return a
}

// allReleases opens a branch in every release.
func allReleases(t *testing.T, b *branch, change func(*ucp.ReleasesOptions)) *httptest.Server {
	t.Helper()
	g, err := guard.New(guard.Options{AllowLoopback: true})
	require.NoError(t, err)
	t.Cleanup(g.CloseIdleConnections)
	fetcher, err := profiles.New(profiles.Options{Source: g})
	require.NoError(t, err)
	options := ucp.ReleasesOptions{Platforms: fetcher, Name: "lamps", Version: "1", ContinueURL: "https://lamps.example/"}
	if change != nil {
		change(&options)
	}
	handler, err := ucp.Releases(b.inside, options)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// What goes wrong before the business is asked has UCP's codes and statuses.
func TestNegotiationOnTheWire(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	server := allReleases(t, b, nil)
	const april = "/ucp/2026-04-08/checkout-sessions"
	body := `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"discounts":{"codes":["KEEPER10"]}}`
	for _, test := range []struct {
		name, path, profile, body string
		status                    int
		want                      string
	}{
		{"no profile", april, "", body, 400, `"invalid_profile_url"`},
		{"a profile of this machine's own files", april, "file:///etc/passwd", body, 400, `"invalid_profile_url"`},
		{"nobody there", april, "https://127.0.0.1:1/profile", body, 424, `"profile_unreachable"`},
		{"no such profile", april, agents.URL + "/none", body, 424, `"profile_unreachable"`},
		{"garbage", april, agents.URL + "/garbage", body, 422, `"profile_malformed"`},
		{"another release", april, agents.URL + "/2026-01-23", body, 422, `"version_unsupported"`},
		{"an old release", "/ucp/2026-01-23/checkout-sessions", agents.URL + "/old", body, 422, `VERSION_UNSUPPORTED`},
		{"nothing in common", april, agents.URL + "/nothing", body, 200, `"capabilities_incompatible"`},
		{"all is well", april, agents.URL + "/2026-04-08", body, 201, `"discounts"`},
		{"an unknown product", april, agents.URL + "/2026-04-08", `{"line_items":[{"item":{"id":"wumpus"},"quantity":1}]}`, 200, `"status":"error"`},
		{"no JSON", april, agents.URL + "/2026-04-08", `{`, 400, `"invalid_request"`},
		{"no checkout", april + "/none/cancel", agents.URL + "/2026-04-08", ``, 200, `"status":"error"`},
		{"no such path", "/ucp/2026-04-08/carts", agents.URL + "/2026-04-08", ``, 404, `"not_found"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, said := post(t, server, test.path, test.profile, test.body, nil)
			require.Equal(t, test.status, status, said)
			require.Contains(t, said, test.want)
			if status >= 400 && strings.HasPrefix(test.path, april) && test.name != "no JSON" {
				require.Contains(t, said, `"continue_url":"https://lamps.example/"`)
			}
		})
	}
	status, said := post(t, server, april, agents.URL+"/plain/2026-04-08", body, nil)
	require.Equal(t, 201, status, said)
	require.NotContains(t, said, `"discounts"`, "an extension that is not active is neither read nor shown")
	require.NotContains(t, said, "dev.ucp.shopping.discount")
	require.Contains(t, said, "dev.ucp.shopping.fulfillment")
}

func TestSignedRequestsOnTheWire(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	stranger, err := signature.Generate("agency-1")
	require.NoError(t, err)
	unknown, err := signature.Generate("agency-9")
	require.NoError(t, err)
	server := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Signed = true })
	const path = "/ucp/2026-04-08/checkout-sessions"
	body := `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]}`
	for _, test := range []struct {
		name   string
		signer *signature.Signer
		sent   string
		status int
		want   string
	}{
		{"signed", agents.signer, body, 201, `"line_items"`},
		{"not signed", nil, body, 401, `"signature_missing"`},
		{"by somebody else", stranger, body, 401, `"signature_invalid"`},
		{"with a key that is not published", unknown, body, 401, `"key_not_found"`},
		{"another body", agents.signer, strings.Replace(body, "1}", "9}", 1), 400, `"digest_mismatch"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, said := post(t, server, path, agents.URL+"/2026-04-08", test.sent, func(r *http.Request) {
				if test.signer != nil {
					require.NoError(t, test.signer.SignRequest(r, []byte(body)))
				}
			})
			require.Equal(t, test.status, status, said)
			require.Contains(t, said, test.want)
		})
	}
}

func post(t *testing.T, server *httptest.Server, path, profile, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprint(time.Now().UnixNano()))
	if profile != "" {
		r.Header.Set("UCP-Agent", `profile="`+profile+`"`)
	}
	if change != nil {
		change(r)
	}
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	said, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(said)
}

// The profile of each release is found from the one that everybody knows, and says where its checkouts are.
func TestProfilesOfEveryRelease(t *testing.T) {
	b := newTown(t).open(t)
	signer, err := signature.Generate("shop-1")
	require.NoError(t, err)
	key, err := signer.Public()
	require.NoError(t, err)
	server := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Keys = []negotiation.Key{key} })
	get := func(url string) *negotiation.Profile {
		response, err := server.Client().Get(url)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		require.Contains(t, response.Header.Get("Cache-Control"), "max-age=60")
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		p, err := negotiation.Parse(text)
		require.NoError(t, err, string(text))
		_, ok := p.Key("shop-1")
		require.True(t, ok)
		return p
	}
	first := get(server.URL + "/.well-known/ucp")
	require.Equal(t, "2026-01-11", first.Version)
	require.Len(t, first.SupportedVersions, 2)
	for release, at := range first.SupportedVersions {
		leaf := get(at)
		require.NoError(t, negotiation.CheckLeaf(leaf, wire.Release(release)))
		require.Equal(t, server.URL+"/ucp/"+release, leaf.Endpoint("dev.ucp.shopping", negotiation.REST))
		require.Equal(t, server.URL+"/ucp/"+release+"/mcp", leaf.Endpoint("dev.ucp.shopping", negotiation.MCP))
		require.Equal(t, release, leaf.Capabilities["dev.ucp.shopping.checkout"][0].Version)
		require.NotEmpty(t, leaf.HandlerIDs)
	}
}

// Whatever the shop answers in a release is what that release's schemas ask for.
func TestAnswersFitTheSchemasOfTheirRelease(t *testing.T) {
	corpus := schematest.Corpus(t, 3)
	b, agents := newTown(t).open(t), newAgency(t)
	server := allReleases(t, b, nil)
	for _, release := range wire.Releases() {
		t.Run(string(release), func(t *testing.T) {
			valid := schematest.Load(t, corpus, string(release), schematest.Response)
			extension := "#/$defs/checkout"
			if release == wire.April2026 {
				extension = "#/$defs/dev.ucp.shopping.checkout"
			}
			at := server.URL
			if release != wire.January11 {
				at += "/ucp/" + string(release)
			}
			ask := func(x wire.Exchange, status int, model string) wire.Object {
				t.Helper()
				var body []byte
				if model != "" {
					said, err := wire.Decode([]byte(model))
					require.NoError(t, err)
					said, err = release.EncodeRequest(x, said)
					require.NoError(t, err)
					body, err = wire.Encode(said)
					require.NoError(t, err)
				}
				method, path := x.Operation.REST(x.Checkout)
				r, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(string(body)))
				require.NoError(t, err)
				for name, value := range map[string]string{
					"Content-Type": "application/json", "Idempotency-Key": rand.Text(), "Request-Id": rand.Text(),
					"Request-Signature": "none", "UCP-Agent": `profile="` + agents.URL + "/" + string(release) + `"`,
				} {
					r.Header.Set(name, value)
				}
				response, err := server.Client().Do(r)
				require.NoError(t, err)
				text, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, status, response.StatusCode, string(text))
				if x.Operation == wire.GetOrder {
					valid.Check(t, "schemas/shopping/order.json", text)
				} else {
					for _, schema := range []string{"checkout.json", "discount.json" + extension, "fulfillment.json" + extension, "buyer_consent.json" + extension} {
						valid.Check(t, "schemas/shopping/"+schema, text)
					}
				}
				said, err := wire.Decode(text)
				require.NoError(t, err)
				_, got, err := release.DecodeResponse(x, response.StatusCode, said)
				require.NoError(t, err)
				totals, _ := got["totals"].([]any)
				require.NoError(t, wire.CheckTotals(totals))
				return got
			}
			x := wire.Exchange{Operation: wire.CreateCheckout, Currency: "EUR"}
			const goods = `"line_items":[{"item":{"id":"oil-lamp"},"quantity":2}],"buyer":{"email":"ada@example.com","consent":{"marketing":true}}`
			x.Checkout = ask(x, 201, "{"+goods+"}")["id"].(string)
			x.Operation = wire.UpdateCheckout
			ask(x, 200, "{"+goods+`,"discounts":{"codes":["KEEPER10","NONE"]},"fulfillment":{"methods":[{"type":"shipping",
			  "destinations":[{"id":"d","address_country":"GR"}],"selected_destination_id":"d","groups":[{"id":"g","selected_option_id":"post"}]}]}}`)
			x.Operation = wire.GetCheckout
			got := ask(x, 200, "")
			require.Equal(t, "ready_for_complete", got["status"], "%v", got)
			x.Operation = wire.CompleteCheckout
			done := ask(x, 200, `{"payment":{"instruments":[{"id":"i","handler_id":"mock_payment_handler","type":"card","selected":true,
			  "display":{"brand":"Visa","last_digits":"1234"},"credential":{"type":"token","token":"success_token"}}]}}`)
			x.Operation, x.Checkout = wire.GetOrder, done["order"].(wire.Object)["id"].(string)
			ask(x, 200, "")
			x = wire.Exchange{Operation: wire.CreateCheckout, Currency: "EUR"}
			x.Checkout = ask(x, 201, "{"+goods+"}")["id"].(string)
			x.Operation = wire.CancelCheckout
			require.Equal(t, "canceled", ask(x, 200, "")["status"])
		})
	}
}
