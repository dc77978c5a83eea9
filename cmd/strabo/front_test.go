package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// newFront stands in front of a shop, and gives its own URL. Pass is asked before a request is passed on and before its
// answer is given back; where it says no nothing more happens to the request until the client is gone.
func newFront(t *testing.T, target string, pass func(executed bool) bool) string {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewUnstartedServer(nil)
	own := "http://" + server.Listener.Addr().String()
	proxy.ModifyResponse = func(r *http.Response) error {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(target), []byte(own))
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Del("Content-Length")
		return nil
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Only once the body is read is it noticed that the client is gone.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !pass(false) {
			<-r.Context().Done()
			return
		}
		recorded := httptest.NewRecorder()
		proxy.ServeHTTP(recorded, r)
		if !pass(true) {
			<-r.Context().Done()
			return
		}
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	})
	server.Start()
	t.Cleanup(server.Close)
	return own
}
