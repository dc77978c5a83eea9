package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// paysWith is a payment of newer releases.
func paysWith(token string) string { return strings.Replace(payment, "success_token", token, 1) }

// A no about a checkout that is there comes with the checkout, and the reason among its messages (UCP 2026-04-08); a no of
// older releases is the status.
func TestOutcomesComeWithTheCheckout(t *testing.T) {
	f := openStrict(t)
	valid := schematest.Load(t, schematest.Corpus(t, 3), "2026-04-08", schematest.Response)
	sessions := aprilPath + "/checkout-sessions"
	shows := func(got spoken, status string, want ...string) {
		t.Helper()
		require.Equal(t, 200, got.status, got.raw)
		require.Equal(t, status, got.body["status"], got.raw)
		require.Equal(t, "success", got.body["ucp"].(map[string]any)["status"], got.raw)
		require.Equal(t, want, got.messages(), got.raw)
		require.NotEmpty(t, got.header.Get("ETag"))
		valid.Check(t, "schemas/shopping/checkout.json", []byte(got.raw))
	}
	missing := "error missing $.fulfillment recoverable"
	at := sessions + "/" + f.say("POST", sessions, oneLamp).id()
	shows(f.say("POST", at+"/complete", payment), "incomplete", missing)
	shows(f.say("PUT", at, strings.Replace(oneLamp, "oil-lamp", "wumpus", 1)), "incomplete", "error item_unavailable $.line_items[0] recoverable", missing)
	shows(f.say("PUT", at, strings.Replace(oneLamp, "1}", "9000}", 1)), "incomplete", "error out_of_stock $.line_items[0] recoverable", missing)
	at = sessions + "/" + f.say("POST", sessions, ready).id()
	shows(f.say("POST", at+"/complete", paysWith("fail_token")), "ready_for_complete", "error payment_failed $.payment.instruments[0] recoverable")
	shows(f.say("POST", at+"/complete", strings.Replace(payment, "mock_payment_handler", "barter", 1)), "ready_for_complete",
		"error invalid_request $.payment.instruments[0].handler_id recoverable")
	second := `{"payment":{"instruments":[{"id":"i","handler_id":"google_pay","type":"card"},{"id":"j","handler_id":"mock_payment_handler","type":"card","selected":true,` +
		`"credential":{"type":"token","token":"fraud_token"}}]}}`
	refused := f.say("POST", at+"/complete", second, "Idempotency-Key", "once")
	shows(refused, "ready_for_complete", "error payment_failed $.payment.instruments[1] recoverable")
	paid := f.say("POST", at+"/complete", payment)
	require.Equal(t, "completed", paid.body["status"], paid.raw)
	require.Equal(t, refused.raw, f.say("POST", at+"/complete", second, "Idempotency-Key", "once").raw, "a request that is repeated has its first answer")
	for method, path := range map[string]string{"PUT": at, "POST": at + "/complete"} {
		late := f.say(method, path, map[string]string{"PUT": ready, "POST": payment}[method])
		shows(late, "completed", "error checkout_not_modifiable  unrecoverable")
		require.Equal(t, paid.body["order"], late.body["order"])
	}
	shows(f.say("POST", at+"/cancel", ""), "completed", "error checkout_not_modifiable  unrecoverable")

	at = "/ucp/2026-01-23/checkout-sessions"
	agent := []string{"UCP-Agent", `profile="` + f.agents.URL + `/2026-01-23"`}
	at += "/" + f.say("POST", at, ready, agent...).id()
	declined := f.say("POST", at+"/complete", paysWith("fail_token"), agent...)
	require.Equal(t, http.StatusPaymentRequired, declined.status, declined.raw)
	require.Equal(t, []string{"error payment_failed $.payment.instruments[0] recoverable"}, declined.messages())
	require.Equal(t, 200, f.say("POST", at+"/complete", payment, agent...).status)
	require.Equal(t, http.StatusConflict, f.say("POST", at+"/cancel", "", agent...).status)
}

// Where there is no resource, the answer says so and has nothing else (UCP 2026-04-08, types/error_response).
func TestNoResource(t *testing.T) {
	f := openStrict(t)
	valid := schematest.Load(t, schematest.Corpus(t, 3), "2026-04-08", schematest.Response)
	sessions := aprilPath + "/checkout-sessions"
	for want, got := range map[string]spoken{
		"error item_unavailable $.line_items[0] unrecoverable": f.say("POST", sessions, strings.Replace(oneLamp, "oil-lamp", "wumpus", 1)),
		"error out_of_stock $.line_items[0] unrecoverable":     f.say("POST", sessions, strings.Replace(oneLamp, "oil-lamp", "glass-spare", 1)),
		"error not_found  unrecoverable":                       f.say("GET", sessions+"/none", ""),
	} {
		require.Equal(t, 200, got.status, got.raw)
		require.Equal(t, []string{want}, got.messages(), got.raw)
		valid.Check(t, "schemas/shopping/types/error_response.json", []byte(got.raw))
	}
	require.Equal(t, []string{"error not_found  unrecoverable"}, f.say("GET", aprilPath+"/orders/none", "").messages())
	require.Equal(t, []string{"error not_found  unrecoverable"}, f.say("PUT", sessions+"/none", oneLamp).messages())
}

// What is no request of the release is refused with 400, and nothing is done.
func TestStrictRequests(t *testing.T) {
	f := openStrict(t)
	for _, release := range []wire.Release{wire.April2026, wire.January23} {
		t.Run(string(release), func(t *testing.T) {
			agent := []string{"UCP-Agent", `profile="` + f.agents.URL + "/" + string(release) + `"`}
			sessions := "/ucp/" + string(release) + "/checkout-sessions"
			created := f.say("POST", sessions, ready, agent...)
			at := sessions + "/" + created.id()
			instrument := `{"id":"i","handler_id":"mock_payment_handler","type":"card","selected":true}`
			for _, test := range []struct{ method, path, body, says string }{
				{"POST", sessions, `{"line_items":[],"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]}`, "sound JSON"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"buyer":{"email":"` + "\xff" + `"}}`, "sound JSON"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"buyer":{"email":"\ud800"}}`, "sound JSON"},
				{"POST", sessions, oneLamp + oneLamp, "sound JSON"},
				{"POST", sessions, `[]`, "no JSON object"},
				{"POST", sessions, `{}`, "line_items"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":0}]}`, "at least 1"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"payment":"cash"}`, "$.payment"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"signals":[]}`, "$.signals"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"context":7}`, "$.context"},
				{"POST", sessions, `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"context":{"eligibility":"all"}}`, "$.context.eligibility"},
				{"PUT", at, `{"buyer":{"email":"ada@example.com"}}`, "$.line_items"},
				{"PUT", at, `{"id":"chk_other","line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]}`, "$.id"},
				{"PUT", at, `{"id":7,"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]}`, "$.id"},
				{"POST", at + "/complete", `{}`, "$.payment.instruments"},
				{"POST", at + "/complete", `{"payment":{"instruments":[]}}`, "$.payment.instruments"},
				{"POST", at + "/complete", `{"payment":{"instruments":["card"]}}`, "$.payment.instruments[0]"},
				{"POST", at + "/complete", `{"payment":{"instruments":[{"id":"i","type":"card"}]}}`, "$.payment.instruments[0].handler_id"},
				{"POST", at + "/complete", `{"payment":{"instruments":[` + instrument + `,` + instrument + `]}}`, "More than one"},
			} {
				got := f.say(test.method, test.path, test.body, agent...)
				require.Equal(t, http.StatusBadRequest, got.status, "%s %s: %s", test.method, test.body, got.raw)
				require.Contains(t, got.raw, test.says, test.body)
				if release == wire.April2026 {
					require.Equal(t, "invalid_request", got.body["code"], got.raw)
				}
			}
			require.Equal(t, http.StatusBadRequest, f.say("POST", sessions, oneLamp, append(agent, "Idempotency-Key", strings.Repeat("k", 300))...).status)
			still := f.say("GET", at, "", agent...)
			require.Equal(t, created.header.Get("ETag"), still.header.Get("ETag"), "nothing was done")
			require.Equal(t, 200, f.say("PUT", at, strings.Replace(ready, "{", `{"id":"`+created.id()+`",`, 1), agent...).status, "its own id is none of another")
			for _, path := range []string{"/ucp/" + string(release) + "/.well-known/ucp", "/.well-known/ucp"} {
				wrong := f.say("POST", path, "{}", agent...)
				require.Equal(t, http.StatusMethodNotAllowed, wrong.status, wrong.raw)
				require.Equal(t, "GET, HEAD", wrong.header.Get("Allow"))
			}
		})
	}
}

// What is shown of payment handlers has the names of the release, in the profile and in checkouts.
func TestHandlersInNewerReleases(t *testing.T) {
	f := openStrict(t)
	created := f.say("POST", aprilPath+"/checkout-sessions", oneLamp)
	require.NotContains(t, created.raw, "config_schema")
	require.NotContains(t, created.raw, "instrument_schemas")
	handlers := created.body["ucp"].(map[string]any)["payment_handlers"].(map[string]any)
	require.Contains(t, fmt.Sprint(handlers["dev.ucp.mock_payment"]), "id:mock_payment_handler")
	require.Contains(t, fmt.Sprint(handlers["dev.ucp.mock_payment"]), "schema:https://")
}

// Claims that nobody knows are told to the buyer, and stop nothing. An update that says no more of them withdraws them.
func TestClaims(t *testing.T) {
	f := openStrict(t)
	sessions := aprilPath + "/checkout-sessions"
	claiming := strings.Replace(ready, "{", `{"context":{"address_country":"GR","eligibility":["com.example.gold","org.school.student"]},`, 1)
	created := f.say("POST", sessions, claiming)
	require.Equal(t, "ready_for_complete", created.body["status"], created.raw)
	require.Equal(t, []string{
		"warning eligibility_not_accepted $.context.eligibility[0]", "warning eligibility_not_accepted $.context.eligibility[1]",
	}, created.messages())
	require.Empty(t, f.say("PUT", sessions+"/"+created.id(), ready).messages())
	require.Equal(t, 200, f.say("PUT", sessions+"/"+created.id(), claiming).status)
	require.Equal(t, "completed", f.say("POST", sessions+"/"+created.id()+"/complete", payment).body["status"])
}

// A platform without the extension that something lacks of cannot say it, so that the buyer has to.
func TestHandOffWithoutTheExtension(t *testing.T) {
	mute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ucp":{"version":"2026-04-08","capabilities":{"dev.ucp.shopping.checkout":[{"version":"2026-04-08","schema":"https://ucp.dev/s.json"}]}}}`)
	}))
	defer mute.Close()
	agent := []string{"UCP-Agent", `profile="` + mute.URL + `"`}
	for continues, status := range map[string]string{"https://lamps.example/checkout/": "requires_escalation", "": "incomplete"} {
		f := openStrict(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.ContinueURL = continues })
		created := f.say("POST", aprilPath+"/checkout-sessions", ready, agent...)
		require.Equal(t, status, created.body["status"], created.raw)
		require.Equal(t, []string{"error missing $.fulfillment requires_buyer_input"}, created.messages())
		refused := f.say("POST", aprilPath+"/checkout-sessions/"+created.id()+"/complete", payment, agent...)
		require.Equal(t, created.messages(), refused.messages(), refused.raw)
		require.Equal(t, created.body["continue_url"], refused.body["continue_url"])
	}
}

// pausedTill takes its time, until it is told to go on.
type pausedTill struct {
	shop.Payments
	asked, goOn chan struct{}
}

func (s pausedTill) Take(ctx context.Context, p shop.Payment) error {
	s.asked <- struct{}{}
	<-s.goOn
	return s.Payments.Take(ctx, p)
}

// While a payment is taken, the checkout says so, and whoever changes it is told that it is as it was.
func TestCompleteInProgress(t *testing.T) {
	till := pausedTill{asked: make(chan struct{}, 1), goOn: make(chan struct{})}
	f := openStrict(t, func(o *shop.Options, _ *ucp.InboundOptions) { till.Payments = o.Payments; o.Payments = till })
	at := aprilPath + "/checkout-sessions/" + f.say("POST", aprilPath+"/checkout-sessions", ready).id()
	paid := make(chan spoken, 1)
	go func() { paid <- f.say("POST", at+"/complete", payment) }()
	<-till.asked
	now := f.say("GET", at, "")
	require.Equal(t, "complete_in_progress", now.body["status"], now.raw)
	for _, got := range []spoken{f.say("PUT", at, oneLamp), f.say("POST", at+"/complete", payment)} {
		require.Equal(t, 200, got.status, got.raw)
		require.Equal(t, "complete_in_progress", got.body["status"], got.raw)
		require.Equal(t, []string{"error checkout_not_modifiable  recoverable"}, got.messages(), got.raw)
		require.Contains(t, got.raw, `"KEEPER10"`, "it is as it was")
	}
	close(till.goOn)
	require.Equal(t, "completed", (<-paid).body["status"])
}

// Of what has expired there is still something to see, and nothing to be had.
func TestExpiredCheckouts(t *testing.T) {
	f := openStrict(t, func(o *shop.Options, _ *ucp.InboundOptions) {
		o.Life, o.ContinueURL = time.Nanosecond, "https://lamps.example/checkout/"
	})
	created := f.say("POST", aprilPath+"/checkout-sessions", ready)
	require.Equal(t, 201, created.status, created.raw)
	at := aprilPath + "/checkout-sessions/" + created.id()
	got := f.say("GET", at, "")
	require.Equal(t, "canceled", got.body["status"], got.raw)
	require.Empty(t, got.messages())
	for method, path := range map[string]string{"PUT": at, "POST": at + "/complete"} {
		late := f.say(method, path, map[string]string{"PUT": ready, "POST": payment}[method])
		require.Equal(t, "canceled", late.body["status"], late.raw)
		require.Equal(t, []string{"error checkout_not_modifiable  unrecoverable"}, late.messages())
		require.NotContains(t, late.body, "continue_url")
		require.NotContains(t, late.body, "order")
	}
	old := f.say("PUT", "/checkout-sessions/"+f.say("POST", "/checkout-sessions", ready).id(), ready)
	require.Equal(t, http.StatusConflict, old.status, old.raw)
}

// The profile of each release is one of a business by its schema, and of nothing else.
func TestProfilesFitTheirSchemas(t *testing.T) {
	f := openStrict(t)
	for _, release := range wire.Releases() {
		at := "/ucp/" + string(release) + "/.well-known/ucp"
		if release == wire.January11 {
			at = "/.well-known/ucp"
		}
		valid := schematest.Load(t, schematest.Corpus(t, 3), string(release), schematest.Response)
		valid.Check(t, "discovery/profile_schema.json", []byte(f.say("GET", at, "").raw))
	}
}

// MCP says the same as REST: what a tool gives is the REST answer, and its schemas are those of the release.
func TestOutcomesOverMCP(t *testing.T) {
	f := openStrict(t)
	meta := `"meta":{"ucp-agent":{"profile":"` + f.agents.URL + `/2026-04-08"},"idempotency-key":"KEY"}`
	keys := 0
	call := func(tool, arguments string) (spoken, map[string]any) {
		t.Helper()
		keys++
		got := f.say("POST", aprilPath+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%s,%s}}}`,
			tool, strings.Replace(meta, "KEY", fmt.Sprint("key-", keys), 1), arguments), "UCP-Agent", "", "Idempotency-Key", "")
		result, _ := got.body["result"].(map[string]any)
		structured, _ := result["structuredContent"].(map[string]any)
		if structured != nil {
			text, err := json.Marshal(structured)
			require.NoError(t, err)
			require.JSONEq(t, string(text), result["content"].([]any)[0].(map[string]any)["text"].(string))
		}
		return got, structured
	}
	_, created := call("create_checkout", `"checkout":`+ready)
	id := `"id":"` + created["id"].(string) + `"`
	got, declined := call("complete_checkout", id+`,"checkout":`+paysWith("fail_token"))
	require.Equal(t, "ready_for_complete", declined["status"], got.raw)
	require.Contains(t, got.raw, `"payment_failed"`)
	got, _ = call("update_checkout", id+`,"checkout":`+strings.Replace(ready, "{", `{"id":"chk_other",`, 1))
	require.Equal(t, 400, got.status, got.raw)
	require.Contains(t, got.raw, `-32600`)
	_, completed := call("complete_checkout", id+`,"checkout":`+payment)
	require.Equal(t, "completed", completed["status"])
	_, late := call("cancel_checkout", id)
	require.Equal(t, completed["order"], late["order"])
	got, gone := call("get_checkout", `"id":"none"`)
	require.Equal(t, "error", gone["ucp"].(map[string]any)["status"], got.raw)
}

// TestABodyOfWhatHasNone: what comes with a request that has no body says nothing, and breaks nothing.
func TestABodyOfWhatHasNone(t *testing.T) {
	f := openStrict(t)
	sessions := aprilPath + "/checkout-sessions"
	id := f.say("POST", sessions, ready).id()
	body := `{"context":{"address_country":"GR"},"payment":{},"line_items":[]}`
	got := f.say("GET", sessions+"/"+id, body)
	require.Equal(t, 200, got.status, got.raw)
	require.Equal(t, id, got.id())
	got = f.say("GET", aprilPath+"/orders/none", body)
	require.Contains(t, got.raw, "not_found")
	got = f.say("POST", sessions+"/"+id+"/cancel", body)
	require.Equal(t, "canceled", got.body["status"], got.raw)
}

// blind is an executor that shows nothing of what it knows, for a while.
type blind struct {
	adapter.Attendant
	now atomic.Bool
}

func (b *blind) Visit(ctx context.Context, who enactment.Identity, key enactment.Key, how adapter.Freshness) (adapter.Visit, error) {
	if b.now.Load() && how == adapter.Known {
		return nil, adapter.ErrUnavailable
	}
	return b.Attendant.Visit(ctx, who, key, how)
}

// TestAnOutcomeThatCannotBeShown: where the checkout that tells it cannot be read, the request is to be repeated, and is told
// then.
func TestAnOutcomeThatCannotBeShown(t *testing.T) {
	to := newTown(t)
	b, agents := to.open(t), newAgency(t)
	executor := &blind{Attendant: b.attendance}
	var err error
	b.inside, err = ucp.NewInbound(b.rules, executor, ucp.InboundOptions{
		Keys: keyvalue.NewMemory(ucp.KeysRemembered), Store: b.store, PaymentHandlers: to.data.Handlers,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	f := &front{allReleases(t, b, nil), t, agents}
	at := aprilPath + "/checkout-sessions/" + f.say("POST", aprilPath+"/checkout-sessions", ready).id()
	executor.now.Store(true)
	again := f.say("POST", at+"/complete", paysWith("fail_token"), "Idempotency-Key", "k")
	require.Equal(t, http.StatusServiceUnavailable, again.status, again.raw)
	executor.now.Store(false)
	told := f.say("POST", at+"/complete", paysWith("fail_token"), "Idempotency-Key", "k")
	require.Equal(t, http.StatusOK, told.status, told.raw)
	require.Equal(t, []string{"error payment_failed $.payment.instruments[0] recoverable"}, told.messages())
}
