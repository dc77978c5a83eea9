package schemas_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/schemas"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const (
	loyalty = "com.example.shopping.loyalty"
	at      = "https://example.com/ucp/loyalty.json"
	newer   = `{"name":"com.example.shopping.loyalty","requires":{"protocol":{"min":"2026-06-01"}}}`
)

// publisher serves schemas at example.com, over TLS, on this machine, and counts.
type publisher struct {
	*httptest.Server
	asked atomic.Int64
}

func publishing(t *testing.T, answer http.HandlerFunc) *publisher {
	t.Helper()
	p := &publisher{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Get is a [schemas.Source] that goes to the publisher, whatever the host: that a name may not lead to this machine is for
// the guard, and is tested below.
func (p *publisher) Get(ctx context.Context, text, accept string) (*guard.Response, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	g, err := guard.New(guard.Options{
		Trusted: []string{p.URL}, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxBytes: 2 * schemas.MaximumSize,
	})
	if err != nil {
		return nil, err
	}
	defer g.CloseIdleConnections()
	return g.Get(ctx, p.URL+u.Path, accept)
}

func TestWhatIsFetched(t *testing.T) {
	for _, test := range []struct {
		name, at string
		answer   http.HandlerFunc
		wrong    string
		asked    int64
	}{
		{"what requires something", at, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, newer) }, "", 1},
		{"no schema", at, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "no JSON object", 1},
		{"nothing there", at, http.NotFound, "status 404", 1},
		{"elsewhere", at, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://10.0.0.1/", http.StatusFound)
		}, "status 302", 1},
		{"too large", at, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat(" ", schemas.MaximumSize)+"{}")
		}, "too large", 1},
		{"hung up", at, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be fetched", 1},
		{"another's place", "https://example.org/ucp/loyalty.json", nil, "where the owner", 0},
		{"no https", "http://example.com/ucp/loyalty.json", nil, "where the owner", 0},
		{"credentials", "https://a:b@example.com/ucp/loyalty.json", nil, "where the owner", 0},
		{"no URL", "%", nil, "where the owner", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := publishing(t, test.answer)
			library := schemas.New(schemas.Options{Source: p})
			var everybody sync.WaitGroup
			for range 8 {
				everybody.Go(func() {
					r, err := library.Requires(t.Context(), loyalty, test.at)
					if test.wrong != "" {
						assert.ErrorContains(t, err, test.wrong)
						return
					}
					assert.NoError(t, err)
					assert.Equal(t, &negotiation.Requires{Protocol: &negotiation.Range{Min: "2026-06-01"}}, r)
				})
			}
			everybody.Wait()
			require.Equal(t, test.asked, p.asked.Load(), "once for everybody, also what failed")
		})
	}
}

// TestWhereASchemaMayNotLead: the guard refuses addresses that are nobody's business.
func TestWhereASchemaMayNotLead(t *testing.T) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}
	g, err := guard.New(guard.Options{Resolver: resolver})
	require.NoError(t, err)
	library := schemas.New(schemas.Options{Source: g})
	_, err = library.Requires(t.Context(), loyalty, at)
	require.Error(t, err)
}

// counting is a source that counts.
type counting struct {
	asked atomic.Int64
	said  func() (*guard.Response, error)
}

func (c *counting) Get(context.Context, string, string) (*guard.Response, error) {
	c.asked.Add(1)
	return c.said()
}

func TestHowLongASchemaIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{said: func() (*guard.Response, error) { return &guard.Response{Status: 200, Body: []byte(newer)}, nil }}
		library := schemas.New(schemas.Options{Source: c, Kept: 2, Burst: 100})
		ask := func(at string) error {
			_, err := library.Requires(t.Context(), loyalty, at)
			return err
		}
		require.NoError(t, ask(at))
		time.Sleep(schemas.Life - time.Nanosecond)
		require.NoError(t, ask(at))
		require.EqualValues(t, 1, c.asked.Load())
		time.Sleep(time.Nanosecond)
		c.said = func() (*guard.Response, error) { return nil, errors.New("away") }
		require.Error(t, ask(at))
		require.EqualValues(t, 2, c.asked.Load())
		require.Error(t, ask(at), "not asked again at once")
		require.EqualValues(t, 2, c.asked.Load())
		c.said = func() (*guard.Response, error) { return &guard.Response{Status: 200, Body: []byte(newer)}, nil }
		time.Sleep(schemas.Pause)
		require.NoError(t, ask(at))
		for i := range 10 {
			require.NoError(t, ask(fmt.Sprint("https://example.com/", i)))
		}
		require.EqualValues(t, 13, c.asked.Load())
	})
	busy := schemas.New(schemas.Options{Source: &counting{said: func() (*guard.Response, error) { return nil, errors.New("x") }}, Burst: 1})
	_, err := busy.Requires(t.Context(), loyalty, at)
	require.Error(t, err)
	_, err = busy.Requires(t.Context(), loyalty, at+"2")
	require.ErrorIs(t, err, schemas.ErrBusy)
}

// Whoever names schema after schema at one site keeps nobody away from another.
func TestTooManySchemasAtOneSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		library := schemas.New(schemas.Options{Source: &counting{said: func() (*guard.Response, error) {
			return &guard.Response{Status: 200, Body: []byte(newer)}, nil
		}}})
		refused := 0
		for i := range 2 * schemas.DefaultBurst {
			if _, err := library.Requires(t.Context(), "example.evil.x", fmt.Sprint("https://evil.example/", i)); errors.Is(err, schemas.ErrBusy) {
				refused++
			}
		}
		require.NotZero(t, refused)
		_, err := library.Requires(t.Context(), loyalty, at)
		require.NoError(t, err)
	})
}

func TestSchemasInADirectory(t *testing.T) {
	c := &counting{said: func() (*guard.Response, error) { return &guard.Response{Status: 404}, nil }}
	library := schemas.New(schemas.Options{Source: c, Directory: fstest.MapFS{
		"example.com/ucp/loyalty.json": {Data: []byte(newer)}, "secret.json": {Data: []byte(newer)}, "example.com/dir/x": {Data: []byte("x")},
	}})
	r, err := library.Requires(t.Context(), loyalty, at)
	require.NoError(t, err)
	require.NotNil(t, r)
	require.Zero(t, c.asked.Load())
	for _, other := range []string{"https://example.com/../secret.json", "https://example.com/ucp/none.json", "https://example.com/dir"} {
		_, err = library.Requires(t.Context(), loyalty, other)
		require.Error(t, err, other)
	}
	_, err = schemas.New(schemas.Options{}).Requires(t.Context(), loyalty, at)
	require.ErrorIs(t, err, schemas.ErrUnknown)
}

// TestSchemasOfUCP: that UCP's own extensions require nothing is true of the schemas that it has published.
func TestSchemasOfUCP(t *testing.T) {
	none := schemas.New(schemas.Options{})
	corpus := schematest.Corpus(t, 3)
	for _, release := range wire.Releases() {
		root := corpus + "/v" + string(release)
		for _, short := range []string{"fulfillment", "discount", "buyer_consent", "ap2_mandate"} {
			name, path := "dev.ucp.shopping."+short, "schemas/shopping/"+short+".json"
			for _, at := range []string{"https://ucp.dev/" + string(release) + "/" + path, "https://ucp.dev/" + path} {
				r, err := none.Requires(t.Context(), name, at)
				require.NoError(t, err)
				require.Nil(t, r)
			}
			text, err := os.ReadFile(root + "/" + path)
			require.NoError(t, err)
			r, err := negotiation.ParseRequires(name, text)
			require.NoError(t, err)
			require.Nil(t, r, "%s %s", release, short)
		}
		_, err := none.Requires(t.Context(), "dev.ucp.shopping.discount", "https://ucp.dev/elsewhere/discount.json")
		require.ErrorIs(t, err, schemas.ErrUnknown)
	}
}
