package demoshop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// Server is a shop that remote platforms can buy from: the Business agent and the inbound bridge on an executor of
// their own, and an HTTP server in front.
type Server struct {
	// URL is where the shop is, and Handler what answers there.
	URL     string
	Handler http.Handler

	engine   *engine.Engine
	follower *adapter.Follower // nil where the engine needs none
	http     *http.Server
	stop     context.CancelFunc
	errors   chan error // one from each of the three that run
}

// ServeOptions configures a [Server]. Every field may be left out.
type ServeOptions struct {
	// Address is where to listen; by default a free port of the loopback interface.
	Address string
	// Engine opens what the agent and the bridge meet on; in memory if nil. Recorder is told of what happens there.
	Engine   engine.Open
	Recorder func(enactment.Record)
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// How long a connection may take to send the header of a request, and all of it; how long a request may take from its
// header to its answer, which is longer than the bridge waits for the shop; and how long a connection may be idle.
const (
	headerTimeout   = 5 * time.Second
	requestTimeout  = 15 * time.Second
	responseTimeout = requestTimeout + ucp.DefaultAnswerTimeout + 15*time.Second
	idleTimeout     = time.Minute
)

// shutdownTimeout is how long requests that are under way may take when the server is closed.
const shutdownTimeout = 5 * time.Second

// Serve opens the shop for business; close the server when it is needed no more.
func Serve(lamps *Shop, options ServeOptions) (*Server, error) {
	rules, err := protocols.Load("ucp-incremental",
		enactment.WithParties("Business", "lamp-shop"), enactment.WithParties("Platform", "inbound-bridge"))
	if err != nil {
		return nil, fmt.Errorf("demo shop: %w", err)
	}
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.Engine == nil {
		options.Engine = engine.Local()
	}
	s := &Server{errors: make(chan error, 3)}
	if s.engine, err = options.Engine(rules, options.Recorder); err != nil {
		return nil, fmt.Errorf("demo shop: %w", err)
	}
	if err := s.open(lamps, rules, options); err != nil {
		s.engine.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(lamps *Shop, rules *enactment.Rules, options ServeOptions) error {
	sells, err := shop.Open(lamps.data, lamps.store, shop.Terms{
		Currency: Currency, OrderURL: "https://lamps.example/orders/",
		Links: []model.Link{{Type: "terms_of_service", URL: "https://lamps.example/terms"}},
	}, options.Logger)
	if err != nil {
		return fmt.Errorf("demo shop: %w", err)
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	attendant, ok := s.engine.Executor.(adapter.Attendant)
	if !ok {
		follower, err := adapter.Follow(ctx, s.engine.Executor, enactment.Identity{Role: "Platform", Party: "inbound-bridge"})
		if err != nil {
			return fmt.Errorf("demo shop: %w", err)
		}
		s.follower, attendant = follower, follower
	}
	agent, err := sells.Agent(rules, s.engine)
	if err != nil {
		return fmt.Errorf("demo shop: %w", err)
	}
	inbound, err := ucp.NewInbound(rules, attendant, ucp.InboundOptions{
		Keys: keyvalue.NewMemory(ucp.KeysRemembered), Store: lamps.store, PaymentHandlers: lamps.data.Handlers, Logger: options.Logger,
	})
	if err != nil {
		return fmt.Errorf("demo shop: %w", err)
	}
	listener, err := net.Listen("tcp", options.Address)
	if err != nil {
		return fmt.Errorf("demo shop: %w", err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.Handler = inbound
	s.http = &http.Server{
		Handler:           inbound,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: responseTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(options.Logger.Handler(), slog.LevelWarn),
	}
	go func() { s.errors <- agent.Run(ctx) }()
	go func() { s.errors <- inbound.Run(ctx) }()
	go func() {
		err := s.http.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.errors <- err
	}()
	return nil
}

// Close lets the requests that are under way end, for 5 seconds at most, and closes the shop. It returns what kept any
// part of the shop from running, if anything did.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	s.stop()
	for range cap(s.errors) {
		err = errors.Join(err, <-s.errors)
	}
	if s.follower != nil {
		err = errors.Join(err, s.follower.Close())
	}
	s.engine.Close()
	return err
}
