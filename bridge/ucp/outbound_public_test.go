package ucp_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// The public sample shops, stock: set STRABO_UCP_NODE and STRABO_UCP_PYTHON to the URLs at which they run.
func onPublicShops(t *testing.T, test func(t *testing.T, url string)) {
	for name, variable := range map[string]string{"node": "STRABO_UCP_NODE", "python": "STRABO_UCP_PYTHON"} {
		t.Run(name, func(t *testing.T) {
			url := os.Getenv(variable)
			if url == "" {
				t.Skipf("skipped: %s is not set to the URL of the public sample shop", variable)
			}
			test(t, url)
		})
	}
}

// losing is a transport that throws away the first response to what it is asked to, after the shop has answered.
type losing struct {
	http.RoundTripper
	mu   sync.Mutex
	lose func(r *http.Request) bool
	// die makes the loss last until the caller is gone, and tells of it.
	die chan struct{}
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	lose := l.lose != nil && l.lose(r)
	if lose {
		l.lose = nil
	}
	l.mu.Unlock()
	response, err := l.RoundTripper.RoundTrip(r)
	if err == nil && lose {
		_ = response.Body.Close()
		if l.die != nil {
			l.die <- struct{}{}
			<-r.Context().Done()
		}
		return nil, http.ErrHandlerTimeout
	}
	return response, err
}

func TestPublicShops(t *testing.T) {
	roses := []any{doc{"item": doc{"id": "bouquet_roses", "title": "Red Rose"}, "quantity": 1}}
	austin := doc{
		"street_address": "9 New Rd", "address_locality": "Austin", "address_region": "TX",
		"postal_code": "73301", "address_country": "US",
	}
	onPublicShops(t, func(t *testing.T, url string) {
		open := func(t *testing.T) (*market, *losing) {
			transport := &http.Transport{}
			l := &losing{RoundTripper: transport}
			return openMarket(t, url, func(o *ucp.OutboundOptions) {
				t.Cleanup(transport.CloseIdleConnections)
				o.Client = &http.Client{Transport: l}
			}), l
		}
		buyer := doc{"full_name": "John Doe", "email": "john.doe@example.com"}
		wishes := map[string]any{
			"where the shop knows": doc{},
			"a new address":        doc{"destination": austin},
			"an option":            doc{"option": doc{"title": "Express Shipping (US)"}},
		}
		for name, wish := range wishes {
			t.Run("buy to "+name, func(t *testing.T) {
				m, _ := open(t)
				handler := m.outbound.Business().Handlers[0].ID
				m.attempt("Create", adapter.Values{"line_items": roses, "buyer": buyer, "fulfillment": wish})
				created := m.expect("Created")
				m.complete(created, card(handler, "tok_public_4711"))
				completed := m.expect("Completed")
				var order struct {
					ID           string `json:"id"`
					PermalinkURL string `json:"permalink_url"`
				}
				require.NoError(t, json.Unmarshal([]byte(text(t, completed, "order")), &order))
				assert.NotEmpty(t, order.ID)
				assert.True(t, strings.HasPrefix(order.PermalinkURL, "http"))
				assert.NotContains(t, m.told(), "tok_public_4711")
				if name == "an option" {
					assert.Equal(t, int64(5000), total(t, created))
				}
				t.Logf("order %s over %d in %d calls", order.ID, total(t, created), len(m.called()))
			})
		}
		t.Run("buy as a stranger without an email", func(t *testing.T) {
			m, _ := open(t)
			m.attempt("Create", adapter.Values{"line_items": roses, "buyer": nil, "fulfillment": doc{"destination": austin}})
			m.complete(m.expect("Created"), card("google_pay", "x"))
			m.expect("Completed")
		})
		refused := map[string]string{"gardenias": "Insufficient stock", "pink_wumpus": "not found"}
		for item, words := range refused {
			t.Run("refused "+item, func(t *testing.T) {
				m, _ := open(t)
				m.attempt("Create", adapter.Values{"line_items": items(item), "buyer": buyer, "fulfillment": nil})
				assert.Contains(t, text(t, m.expect("Refused"), "reason"), words)
			})
		}
		for token, words := range map[string]string{"fail_token": "Insufficient Funds", "fraud_token": "Fraud", "tok_unheard_of": "Unknown mock token: [secret]"} {
			t.Run("declined "+token, func(t *testing.T) {
				m, _ := open(t)
				m.attempt("Create", adapter.Values{"line_items": roses, "buyer": buyer, "fulfillment": doc{}})
				m.complete(m.expect("Created"), card("mock_payment_handler", token))
				assert.Contains(t, text(t, m.expect("Declined"), "decline"), words)
			})
		}
		t.Run("cancel", func(t *testing.T) {
			m, _ := open(t)
			m.attempt("Create", adapter.Values{"line_items": roses, "buyer": buyer, "fulfillment": nil})
			m.cancel(m.expect("Created"))
			m.expect("Cancelled")
		})
		lost := map[string]func(r *http.Request) bool{
			"create":   func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/checkout-sessions") },
			"update":   func(r *http.Request) bool { return r.Method == http.MethodPut },
			"complete": func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/complete") },
			"cancel":   func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/cancel") },
		}
		for name, lost := range lost {
			t.Run("killed before the answer to "+name+" is there", func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "journal")
				journal, err := bridge.OpenFileJournal(file)
				require.NoError(t, err)
				m, l := open(t)
				m.stop()
				m.options.Journal = journal
				m.start()
				l.mu.Lock()
				l.lose, l.die = lost, make(chan struct{})
				l.mu.Unlock()
				died := make(chan struct{})
				go func() {
					defer close(died)
					<-l.die
					m.stop()
					assert.NoError(t, journal.Close())
					journal, err := bridge.OpenFileJournal(file)
					assert.NoError(t, err)
					m.options.Journal = journal
					m.start()
				}()
				m.attempt("Create", adapter.Values{"line_items": roses, "buyer": buyer, "fulfillment": doc{}})
				created := m.expect("Created")
				if name == "cancel" {
					m.cancel(created)
					m.expect("Cancelled")
				} else {
					m.complete(created, card("google_pay", "tok_public_4711"))
					m.expect("Completed")
				}
				<-died
				written, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.NotContains(t, string(written), "tok_public_4711")
			})
			t.Run("lost response to "+name, func(t *testing.T) {
				m, l := open(t)
				l.mu.Lock()
				l.lose = lost
				l.mu.Unlock()
				m.attempt("Create", adapter.Values{"line_items": roses, "buyer": buyer, "fulfillment": doc{}})
				created := m.expect("Created")
				if name == "cancel" {
					m.cancel(created)
					m.expect("Cancelled")
					return
				}
				m.complete(created, card("google_pay", "x"))
				m.expect("Completed")
				l.mu.Lock()
				defer l.mu.Unlock()
				assert.Nil(t, l.lose, "a response was lost")
			})
		}
	})
}
