package shop_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// mall is a shop that takes mandates, in every release, and a platform that makes them: at /{release} its profile has the
// extension and its keys, at /keyless/{release} no key, at /plain/{release} not the extension.
type mall struct {
	*branch
	shop, platform *httptest.Server
	business, user *signature.Signer
	fetcher        *profiles.Fetcher
	paid           chan shop.Payment
}

// watched are payments of which a copy is kept.
type watched struct {
	shop.Payments
	paid chan shop.Payment
}

func (w watched) Take(ctx context.Context, p shop.Payment) error {
	w.paid <- p
	return w.Payments.Take(ctx, p)
}

func newMall(t *testing.T, changes ...func(*ucp.Mandates)) *mall {
	t.Helper()
	m := &mall{paid: make(chan shop.Payment, 100)}
	for id, signer := range map[string]**signature.Signer{"shop-1": &m.business, "platform-1": &m.user} {
		var err error
		*signer, err = signature.Generate(id)
		require.NoError(t, err)
	}
	key, err := m.user.Public()
	require.NoError(t, err)
	mux := http.NewServeMux()
	for _, release := range wire.Releases() {
		for path, with := range map[string]bool{"/": true, "/keyless/": true, "/plain/": false} {
			var keys []negotiation.Key
			if path != "/keyless/" {
				keys = append(keys, key)
			}
			p, err := ucp.PlatformProfile(release, "", keys...)
			require.NoError(t, err)
			if with {
				ucp.OfferMandates(p, release)
			}
			handler, err := ucp.ProfileHandler(p)
			require.NoError(t, err)
			mux.Handle(path+string(release), handler)
		}
	}
	m.platform = httptest.NewServer(mux)
	t.Cleanup(m.platform.Close)
	g, err := guard.New(guard.Options{AllowLoopback: true})
	require.NoError(t, err)
	t.Cleanup(g.CloseIdleConnections)
	m.fetcher, err = profiles.New(profiles.Options{Source: g})
	require.NoError(t, err)
	m.branch = newTown(t).open(t, func(so *shop.Options, io *ucp.InboundOptions) {
		so.Payments = watched{so.Payments, m.paid}
		io.Mandates = &ucp.Mandates{Signer: m.business, Platforms: m.fetcher}
		for _, change := range changes {
			change(io.Mandates)
		}
	})
	m.shop = allReleases(t, m.branch, func(o *ucp.ReleasesOptions) { o.Platforms = m.fetcher })
	return m
}

// counter is where the mall is asked in one release over one transport.
type counter struct {
	*mall
	t         *testing.T
	release   wire.Release
	transport negotiation.Transport
	caller    bridge.Caller
	profile   string
	// key finds keys of the shop that it had not when it was discovered; nil for what finds them by itself.
	key func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
}

func (m *mall) at(t *testing.T, release wire.Release, transport negotiation.Transport) *counter {
	c := &counter{mall: m, t: t, release: release, transport: transport, profile: m.platform.URL + "/" + string(release)}
	c.caller = bridge.NewHTTPCaller(m.shop.Client(), time.Minute, 0)
	if transport == negotiation.MCP {
		c.caller = mcp.NewCaller(c.base()+"/mcp", release, c.caller)
	}
	return c
}

func (c *counter) base() string {
	if c.release == wire.January11 {
		return c.shop.URL
	}
	return c.shop.URL + "/ucp/" + string(c.release)
}

// do asks for an operation, with a body in the model, and gives the body of the answer as it was on the wire.
func (c *counter) do(operation wire.Operation, id, model, key string) (int, []byte) {
	c.t.Helper()
	x := wire.Exchange{Operation: operation, Checkout: id, Currency: "EUR"}
	var body []byte
	if model != "" {
		said, err := wire.Decode([]byte(model))
		require.NoError(c.t, err)
		said, err = c.release.EncodeRequest(x, said)
		require.NoError(c.t, err)
		body, err = wire.Encode(said)
		require.NoError(c.t, err)
	}
	method, path := operation.REST(id)
	header := http.Header{"Content-Type": {"application/json"}, "Request-Id": {rand.Text()}, "Request-Signature": {"none"}}
	if operation != wire.GetCheckout {
		header.Set("Idempotency-Key", key)
	}
	if c.profile != "" {
		header.Set("UCP-Agent", negotiation.Agent{Profile: c.profile}.String())
	}
	answer, err := c.caller.Call(c.t.Context(), bridge.Request{Method: method, URL: c.base() + path, Header: header, Body: body})
	require.NoError(c.t, err)
	return answer.Status, answer.Body
}

const lamp = `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":%d}],"fulfillment":{"methods":[{"type":"shipping",
  "destinations":[{"id":"d","address_country":"%s"}],"selected_destination_id":"d","groups":[{"id":"g","selected_option_id":"post"}]}]}}`

// open creates a checkout and gives its id and what the shop says of it.
func (c *counter) open(pieces int) (string, []byte) {
	c.t.Helper()
	status, body := c.do(wire.CreateCheckout, "", fmt.Sprintf(lamp, pieces, "GR"), rand.Text())
	require.Equal(c.t, http.StatusCreated, status, string(body))
	said, err := wire.Decode(body)
	require.NoError(c.t, err)
	require.Equal(c.t, "ready_for_complete", said["status"], string(body))
	return said["id"].(string), body
}

func (c *counter) sign(signer *signature.Signer, checkout []byte) string {
	c.t.Helper()
	token, err := (&mandate.KeySigner{Key: signer, Issuer: c.profile, Audience: c.shop.URL}).Sign(c.t.Context(), checkout)
	require.NoError(c.t, err)
	return token
}

// pay completes; no mandate if it is empty.
func (c *counter) pay(id, token, key string) (int, []byte) {
	c.t.Helper()
	ap2 := ""
	if token != "" {
		ap2 = fmt.Sprintf(`"ap2":{"checkout_mandate":%q},`, token)
	}
	return c.do(wire.CompleteCheckout, id, `{`+ap2+`"payment":{"instruments":[{"id":"i","handler_id":"mock_payment_handler",
	  "type":"card","selected":true,"display":{"brand":"Visa","last_digits":"1234"},"credential":{"type":"token","token":"success_token"}}]}}`, key)
}

// refused tells that an answer is a no with a code, in the form of the release.
func (c *counter) refused(status int, body []byte, code mandate.Code) {
	c.t.Helper()
	var said struct {
		UCP struct {
			Status string `json:"status"`
		} `json:"ucp"`
		Messages []struct{ Type, Code, Content, Severity, Path string } `json:"messages"`
	}
	require.NoError(c.t, json.Unmarshal(body, &said), string(body))
	require.Len(c.t, said.Messages, 1, string(body))
	require.Equal(c.t, string(code), said.Messages[0].Code, string(body))
	require.Equal(c.t, []string{"error", "recoverable", "$.ap2.checkout_mandate"},
		[]string{said.Messages[0].Type, said.Messages[0].Severity, said.Messages[0].Path})
	if c.release == wire.April2026 {
		require.Equal(c.t, http.StatusOK, status)
		require.Equal(c.t, "success", said.UCP.Status, "the checkout is there, to be agreed to anew")
	} else {
		require.Equal(c.t, http.StatusBadRequest, status)
	}
}

func (c *counter) completed(status int, body []byte) {
	c.t.Helper()
	require.Equal(c.t, http.StatusOK, status, string(body))
	require.Contains(c.t, string(body), `"completed"`)
}

// everywhere runs a test in every release, over every transport that it has.
func everywhere(t *testing.T, test func(t *testing.T, c *counter)) {
	m := newMall(t)
	for _, release := range wire.Releases() {
		for _, transport := range []negotiation.Transport{negotiation.REST, negotiation.MCP} {
			if release == wire.January11 && transport == negotiation.MCP {
				continue // The inner handler has REST alone.
			}
			t.Run(fmt.Sprintf("%s %s", release, transport), func(t *testing.T) { test(t, m.at(t, release, transport)) })
		}
	}
}

// Every answer about a checkout is signed, over what was sent, and a checkout is completed with a mandate for it.
func TestMandates(t *testing.T) {
	everywhere(t, func(t *testing.T, c *counter) {
		keys := func(context.Context, string) (negotiation.Key, error) { return c.business.Public() }
		signed := func(status int, body []byte) []byte {
			t.Helper()
			require.Less(t, status, 300, string(body))
			_, err := mandate.VerifyAuthorization(t.Context(), body, keys)
			require.NoError(t, err, string(body))
			require.Contains(t, string(body), mandate.Extension)
			return body
		}
		id, body := c.open(1)
		signed(200, body)
		body = signed(c.do(wire.UpdateCheckout, id, fmt.Sprintf(lamp, 2, "GR"), rand.Text()))
		token := c.sign(c.user, body)
		signed(c.do(wire.GetCheckout, id, "", ""))
		key := rand.Text()
		status, done := c.pay(id, token, key)
		c.completed(status, done)
		signed(status, done)
		paid := <-c.paid
		require.Contains(t, paid.Instrument.String(), token, "whoever takes the payment gets the mandate with it")
		_, again := c.pay(id, token, key)
		require.Equal(t, string(done), string(again), "the same request has the same answer")
		signed(c.do(wire.GetCheckout, id, "", ""))
		id, _ = c.open(1)
		signed(c.do(wire.CancelCheckout, id, "", rand.Text()))
		require.NotContains(t, c.log.String(), token)
		require.Empty(t, c.paid)
	})
}

// What is wrong with a mandate is said in the release's code; nothing is paid, and a good one is taken afterwards.
func TestMandatesThatAreRefused(t *testing.T) {
	stranger, err := signature.Generate("platform-1")
	require.NoError(t, err)
	unknown, err := signature.Generate("platform-9")
	require.NoError(t, err)
	everywhere(t, func(t *testing.T, c *counter) {
		id, body := c.open(1)
		_, other := c.open(1)
		good := c.sign(c.user, body)
		claims := func(change func(map[string]any)) string {
			content := map[string]any{"vct": mandate.Type, "checkout": json.RawMessage(body)}
			change(content)
			text, err := json.Marshal(content)
			require.NoError(t, err)
			token, err := c.user.Compact("dc+sd-jwt", text)
			require.NoError(t, err)
			return token
		}
		for name, test := range map[string]struct {
			token string
			code  mandate.Code
		}{
			"none":                         {"", mandate.Required},
			"nonsense":                     {"header.payload.signature~kb_signature", mandate.InvalidSignature},
			"by somebody else":             {c.sign(stranger, body), mandate.InvalidSignature},
			"with a key that is not there": {c.sign(unknown, body), mandate.MissingKey},
			"tampered":                     {strings.Replace(good, ".", ".A", 1), mandate.InvalidSignature},
			"for another checkout":         {c.sign(c.user, other), mandate.ScopeMismatch},
			"over":                         {claims(func(m map[string]any) { m["exp"] = time.Now().Add(-time.Hour).Unix() }), mandate.Expired},
			"of tomorrow":                  {claims(func(m map[string]any) { m["nbf"] = time.Now().Add(time.Hour).Unix() }), mandate.InvalidSignature},
			"for another shop":             {claims(func(m map[string]any) { m["aud"] = "https://other.example" }), mandate.ScopeMismatch},
			"without a checkout":           {claims(func(m map[string]any) { delete(m, "checkout") }), mandate.ScopeMismatch},
			"with another total": {claims(func(m map[string]any) {
				m["checkout"] = json.RawMessage(strings.Replace(string(body), `"amount":`, `"amount":1`, 1))
			}), mandate.AuthorizationInvalid},
			"of a checkout of the platform's": {claims(func(m map[string]any) {
				signed, err := mandate.Authorize(c.user, body)
				require.NoError(t, err)
				checkout, err := wire.Decode(body)
				require.NoError(t, err)
				checkout["ap2"] = map[string]any{"merchant_authorization": signed}
				m["checkout"] = checkout
			}), mandate.AuthorizationInvalid},
			"that is bound and not presented": {claims(func(m map[string]any) {
				key, err := c.user.Public()
				require.NoError(t, err)
				m["cnf"] = map[string]any{"jwk": key}
			}), mandate.InvalidSignature},
		} {
			status, said := c.pay(id, test.token, rand.Text())
			c.t.Log(name)
			c.refused(status, said, test.code)
			if test.token != "" {
				require.NotContains(t, string(said), test.token)
				require.NotContains(t, c.log.String(), test.token)
			}
		}
		// A mandate of the checkout as it was is none for what has become of it, even at the same price.
		status, changed := c.do(wire.UpdateCheckout, id, fmt.Sprintf(lamp, 1, "CY"), rand.Text())
		require.Equal(t, 200, status, string(changed))
		status, said := c.pay(id, good, rand.Text())
		c.refused(status, said, mandate.ScopeMismatch)
		require.Empty(t, c.paid, "nothing of all this was asked for money")
		status, said = c.pay(id, c.sign(c.user, changed), rand.Text())
		c.completed(status, said)
		<-c.paid
	})
}

// What was wrong with a mandate is the answer to that request for good, under its key, also when the same mandate would do by
// then; another request may have it.
func TestARefusedMandateStaysRefused(t *testing.T) {
	c := newMall(t).at(t, wire.January23, negotiation.REST)
	id, body := c.open(1)
	token, key := c.sign(c.user, body), rand.Text()
	status, _ := c.do(wire.UpdateCheckout, id, fmt.Sprintf(lamp, 2, "GR"), rand.Text())
	require.Equal(t, 200, status)
	status, refused := c.pay(id, token, key)
	require.Equal(t, 400, status, string(refused))
	require.Contains(t, string(refused), string(mandate.ScopeMismatch))
	status, _ = c.do(wire.UpdateCheckout, id, fmt.Sprintf(lamp, 1, "GR"), rand.Text())
	require.Equal(t, 200, status)
	again, same := c.pay(id, token, key)
	require.Equal(t, 400, again)
	require.Equal(t, string(refused), string(same))
	require.Empty(t, c.paid)
	c.completed(c.pay(id, token, rand.Text()))
}

// A platform without a key in its profile cannot have its mandates verified.
func TestMandatesOfAPlatformWithoutAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, c *counter) {
		c.profile = c.platform.URL + "/keyless/" + string(c.release)
		id, body := c.open(1)
		status, said := c.pay(id, c.sign(c.user, body), rand.Text())
		c.refused(status, said, mandate.MissingKey)
	})
}

// A user signs with the key of a credential from a bank that the shop trusts; the key binding is for the shop alone, and
// there are no two presentations alike.
func TestMandatesOfAUser(t *testing.T) {
	bank, err := signature.Generate("bank-1")
	require.NoError(t, err)
	holder, err := signature.Generate("holder")
	require.NoError(t, err)
	const issuer = "https://bank.example"
	m := newMall(t, func(m *ucp.Mandates) {
		m.Issuer = func(_ context.Context, who, id string) (negotiation.Key, bool, error) {
			if who != issuer || id != bank.ID() {
				return negotiation.Key{}, false, nil
			}
			key, err := bank.Public()
			return key, true, err
		}
	})
	public, err := holder.Public()
	require.NoError(t, err)
	credential, err := json.Marshal(map[string]any{"iss": issuer, "vct": "com.emvco.dpc", "cnf": map[string]any{"jwk": public}})
	require.NoError(t, err)
	issued, err := bank.Compact("dc+sd-jwt", credential)
	require.NoError(t, err)
	for _, transport := range []negotiation.Transport{negotiation.REST, negotiation.MCP} {
		for _, release := range []wire.Release{wire.January23, wire.April2026} {
			c := m.at(t, release, transport)
			id, body := c.open(1)
			present := func(audience string, by *signature.Signer) string {
				sum := sha256.Sum256([]byte(issued + "~"))
				said, err := json.Marshal(map[string]any{
					"aud": audience, "nonce": rand.Text(), "iat": time.Now().Unix(), "checkout": json.RawMessage(body),
					"sd_hash": base64.RawURLEncoding.EncodeToString(sum[:]),
				})
				require.NoError(t, err)
				binding, err := by.Compact("kb+jwt", said)
				require.NoError(t, err)
				return issued + "~" + binding
			}
			for token, code := range map[string]mandate.Code{
				present("https://other.example", holder): mandate.ScopeMismatch,
				present(c.shop.URL, m.user):              mandate.InvalidSignature,
				issued + "~":                             mandate.InvalidSignature,
			} {
				status, said := c.pay(id, token, rand.Text())
				c.refused(status, said, code)
			}
			status, said := c.pay(id, present(c.base(), holder), rand.Text())
			c.completed(status, said)
			<-c.paid
		}
	}
}

// Once a checkout is under mandates it stays so, whatever becomes of the profile and whoever asks; and one that never was
// is bought without.
func TestMandatesCannotBeLeftOutLater(t *testing.T) {
	m := newMall(t)
	for _, release := range wire.Releases() {
		t.Run(string(release), func(t *testing.T) {
			c := m.at(t, release, negotiation.REST)
			id, body := c.open(1)
			good := c.sign(c.user, body)
			c.profile = c.platform.URL + "/plain/" + string(release)
			status, said := c.pay(id, "", rand.Text())
			c.refused(status, said, mandate.Required)
			if release == wire.January11 {
				c.profile = ""
				status, said = c.pay(id, "", rand.Text())
				c.refused(status, said, mandate.Required)
			}
			_, said = c.do(wire.GetCheckout, id, "", "")
			require.Contains(t, string(said), `"merchant_authorization"`)
			status, said = c.pay(id, good, rand.Text())
			c.completed(status, said) // What is active now is said in the checkout, but it is not among what is agreed to.
			<-c.paid

			c.profile = c.platform.URL + "/plain/" + string(release)
			id, body = c.open(1)
			require.NotContains(t, string(body), "ap2")
			status, said = c.pay(id, "", rand.Text())
			c.completed(status, said)
			require.NotContains(t, (<-c.paid).Instrument.String(), "ap2")
			// What nobody has verified does not get to whoever takes the payment.
			id, _ = c.open(1)
			status, said = c.pay(id, "header.payload.signature~kb_signature", rand.Text())
			c.completed(status, said)
			require.NotContains(t, (<-c.paid).Instrument.String(), "ap2")
		})
	}
}

// Of many who complete with one mandate, and change the checkout meanwhile, one order comes, for what was agreed to.
func TestMandatesAtOnce(t *testing.T) {
	c := newMall(t).at(t, wire.April2026, negotiation.REST)
	id, body := c.open(1)
	token := c.sign(c.user, body)
	orders := make(chan bool, 8)
	var all sync.WaitGroup
	for i := range cap(orders) {
		all.Go(func() {
			if i%4 == 3 {
				c.do(wire.UpdateCheckout, id, fmt.Sprintf(lamp, 2, "GR"), rand.Text())
				return
			}
			_, said := c.pay(id, token, rand.Text())
			// Whoever comes second is shown what the checkout has become, with an error.
			orders <- strings.Contains(string(said), `"completed"`) && !strings.Contains(string(said), `"error"`)
		})
	}
	all.Wait()
	close(orders)
	placed := 0
	for completed := range orders {
		if completed {
			placed++
		}
	}
	_, now := c.do(wire.GetCheckout, id, "", "")
	require.LessOrEqual(t, placed, 1)
	require.Equal(t, placed == 1, strings.Contains(string(now), `"completed"`), string(now))
	require.Len(t, c.paid, placed)
}

// What is said and asked under mandates is what the schemas of the release ask for.
func TestMandatesFitTheSchemas(t *testing.T) {
	corpus := schematest.Corpus(t, 3)
	m := newMall(t)
	for release, definitions := range map[wire.Release][2]string{
		wire.January11: {"checkout_response_with_ap2", "complete_request_with_ap2"},
		wire.January23: {"checkout", "ap2_with_checkout_mandate"},
		wire.April2026: {"dev.ucp.shopping.checkout", "ap2_with_checkout_mandate"},
	} {
		t.Run(string(release), func(t *testing.T) {
			c := m.at(t, release, negotiation.REST)
			id, body := c.open(1)
			responses := schematest.Load(t, corpus, string(release), schematest.Response)
			response, err := c.shop.Client().Get(c.base() + "/.well-known/ucp")
			require.NoError(t, err)
			profile, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Contains(t, string(profile), mandate.Extension)
			reference := "discovery/profile_schema.json"
			if release != wire.January11 {
				reference += "#/$defs/business_profile"
			}
			responses.Check(t, reference, profile)
			responses.Check(t, "schemas/shopping/ap2_mandate.json#/$defs/"+definitions[0], body)
			token := c.sign(c.user, body)
			ap2, err := json.Marshal(map[string]string{"checkout_mandate": token})
			require.NoError(t, err)
			if release == wire.January11 {
				ap2 = []byte(fmt.Sprintf(`{"ap2":%s}`, ap2))
			}
			requests := schematest.Load(t, corpus, string(release), "complete")
			requests.Check(t, "schemas/shopping/ap2_mandate.json#/$defs/"+definitions[1], ap2)
			status, done := c.pay(id, token, rand.Text())
			c.completed(status, done)
			responses.Check(t, "schemas/shopping/ap2_mandate.json#/$defs/"+definitions[0], done)
			<-c.paid
			id, _ = c.open(1)
			_, said := c.pay(id, "", rand.Text())
			var no struct {
				Messages []json.RawMessage `json:"messages"`
			}
			require.NoError(t, json.Unmarshal(said, &no))
			responses.Check(t, "schemas/shopping/types/message.json", no.Messages[0])
			code, err := json.Marshal(mandate.Required)
			require.NoError(t, err)
			responses.Check(t, "schemas/shopping/ap2_mandate.json#/$defs/error_code", code)
		})
	}
}

// A mandate for a checkout that was signed before the business changed its key is as good as before, as long as the key is
// published.
func TestMandatesAfterTheKeyWasChanged(t *testing.T) {
	var mandates *ucp.Mandates
	c := newMall(t, func(m *ucp.Mandates) { mandates = m }).at(t, wire.April2026, negotiation.REST)
	id, body := c.open(1)
	token := c.sign(c.user, body)
	before, err := c.business.Public()
	require.NoError(t, err)
	mandates.Signer, err = signature.Generate("shop-2")
	require.NoError(t, err)
	status, said := c.pay(id, token, rand.Text())
	c.refused(status, said, mandate.AuthorizationInvalid)
	mandates.Keys = []negotiation.Key{before}
	status, said = c.pay(id, token, rand.Text())
	c.completed(status, said)
}

// What cannot be signed is refused when it is asked for, and not when it is to be shown.
func TestWhatCannotBeSigned(t *testing.T) {
	m := newMall(t)
	for _, release := range wire.Releases() {
		c := m.at(t, release, negotiation.REST)
		for _, extra := range []string{`1e999`, `{"a":[-1e999]}`} {
			body := strings.Replace(fmt.Sprintf(lamp, 1, "GR"), "{", `{"buyer":{"ap2":`+extra+`},`, 1)
			status, said := c.do(wire.CreateCheckout, "", body, rand.Text())
			require.Less(t, status, 500, string(said))
			require.Contains(t, strings.ToLower(string(said)), "invalid_request")
		}
	}
}
