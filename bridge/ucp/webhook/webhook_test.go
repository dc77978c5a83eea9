package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/webhook"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const (
	shop  = "https://shop.example/.well-known/ucp"
	alias = "https://shop.example/2026-04-08"
	rogue = "https://rogue.example/.well-known/ucp"
)

// platform is the receiving side, with a business that it knows.
type platform struct {
	*httptest.Server
	business, other *signature.Signer

	mu       sync.Mutex
	handled  []webhook.Event
	verdicts []webhook.Verdict
	fail     error
}

func newPlatform(t *testing.T, release wire.Release, unsigned bool) *platform {
	t.Helper()
	p := &platform{}
	var err error
	p.business, err = signature.Generate("shop-1")
	require.NoError(t, err)
	p.other, err = signature.Generate("shop-1")
	require.NoError(t, err)
	keys := map[string]*signature.Signer{shop: p.business, alias: p.business, rogue: p.other}
	receiver, err := webhook.New(webhook.Options{
		Key: func(_ context.Context, at, id string) (negotiation.Key, error) {
			if s, ok := keys[at]; ok && s.ID() == id {
				return s.Public()
			}
			return negotiation.Key{}, &negotiation.Error{Code: negotiation.KeyNotFound, Content: "No such key."}
		},
		Origins: func(_ context.Context, checkout string) ([]webhook.Origin, error) {
			if checkout == "broken" {
				return nil, errors.New("the disk is gone")
			}
			opened := []webhook.Origin{{Business: shop, Also: []string{alias}, Release: release, Currency: "EUR", Unsigned: unsigned}}
			switch checkout {
			case "chk_1":
				return opened, nil
			case "chk_of_two": // The rogue has opened a checkout of the same id.
				return append([]webhook.Origin{{Business: rogue, Release: release, Currency: "USD", Unsigned: unsigned}}, opened...), nil
			}
			return nil, nil
		},
		Memory: webhook.Remember(keyvalue.NewMemory(0)),
		Handle: func(_ context.Context, e webhook.Event) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.fail != nil {
				return p.fail
			}
			p.handled = append(p.handled, e)
			return nil
		},
		Observe: func(_ context.Context, _ webhook.Event, v webhook.Verdict) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.verdicts = append(p.verdicts, v)
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	p.Server = httptest.NewServer(receiver)
	t.Cleanup(p.Close)
	return p
}

// told is a webhook.
type told struct {
	body     string
	header   map[string]string
	signer   *signature.Signer
	agent    string
	detached bool
}

func (p *platform) post(t *testing.T, w told) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/hook", strings.NewReader(w.body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if w.agent != "" {
		r.Header.Set("UCP-Agent", `profile="`+w.agent+`"`)
	}
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	switch {
	case w.detached:
		header, err := w.signer.Detached([]byte(w.body))
		require.NoError(t, err)
		r.Header.Set("Request-Signature", header)
	case w.signer != nil:
		require.NoError(t, w.signer.SignRequest(r, []byte(w.body)))
	}
	response, err := p.Client().Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var said map[string]any
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&said), string(text))
	return response.StatusCode, said
}

func order(fulfilled int) string {
	return fmt.Sprintf(`{"ucp":{"version":"2026-04-08"},"id":"o_1","checkout_id":"chk_1","permalink_url":"https://shop.example/o_1",
	  "line_items":[{"id":"l","item":{"id":"lamp","title":"Lamp","price":1},"quantity":{"total":2,"fulfilled":%d},"totals":[],"status":"partial"}],
	  "fulfillment":{},"totals":[{"type":"subtotal","amount":2},{"type":"discount","amount":1},{"type":"total","amount":1}]}`, fulfilled)
}

func TestSignedWebhooks(t *testing.T) {
	p := newPlatform(t, wire.April2026, false)
	status, said := p.post(t, told{body: order(0), signer: p.business, agent: shop, header: map[string]string{"Webhook-Id": "e1", "Webhook-Timestamp": "1790000000"}})
	require.Equal(t, 200, status, said)
	require.Contains(t, said, "ucp")
	require.Len(t, p.handled, 1)
	e := p.handled[0]
	require.Equal(t, "e1", e.ID)
	require.Equal(t, int64(1790000000), e.At.Unix())
	require.Equal(t, shop, e.Business)
	require.Equal(t, "shop-1", e.Key)
	require.Equal(t, "o_1", e.OrderID)
}

func TestDetachedWebhooks(t *testing.T) {
	p := newPlatform(t, wire.January23, false)
	body := strings.Replace(order(0), `"id":"o_1"`, `"id":"o_1","event_id":"e1","created_time":"2026-11-30T12:00:00Z"`, 1)
	// The id in the header is not signed, so it is not believed.
	status, said := p.post(t, told{body: body, signer: p.business, detached: true, header: map[string]string{"Webhook-Id": "other"}})
	require.Equal(t, 200, status, said)
	require.Equal(t, "e1", p.handled[0].ID)
	require.Equal(t, "2026-11-30T12:00:00Z", p.handled[0].At.Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, "EUR", p.handled[0].Order["currency"])
	require.Equal(t, json.Number("-1"), p.handled[0].Order["totals"].([]any)[1].(wire.Object)["amount"])
	status, _ = p.post(t, told{body: body, signer: p.business, detached: true, header: map[string]string{"Webhook-Id": "another"}})
	require.Equal(t, 200, status)
	require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Duplicate}, p.verdicts)
}

func TestUnsignedWebhooksWhereThatIsConfigured(t *testing.T) {
	p := newPlatform(t, wire.January11, true)
	body := `{"event_type":"order_shipped","checkout_id":"chk_1","order":` + order(1) + `}`
	for range 2 {
		status, said := p.post(t, told{body: body})
		require.Equal(t, 200, status, said)
	}
	require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Duplicate}, p.verdicts)
	require.Contains(t, p.handled[0].ID, "sha-256:")
	require.Equal(t, "o_1", p.handled[0].OrderID)
	status, said := p.post(t, told{body: order(2), signer: p.other, detached: true})
	require.Equal(t, 401, status, said)
	require.Len(t, p.handled, 1, "somebody else's signature is worse than none")
	status, said = p.post(t, told{body: `{"event_type":"order_shipped","checkout_id":"chk_of_two","order":` + strings.Replace(order(1), "chk_1", "chk_of_two", 1) + `}`})
	require.Equal(t, 401, status, said)
	require.Len(t, p.handled, 1, "nobody can say which of two it is from that do not sign")
}

func TestWebhooksThatAreNotBelieved(t *testing.T) {
	for _, test := range []struct {
		name    string
		release wire.Release
		hook    func(p *platform) told
		status  int
		code    string
	}{
		{"not signed", wire.April2026, func(*platform) told { return told{body: order(0)} }, 401, "signature_missing"},
		{"signed the old way", wire.April2026, func(p *platform) told { return told{body: order(0), signer: p.business, detached: true} }, 401, "signature_missing"},
		{"not signed the old way", wire.January23, func(*platform) told {
			return told{body: order(0), header: map[string]string{"Request-Signature": "test"}}
		}, 401, "signature_invalid"},
		{"another key", wire.April2026, func(p *platform) told { return told{body: order(0), signer: p.other, agent: shop} }, 401, "signature_invalid"},
		{"another key, detached", wire.January23, func(p *platform) told { return told{body: order(0), signer: p.other, detached: true} }, 401, "signature_invalid"},
		{"a good signature of another business", wire.April2026, func(p *platform) told { return told{body: order(0), signer: p.other, agent: rogue} }, 403, "not_yours"},
		{"no agent", wire.April2026, func(p *platform) told { return told{body: order(0), signer: p.business} }, 400, "invalid_profile_url"},
		{"a checkout of nobody", wire.April2026, func(p *platform) told {
			return told{body: strings.Replace(order(0), "chk_1", "chk_2", 1), signer: p.business, agent: shop}
		}, 403, "not_yours"},
		{"no order", wire.April2026, func(*platform) told { return told{body: `{}`} }, 422, "invalid_request"},
		{"no JSON", wire.April2026, func(*platform) told { return told{body: `{`} }, 400, "invalid_request"},
		{"too large", wire.April2026, func(*platform) told {
			return told{body: `{"x":"` + strings.Repeat("x", webhook.MaximumBody) + `"}`}
		}, 413, "body_too_large"},
		{"a failure here", wire.April2026, func(*platform) told {
			return told{body: strings.Replace(order(0), "chk_1", "broken", 1)}
		}, 503, "try_again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlatform(t, test.release, false)
			status, said := p.post(t, test.hook(p))
			require.Equal(t, test.status, status, said)
			require.Equal(t, test.code, said["code"])
			require.Empty(t, p.handled)
		})
	}
	p := newPlatform(t, wire.April2026, false)
	response, err := p.Client().Get(p.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

func TestOutOfOrderAndAgain(t *testing.T) {
	p := newPlatform(t, wire.April2026, false)
	post := func(id, at string) int {
		status, _ := p.post(t, told{body: order(0), signer: p.business, agent: shop, header: map[string]string{"Webhook-Id": id, "Webhook-Timestamp": at}})
		return status
	}
	require.Equal(t, 200, post("e2", "1790000200"))
	require.Equal(t, 200, post("e1", "1790000100")) // Older than what was handed on.
	require.Equal(t, 200, post("e3", "1790000200")) // As old: which is newer nobody can tell, so it is handed on.
	require.Equal(t, 200, post("e2", "1790000200"))
	require.Equal(t, 200, post("e1", "1790000100"))
	require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Stale, webhook.Fresh, webhook.Duplicate, webhook.Duplicate}, p.verdicts)
	require.Equal(t, 200, post("e9", "99000000000")) // In a thousand years.
	require.Equal(t, 200, post("e5", "1790000250"))
	require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Fresh}, p.verdicts[5:], "a wrong clock does not silence a business")
	require.Equal(t, 200, post("e6", "1790000100"))
	require.Equal(t, 200, post("e7", "1790000150"))
	require.Equal(t, []webhook.Verdict{webhook.Stale, webhook.Stale}, p.verdicts[7:], "what was stale does not set the time back")
	p.handled = p.handled[:2]
	p.fail = errors.New("the agent is away")
	require.Equal(t, 503, post("e4", "1790000300"))
	p.fail = nil
	require.Equal(t, 200, post("e4", "1790000300"), "a failure is no receipt")
	require.Len(t, p.handled, 3)
}

func TestOneEventAtOnceIsHandledOnce(t *testing.T) {
	p := newPlatform(t, wire.April2026, false)
	var everybody sync.WaitGroup
	for i := range 32 {
		everybody.Go(func() {
			id := fmt.Sprintf("e%d", i%4)
			status, said := p.post(t, told{body: order(0), signer: p.business, agent: shop, header: map[string]string{"Webhook-Id": id}})
			assert.Equal(t, 200, status, said)
		})
	}
	everybody.Wait()
	require.Len(t, p.handled, 4)
}

// TestWhoseCheckoutItIs: two businesses may have the same id for a checkout, and each tells of its own alone.
func TestWhoseCheckoutItIs(t *testing.T) {
	body := strings.Replace(order(0), "chk_1", "chk_of_two", 1)
	for _, release := range []wire.Release{wire.January11, wire.January23, wire.April2026} {
		t.Run(string(release), func(t *testing.T) {
			p := newPlatform(t, release, false)
			for _, by := range []struct {
				signer *signature.Signer
				agent  string
			}{{p.business, shop}, {p.other, rogue}, {p.business, alias}} {
				status, said := p.post(t, told{body: body, signer: by.signer, agent: by.agent, detached: release != wire.April2026})
				require.Equal(t, 200, status, said)
			}
			require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Fresh, webhook.Duplicate}, p.verdicts)
			require.Len(t, p.handled, 2)
			require.Equal(t, []string{shop, rogue}, []string{p.handled[0].Business, p.handled[1].Business})
			status, said := p.post(t, told{body: order(0), signer: p.other, agent: rogue, detached: release != wire.April2026})
			require.GreaterOrEqual(t, status, 401, said)
		})
	}
}

// TestSlowBody: whoever sends a body by the byte is told that it took too long.
func TestSlowBody(t *testing.T) {
	receiver, err := webhook.New(webhook.Options{
		Key:     func(context.Context, string, string) (negotiation.Key, error) { return negotiation.Key{}, nil },
		Origins: func(context.Context, string) ([]webhook.Origin, error) { return nil, nil },
		Memory:  webhook.Remember(keyvalue.NewMemory(0)), Handle: func(context.Context, webhook.Event) error { return nil },
		BodyTimeout: time.Millisecond,
	})
	require.NoError(t, err)
	server := httptest.NewServer(receiver)
	defer server.Close()
	slow, write := io.Pipe()
	defer write.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, slow)
	require.NoError(t, err)
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusRequestTimeout, response.StatusCode)
}

// TestWhatIsRemembered outlives the process, and is bounded.
func TestWhatIsRemembered(t *testing.T) {
	store := keyvalue.NewMemory(0)
	handled := 0
	once := func(m *webhook.Memory, e webhook.Event) webhook.Verdict {
		v, err := m.Once(t.Context(), e, func(context.Context) error { handled++; return nil })
		require.NoError(t, err)
		return v
	}
	m := webhook.Remember(store)
	require.Equal(t, webhook.Fresh, once(m, webhook.Event{Checkout: "c", ID: "e"}))
	require.Equal(t, webhook.Duplicate, once(webhook.Remember(store), webhook.Event{Checkout: "c", ID: "e"}), "after a restart")
	require.Equal(t, webhook.Fresh, once(m, webhook.Event{Business: "another", Checkout: "c", ID: "e"}))
	for i := range 64 {
		once(m, webhook.Event{Checkout: "c", ID: fmt.Sprint(i)})
	}
	require.Equal(t, webhook.Fresh, once(m, webhook.Event{Checkout: "c", ID: "e"}), "forgotten")
	require.Equal(t, webhook.Duplicate, once(m, webhook.Event{Checkout: "c", ID: "63"}))
	require.Equal(t, 67, handled)
	entries := 0
	for entry, err := range store.List(t.Context(), "heard.") {
		require.NoError(t, err)
		require.Less(t, len(entry.Value), 4096)
		entries++
	}
	require.Equal(t, 2, entries)
}

// TestTwoProcessesAtOnce: what both are told is remembered, whoever is faster.
func TestTwoProcessesAtOnce(t *testing.T) {
	store := keyvalue.NewMemory(0)
	var everybody sync.WaitGroup
	var mu sync.Mutex
	fresh := make(map[string]bool)
	for process := range 4 {
		m := webhook.Remember(store)
		everybody.Go(func() {
			for i := range 16 {
				id := fmt.Sprint((i + process) % 16)
				v, err := m.Once(t.Context(), webhook.Event{Checkout: "c", ID: id}, func(context.Context) error { return nil })
				assert.NoError(t, err)
				mu.Lock()
				fresh[id] = fresh[id] || v == webhook.Fresh
				mu.Unlock()
			}
		})
	}
	everybody.Wait()
	for i := range 16 {
		require.True(t, fresh[fmt.Sprint(i)])
		v, err := webhook.Remember(store).Once(t.Context(), webhook.Event{Checkout: "c", ID: fmt.Sprint(i)}, nil)
		require.NoError(t, err)
		require.Equal(t, webhook.Duplicate, v)
	}
}

// FuzzWebhook: whatever is posted, signed or not, is answered, and nothing is handed on that nobody has signed.
func FuzzWebhook(f *testing.F) {
	f.Add(order(0), "", "", "", "")
	f.Add(order(1), `profile="`+shop+`"`, "sig1=()", "sig1=:AA==:", "")
	f.Add(`{"event_type":"x","order":{"id":"o","checkout_id":"chk_1"}}`, "", "", "", "e30..AA")
	f.Add(`{"id":"o","checkout_id":"chk_of_two","totals":[{"type":"total","amount":1e999}]}`, "profile=1", "", "", "a..b")
	signer, err := signature.Generate("shop-1")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body, agent, input, signed, detached string) {
		receiver, err := webhook.New(webhook.Options{
			Key: func(context.Context, string, string) (negotiation.Key, error) { return signer.Public() },
			Origins: func(_ context.Context, checkout string) ([]webhook.Origin, error) {
				return []webhook.Origin{{Business: shop, Release: wire.January23}, {Business: rogue, Release: wire.April2026}}, nil
			},
			Memory: webhook.Remember(keyvalue.NewMemory(0)),
			Handle: func(context.Context, webhook.Event) error { return errors.New("nobody has signed it") },
			Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodPost, "https://platform.example/hook", strings.NewReader(body))
		r.Header = http.Header{
			"Ucp-Agent": {agent}, "Signature-Input": {input}, "Signature": {signed}, "Request-Signature": {detached},
			"Content-Type": {"application/json"}, "Content-Digest": {signature.Digest([]byte(body))},
		}
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, 400)
		require.NotEqual(t, http.StatusServiceUnavailable, w.Code, "it was handed on")
		require.True(t, json.Valid(w.Body.Bytes()))
	})
}
