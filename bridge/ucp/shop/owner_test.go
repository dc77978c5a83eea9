package shop_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// asker asks a shop in a release, over a transport, as a platform: signed by signer, if there is one.
type asker struct {
	t       *testing.T
	server  *httptest.Server
	agents  *agency
	signer  *signature.Signer
	release wire.Release
	overMCP bool
	headers []string
}

// asks makes a request for an operation and gives the answer of the operation, with the status of the transport.
func (a *asker) asks(operation wire.Operation, id, body string, key string) spoken {
	a.t.Helper()
	method, path := operation.REST(id)
	if a.release != wire.January11 {
		path = "/ucp/" + string(a.release) + path
	}
	if a.overMCP {
		arguments := fmt.Sprintf(`"meta":{"ucp-agent":{"profile":%q},"idempotency-key":%q}`, a.agents.URL+"/"+string(a.release), key)
		if id != "" {
			arguments += fmt.Sprintf(`,"id":%q`, id)
		}
		if body != "" {
			arguments += `,"checkout":` + body
		}
		method, path = http.MethodPost, "/ucp/"+string(a.release)+"/mcp"
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%s}}}`, operation, arguments)
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(body))
	require.NoError(a.t, err)
	r.Header.Set("UCP-Agent", `profile="`+a.agents.URL+"/"+string(a.release)+`"`)
	r.Header.Set("Request-Signature", "test")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" && !strings.ContainsAny(key, "\r\n\t") { // What no header can have an argument can.
		r.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i+1 < len(a.headers); i += 2 {
		r.Header.Set(a.headers[i], a.headers[i+1])
	}
	switch {
	case a.signer == nil:
	case a.release == wire.April2026:
		require.NoError(a.t, a.signer.SignRequest(r, []byte(body)))
	default:
		text, err := a.signer.Detached([]byte(body))
		require.NoError(a.t, err)
		r.Header.Set("Request-Signature", text)
	}
	f := &front{a.server, a.t, a.agents}
	said := f.do(r)
	if result, ok := said.body["result"].(map[string]any); ok {
		said.body, _ = result["structuredContent"].(map[string]any)
	}
	return said
}

// none tells whether an answer says that there is no such thing, in the words of its release and transport.
func none(said spoken) bool {
	return said.status == http.StatusNotFound || said.status < 300 && said.id() == "" && strings.Contains(said.raw, "not_found")
}

// payFor is a payment in the form of a release.
func payFor(release wire.Release) string {
	if release == wire.January11 {
		return paying("success_token")
	}
	return payment
}

// TestWhoOwnsACheckout: what a platform has created by a signed request is there for nobody else, over any transport, at any
// process of the shop, and after that was restarted.
func TestWhoOwnsACheckout(t *testing.T) {
	to := newTown(t)
	first, second := to.open(t), to.open(t)
	ours, theirs := newAgency(t), newAgency(t)
	releases := func(b *branch) *httptest.Server {
		keys := keyvalue.NewMemory(ucp.KeysRemembered)
		return allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Store = keys })
	}
	here, there := releases(first), releases(second)
	for _, test := range []struct {
		release wire.Release
		overMCP bool
	}{{wire.January11, false}, {wire.January23, false}, {wire.January23, true}, {wire.April2026, false}, {wire.April2026, true}} {
		t.Run(fmt.Sprintf("%s mcp %t", test.release, test.overMCP), func(t *testing.T) {
			as := func(server *httptest.Server, agents *agency, signer *signature.Signer, headers ...string) *asker {
				return &asker{t: t, server: server, agents: agents, signer: signer, release: test.release, overMCP: test.overMCP, headers: headers}
			}
			owner, elsewhere := as(here, ours, ours.signer), as(there, ours, ours.signer)
			strangers := map[string]*asker{
				"another platform":                 as(here, theirs, theirs.signer),
				"another platform, another branch": as(there, theirs, theirs.signer),
				"somebody who says it is them":     as(here, ours, nil),
				"somebody who says it was checked": as(here, ours, nil, "Strabo-Verified-Platform", ours.URL+"/"+string(test.release)),
				"nobody":                           as(there, theirs, nil),
			}
			create := ready
			if test.release == wire.January11 {
				create = wants("oil-lamp", 1)
			}
			key := rand.Text()
			created := owner.asks(wire.CreateCheckout, "", create, key)
			require.NotEmpty(t, created.id(), created.raw)
			require.Equal(t, created.id(), owner.asks(wire.CreateCheckout, "", create, key).id(), "the same again")
			other := strangers["another platform"].asks(wire.CreateCheckout, "", create, key)
			require.NotEmpty(t, other.id(), "its own key, though it is the same: %s", other.raw)
			require.NotEqual(t, created.id(), other.id())
			update := create
			if test.release != wire.April2026 {
				update = strings.Replace(create, "{", fmt.Sprintf(`{"id":%q,`, created.id()), 1)
			}
			for name, stranger := range strangers {
				require.True(t, none(stranger.asks(wire.GetCheckout, created.id(), "", "")), name)
				require.True(t, none(stranger.asks(wire.UpdateCheckout, created.id(), update, rand.Text())), name)
				require.True(t, none(stranger.asks(wire.CompleteCheckout, created.id(), payFor(test.release), rand.Text())), name)
				require.True(t, none(stranger.asks(wire.CancelCheckout, created.id(), "", rand.Text())), name)
			}
			require.Equal(t, created.id(), elsewhere.asks(wire.GetCheckout, created.id(), "", "").id())
			changed := elsewhere.asks(wire.UpdateCheckout, created.id(), update, rand.Text())
			require.Equal(t, created.id(), changed.id(), changed.raw)
			done := elsewhere.asks(wire.CompleteCheckout, created.id(), payFor(test.release), rand.Text())
			require.Equal(t, "completed", done.body["status"], done.raw)
			order, _ := done.body["order"].(map[string]any)
			id, _ := order["id"].(string)
			for name, stranger := range strangers {
				require.True(t, none(stranger.asks(wire.GetOrder, id, "", "")), name)
			}
			require.Equal(t, id, owner.asks(wire.GetOrder, id, "", "").id())
			put := (&front{here, t, theirs}).say("PUT", "/orders/"+id, `{"adjustments":[]}`, "UCP-Agent", "")
			require.Equal(t, http.StatusNotFound, put.status, "not for tests either: %s", put.raw)

			// What nobody has signed for belongs to whoever knows its id.
			open := strangers["nobody"].asks(wire.CreateCheckout, "", create, rand.Text())
			require.Equal(t, open.id(), owner.asks(wire.GetCheckout, open.id(), "", "").id(), open.raw)
			require.Equal(t, open.id(), strangers["somebody who says it is them"].asks(wire.GetCheckout, open.id(), "", "").id())
		})
	}
	owned := &asker{t: t, server: here, agents: ours, signer: ours.signer, release: wire.April2026}
	id := owned.asks(wire.CreateCheckout, "", ready, rand.Text()).id()
	first.close()
	second.close()
	again := releases(to.open(t))
	owned.server = again
	require.Equal(t, id, owned.asks(wire.GetCheckout, id, "", "").id())
	owned.signer = nil
	require.True(t, none(owned.asks(wire.GetCheckout, id, "", "")), "after a restart")
}

// TestSignedRequestsOfEveryRelease: what is signed wrongly is refused, and where signatures are demanded so is what is not.
func TestSignedRequestsOfEveryRelease(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	rogue := generate(t, "agency-1")
	for _, demanded := range []bool{false, true} {
		server := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Signed, o.Logger = demanded, slog.New(slog.DiscardHandler) })
		for _, release := range wire.Releases() {
			t.Run(fmt.Sprintf("%s demanded %t", release, demanded), func(t *testing.T) {
				a := &asker{t: t, server: server, agents: agents, release: release}
				create := oneLamp
				if release == wire.January11 {
					create = wants("oil-lamp", 1)
				}
				status := func(signer *signature.Signer) int {
					a.signer = signer
					said := a.asks(wire.CreateCheckout, "", create, rand.Text())
					if said.status >= 400 {
						require.Contains(t, strings.ToLower(said.raw), "signature_", said.raw)
					}
					return said.status
				}
				require.Equal(t, 201, status(agents.signer))
				require.Equal(t, 401, status(rogue))
				if demanded {
					require.Equal(t, 401, status(nil))
				} else {
					require.Equal(t, 201, status(nil))
				}
				public := (&front{server, t, agents}).say("GET", "/.well-known/ucp", "", "UCP-Agent", "")
				require.Equal(t, 200, public.status, "who the shop is may be asked by everybody")
			})
		}
	}
}

// TestSignedAnswers: what is answered in 2026-04-08 is signed, over REST and MCP, and also if it is no.
func TestSignedAnswers(t *testing.T) {
	signer := generate(t, "shop-1")
	b, agents := newTown(t).open(t), newAgency(t)
	server := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Signer = signer })
	keys := func(context.Context, string) (negotiation.Key, error) { return signer.Public() }
	for _, overMCP := range []bool{false, true} {
		a := &asker{t: t, server: server, agents: agents, release: wire.April2026, overMCP: overMCP}
		for _, body := range []string{ready, `{"line_items":[{"item":{"id":"wumpus"},"quantity":1}]}`, `{"line_items":7}`} {
			said := a.asks(wire.CreateCheckout, "", body, rand.Text())
			v, err := signature.VerifyResponse(t.Context(), said.status, said.header, []byte(said.raw), keys)
			require.NoError(t, err, said.raw)
			require.Equal(t, "shop-1", v.Key)
			_, err = signature.VerifyResponse(t.Context(), said.status+1, said.header, []byte(said.raw), keys)
			require.Error(t, err, "another status")
			_, err = signature.VerifyResponse(t.Context(), said.status, said.header, []byte(said.raw+" "), keys)
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.DigestMismatch})
		}
	}
	head := (&front{server, t, agents}).say("HEAD", aprilPath+"/checkout-sessions/none", "")
	_, err := signature.VerifyResponse(t.Context(), head.status, head.header, nil, keys)
	require.NoError(t, err)
	older := &asker{t: t, server: server, agents: agents, release: wire.January23}
	require.Empty(t, older.asks(wire.CreateCheckout, "", ready, rand.Text()).header.Get("Signature"))
}

// unreachableStore is a store that cannot be reached.
type unreachableStore struct{ keyvalue.Store }

func (unreachableStore) Get(context.Context, string) (keyvalue.Entry, error) {
	return keyvalue.Entry{}, fmt.Errorf("store: %w", keyvalue.ErrUnavailable)
}

// TestAKeyThatCannotBeKept: nothing is done under a key that nobody would know again.
func TestAKeyThatCannotBeKept(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	server := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Store, o.Logger = unreachableStore{}, slog.New(slog.DiscardHandler) })
	a := &asker{t: t, server: server, agents: agents, release: wire.April2026}
	said := a.asks(wire.CreateCheckout, "", ready, rand.Text())
	require.Equal(t, 503, said.status, said.raw)
	require.Equal(t, "1", said.header.Get("Retry-After"))
}

// TestAKeyIsNoOtherPlatforms: whoever is nobody cannot name the key of a platform, by whatever is written into a key, and so
// be told what that was answered.
func TestAKeyIsNoOtherPlatforms(t *testing.T) {
	to := newTown(t)
	ours := newAgency(t)
	keys := keyvalue.NewMemory(ucp.KeysRemembered)
	server := allReleases(t, to.open(t), func(o *ucp.ReleasesOptions) { o.Store = keys })
	for _, release := range []wire.Release{wire.January23, wire.April2026} {
		owner := &asker{t: t, server: server, agents: ours, signer: ours.signer, release: release}
		nobody := &asker{t: t, server: server, agents: ours, release: release, overMCP: true}
		key := rand.Text()
		created := owner.asks(wire.CreateCheckout, "", ready, key)
		require.NotEmpty(t, created.id(), created.raw)
		ended := owner.asks(wire.CancelCheckout, created.id(), "", key+"c")
		require.Equal(t, "canceled", ended.body["status"], ended.raw)
		for _, between := range []string{"\n", "\r\n", " ", "\t"} {
			guess := ours.URL + "/" + string(release) + between
			for _, said := range []spoken{
				nobody.asks(wire.CreateCheckout, "", ready, guess+key),
				nobody.asks(wire.CancelCheckout, created.id(), "", guess+key+"c"),
			} {
				require.NotEqual(t, created.id(), said.id(), said.raw)
				require.NotContains(t, said.raw, created.id()+`"`, "%q", between)
			}
		}
	}
}
