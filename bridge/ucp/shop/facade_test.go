package shop_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// spoken is what a request over a release came to.
type spoken struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// front is a shop in all releases, and platforms to ask it.
type front struct {
	*httptest.Server
	t      testing.TB
	agents *agency
}

// say makes a request; headers are names and values in turn, and an empty value takes a header away.
func (f *front) say(method, path, body string, headers ...string) spoken {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.URL+path, strings.NewReader(body))
	require.NoError(f.t, err)
	r.Header.Set("UCP-Agent", `profile="`+f.agents.URL+`/2026-04-08"`)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	return f.do(r)
}

func (f *front) do(r *http.Request) spoken {
	f.t.Helper()
	response, err := f.Client().Do(r)
	require.NoError(f.t, err)
	raw, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	require.NoError(f.t, response.Body.Close())
	out := spoken{status: response.StatusCode, header: response.Header, raw: string(raw)}
	if len(raw) > 0 && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		require.NoError(f.t, json.Unmarshal(raw, &out.body), out.raw)
	}
	return out
}

func (s spoken) id() string { id, _ := s.body["id"].(string); return id }

const (
	aprilPath = "/ucp/2026-04-08"
	oneLamp   = `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]}`
	ready     = `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"buyer":{"email":"ada@example.com"},"discounts":{"codes":["KEEPER10"]},` +
		`"fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d","address_country":"GR"}],"selected_destination_id":"d","groups":[{"selected_option_id":"post"}]}]}}`
	payment = `{"payment":{"instruments":[{"id":"i","handler_id":"mock_payment_handler","type":"card","selected":true,"credential":{"type":"token","token":"success_token"}}]}}`
)

func openFront(t *testing.T, change func(*ucp.ReleasesOptions)) (*front, *branch) {
	t.Helper()
	b, agents := newTown(t).open(t), newAgency(t)
	return &front{allReleases(t, b, func(o *ucp.ReleasesOptions) {
		o.Store = keyvalue.NewMemory(ucp.KeysRemembered)
		if change != nil {
			change(o)
		}
	}), t, agents}, b
}

// Attacks on the front of the shop, each of which something came of before, or could have.
func TestTheFrontHolds(t *testing.T) {
	f, b := openFront(t, nil)
	april := f.agents.URL + "/2026-04-08"

	t.Run("a platform that says its version behind the profile", func(t *testing.T) {
		got := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "UCP-Agent", `profile="`+april+`";version="2026-04-08"`)
		require.Equal(t, 201, got.status, got.raw)
	})
	t.Run("two profiles", func(t *testing.T) {
		// A dictionary has the last of two members; a reader that takes the first would tell another platform.
		got := f.say("POST", aprilPath+"/checkout-sessions", ready, "UCP-Agent", `profile="https://victim.example/p", profile="`+april+`"`)
		require.Equal(t, 201, got.status, got.raw)
		require.Equal(t, 200, f.say("POST", aprilPath+"/checkout-sessions/"+got.id()+"/complete", payment).status)
		for entry, err := range b.store.List(t.Context(), "") {
			require.NoError(t, err)
			require.NotContains(t, string(entry.Value), "victim", entry.Name)
		}
	})
	t.Run("a quotation mark in the profile", func(t *testing.T) {
		got := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "UCP-Agent", `profile="`+april+`?\"x"`)
		require.Equal(t, 400, got.status, got.raw)
		require.Equal(t, "invalid_profile_url", got.body["code"])
	})
	t.Run("HEAD, ETag, If-Match, If-None-Match", func(t *testing.T) {
		created := f.say("POST", aprilPath+"/checkout-sessions", oneLamp)
		at := aprilPath + "/checkout-sessions/" + created.id()
		head := f.say("HEAD", at, "")
		require.Equal(t, 200, head.status)
		require.Empty(t, head.raw)
		require.Equal(t, created.header.Get("ETag"), head.header.Get("ETag"))
		require.NotEmpty(t, head.header.Get("ETag"))
		require.Equal(t, 400, f.say("HEAD", at, "", "UCP-Agent", "").status, "HEAD is negotiated as GET is")
		same := f.say("GET", at, "", "If-None-Match", created.header.Get("ETag"))
		require.Equal(t, 304, same.status)
		require.Empty(t, same.raw)
		require.Equal(t, created.header.Get("ETag"), same.header.Get("ETag"))
		changed := f.say("PUT", at, ready, "If-Match", created.header.Get("ETag"))
		require.Equal(t, 200, changed.status, changed.raw)
		late := f.say("PUT", at, oneLamp, "If-Match", created.header.Get("ETag"))
		require.Equal(t, 412, late.status, late.raw)
		require.Equal(t, "precondition_failed", late.body["code"])
		require.Equal(t, 412, f.say("POST", at+"/complete", payment, "If-Match", created.header.Get("ETag")).status)
	})
	t.Run("an update replaces", func(t *testing.T) {
		created := f.say("POST", aprilPath+"/checkout-sessions", ready)
		at := aprilPath + "/checkout-sessions/" + created.id()
		require.Contains(t, created.raw, `"applied"`)
		bare := f.say("PUT", at, oneLamp)
		require.Equal(t, 200, bare.status, bare.raw)
		require.NotContains(t, bare.raw, "KEEPER10", "what is left out is cleared")
		require.NotContains(t, bare.raw, "ada@example.com")
		require.Equal(t, "incomplete", bare.body["status"])
	})
	t.Run("what is not there", func(t *testing.T) {
		for _, path := range []string{"", "/", "/orders", "/a/checkout-sessions", "/checkout-sessions/", "/testing/simulate-shipping/x", "/documents/x"} {
			require.Equal(t, 404, f.say("POST", aprilPath+path, "").status, path)
		}
		got := f.say("PUT", aprilPath+"/orders/x", "{}")
		require.Equal(t, 405, got.status, "the suite's way to change orders is in no release")
		require.Equal(t, "GET, HEAD", got.header.Get("Allow"))
		got = f.say("DELETE", aprilPath+"/checkout-sessions/x", "")
		require.Equal(t, 405, got.status)
		require.Equal(t, "GET, HEAD, PUT", got.header.Get("Allow"))
		for _, id := range []string{"..%2f..%2forders", "%00", "a%2Fb", "%C3%A4", strings.Repeat("x", 4000)} {
			got := f.say("GET", aprilPath+"/checkout-sessions/"+id, "")
			require.Equal(t, 200, got.status, id)
			require.Contains(t, got.raw, `"status":"error"`)
		}
	})
	t.Run("bodies", func(t *testing.T) {
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		_, err := writer.Write([]byte(oneLamp))
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		require.Equal(t, 415, f.say("POST", aprilPath+"/checkout-sessions", zipped.String(), "Content-Encoding", "gzip").status)
		require.Equal(t, 415, f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "Content-Type", "text/plain").status)
		got := f.say("POST", aprilPath+"/checkout-sessions", `{"line_items":"`+strings.Repeat("x", 2<<20)+`"}`)
		require.Equal(t, 413, got.status)
		for _, body := range []string{`[]`, `null`, `"x"`, `{"line_items":[]}{}`, strings.Repeat("[", 100000)} {
			require.Equal(t, 400, f.say("POST", aprilPath+"/checkout-sessions", body).status, body[:2])
		}
		impatient := allReleases(t, b, func(o *ucp.ReleasesOptions) { o.BodyTimeout = 100 * time.Millisecond })
		for _, path := range []string{"/checkout-sessions", "/mcp"} {
			connection, err := net.Dial("tcp", strings.TrimPrefix(impatient.URL, "http://"))
			require.NoError(t, err)
			_, err = io.WriteString(connection, "POST "+aprilPath+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
			require.NoError(t, err)
			said, err := io.ReadAll(connection)
			require.NoError(t, err)
			require.Contains(t, string(said), "408 Request Timeout")
			require.NoError(t, connection.Close())
		}
	})
	t.Run("one key in two releases", func(t *testing.T) {
		key := rand.Text()
		first := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "Idempotency-Key", key)
		require.Equal(t, 201, first.status)
		again := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "Idempotency-Key", key)
		require.Equal(t, first.raw, again.raw)
		other := f.say("POST", "/ucp/2026-01-23/checkout-sessions", oneLamp, "Idempotency-Key", key, "UCP-Agent", `profile="`+f.agents.URL+`/2026-01-23"`)
		require.Equal(t, 409, other.status, other.raw)
		require.Contains(t, other.raw, "IDEMPOTENCY_CONFLICT")
		stranger := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "Idempotency-Key", key, "UCP-Agent", `profile="`+f.agents.URL+`/plain/2026-04-08"`)
		require.Equal(t, 409, stranger.status, "another platform is not shown what was answered to this one")
		require.Equal(t, "idempotency_conflict", stranger.body["code"])
		bare := f.say("POST", "/checkout-sessions", `{"currency":"EUR","payment":{},"line_items":[{"item":{"id":"oil-lamp"},"quantity":2}]}`, "Idempotency-Key", key)
		require.Equal(t, 409, bare.status, bare.raw)
	})
}

// A request that is repeated gets the same bytes, though the platform's profile has become another, or none.
func TestReplayAfterTheProfileHasChanged(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	var state atomic.Value
	state.Store("/2026-04-08")
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := http.Get(agents.URL + state.Load().(string))
		if err == nil {
			defer response.Body.Close()
			w.WriteHeader(response.StatusCode)
			_, err = io.Copy(w, response.Body)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer platform.Close()
	store := keyvalue.NewMemory(ucp.KeysRemembered)
	open := func() *front { // Each with profiles of its own, as after a restart.
		return &front{allReleases(t, b, func(o *ucp.ReleasesOptions) { o.Store = store }), t, agents}
	}
	agent := `profile="` + platform.URL + `"`
	key, paid := rand.Text(), rand.Text()
	f := open()
	created := f.say("POST", aprilPath+"/checkout-sessions", ready, "UCP-Agent", agent, "Idempotency-Key", key)
	require.Equal(t, 201, created.status, created.raw)
	require.Contains(t, created.raw, "KEEPER10")
	complete := aprilPath + "/checkout-sessions/" + created.id() + "/complete"
	done := f.say("POST", complete, payment, "UCP-Agent", agent, "Idempotency-Key", paid)
	require.Equal(t, 200, done.status, done.raw)
	for _, next := range []string{"/plain/2026-04-08", "/nothing", "/none"} {
		state.Store(next)
		f = open()
		again := f.say("POST", aprilPath+"/checkout-sessions", ready, "UCP-Agent", agent, "Idempotency-Key", key)
		require.Equal(t, created.status, again.status, again.raw)
		require.Equal(t, created.raw, again.raw, next)
		again = f.say("POST", complete, payment, "UCP-Agent", agent, "Idempotency-Key", paid)
		require.Equal(t, done.raw, again.raw, next)
	}
}

func rpc(tool, meta, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"meta":` + meta + arguments + `}}}`
}

// Over MCP the same is asked for, and refused in JSON-RPC.
func TestTheFrontHoldsOverMCP(t *testing.T) {
	f, _ := openFront(t, func(o *ucp.ReleasesOptions) { o.Signed = true })
	meta := func(path string) string { return `{"ucp-agent":{"profile":"` + f.agents.URL + path + `"}}` }
	headers := []string{"Accept", "application/json, text/event-stream"}
	call := func(body string, signer *signature.Signer, more ...string) spoken {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, f.URL+aprilPath+"/mcp", nil)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("UCP-Agent", `profile="`+f.agents.URL+`/2026-04-08"`)
		for i := 0; i < len(more); i += 2 {
			r.Header.Set(more[i], more[i+1])
		}
		all := append([]string{"Idempotency-Key", r.Header.Get("Idempotency-Key")}, headers...)
		if signer != nil {
			require.NoError(t, signer.SignRequest(r, []byte(body)))
		}
		for name := range r.Header {
			all = append(all, name, r.Header.Get(name))
		}
		return f.say("POST", aprilPath+"/mcp", body, all...)
	}
	create := rpc("create_checkout", meta("/2026-04-08"), `,"checkout":`+oneLamp)
	got := call(create, f.agents.signer)
	require.Equal(t, 200, got.status, got.raw)
	require.Contains(t, got.raw, "structuredContent")
	require.NotContains(t, got.raw, `http:///`, "what is answered knows where it was asked")

	for _, test := range []struct {
		name   string
		got    spoken
		status int
		code   float64
		want   string
	}{
		{"unsigned", call(create, nil), 401, -32000, "signature_missing"},
		{"signed by one, for another", call(rpc("create_checkout", meta("/plain/2026-04-08"), `,"checkout":`+oneLamp), f.agents.signer), 400, -32602, "invalid_request"},
		{"signed with one key, repeated with another", call(
			rpc("cancel_checkout", `{"ucp-agent":{"profile":"`+f.agents.URL+`/2026-04-08"},"idempotency-key":"b"}`, `,"id":"x"`),
			f.agents.signer, "Idempotency-Key", "a"), 400, -32602, "invalid_request"},
		{"no profile", call(strings.Replace(create, f.agents.URL, "x:", 1), nil, "UCP-Agent", ""), 400, -32001, "invalid_profile_url"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.status, test.got.status, test.got.raw)
			failed, _ := test.got.body["error"].(map[string]any)
			require.NotNil(t, failed, test.got.raw)
			require.EqualValues(t, test.code, failed["code"], test.got.raw)
			require.Contains(t, test.got.raw, test.want)
			require.EqualValues(t, 7, test.got.body["id"])
		})
	}
}

// Each of UCP's codes on the wire, over REST and over MCP, with the status and the JSON-RPC code of the specification
// (UCP 2026-04-08, overview, error codes).
func TestEveryCodeOnTheWire(t *testing.T) {
	f, _ := openFront(t, nil)
	for _, test := range []struct {
		name, profile string
		status        int
		rpc           float64
		code          string
	}{
		{"no URL", "file:///etc/passwd", 400, -32001, "invalid_profile_url"},
		{"nobody there", "https://127.0.0.1:1/p", 424, -32001, "profile_unreachable"},
		{"garbage", f.agents.URL + "/garbage", 422, -32001, "profile_malformed"},
		{"an old release", f.agents.URL + "/old", 422, -32001, "version_unsupported"},
		{"nothing in common", f.agents.URL + "/nothing", 200, 0, "capabilities_incompatible"},
		{"no checkouts in common", f.agents.URL + "/orders", 200, 0, "capabilities_incompatible"},
		{"capabilities that others define", f.agents.URL + "/foreign", 200, 0, "capabilities_incompatible"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := f.say("POST", aprilPath+"/checkout-sessions", oneLamp, "UCP-Agent", `profile="`+test.profile+`"`)
			require.Equal(t, test.status, got.status, got.raw)
			require.Contains(t, got.raw, `"`+test.code+`"`)
			require.Contains(t, got.raw, `"continue_url":"https://lamps.example/"`)
			over := f.say("POST", aprilPath+"/mcp", rpc("create_checkout", `{"ucp-agent":{"profile":"`+test.profile+`"}}`, `,"checkout":`+oneLamp),
				"UCP-Agent", "", "Accept", "application/json, text/event-stream")
			require.Equal(t, test.status, over.status, over.raw)
			require.Contains(t, over.raw, test.code)
			require.Contains(t, over.raw, "https://lamps.example/")
			failed, _ := over.body["error"].(map[string]any)
			if test.rpc == 0 {
				require.Nil(t, failed, over.raw)
				require.Contains(t, over.raw, "structuredContent")
				return
			}
			require.EqualValues(t, test.rpc, failed["code"], over.raw)
		})
	}
	batch := f.say("POST", aprilPath+"/mcp", `[`+rpc("get_checkout", `{"ucp-agent":{"profile":"`+f.agents.URL+`/2026-04-08"}}`, `,"id":"x"`)+`]`,
		"Accept", "application/json, text/event-stream", "UCP-Agent", "")
	require.Equal(t, 400, batch.status, batch.raw)
	require.Contains(t, batch.raw, "-32600")
}

// What is signed is signed for the place that the public knows, whatever a proxy calls it.
func TestSignedBehindAProxy(t *testing.T) {
	f, _ := openFront(t, func(o *ucp.ReleasesOptions) {
		o.Signed, o.PublicURL = true, "https://shop.example/lamps/"
	})
	ask := func(url string) spoken {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, url, nil)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", rand.Text())
		r.Header.Set("UCP-Agent", `profile="`+f.agents.URL+`/2026-04-08"`)
		require.NoError(t, f.agents.signer.SignRequest(r, []byte(oneLamp)))
		headers := []string{}
		for name := range r.Header {
			headers = append(headers, name, r.Header.Get(name))
		}
		return f.say("POST", aprilPath+"/checkout-sessions", oneLamp, headers...)
	}
	require.Equal(t, 201, ask("https://shop.example/lamps"+aprilPath+"/checkout-sessions").status)
	require.Equal(t, 201, ask("https://SHOP.example:443/lamps"+aprilPath+"/checkout-sessions").status)
	for _, other := range []string{f.URL, "https://other.example/lamps", "https://shop.example", "https://shop.example:8443/lamps"} {
		got := ask(other + aprilPath + "/checkout-sessions")
		require.Equal(t, 401, got.status, other+got.raw)
		require.Equal(t, "signature_invalid", got.body["code"])
	}
	require.Equal(t, 401, ask("https://shop.example/lamps"+aprilPath+"/orders").status, "signed for another resource")
}

// Payments that cross in two releases and on two transports place one order, and a key that is used in two releases at
// once stands for one of them.
func TestReleasesCross(t *testing.T) {
	f, b := openFront(t, nil)
	january := `profile="` + f.agents.URL + `/2026-01-23"`
	created := f.say("POST", aprilPath+"/checkout-sessions", ready)
	require.Equal(t, 201, created.status, created.raw)
	before := b.left(t, "oil-lamp", 40)
	var everybody sync.WaitGroup
	answers := make([]spoken, 12)
	for i := range answers {
		everybody.Go(func() {
			at := "/checkout-sessions/" + created.id() + "/complete"
			switch i % 3 {
			case 0:
				answers[i] = f.say("POST", aprilPath+at, payment)
			case 1:
				answers[i] = f.say("POST", "/ucp/2026-01-23"+at, payment, "UCP-Agent", january)
			default:
				answers[i] = f.say("POST", aprilPath+"/mcp", rpc("complete_checkout",
					`{"ucp-agent":{"profile":"`+f.agents.URL+`/2026-04-08"},"idempotency-key":"`+rand.Text()+`"}`,
					`,"id":"`+created.id()+`","checkout":`+payment), "Idempotency-Key", "", "Accept", "application/json, text/event-stream")
			}
		})
	}
	everybody.Wait()
	placed, orders := 0, map[string]bool{}
	for _, a := range answers {
		require.Less(t, a.status, 500, a.raw)
		if at := strings.Index(a.raw, `"permalink_url"`); at >= 0 {
			orders[a.raw[at:at+strings.IndexByte(a.raw[at:], '}')]] = true
			if !strings.Contains(a.raw, "checkout_not_modifiable") { // Else it was there before.
				placed++
			}
		}
	}
	require.Equal(t, 1, placed)
	require.Len(t, orders, 1)
	require.Equal(t, before-1, b.left(t, "oil-lamp", 40))

	key := rand.Text()
	for i := range 8 {
		everybody.Go(func() {
			at, agent := aprilPath, `profile="`+f.agents.URL+`/2026-04-08"`
			if i%2 == 0 {
				at, agent = "/ucp/2026-01-23", january
			}
			answers[i] = f.say("POST", at+"/checkout-sessions", oneLamp, "UCP-Agent", agent, "Idempotency-Key", key)
		})
	}
	everybody.Wait()
	won := map[bool]int{}
	for i, a := range answers[:8] {
		require.Contains(t, []int{201, 409}, a.status, a.raw)
		if a.status == 201 {
			won[i%2 == 0]++
		}
	}
	require.Len(t, won, 1, "in one release all are answered, in the other none")
	for _, n := range won {
		require.Equal(t, 4, n)
	}
}
