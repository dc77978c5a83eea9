package shop_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// mute never answers at one of its hosts, while it is mute, and is a platform at the others.
type mute struct {
	*platform
	on    atomic.Bool
	asked atomic.Int32
}

func (m *mute) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "mute.example" {
		return m.platform.RoundTrip(r)
	}
	m.asked.Add(1)
	if m.on.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	told := r.Clone(r.Context())
	told.URL.Host = "platform.example"
	return m.platform.RoundTrip(told)
}

// TestAMutePlatform keeps nobody waiting but itself, and is told of all of its orders when it answers again.
func TestAMutePlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{platform: &platform{profile: strings.ReplaceAll(listed, "platform.example", "mute.example")}}
		m.on.Store(true)
		s := newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Client = &http.Client{Transport: m} })
		defer s.stop()
		buy := func(host string) {
			headers := []string{"UCP-Agent", `profile="https://` + host + `/profile.json"`}
			id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), headers...).id()
			require.Equal(t, 200, s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), headers...).status)
		}
		const many = 150
		for range many {
			buy("mute.example")
		}
		m.platform.become(listed)
		buy("platform.example")
		time.Sleep(15 * time.Second)
		require.Len(t, m.platform.events(), 1, "who answers is told soon")
		time.Sleep(time.Hour)
		require.Less(t, m.asked.Load(), int32(100), "who does not is left alone")
		m.on.Store(false)
		time.Sleep(2 * time.Hour) // The pauses before the next attempt may have added up.
		require.Len(t, m.platform.events(), 1+many)
		for entry, err := range s.store.List(t.Context(), "outbox.") {
			require.NoError(t, err)
			require.Fail(t, "a notice is left", entry.Name)
		}
	})
}

// TestEventsComeInOrder: what happens to an order is told after what happened to it before, also where that has to be
// told again.
func TestEventsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed, failures: 2}
		s := newStall(t, at(p))
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
		require.Equal(t, 200, paid.status, paid.raw)
		synctest.Wait()
		for range 2 {
			require.Equal(t, 200, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "", "Simulation-Secret", secret).status)
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour)
		var types []string
		for _, e := range p.events() {
			types = append(types, e.Type)
		}
		require.Equal(t, []string{"order_placed", "order_shipped", "order_shipped"}, types)
	})
}

// TestNoticesLeftBehind: what a process has left in the store is told by another in the order in which it happened, whichever
// is found first; and an order that was told already, by a process that died before it could cross the notice out, is not
// told again.
func TestNoticesLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed}
		s := newStall(t, at(p))
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
		require.Equal(t, 200, paid.status, paid.raw)
		time.Sleep(time.Second)
		require.Len(t, p.events(), 1)
		leave := func(name, event string, since, next time.Time) {
			t.Helper()
			text, err := json.Marshal(map[string]any{
				"event": event, "checkout": id, "order": paid.order(), "profile": profileURL, "since": since, "next": next,
			})
			require.NoError(t, err)
			_, err = s.store.Put(t.Context(), "outbox."+id+name, text, 0)
			require.NoError(t, err)
		}
		left := func() (names []string) {
			for entry, err := range s.store.List(t.Context(), "outbox.") {
				require.NoError(t, err)
				names = append(names, strings.TrimPrefix(entry.Name, "outbox."+id))
			}
			return names
		}
		now := time.Now()
		leave("", "order_placed", now, now)
		time.Sleep(time.Minute)
		require.Len(t, p.events(), 1, "it was told")
		require.Empty(t, left())

		now = time.Now()
		leave(".a", "order_shipped", now, now)                                      // The later one is found first.
		leave(".b", "order_shipped", now.Add(-time.Second), now.Add(5*time.Minute)) // The earlier one is another process's for a while.
		time.Sleep(4 * time.Minute)
		require.Len(t, p.events(), 1, "what came before is still to be told")
		require.Equal(t, []string{".a", ".b"}, left())
		time.Sleep(2 * time.Minute)
		require.Len(t, p.events(), 3)
		require.Empty(t, left())
	})
}

// slowly takes a second to be told anything.
type slowly struct{ *platform }

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	return s.platform.RoundTrip(r)
}

// TestEventsThatComeTogether are told right after each other.
func TestEventsThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{profile: listed}
		s := newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Client = &http.Client{Transport: slowly{p}} })
		defer s.stop()
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), agent...).id()
		paid := s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), agent...)
		require.Equal(t, 200, paid.status, paid.raw)
		synctest.Wait()
		require.Equal(t, 200, s.ask(t, "POST", "/testing/simulate-shipping/"+paid.order(), "", "Simulation-Secret", secret).status)
		time.Sleep(3500 * time.Millisecond) // The profile, and two events.
		require.Len(t, p.events(), 2)
		require.Equal(t, "order_shipped", p.events()[1].Type)
	})
}

// noHost fails the test when anybody is asked.
type noHost struct{ t *testing.T }

func (n noHost) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was asked", r.URL)
	return nil, http.ErrServerClosed
}

// TestAPlatformThatIsNowhere is not looked for, and nobody is told that it could not be told: a platform without a profile
// says that it is at a name which no host has (ucp.DefaultProfile).
func TestAPlatformThatIsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log levels
		s := newStall(t, func(_ *shop.Options, o *ucp.InboundOptions) {
			o.Client, o.Logger = &http.Client{Transport: noHost{t}}, slog.New(&log)
		})
		defer s.stop()
		headers := []string{"UCP-Agent", `profile="` + ucp.DefaultProfile + `"`}
		id := s.ask(t, "POST", "/checkout-sessions", wants("wick-cotton", 1), headers...).id()
		require.Equal(t, 200, s.ask(t, "POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), headers...).status)
		time.Sleep(25 * time.Hour)
		for entry, err := range s.store.List(t.Context(), "outbox.") {
			require.NoError(t, err)
			require.Fail(t, "a notice is left", entry.Name)
		}
		require.Zero(t, log.warnings.Load())
	})
}

// levels counts what is logged that somebody should look at.
type levels struct{ warnings atomic.Int32 }

func (*levels) Enabled(context.Context, slog.Level) bool { return true }

func (l *levels) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		l.warnings.Add(1)
	}
	return nil
}

func (l *levels) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *levels) WithGroup(string) slog.Handler      { return l }
