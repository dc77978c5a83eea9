package demoshop_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/demoshop"
)

// asking makes requests of a shop's handler, without the network.
type asking struct {
	handler http.Handler
	logged  *log
}

// log keeps what is logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (a asking) ask(method, path string, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	a.handler.ServeHTTP(recorder, request)
	return recorder
}

// FuzzRequestBodies holds the whole shop, bridge and agent, against anything that a platform may send: it always
// answers, never with a failure of its own, and a checkout can be looked at whatever was asked of it.
func FuzzRequestBodies(f *testing.F) {
	const line = `"line_items":[{"item":{"id":"wick-cotton"},"quantity":1}]`
	for _, body := range []string{
		`{` + line + `,"fulfillment":{"methods":[{"type":"shipping","destinations":[null]}]}}`,
		`{` + line + `,"fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d"}],"selected_destination_id":"d","groups":[{"selected_option_id":"post"}]}]}}`,
		`{` + line + `,"fulfillment":{"methods":[null,{}]},"buyer":{"email":"grace@lighthouse.example"}}`,
		`{` + line + `,"fulfillment":{"methods":[{"type":"pickup","selected_destination_id":5,"groups":null}]},"discounts":{"codes":["x"]}}`,
		`{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1e1,"id":"a"},{"item":{"id":"oil-lamp"},"quantity":9223372036854775807}],"currency":"KWD"}`,
		`{"buyer":{"email":["x"]},"id":null,"fulfillment":null}`,
		`{"payment_data":{"id":"i","handler_id":"mock_payment_handler","type":"card","credential":{"type":"token","token":"success_token"}}}`,
		`{"payment_data":{"handler_id":"mock_payment_handler","credential":null}}`, `null`, `[]`, `"`, ``,
	} {
		f.Add([]byte(body))
	}
	var server *demoshop.Server
	var shop asking
	var checkout string
	closeServer := func(t testing.TB) {
		if server != nil {
			require.NoError(t, server.Close())
		}
	}
	f.Cleanup(func() { closeServer(f) })
	inputs := 0
	f.Fuzz(func(t *testing.T, body []byte) {
		if inputs%100 == 0 { // The shop keeps what it is told; so there is a new one now and then.
			closeServer(t)
			shop.logged = new(log)
			lamps, err := demoshop.New(0)
			require.NoError(t, err)
			server, err = demoshop.Serve(lamps, demoshop.ServeOptions{Logger: slog.New(slog.NewTextHandler(shop.logged, nil))})
			require.NoError(t, err)
			shop.handler = server.Handler
			var created struct{ ID string }
			require.NoError(t, json.Unmarshal(shop.ask("POST", "/checkout-sessions", []byte("{"+line+"}")).Body.Bytes(), &created))
			checkout = "/checkout-sessions/" + created.ID
		}
		inputs++
		for _, request := range [][2]string{
			{"POST", "/checkout-sessions"}, {"PUT", checkout}, {"POST", checkout + "/complete"}, {"GET", checkout},
		} {
			sent := body
			if request[0] == "GET" {
				sent = nil
			}
			r := shop.ask(request[0], request[1], sent)
			require.Less(t, r.Code, 500, "%v\n%s\n%s\n%s", request, body, r.Body, shop.logged)
			require.True(t, json.Valid(r.Body.Bytes()), r.Body.String())
			if request[0] == "GET" {
				require.Equal(t, http.StatusOK, r.Code, "%s", body)
			}
		}
		require.NotContains(t, shop.logged.String(), "level=ERROR", "%s", body)
	})
}
