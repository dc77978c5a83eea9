package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/syncserver"
)

type serveCommand struct {
	partyFlags
	storeFlags
	finalizeFlags
	Protocols  []string      `arg:"" name:"protocol" help:"Protocols by name or file; NAME=PROTOCOL serves one under a system name of your own."`
	Listen     string        `placeholder:"ADDR" help:"Address for agents, where NATS runs inside, such as 127.0.0.1:4222."`
	WindowSize int           `default:"0" help:"How many attempts close a window at once; 0 for no such number."`
	Durability string        `enum:"none,ack,fsync" default:"ack" help:"What an answer stands for: ${enum}. See docs/operations.md."`
	Replicas   int           `default:"1" help:"How many servers of a NATS cluster keep each stream."`
	Retention  time.Duration `name:"refusal-retention" default:"24h" help:"How long refusals are kept; later copies are expired."`
	Lease      time.Duration `default:"10s" help:"How long a silent agent keeps its enactments."`
	Cache      int           `default:"262144" help:"How many instances to keep in memory of enactments that nobody uses."`
	MaxAttempt int           `default:"262144" help:"How many bytes an attempt may have."`
	Accounts   bool          `help:"Give each identity an account of its own in the NATS inside. Keys are in DIR/accounts of --store, made where they are missing."`
	Insecure   bool          `help:"Listen for agents of other machines without TLS."`
	HTTP       string        `name:"http" placeholder:"ADDR" help:"Address for /healthz, /readyz and /metrics."`
}

// Help is shown by strabo serve --help.
func (serveCommand) Help() string {
	return `Coordinates the agents of each protocol given until it is told to stop (SIGTERM or interrupt); then it decides ` +
		`what it has taken in, hands its agents to other servers, and ends. Any number of servers may serve one system on ` +
		`one NATS (--nats). Without --nats a NATS runs inside: in memory, or with its files in --store.

On standard output it prints one line of JSON when it serves: where it listens. Logs go to standard error.

Exit status: 0 when it was stopped, 2 when it could not serve.`
}

func (serveCommand) examples() string {
	return `  strabo serve purchase --listen 127.0.0.1:4222 --store ./data
  strabo serve purchase --listen 0.0.0.0:4222 --tls-cert cert.pem --tls-key key.pem --store ./data --accounts
  strabo serve simple-ucp --nats tls://nats.example:4222 --creds engine.creds --replicas 3
  strabo serve purchase --finalize batch --window 5ms --listen 127.0.0.1:0
  strabo serve old=purchase-1.lsh new=purchase-2.lsh --store ./data --http 127.0.0.1:8080
`
}

// Run serves until the context ends, as it does when the process is told to stop.
func (c *serveCommand) Run(ctx context.Context, s *streams) (err error) {
	log := slog.New(slog.NewJSONHandler(s.err, nil))
	span, err := c.span()
	if err != nil {
		return err
	}
	systems, err := c.systems(s, c.Protocols)
	if err != nil {
		return err
	}
	switch {
	case c.Retention <= 0 || c.Lease <= 0 || c.Cache < 1 || c.MaxAttempt < 1 || c.Replicas < 1 || c.WindowSize < 0:
		return errors.New("--refusal-retention, --lease, --cache, --max-attempt and --replicas must be positive, and --window-size not negative")
	case c.NATS != "" && c.Listen != "":
		return errors.New("--listen is for the NATS inside, and with --nats there is none")
	case c.Listen != "" && !staysHere(c.Listen) && !c.given() && !c.Insecure:
		return fmt.Errorf("--listen %s is reached from other machines: give --tls-cert and --tls-key, or say --insecure", c.Listen)
	case c.Accounts && (c.NATS != "" || c.Store == ""):
		return errors.New("--accounts needs --store; for a NATS of your own see strabo nats-config")
	}
	settings := natsSettings{listen: c.Listen, sync: c.Durability == fsync}
	if c.Accounts {
		setup, err := c.setup(systems)
		if err != nil {
			return err
		}
		if _, err := writeAccounts(filepath.Join(c.Store, "accounts"), setup, "plain", nil); err != nil {
			return err
		}
	}
	store, err := c.open(settings, log)
	if err != nil {
		return err
	}
	defer store.close()
	c.warn(store, log)
	provider, export, err := tracing(ctx, log)
	if err != nil {
		return err
	}
	defer export()
	var servers []*syncserver.Server
	defer func() { err = errors.Join(err, drain(servers)) }()
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, system := range systems {
		server, err := syncserver.NewServer(starting, store.conn, system.rules, c.config(system, span, store.keys, provider, log))
		if err != nil {
			return fmt.Errorf("%s: %w", system.name, err)
		}
		servers = append(servers, server)
		log.Info("serving", "system", system.name, "server", server.Name(), "protocol", system.rules.Protocol().Name(),
			"hash", system.rules.Hash(), "finalize", c.Finalize)
	}
	told := struct {
		NATS    string   `json:"nats,omitempty"`
		HTTP    string   `json:"http,omitempty"`
		Systems []string `json:"systems"`
	}{NATS: c.NATS}
	if store.server != nil {
		told.NATS = store.server.URL()
	}
	for _, system := range systems {
		told.Systems = append(told.Systems, system.name)
	}
	if c.HTTP != "" {
		address, closing, err := serveHTTP(c.HTTP, servers, log)
		if err != nil {
			return err
		}
		defer closing()
		told.HTTP = "http://" + address
	}
	if err := printLine(s, told); err != nil {
		return err
	}
	<-ctx.Done()
	log.Info("stopping: no attempts are taken in any more, and those that were are decided")
	return nil
}

// warn says what is open that should not be.
func (c *serveCommand) warn(store *connected, log *slog.Logger) {
	if c.NATS != "" {
		host := store.conn.ConnectedAddr()
		if _, err := store.conn.TLSConnectionState(); err != nil && !staysHere(host) {
			log.Warn("the connection to NATS leaves this machine and is not encrypted", "nats", host)
		}
		return
	}
	if c.Listen == "" || staysHere(c.Listen) {
		return
	}
	if c.Insecure && !c.given() {
		log.Warn("agents of other machines connect without TLS: what they say can be read and changed on the way")
	}
	if !store.accounts {
		log.Warn("whoever reaches the address can act as anybody: see --accounts")
	}
}

func (c *serveCommand) config(
	system served, span time.Duration, keys *syncserver.Keyring, provider trace.TracerProvider, log *slog.Logger,
) syncserver.ServerConfig {
	config := syncserver.ServerConfig{
		System: system.name, Replicas: c.Replicas, Memory: c.Durability == inMemory, Retention: c.Retention, Lease: c.Lease,
		Cache: c.Cache, MaxAttempt: c.MaxAttempt, Keys: keys, Tracer: provider, Logger: log,
	}
	if span > 0 {
		config.Window, config.WindowCount = span, c.WindowSize
	}
	return config
}

// startTime is how long it may take until the streams are there.
const startTime = 30 * time.Second

// drainTime is how long a server may take to decide what it has taken in.
const drainTime = 20 * time.Second

func drain(servers []*syncserver.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var failure error
	for _, server := range servers {
		failure = errors.Join(failure, server.Close(ctx))
	}
	return failure
}

// serveHTTP serves health, readiness and metrics until the function that it gives is called.
func serveHTTP(address string, servers []*syncserver.Server, log *slog.Logger) (string, func(), error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		for _, server := range servers {
			if err := server.Ready(ctx); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_ = syncserver.WriteMetrics(w, servers...) // whoever asked has gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics are not served any more", "error", err)
		}
	}()
	return listener.Addr().String(), func() {
		_ = server.Close()
		<-done
	}, nil
}
