package profiles_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
)

const profile = `{"ucp":{"version":"2026-04-08","capabilities":{"dev.ucp.shopping.checkout":[{"version":"2026-04-08"}]}},
  "signing_keys":[{"kid":"k1","kty":"EC"}]}`

// party serves profiles over TLS and counts.
type party struct {
	*httptest.Server
	asked  atomic.Int64
	answer atomic.Value // of func(http.ResponseWriter, *http.Request)
}

func serving(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *party {
	t.Helper()
	p := &party{}
	p.answer.Store(answer)
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		p.answer.Load().(func(http.ResponseWriter, *http.Request))(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func saying(body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		fmt.Fprint(w, body)
	}
}

// reaching is a fetcher that may reach the party, which is on this machine.
func reaching(t *testing.T, p *party, options profiles.Options) *profiles.Fetcher {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	g, err := guard.New(guard.Options{AllowLoopback: true, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}})
	require.NoError(t, err)
	options.Source = g
	f, err := profiles.New(options)
	require.NoError(t, err)
	return f
}

func TestAProfileIsFetchedOnce(t *testing.T) {
	p := serving(t, saying(profile, "Cache-Control", "public, max-age=600"))
	f := reaching(t, p, profiles.Options{})
	var everybody sync.WaitGroup
	for range 1000 {
		everybody.Go(func() {
			got, err := f.Get(t.Context(), p.URL)
			assert.NoError(t, err)
			assert.Equal(t, "2026-04-08", got.Version)
		})
	}
	everybody.Wait()
	require.Equal(t, int64(1), p.asked.Load())
	_, err := f.Get(t.Context(), p.URL)
	require.NoError(t, err)
	require.Equal(t, int64(1), p.asked.Load())
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		want   negotiation.Code
	}{
		{"a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, negotiation.ProfileUnreachable},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, negotiation.ProfileUnreachable},
		{"no JSON", saying("hello"), negotiation.ProfileMalformed},
		{"a page", saying("{}", "Content-Type", "text/html"), negotiation.ProfileMalformed},
		{"no version", saying(`{"ucp":{}}`), negotiation.ProfileMalformed},
		{"too large", saying(strings.Repeat(" ", guard.DefaultMaxBytes+1)), negotiation.ProfileMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := serving(t, test.answer)
			f := reaching(t, p, profiles.Options{})
			_, err := f.Get(t.Context(), p.URL)
			require.ErrorIs(t, err, &negotiation.Error{Code: test.want})
			asked := p.asked.Load()
			p.answer.Store(saying(profile))
			_, err = f.Get(t.Context(), p.URL)
			require.ErrorIs(t, err, &negotiation.Error{Code: test.want}, "nobody is asked again at once")
			require.Equal(t, asked, p.asked.Load())
		})
	}
}

func TestWhereAURLMayNotLead(t *testing.T) {
	p := serving(t, saying(profile))
	f, err := profiles.New(profiles.Options{})
	require.NoError(t, err)
	for _, at := range []string{p.URL, "http://platform.example/profile", "file:///etc/passwd", "https://169.254.169.254/latest", "hello", ""} {
		_, err = f.Get(t.Context(), at)
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.InvalidProfileURL}, at)
	}
	require.Zero(t, p.asked.Load())
	f = reaching(t, p, profiles.Options{Trusted: func(string) bool { return false }})
	_, err = f.Get(t.Context(), p.URL)
	require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.ProfileNotTrusted})
}

func TestTooManyProfiles(t *testing.T) {
	p := serving(t, saying(profile))
	f := reaching(t, p, profiles.Options{Rate: 0.0001, Burst: 4, Kept: 1})
	for _, path := range []string{"/a", "/b"} {
		_, err := f.Get(t.Context(), p.URL+path)
		require.NoError(t, err)
	}
	_, err := f.Get(t.Context(), p.URL+"/b")
	require.NoError(t, err, "what is kept costs nothing")
	_, err = f.Get(t.Context(), p.URL+"/a")
	require.ErrorIs(t, err, profiles.ErrBusy, "only one is kept")
}

func TestWhoeverGivesUpDoesNotWait(t *testing.T) {
	hold := make(chan struct{})
	p := serving(t, func(w http.ResponseWriter, _ *http.Request) { <-hold; fmt.Fprint(w, profile) })
	f := reaching(t, p, profiles.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := f.Get(ctx, p.URL); first <- err }()
	require.Eventually(t, func() bool { return p.asked.Load() == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(hold)
	_, err := f.Get(t.Context(), p.URL)
	require.NoError(t, err)
	require.Equal(t, int64(1), p.asked.Load(), "the request of the first served the second")
}

// What is kept, for how long, and when a key is looked for again, in time that does not pass.
func TestAges(t *testing.T) {
	for _, test := range []struct {
		header string
		want   time.Duration
	}{
		{"public, max-age=600", 10 * time.Minute},
		{"max-age=1", time.Minute},
		{"no-store", time.Minute},
		{"", time.Minute},
		{"public, max-age=999999999", time.Hour},
		{`Max-Age="120"`, 2 * time.Minute},
		{"max-age=x", time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, f := inMemory(t, test.header)
			get := func() {
				t.Helper()
				_, err := f.Get(t.Context(), "http://localhost/p")
				require.NoError(t, err)
			}
			get()
			time.Sleep(test.want - time.Second)
			get()
			require.Equal(t, int64(1), s.Load(), test.header)
			time.Sleep(2 * time.Second)
			get()
			require.Equal(t, int64(2), s.Load(), test.header)
		})
	}
}

// Whoever names profile after profile keeps nobody away who is known.
func TestTooManyProfilesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, f := inMemory(t, "")
		ctx := t.Context()
		flood := func() {
			for i := range 2 * profiles.DefaultBurst {
				if _, err := f.Get(ctx, fmt.Sprint("http://localhost/", asked.Load(), i)); err != nil {
					require.ErrorIs(t, err, profiles.ErrBusy)
				}
			}
		}
		_, err := f.Get(ctx, "http://localhost/p")
		require.NoError(t, err)
		time.Sleep(profiles.MaximumAge - time.Second)
		flood()
		_, err = f.Get(ctx, "http://localhost/p")
		require.NoError(t, err, "out of date, but known")
		_, err = f.Key(ctx, "http://localhost/p", "k2")
		require.ErrorIs(t, err, profiles.ErrBusy, "it may have the key by now")
		_, err = f.Get(ctx, "http://localhost/new")
		require.ErrorIs(t, err, profiles.ErrBusy)
		time.Sleep(2 * time.Second)
		flood()
		_, err = f.Get(ctx, "http://localhost/p")
		require.ErrorIs(t, err, profiles.ErrBusy, "nothing is good for ever")
	})
}

// Whoever names profile after profile at one site keeps nobody away from another.
func TestTooManyProfilesAtOneSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, f := inMemory(t, "")
		refused := 0
		for second := range 10 {
			for i := range 2 * profiles.DefaultBurst {
				if _, err := f.Get(t.Context(), fmt.Sprintf("https://a%d.evil.example/%d", i, second)); err != nil {
					require.ErrorIs(t, err, profiles.ErrBusy)
					refused++
				}
			}
			_, err := f.Get(t.Context(), fmt.Sprintf("https://honest%d.example/p", second))
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		require.NotZero(t, refused)
		require.LessOrEqual(t, asked.Load(), int64(profiles.DefaultBurst+10*profiles.DefaultRate))
	})
}

func TestKeysAreLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, f := inMemory(t, "max-age=3600")
		ctx := t.Context()
		key, err := f.Key(ctx, "http://localhost/p", "k1")
		require.NoError(t, err)
		require.Equal(t, "k1", key.ID)
		for range 5 { // Somebody who signs with keys that are not there makes nobody fetch.
			_, err = f.Key(ctx, "http://localhost/p", "k2")
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.KeyNotFound})
		}
		require.Equal(t, int64(1), asked.Load())
		time.Sleep(profiles.MinimumAge + time.Second)
		for range 5 {
			_, err = f.Key(ctx, "http://localhost/p", "k2")
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.KeyNotFound})
		}
		require.Equal(t, int64(2), asked.Load())
		// Nor do keys of many profiles that are at one place.
		for i := range 5 {
			_, err = f.Get(ctx, fmt.Sprint("http://localhost/other", i))
			require.NoError(t, err)
		}
		time.Sleep(profiles.MinimumAge + time.Second)
		before := asked.Load()
		for i := range 5 {
			_, err = f.Key(ctx, fmt.Sprint("http://localhost/other", i), "k2")
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.KeyNotFound})
		}
		require.Equal(t, before+1, asked.Load())
		_, err = f.Get(ctx, "http://elsewhere/p")
		require.NoError(t, err)
		time.Sleep(profiles.MinimumAge + time.Second)
		_, err = f.Key(ctx, "http://elsewhere/p", "k2")
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.KeyNotFound})
		require.Equal(t, before+3, asked.Load(), "another place is another matter")
	})
}

// TestAYoungProfileIsNotRenewed: who asks for a key that a young profile does not have makes nobody fetch it, and does not
// keep others from having it fetched when it is old enough.
func TestAYoungProfileIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, f := inMemory(t, "max-age=3600")
		lacks := func() {
			t.Helper()
			_, err := f.Key(t.Context(), "http://localhost/p", "k2")
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.KeyNotFound})
		}
		lacks()
		require.Equal(t, int64(1), asked.Load())
		time.Sleep(profiles.MinimumAge / 2)
		lacks()
		require.Equal(t, int64(1), asked.Load(), "it is too young")
		time.Sleep(profiles.MinimumAge/2 + time.Second)
		lacks()
		require.Equal(t, int64(2), asked.Load(), "it is old enough, and nobody has had it fetched since")
	})
}

// TestAHostThatIsNone: a URL that leads nowhere is a wrong one (UCP 2026-04-08, overview, error codes); a host that does not
// answer is not.
func TestAHostThatIsNone(t *testing.T) {
	for code, err := range map[negotiation.Code]error{
		negotiation.InvalidProfileURL:  &net.DNSError{Name: "nowhere.example", IsNotFound: true},
		negotiation.ProfileUnreachable: &net.DNSError{Name: "nowhere.example", IsTimeout: true},
	} {
		f, failed := profiles.New(profiles.Options{Source: &source{err: fmt.Errorf("guard: %w", err)}})
		require.NoError(t, failed)
		_, got := f.Get(t.Context(), "https://nowhere.example/p")
		require.ErrorIs(t, got, &negotiation.Error{Code: code})
	}
}

// inMemory is a fetcher of profiles that are nowhere but here.
func inMemory(t *testing.T, cacheControl string) (*atomic.Int64, *profiles.Fetcher) {
	t.Helper()
	s := &source{header: http.Header{"Cache-Control": {cacheControl}}}
	f, err := profiles.New(profiles.Options{Source: s})
	require.NoError(t, err)
	return &s.asked, f
}

type source struct {
	asked  atomic.Int64
	header http.Header
	err    error
}

func (*source) Check(text string) (*url.URL, error) { return url.Parse(text) }

func (s *source) Get(context.Context, string, string) (*guard.Response, error) {
	s.asked.Add(1)
	if s.err != nil {
		return nil, s.err
	}
	return &guard.Response{Status: http.StatusOK, Header: s.header, Body: []byte(profile)}, nil
}
