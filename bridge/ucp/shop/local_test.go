package shop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// stall is a shop in memory, without a network, for tests in which time is made.
type stall struct {
	rules   *enactment.Rules
	local   *syncserver.Local
	store   *keyvalue.Memory
	options ucp.InboundOptions
	inbound *ucp.Inbound
	log     logged
	stop    func()
}

// newStall opens a stall; stop it before the test ends.
func newStall(t testing.TB, changes ...configure) *stall {
	s := &stall{store: keyvalue.NewMemory(0)}
	rules, err := protocols.Load("ucp-incremental",
		enactment.WithParties("Business", "shop"), enactment.WithParties("Platform", "web"))
	require.NoError(t, err)
	data, err := shop.ReadData(shop.Lamps())
	require.NoError(t, err)
	s.rules, s.local = rules, syncserver.NewLocal(rules)
	logger := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	so := shop.Options{
		Currency: "EUR", Catalogue: data, Shipping: data, Discounts: data, Stock: shop.NewStock(s.store, data.Pieces),
		Customers: shop.NewCustomers(s.store, data.Addresses), Payments: shop.NewTill(s.store, data.Handlers), Logger: logger,
		Links: []model.Link{}, OrderURL: "https://lamps.example/orders/",
	}
	s.options = ucp.InboundOptions{
		Keys: keyvalue.NewMemory(ucp.KeysRemembered), Store: s.store, PaymentHandlers: data.Handlers, SimulationSecret: secret, Logger: logger,
	}
	for _, change := range changes {
		change(&so, &s.options)
	}
	sells, err := shop.New(so)
	require.NoError(t, err)
	agent, err := sells.Agent(rules, s.local)
	require.NoError(t, err)
	s.inbound, err = ucp.NewInbound(rules, s.local, s.options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- agent.Run(ctx) }()
	go func() { ended <- s.inbound.Run(ctx) }()
	s.stop = func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		s.local.Close()
	}
	return s
}

var _ adapter.Attendant = (*syncserver.Local)(nil)

func (s *stall) ask(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	request := httptest.NewRequest(method, path, bytes.NewBufferString(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body = http.NoBody
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	s.inbound.ServeHTTP(recorder, request)
	a := answer{status: recorder.Code, etag: recorder.Header().Get("ETag"), raw: recorder.Body.String()}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &a.body), a.raw)
	requireSchema(t, path, a)
	return a
}
