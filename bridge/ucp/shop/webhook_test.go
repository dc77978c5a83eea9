package shop_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/webhook"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// platform is where profiles and webhooks of platforms are, without a network.
type platform struct {
	mu       sync.Mutex
	profile  string
	failures int // how often the webhook fails before it answers
	asked    []string
	told     []event
	// hook takes what is told instead; deaf is how often its answer gets lost.
	hook http.Handler
	deaf int
}

type event struct {
	Type     string `json:"event_type"`
	Checkout string `json:"checkout_id"`
	Order    struct {
		ID          string `json:"id"`
		Fulfillment struct {
			Events []struct{ Type string } `json:"events"`
		} `json:"fulfillment"`
		LineItems []struct {
			Status string `json:"status"`
		} `json:"line_items"`
	} `json:"order"`
}

const (
	profileURL = "https://platform.example/profile.json"
	listed     = `{"ucp": {"version": "2026-01-11", "capabilities": [
	  {"name": "dev.ucp.shopping.order", "version": "2026-01-11", "config": {"webhook_url": "https://platform.example/hook"}}]}}`
)

// RoundTrip answers as the platform does.
func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Method+" "+r.URL.String())
	respond := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
	}
	if r.URL.String() == profileURL {
		return respond(200, p.profile)
	}
	if p.failures > 0 {
		p.failures--
		return respond(503, "")
	}
	if p.hook != nil {
		w := httptest.NewRecorder()
		p.hook.ServeHTTP(w, r)
		if p.deaf > 0 {
			p.deaf--
			return respond(503, "")
		}
		return w.Result(), nil
	}
	var e event
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		return nil, err
	}
	p.told = append(p.told, e)
	return respond(200, "")
}

func (p *platform) events() []event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

func (p *platform) tries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *platform) become(profile string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.profile = profile
}

func at(p *platform) configure {
	return func(_ *shop.Options, o *ucp.InboundOptions) { o.Client = &http.Client{Transport: p} }
}

var agent = []string{"UCP-Agent", `profile="` + profileURL + `"`}

// TestWebhooks: the platform is told what becomes of its order, and told again until it has heard.
func TestWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed, failures: 3}
		s := newStall(t, at(p))
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
		require.Equal(t, 200, paid.status, paid.raw)
		time.Sleep(time.Minute)
		require.Len(t, p.events(), 1)
		placed := p.events()[0]
		require.Equal(t, []string{"order_placed", id, paid.order()}, []string{placed.Type, placed.Checkout, placed.Order.ID})

		require.Equal(t, 403, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "").status)
		require.Equal(t, 403, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "", "Simulation-Secret", secret+"!").status)
		require.Equal(t, 200, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "", "Simulation-Secret", secret).status)
		synctest.Wait()
		require.Len(t, p.events(), 2)
		shipped := p.events()[1]
		require.Equal(t, "order_shipped", shipped.Type)
		require.Equal(t, "shipped", shipped.Order.Fulfillment.Events[0].Type)
		require.Equal(t, "fulfilled", shipped.Order.LineItems[0].Status)
		time.Sleep(time.Hour)
		require.Len(t, p.events(), 2, "nothing is told twice")
		for entry, err := range s.store.List(t.Context(), "outbox.") {
			require.NoError(t, err)
			require.Fail(t, "a notice is left", entry.Name)
		}
	})
}

// Platforms of later releases are told in their own form, signed, and take it for what it is: our receiver is on the other
// side.
func TestWebhooksOfLaterReleases(t *testing.T) {
	for _, release := range []wire.Release{wire.January23, wire.April2026} {
		t.Run(string(release), func(t *testing.T) {
			signer, err := signature.Generate("shop-1")
			require.NoError(t, err)
			profile, err := ucp.PlatformProfile(release, "https://platform.example/hook")
			require.NoError(t, err)
			text, err := profile.Encode()
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				const business = "https://lamps.example/.well-known/ucp"
				var events []webhook.Event
				var verdicts []webhook.Verdict
				receiver, err := webhook.New(webhook.Options{
					Key: func(context.Context, string, string) (negotiation.Key, error) { return signer.Public() },
					Origins: func(context.Context, string) ([]webhook.Origin, error) {
						return []webhook.Origin{{Business: business, Release: release, Currency: "EUR"}}, nil
					},
					Memory:  webhook.Remember(keyvalue.NewMemory(0)),
					Handle:  func(_ context.Context, e webhook.Event) error { events = append(events, e); return nil },
					Observe: func(_ context.Context, _ webhook.Event, v webhook.Verdict) { verdicts = append(verdicts, v) },
				})
				require.NoError(t, err)
				p := &platform{profile: string(text), hook: receiver, deaf: 3}
				s := newStall(t, at(p), func(_ *shop.Options, o *ucp.InboundOptions) { o.Signer, o.ProfileURL = signer, business })
				defer s.stop()
				id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
				paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
				require.Equal(t, 200, paid.status, paid.raw)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Len(t, events, 1)
				require.Equal(t, []webhook.Verdict{webhook.Fresh, webhook.Duplicate, webhook.Duplicate, webhook.Duplicate}, verdicts, "told until it was heard")
				require.Equal(t, []string{id, paid.order()}, []string{events[0].Checkout, events[0].OrderID})
				require.False(t, events[0].At.IsZero())
				require.NotEmpty(t, events[0].Key)
				require.Equal(t, "EUR", events[0].Order["currency"])
			})
		})
	}
}

// TestWebhooksThatNobodyAnswers are given up in the end, and profiles without one at once.
func TestWebhooksThatNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed, failures: 1 << 30}
		s := newStall(t, at(p))
		defer s.stop()
		buy := func(headers ...string) {
			id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), headers...).id()
			require.Equal(t, 200, s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), headers...).status)
		}
		buy(agent...)
		time.Sleep(26 * time.Hour)
		tries := p.tries()
		require.Greater(t, tries, 20)
		require.Less(t, tries, 120)
		p.become(`{"ucp": {"version": "2026-01-11", "capabilities": []}}`)
		buy(agent...)
		buy("UCP-Agent", `profile="ftp://platform.example/x"`)
		buy()
		time.Sleep(2 * time.Hour)
		require.Equal(t, tries+1, p.tries(), "the profile was looked at once more")
		for range s.store.List(t.Context(), "outbox.") {
			require.Fail(t, "a notice is left")
		}
	})
}

// TestPaymentLeftBehind: a process dies after a payment was attempted. Whoever looks after its notices sees to it that
// the payment is settled and the platform told, though nobody asks for the checkout again.
func TestPaymentLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed}
		slow := &slowTill{}
		s := newStall(t, at(p), func(o *shop.Options, in *ucp.InboundOptions) {
			slow.Payments, o.Payments = o.Payments, slow
			in.AnswerTimeout = time.Second
		})
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		slow.mu.Lock()
		unanswered := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), append(agent, "Idempotency-Key", "k")...)
		require.Equal(t, 503, unanswered.status, unanswered.raw)
		require.Equal(t, "complete_in_progress", s.ask(t, "GET", "/checkout-sessions/"+id, "").state())
		require.Equal(t, 409, s.ask(t, "PUT", "/checkout-sessions/"+id, wants("wick-cotton", 2)).status)
		slow.mu.Unlock()
		time.Sleep(2 * time.Minute)
		require.Equal(t, "completed", s.ask(t, "GET", "/checkout-sessions/"+id, "").state())
		require.Len(t, p.events(), 1)
		again := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), append(agent, "Idempotency-Key", "k")...)
		require.Equal(t, 200, again.status, again.raw)
		require.Equal(t, "completed", again.state())
	})
}

// slowTill waits for its mutex before it takes a payment.
type slowTill struct {
	shop.Payments
	mu sync.Mutex
}

func (s *slowTill) Handlers() []model.PaymentHandler { return s.Payments.Handlers() }

func (s *slowTill) Take(ctx context.Context, payment shop.Payment) error {
	for !s.mu.TryLock() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer s.mu.Unlock()
	return s.Payments.Take(ctx, payment)
}

// TestANoteOfADeclinedPayment: a payment that comes long after another was declined is noted down anew, lest the old note is
// crossed out, as one that nothing came of, before the process that takes the payment has died.
func TestANoteOfADeclinedPayment(t *testing.T) {
	b := newTown(t).open(t, func(_ *shop.Options, io *ucp.InboundOptions) {
		io.Store = &forestalled{io.Store, func(name string) error {
			if strings.HasPrefix(name, "order.") { // As far as this process comes.
				return keyvalue.ErrUnavailable
			}
			return nil
		}}
	})
	for age, anew := range map[time.Duration]bool{time.Second: false, 9 * time.Minute: true} {
		id := b.create("wick-cotton", 1).id()
		since := time.Now().Add(-age)
		note, err := json.Marshal(map[string]any{"event": "order_placed", "checkout": id, "since": since, "next": time.Now().Add(time.Minute)})
		require.NoError(t, err)
		_, err = b.store.Put(t.Context(), "outbox."+id, note, 0)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, b.complete(id, shop.TokenPays).status)
		require.Equal(t, "completed", b.get(id).state())
		entry, err := b.store.Get(t.Context(), "outbox."+id)
		require.NoError(t, err)
		var found struct{ Since time.Time }
		require.NoError(t, json.Unmarshal(entry.Value, &found))
		require.Equal(t, anew, found.Since.After(since), "%s after the other", age)
	}
}
