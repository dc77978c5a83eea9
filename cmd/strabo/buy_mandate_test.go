package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// publish serves the profiles of a platform.
func publish(t *testing.T, flags ...string) string {
	t.Helper()
	publishing := exec.Command("strabo", append([]string{"profile", "--listen", "127.0.0.1:0"}, flags...)...)
	out, err := publishing.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, publishing.Start())
	t.Cleanup(func() { _ = publishing.Process.Kill(); _ = publishing.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	var said struct{ Profile string }
	require.NoError(t, json.Unmarshal(line, &said))
	return said.Profile
}

// wiretap stands between a buyer and a shop, and may change what the shop answers.
type wiretap struct {
	*httptest.Server
	mu     sync.Mutex
	to     *url.URL
	change func(r *http.Request, header http.Header, body []byte) []byte // nil: nothing
	lost   bool                                                          // answers nothing once somebody pays, and passes nothing on
	paying bool
	sent   []string // bodies of complete requests
}

func newWiretap(t *testing.T) *wiretap {
	w := new(wiretap)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(w.to)
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			w.mu.Lock()
			change := w.change
			w.mu.Unlock()
			if change == nil || strings.Contains(r.Request.URL.Path, "/.well-known/") {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			body = change(r.Request, r.Header, body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Del("Content-Length")
			return nil
		},
	}
	w.Server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if w.hears(r) {
			http.Error(answer, "", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(answer, r)
	}))
	t.Cleanup(w.Close)
	return w
}

// hears notes a request down and tells whether it is lost.
func (w *wiretap) hears(r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/complete") {
		body, _ := io.ReadAll(r.Body)
		w.sent = append(w.sent, string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.paying = true
	}
	return w.lost && w.paying
}

func (w *wiretap) lose(lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost, w.paying, w.sent = lost, false, nil
}

// changing has bodies changed by somebody who knows that there are signatures, and takes them away; nil ends it.
func (w *wiretap) changing(change func(*http.Request, []byte) []byte) {
	if change == nil {
		w.rewriting(nil)
		return
	}
	w.rewriting(func(r *http.Request, header http.Header, body []byte) []byte {
		header.Del("Signature")
		header.Del("Signature-Input")
		return change(r, body)
	})
}

// rewriting has answers changed; nil ends it.
func (w *wiretap) rewriting(change func(*http.Request, http.Header, []byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change, w.sent = change, nil
}

func (w *wiretap) completes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

var authorization = regexp.MustCompile(`"merchant_authorization":"[^"]*"`)

// TestBuyWithAMandate: our own shop signs what it says of a checkout, the buyer verifies that and pays with a mandate for just
// that, in every release. What was changed on the way, or left out, is not paid.
func TestBuyWithAMandate(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "mandates.pem")
	profile := publish(t, "--mandate-key", key)
	tap := newWiretap(t)
	s := startShop(t, "--local-webhooks", "--durability", "none", "--public-url", tap.URL)
	var err error
	tap.to, err = url.Parse(s.URL)
	require.NoError(t, err)
	buy := func(below string, flags ...string) (int, string, string) {
		return runStrabo("", append([]string{
			"buy", "--business", tap.URL + below, "--item", "oil-lamp", "--country", "GR", "--profile", profile,
		}, flags...)...)
	}
	for _, below := range []string{"", "/ucp/2026-01-23"} {
		code, out, err := buy(below, "--mandate-key", key)
		require.Equal(t, exitFine, code, out+err)
		require.Contains(t, out, "placed")
		require.NotContains(t, err, "mandate", "what is paid, and how, is said and nothing else")
		sent := tap.completes()
		require.Contains(t, sent[len(sent)-1], `"ap2":{"checkout_mandate":"`)
	}
	tap.changing(nil)
	for name, test := range map[string]struct {
		change func(*http.Request, []byte) []byte
		want   string
	}{
		"another total": {func(_ *http.Request, body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`"amount":`), []byte(`"amount":1`))
		}, "The authorization is not of this checkout"},
		"no authorization": {func(_ *http.Request, body []byte) []byte {
			return authorization.ReplaceAll(body, []byte(`"none":1`))
		}, "The checkout is not signed by the business"},
		"another title at the last look": {func(r *http.Request, body []byte) []byte {
			if r.Method == http.MethodGet {
				return bytes.Replace(body, []byte(`"title":"`), []byte(`"title":"A better `), 1)
			}
			return body
		}, "The authorization is not of this checkout"},
	} {
		tap.changing(test.change)
		code, out, err := buy("", "--mandate-key", key)
		require.Equal(t, exitNo, code, name+out+err)
		require.Contains(t, out, test.want, name)
		require.Empty(t, tap.completes(), name)
	}
	// What was paid was agreed to, so an order is one, however it is told.
	tap.changing(func(r *http.Request, body []byte) []byte {
		if strings.HasSuffix(r.URL.Path, "/complete") {
			return authorization.ReplaceAll(body, []byte(`"none":1`))
		}
		return body
	})
	code, out, errors := buy("", "--mandate-key", key)
	require.Equal(t, exitFine, code, out+errors)
	tap.changing(nil)

	// A platform whose profile says that it makes mandates pays with none, or with a key that is not there, and is told.
	code, out, errors = buy("")
	require.Equal(t, exitNo, code, out+errors)
	require.Contains(t, out, "mandate_required")
	code, out, errors = buy("", "--mandate-key", key, "--mandate-key-id", "other")
	require.Equal(t, exitNo, code, out+errors)
	require.Contains(t, out, "agent_missing_key")
	code, _, errors = runStrabo("", "buy", "--business", tap.URL, "--item", "oil-lamp", "--mandate-key", key)
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, errors, "--profile is needed")
	s.kill()
	log := s.log.String()
	for _, body := range tap.completes() {
		var said struct {
			AP2 struct {
				Mandate string `json:"checkout_mandate"`
			} `json:"ap2"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &said))
		if said.AP2.Mandate != "" {
			require.NotContains(t, log, said.AP2.Mandate)
			require.NotContains(t, out+errors, said.AP2.Mandate)
		}
	}
}

// TestBuyWithAMandateGoesOn: a payment that got lost is made again by the next process, with the same mandate.
func TestBuyWithAMandateGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	key, journal := filepath.Join(t.TempDir(), "mandates.pem"), filepath.Join(t.TempDir(), "journal")
	profile := publish(t, "--mandate-key", key)
	tap := newWiretap(t)
	s := startShop(t, "--local-webhooks", "--durability", "none", "--public-url", tap.URL)
	var err error
	tap.to, err = url.Parse(s.URL)
	require.NoError(t, err)
	buy := func(timeout string) (int, string, string) {
		return runStrabo("", "buy", "--business", tap.URL, "--item", "oil-lamp", "--country", "GR", "--profile", profile,
			"--mandate-key", key, "--journal", journal, "--timeout", timeout)
	}
	tap.lose(true)
	code, out, said := buy("8s")
	require.Equal(t, exitNo, code, out+said)
	require.Contains(t, said, "nobody can tell")
	before := tap.completes()
	require.NotEmpty(t, before)
	tap.lose(false)
	code, out, said = buy("60s")
	require.Equal(t, exitFine, code, out+said)
	require.Contains(t, out, "placed")
	require.Equal(t, before[:1], tap.completes())
	kept, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NotContains(t, string(kept), "checkout_mandate")
}
