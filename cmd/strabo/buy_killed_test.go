package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flaky stands in front of a shop, loses requests and answers, and notes which orders the shop has made.
type flaky struct {
	server *httptest.Server
	loses  float64

	mu     sync.Mutex
	orders map[string]bool
}

func newFlaky(t *testing.T, target string, loses float64) *flaky {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	f := &flaky{loses: loses, orders: make(map[string]bool)}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	proxy.ModifyResponse = func(r *http.Response) error {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if strings.HasSuffix(r.Request.URL.Path, "/complete") && r.StatusCode == http.StatusOK {
			f.note(text)
		}
		text = bytes.ReplaceAll(text, []byte(target), []byte(f.server.URL))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Del("Content-Length")
		return nil
	}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.Float64() < f.loses {
			panic(http.ErrAbortHandler)
		}
		recorded := httptest.NewRecorder()
		// What has begun at the shop goes on there, whatever becomes of the client.
		proxy.ServeHTTP(recorded, r.WithContext(t.Context()))
		if rand.Float64() < f.loses {
			panic(http.ErrAbortHandler)
		}
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	}))
	t.Cleanup(f.server.Close)
	return f
}

// note takes down the order of a checkout that was completed, in the words of any of the shops.
func (f *flaky) note(text []byte) {
	var said struct {
		Order struct {
			ID string `json:"id"`
		} `json:"order"`
		OrderID string `json:"order_id"`
	}
	if json.Unmarshal(text, &said) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range []string{said.Order.ID, said.OrderID} {
		if id != "" {
			f.orders[id] = true
		}
	}
}

// made gives the orders that were made since it was last asked.
func (f *flaky) made() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.orders = make(map[string]bool) }()
	return f.orders
}

// TestBuyKilledAnywhere kills purchases at random moments and runs them again with the same journal until they end,
// STRABO_TEST_BUY_KILLS times a shop, while the network loses requests and answers. Each ends with the one order that was
// made. The shops are our own and, where they are running, the public samples: see TestBuyAtPublicShops.
func TestBuyKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	most := often(t, "STRABO_TEST_BUY_KILLS", 2)
	austin := []string{"--buyer", "john.doe@example.com", "--street", "9 New Rd", "--city", "Austin", "--region", "TX", "--postal-code", "73301", "--country", "US"}
	own := startShop(t, "--data", wickShop(t), "--durability", "none", "--local-webhooks")
	for name, test := range map[string]struct {
		url       string
		arguments []string
	}{
		"own":    {own.URL, append([]string{"--item", "wick-cotton", "--pay", "mock_payment_handler:success_token"}, austin...)},
		"node":   {os.Getenv("STRABO_UCP_NODE"), append([]string{"--item", "pot_ceramic"}, austin...)},
		"python": {os.Getenv("STRABO_UCP_PYTHON"), append([]string{"--item", "pot_ceramic"}, austin...)},
	} {
		t.Run(name, func(t *testing.T) {
			if test.url == "" {
				t.Skip("skipped: the public sample shop is not running")
			}
			kills, runs, purchases := 0, 0, 0
			for kills < most {
				f := newFlaky(t, test.url, 0.05)
				arguments := append([]string{
					"buy", "--business", f.server.URL, "--journal", filepath.Join(t.TempDir(), "journal"), "--timeout", "1m", "--json",
				}, test.arguments...)
				purchases++
				// Each run gets a little further than the one before.
				longest := 100 * time.Millisecond
				var out, errs bytes.Buffer
				for ended := false; !ended; {
					runs++
					out.Reset()
					errs.Reset()
					buying := exec.Command("strabo", arguments...)
					buying.Stdout, buying.Stderr = &out, &errs
					require.NoError(t, buying.Start())
					killer := time.AfterFunc(rand.N(longest), func() { _ = buying.Process.Kill() })
					longest += longest / 4
					err := buying.Wait()
					killer.Stop()
					var exit *exec.ExitError
					switch {
					case err == nil:
						ended = true
					default:
						require.ErrorAs(t, err, &exit, errs.String())
						if exit.ExitCode() >= 0 { // It says no by itself, which it may do if it does not know.
							require.Less(t, runs, 50*most+50, "%s\n%s", out.String(), errs.String())
							t.Logf("run %d ended with %d: %s", runs, exit.ExitCode(), lastLine(errs.String()))
						} else {
							kills++
						}
					}
				}
				made := f.made()
				require.Len(t, made, 1, "%s\n%s", out.String(), errs.String())
				for id := range made {
					require.Contains(t, out.String(), id)
				}
			}
			t.Logf("%d purchases in %d runs, of which %d were killed", purchases, runs, kills)
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
