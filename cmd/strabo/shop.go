package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

type shopCommand struct {
	storeFlags
	Data             string            `type:"path" placeholder:"DIR" help:"The shop's CSV files; without it, a small shop of lanterns."`
	Listen           string            `default:"127.0.0.1:8182" placeholder:"ADDR" help:"Where platforms reach the shop: ${default}."`
	PublicURL        string            `name:"public-url" placeholder:"URL" help:"What discovery says where the shop is; by default the host that it is asked at."`
	ContinueURL      string            `name:"continue-url" placeholder:"URL" help:"Where buyers go on by hand, https; a checkout's id is added to it."`
	Links            map[string]string `name:"link" placeholder:"TYPE=URL" help:"A page to be shown with every checkout, such as privacy_policy=https://shop.example/privacy; may be repeated."`
	Currency         string            `default:"USD" placeholder:"CODE" help:"Currency of all prices: ${default}."`
	SimulationSecret string            `env:"STRABO_SIMULATION_SECRET" placeholder:"TEXT" help:"Opens the endpoints that only tests use: shipping for whoever knows it, changing orders for everybody."`
	LocalWebhooks    bool              `help:"Let platforms have profiles and webhooks on this machine: for trying things out."`
	SigningKey       string            `type:"path" placeholder:"FILE" help:"Private key (PEM, P-256) that webhooks are signed with; by default signing.pem beside the keys that seal secrets. Made if missing."`
	SigningKeyID     string            `name:"signing-key-id" default:"shop-1" placeholder:"ID" help:"The id of that key in the profile: ${default}."`
	PublishKey       []string          `name:"publish-key" placeholder:"ID=FILE" help:"A further key in the profile, which nothing is signed with: the next one, or the one before, while keys change. May be given more than once."`
	TrustIssuer      []string          `name:"trust-issuer" sep:"none" placeholder:"ISSUER=WHERE" help:"Take mandates (AP2) that users sign with credentials of this issuer, such as a bank: the iss of the credential, and a file with its JSON Web Key Set, or the URL of its UCP profile. May be given more than once."`
	Signed           bool              `help:"Take only signed requests."`
	Schemas          string            `type:"path" placeholder:"DIR" help:"Schemas of extensions, as HOST/PATH of their URLs; what is not there is fetched. Those of UCP are known."`
	Documents        string            `type:"path" placeholder:"DIR" help:"Serve specifications and schemas from here, and name them in discovery."`
	System           string            `placeholder:"NAME" default:"shop" help:"Name of the system that the shop's checkouts are in: ${default}."`
	Durability       string            `enum:"none,ack,fsync" default:"ack" help:"What an answer stands for: ${enum}. See docs/operations.md."`
	Replicas         int               `default:"1" help:"How many servers of a NATS cluster keep each stream."`
	Cache            int               `default:"32768" help:"How many instances to keep in memory of checkouts that nobody uses, one for each KiB: ${default}."`
	AnswerTimeout    time.Duration     `default:"30s" help:"How long a request waits for the shop's answer."`
}

// Help is shown by strabo shop --help.
func (shopCommand) Help() string {
	return `Opens a shop that platforms can buy from by UCP, until it is told to stop, over REST and MCP: by 2026-01-11, and ` +
		`by 2026-01-23 and 2026-04-08 below /ucp/RELEASE, as its profile says. The data is in the ` +
		`format of the public samples: products.csv, inventory.csv, shipping_rates.csv, promotions.csv, discounts.csv, ` +
		`customers.csv and addresses.csv. No money is taken: payments are decided by their tokens.

Checkouts, orders, stock and idempotency keys are kept in a NATS: one that runs inside, in memory or with its files in ` +
		`--store, or your own (--nats). Any number of processes with the same --nats and --system are one shop.

On standard output it prints one line of JSON when it is open. Logs go to standard error. See docs/shop.md.

Exit status: 0 when it was stopped, 2 when it could not open.`
}

func (shopCommand) examples() string {
	return `  strabo shop
  strabo shop --data ./flower_shop --store ./shop-files
  strabo shop --trust-issuer https://bank.example=bank-keys.json
  strabo shop --data ./flower_shop --nats nats://nats.example:4222 --listen :8182 --public-url https://shop.example
`
}

// shopBucket names what the shop of a system keeps beside its log.
func shopBucket(system string) string { return system + "-shop" }

// buckets are what a shop keeps beside its log: answers of Idempotency-Keys, and all else.
func (c *shopCommand) buckets(ctx context.Context, conn *nats.Conn) (keys, store *natskv.Store, err error) {
	config := natskv.Config{Bucket: shopBucket(c.System), Replicas: c.Replicas, Memory: c.Durability == "none"}
	if store, err = natskv.Open(ctx, conn, config); err != nil {
		return nil, nil, err
	}
	config.Bucket, config.Life = c.System+"-keys", ucp.KeysRemembered
	keys, err = natskv.Open(ctx, conn, config)
	return keys, store, err
}

// Run sells until the context ends, as it does when the process is told to stop.
func (c *shopCommand) Run(ctx context.Context, s *streams) (err error) {
	log := slog.New(slog.NewJSONHandler(s.err, nil))
	defer lessGarbage()()
	data, err := c.data()
	if err != nil {
		return err
	}
	rules, err := protocols.Load("ucp-incremental",
		enactment.WithParties("Business", "shop"), enactment.WithParties("Platform", "web"))
	if err != nil {
		return err
	}
	// Platforms name the URLs of their profiles and webhooks, so the shop must not be had to ask anything else.
	platforms, err := guard.New(guard.Options{AllowLoopback: c.LocalWebhooks})
	if err != nil {
		return err
	}
	defer platforms.CloseIdleConnections()
	fetcher, err := profiles.New(profiles.Options{Source: platforms})
	if err != nil {
		return err
	}
	trusted, err := c.issuers(fetcher, platforms)
	if err != nil {
		return err
	}
	if c.Signed && c.PublicURL == "" {
		log.Warn("requests may be signed for any host, so another shop can show here what it was sent: give --public-url")
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	nats, err := c.open(natsSettings{sync: c.Durability == "fsync"}, log)
	if err != nil {
		return err
	}
	defer nats.close()
	if nats.keys == nil {
		return errors.New("--nats needs --keys FILE: what pays is sealed before it is stored")
	}
	provider, export, err := tracing(ctx, log)
	if err != nil {
		return err
	}
	defer export()
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	server, err := syncserver.NewServer(starting, nats.conn, rules, syncserver.ServerConfig{
		System: c.System, Replicas: c.Replicas, Memory: c.Durability == "none", Keys: nats.keys, Cache: c.Cache,
		Alone: nats.server != nil && nats.server.URL() == "", Tracer: provider, Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drain([]*syncserver.Server{server})) }()
	keys, store, err := c.buckets(starting, nats.conn)
	if err != nil {
		return err
	}
	attendance, err := server.Attend(syncserver.AttendanceConfig{Client: syncserver.ClientConfig{Logger: log}})
	if err != nil {
		return err
	}
	defer attendance.Close()
	address := "http://" + listener.Addr().String()
	public := c.PublicURL
	if public == "" {
		public = address
	}
	sells, err := shop.Open(data, store, shop.Terms{
		Currency: c.Currency, OrderURL: public + "/orders/", ContinueURL: c.ContinueURL, Links: c.links(),
	}, log)
	if err != nil {
		return err
	}
	agent, err := sells.Agent(rules, attendance, adapter.WithConcurrency(shopConcurrency))
	if err != nil {
		return err
	}
	signer, err := c.signer()
	if err != nil {
		return err
	}
	further, err := c.further(signer)
	if err != nil {
		return err
	}
	mandates := &ucp.Mandates{Signer: signer, Platforms: fetcher, Keys: further}
	if trusted != nil {
		mandates.Issuer = trusted.key
	}
	inbound, err := ucp.NewInbound(rules, attendance, ucp.InboundOptions{
		Mandates: mandates,
		Signer:   signer, ProfileURL: strings.TrimRight(public, "/") + "/.well-known/ucp",
		Keys: keys, Store: store, PaymentHandlers: data.Handlers, PublicURL: c.PublicURL, SimulationSecret: c.SimulationSecret,
		Client: platforms.Client(), Documents: c.documents(), AnswerTimeout: c.AnswerTimeout, Logger: log,
	})
	if err != nil {
		return err
	}
	web, err := c.releases(inbound, fetcher, platforms, signer, keys, log)
	if err != nil {
		return err
	}
	tidy := func(ctx context.Context) error { return sells.Run(ctx, agent, attendance) }
	return c.sell(ctx, s, listener, address, []func(context.Context) error{agent.Run, inbound.Run, tidy, boundMemory}, web, log)
}

// shopConcurrency is how many checkouts are served at once. Those that wait for the log do not use the processor.
const shopConcurrency = 256

func (c *shopCommand) data() (*shop.Data, error) {
	var dir fs.FS = shop.Lamps()
	if c.Data != "" {
		dir = os.DirFS(c.Data)
	}
	data, err := shop.ReadData(dir)
	if err != nil && c.Data != "" {
		return nil, fmt.Errorf("--data %s: %w", c.Data, err)
	}
	return data, err
}

// links gives the pages of --link by their type, so that they are always in one order.
func (c *shopCommand) links() []model.Link {
	links := []model.Link{}
	for _, kind := range slices.Sorted(maps.Keys(c.Links)) {
		links = append(links, model.Link{Type: kind, URL: c.Links[kind]})
	}
	return links
}

func (c *shopCommand) documents() http.Handler {
	if c.Documents == "" {
		return nil
	}
	return documentsIn(os.DirFS(c.Documents))
}

// How long a connection may take to send the header of a request, and all of it; how long a connection may be idle, and
// how long requests under way may take when the shop closes.
const (
	headerTimeout   = 5 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	// mostHeader is how many bytes the header of a request may have.
	mostHeader = 32 << 10
)

// sell serves the web and runs the parts of the shop until the context ends or one of them fails.
func (c *shopCommand) sell(
	ctx context.Context, s *streams, listener net.Listener, address string, parts []func(context.Context) error, web http.Handler, log *slog.Logger,
) error {
	server := &http.Server{
		Handler: web, ReadHeaderTimeout: headerTimeout, WriteTimeout: ucp.DefaultBodyTimeout + c.AnswerTimeout + headerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	known := newConnections(mostConnections())
	server.ConnState = known.note
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, len(parts)+1)
	for _, run := range parts {
		go func() { ended <- run(running) }()
	}
	go func() { ended <- server.Serve(listener) }()
	failures := []error{printLine(s, struct {
		URL    string `json:"url"`
		System string `json:"system"`
	}{address, c.System})}
	left := cap(ended)
	if failures[0] == nil {
		select {
		case <-ctx.Done():
			log.Info("closing")
		case err := <-ended:
			failures = append(failures, err)
			left--
		}
	}
	closing, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	known.close()
	if err := server.Shutdown(closing); errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests were cut off", "after", shutdownTimeout.String())
		failures = append(failures, server.Close())
	} else {
		failures = append(failures, err)
	}
	stop()
	for range left {
		failures = append(failures, <-ended)
	}
	for i, err := range failures {
		if errors.Is(err, http.ErrServerClosed) {
			failures[i] = nil
		}
	}
	return errors.Join(failures...)
}
