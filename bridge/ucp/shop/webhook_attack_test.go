package shop_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// hook takes what is told and answers as it is told to.
type hook struct {
	mu     sync.Mutex
	answer func(w http.ResponseWriter)
	told   []*http.Request
	bodies []wire.Object
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := make([]byte, r.ContentLength)
	_, _ = r.Body.Read(text)
	said, _ := wire.Decode(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told, h.bodies = append(h.told, r), append(h.bodies, said)
	if h.answer != nil {
		h.answer(w)
	}
}

// seen gives what was told so far.
func (h *hook) seen() ([]*http.Request, []wire.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told), slices.Clone(h.bodies)
}

// A platform may become another between two notices: each is told as the platform is by then.
func TestAPlatformThatChangesBetweenTwoNotices(t *testing.T) {
	signer, err := signature.Generate("shop-1")
	require.NoError(t, err)
	key, err := signer.Public()
	require.NoError(t, err)
	profile, err := ucp.PlatformProfile(wire.April2026, "https://platform.example/new-hook")
	require.NoError(t, err)
	text, err := profile.Encode()
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		h := &hook{}
		p := &platform{profile: listed, hook: h}
		s := newStall(t, at(p), func(_ *shop.Options, o *ucp.InboundOptions) {
			o.Signer, o.ProfileURL = signer, "https://lamps.example/.well-known/ucp"
		})
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
		require.Equal(t, 200, paid.status, paid.raw)
		pass(2 * time.Minute) // The profile is looked at again.
		_, bodies := h.seen()
		require.Len(t, bodies, 1)
		require.Equal(t, "order_placed", bodies[0]["event_type"])

		p.become(`<html>We are moving.</html>`)
		require.Equal(t, 200, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "", "Simulation-Secret", secret).status)
		pass(time.Minute)
		_, bodies = h.seen()
		require.Len(t, bodies, 1, "nobody knows where")
		p.become(string(text))
		pass(time.Hour)
		requests, bodies := h.seen()
		require.Len(t, requests, 2, "a profile that was nonsense for a moment is asked for again")
		told := requests[1]
		require.Equal(t, "/new-hook", told.URL.Path)
		require.Nil(t, bodies[1]["event_type"], "the order itself")
		require.Equal(t, paid.order(), bodies[1]["id"])
		body, err := wire.Encode(bodies[1])
		require.NoError(t, err)
		told.Host = "platform.example"
		verified, err := signature.VerifyRequest(t.Context(), told, body, func(context.Context, string) (negotiation.Key, error) { return key, nil })
		require.NoError(t, err)
		require.True(t, verified.Covers("webhook-id"))
		require.True(t, verified.Covers("webhook-timestamp"))
	})
}

// A hook leads nowhere else: what it redirects to is not told, and it is told again.
func TestAHookThatRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://10.0.0.1/steal")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}}
		p := &platform{profile: listed, hook: h}
		s := newStall(t, at(p))
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		require.Equal(t, 200, s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...).status)
		pass(time.Minute)
		requests, _ := h.seen()
		require.Greater(t, len(requests), 2)
		for _, r := range requests {
			require.Equal(t, "platform.example", r.URL.Host)
		}
		h.mu.Lock()
		h.answer = nil
		h.mu.Unlock()
		pass(2 * time.Hour)
		again, _ := h.seen()
		require.Len(t, again, len(requests)+1)
	})
}

// pass lets time pass, and all that is to happen in it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
