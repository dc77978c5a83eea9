package shop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	m.Run()
}

const secret = "open sesame"

// patience is how long is waited for what comes at once, if the machine has nothing else to do.
const patience = time.Minute

// town is a NATS with a SyncServer's streams, in which processes of one shop may open.
type town struct {
	nats *embedded.Server
	keys *syncserver.Keyring
	data *shop.Data
	// alone tells that one branch opens and no other.
	alone bool
}

func newTown(t testing.TB) *town {
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	keys, err := syncserver.LoadKeyring(t.TempDir() + "/keys")
	require.NoError(t, err)
	data, err := shop.ReadData(shop.Lamps())
	require.NoError(t, err)
	return &town{nats: server, keys: keys, data: data}
}

// branch is one process of the shop, as far as a process can be had in a test.
type branch struct {
	t      testing.TB
	url    string
	client *http.Client
	store  keyvalue.Store
	sells  *shop.Shop
	inside http.Handler
	log    *logged
	rules  *enactment.Rules
	agent  *adapter.Adapter
	conn   *nats.Conn
	close  func()

	attendance *syncserver.Attendance
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// configure changes how a branch is made.
type configure func(*shop.Options, *ucp.InboundOptions)

// open opens a branch. It closes with the test, or before.
func (to *town) open(t testing.TB, changes ...configure) *branch {
	ctx := context.Background()
	b := &branch{t: t, log: new(logged)}
	logger := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var err error
	b.rules, err = protocols.Load("ucp-incremental",
		enactment.WithParties("Business", "shop"), enactment.WithParties("Platform", "web"))
	require.NoError(t, err)
	b.conn, err = to.nats.Connect()
	require.NoError(t, err)
	server, err := syncserver.NewServer(ctx, b.conn, b.rules, syncserver.ServerConfig{
		System: "shop", Keys: to.keys, Alone: to.alone, Logger: logger, Timeout: patience,
	})
	require.NoError(t, err)
	store, err := natskv.Open(ctx, b.conn, natskv.Config{Bucket: "shop"})
	require.NoError(t, err)
	b.store = store
	keys, err := natskv.Open(ctx, b.conn, natskv.Config{Bucket: "keys", Life: ucp.KeysRemembered})
	require.NoError(t, err)
	attendance, err := server.Attend(syncserver.AttendanceConfig{Client: syncserver.ClientConfig{Logger: logger}})
	require.NoError(t, err)
	b.attendance = attendance
	so := shop.Options{
		Currency: "EUR", Catalogue: to.data, Shipping: to.data, Discounts: to.data, Stock: shop.NewStock(store, to.data.Pieces),
		Customers: shop.NewCustomers(store, to.data.Addresses), Payments: shop.NewTill(store, to.data.Handlers),
		Links: []model.Link{{Type: "terms_of_service", URL: "https://lamps.example/terms"}}, OrderURL: "https://lamps.example/orders/",
		Store: store, Logger: logger,
	}
	io := ucp.InboundOptions{
		Keys: keys, Store: store, PaymentHandlers: to.data.Handlers, SimulationSecret: secret, Logger: logger, AnswerTimeout: patience,
	}
	for _, change := range changes {
		change(&so, &io)
	}
	b.sells, err = shop.New(so)
	require.NoError(t, err)
	b.agent, err = b.sells.Agent(b.rules, attendance, adapter.WithConcurrency(256))
	require.NoError(t, err)
	inbound, err := ucp.NewInbound(b.rules, attendance, io)
	require.NoError(t, err)
	b.inside = inbound
	web := httptest.NewServer(inbound)
	b.url, b.client = web.URL, web.Client()
	running, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { require.NoError(t, b.agent.Run(running)) })
	parts.Go(func() { require.NoError(t, inbound.Run(running)) })
	b.close = sync.OnceFunc(func() {
		web.Close()
		stop()
		parts.Wait()
		attendance.Close()
		require.NoError(t, server.Close(ctx))
		b.conn.Close()
	})
	t.Cleanup(b.close)
	return b
}

// answer is what a request came to.
type answer struct {
	status int
	etag   string
	raw    string
	body   map[string]any
}

func (a answer) id() string    { return fmt.Sprint(a.body["id"]) }
func (a answer) state() string { return fmt.Sprint(a.body["status"]) }
func (a answer) code() string  { return fmt.Sprint(a.body["code"]) }
func (a answer) order() string {
	order, _ := a.body["order"].(map[string]any)
	id, _ := order["id"].(string)
	return id
}

func (a answer) total(kind string) int64 {
	totals, _ := a.body["totals"].([]any)
	for _, entry := range totals {
		if total, ok := entry.(map[string]any); ok && total["type"] == kind {
			return int64(total["amount"].(float64))
		}
	}
	return -1
}

// try makes a request; headers are names and values in turn.
func (b *branch) try(method, path, body string, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, b.url+path, bytes.NewBufferString(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, etag: response.Header.Get("ETag"), raw: string(raw)}
	return a, json.Unmarshal(raw, &a.body)
}

// insist makes a request, which has a key, until it is answered: a shop that has too much to do asks for that.
func (b *branch) insist(method, path, body, key string) (answer, error) {
	for {
		a, err := b.try(method, path, body, "Idempotency-Key", key)
		if err != nil || a.status != http.StatusServiceUnavailable {
			return a, err
		}
	}
}

func (b *branch) ask(method, path, body string, headers ...string) answer {
	b.t.Helper()
	a, err := b.try(method, path, body, headers...)
	require.NoError(b.t, err)
	return a
}

// wants is the body of a checkout of so many pieces of an item, ready to be paid.
func wants(item string, pieces int) string {
	return fmt.Sprintf(`{"currency": "EUR", "payment": {}, "line_items": [{"item": {"id": %q}, "quantity": %d}], "fulfillment": {"methods": [
	  {"type": "shipping", "selected_destination_id": "d", "destinations": [{"id": "d", "address_country": "GR"}], "groups": [{"selected_option_id": "post"}]}]}}`,
		item, pieces)
}

func paying(token string) string {
	return fmt.Sprintf(`{"payment_data": {"id": "i", "handler_id": "mock_payment_handler", "type": "card", "credential": {"type": "token", "token": %q}}}`, token)
}

func (b *branch) create(item string, pieces int, headers ...string) answer {
	b.t.Helper()
	a := b.ask("POST", "/checkout-sessions", wants(item, pieces), headers...)
	require.Equal(b.t, http.StatusCreated, a.status, a.raw)
	require.Equal(b.t, "ready_for_complete", a.state(), a.raw)
	return a
}

func (b *branch) complete(id, token string, headers ...string) answer {
	b.t.Helper()
	return b.ask("POST", "/checkout-sessions/"+id+"/complete", paying(token), headers...)
}

func (b *branch) get(id string) answer {
	b.t.Helper()
	return b.ask("GET", "/checkout-sessions/"+id, "")
}

// leaves waits until so many pieces of an item are left. A process that comes late to a checkout may take the goods once
// more, is told that they are sold, and gives them back. One that is so slow that it gives up its customer before leaves
// that to whoever tidies up.
func (b *branch) leaves(t testing.TB, item string, opened, want int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		left := b.left(t, item, opened)
		if left < want && time.Now().After(deadline) {
			require.NoError(t, b.sells.Tidy(t.Context(), b.rules, b.attendance, time.Now().Add(time.Minute)))
			require.Equal(t, want, b.left(t, item, opened))
			return
		}
		if left >= want {
			require.Equal(t, want, left)
			return
		}
	}
}

// left tells how many pieces of an item are left, by the store alone.
func (b *branch) left(t testing.TB, item string, opened int64) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	left, err := shop.NewStock(b.store, map[string]int64{item: opened}).Left(ctx, item)
	require.NoError(t, err)
	return left
}
