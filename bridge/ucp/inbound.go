package ucp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/enactment"
)

// The limits that hold where [InboundOptions] says nothing.
const (
	// DefaultAnswerTimeout is how long a request waits for the Business, DefaultBodyTimeout how long for its own body.
	DefaultAnswerTimeout = 30 * time.Second
	DefaultBodyTimeout   = 15 * time.Second
	// DefaultBodyLimit is how many bytes a request body may have.
	DefaultBodyLimit = 128 << 10
	// DefaultRequests is how many requests may be under way at once.
	DefaultRequests = 4096
	// DefaultChanges is how often one checkout may be changed.
	DefaultChanges = 500
	// KeysRemembered is how long answers are to be kept for an Idempotency-Key: the life of the store for keys.
	KeysRemembered = 24 * time.Hour
)

// InboundOptions configures an inbound bridge. Keys and Store are needed.
type InboundOptions struct {
	// Keys keeps what was answered for each Idempotency-Key, for [KeysRemembered]. Store keeps what becomes of orders,
	// and what platforms are still to be told of. Processes that serve the same shop share both.
	Keys, Store keyvalue.Store
	// PaymentHandlers are offered in discovery and in checkouts; a payment for another handler is refused with 400
	// before it is attempted.
	PaymentHandlers []PaymentHandler
	// PublicURL is where remote platforms reach the bridge, such as https://shop.example/ucp. Empty: each discovery
	// answers with the host that it was asked at.
	PublicURL string
	// Party plays Platform for all remote platforms; empty: the party that the rules configure.
	Party string
	// SimulationSecret opens the endpoints that only tests use: POST /testing/simulate-shipping/{order} for whoever
	// sends it as Simulation-Secret, and PUT /orders/{id}. Empty: there are none.
	SimulationSecret string
	// Client fetches the profiles of platforms and calls their webhooks. Since platforms name the URLs, let it refuse
	// addresses that are nobody's business; see package net's Dialer.Control. Nil: nobody is told of orders.
	Client *http.Client
	// Signer signs webhooks, with a key of the business's profile, which is at ProfileURL: see [Releases]. Nil: they are not
	// signed, and platforms of 2026-01-23 and later refuse them.
	Signer     *signature.Signer
	ProfileURL string
	// Mandates offer the extension dev.ucp.shopping.ap2_mandate; nil: the business does not have it.
	Mandates *Mandates
	// Documents serves specifications and schemas below /documents/ in place of ucp.dev, which discovery names
	// otherwise; nil: it does not.
	Documents http.Handler

	// AnswerTimeout is how long a request waits for the Business, once it has arrived, before it is answered with 503.
	AnswerTimeout time.Duration
	// BodyTimeout is how long a request's body may take to arrive before it is answered with 408, where the server can
	// be told so.
	BodyTimeout time.Duration
	// BodyLimit is the largest request body in bytes; a larger one is answered with 413.
	BodyLimit int64
	// Requests is how many requests may be under way at once; one more is answered with 503. As many more may be on their
	// way in; where one more comes, the one that is slowest is answered with 408.
	Requests int
	// Changes is how often a checkout may be changed; one more is answered with 409.
	Changes int
	// Logger is told of failures; slog.Default() if nil. No value of an enactment gets there.
	Logger *slog.Logger
}

// Inbound lets remote platforms that speak UCP 2026-01-11 over REST take part in enactments of ucp-incremental: an HTTP
// handler that plays Platform. A request becomes an attempt, and what is then observed becomes the response. What is
// allowed, and who wins when requests cross, is said by the protocol and decided by the engine; the bridge translates
// the answer.
//
// A checkout is one enactment, and its id the enactment's cid. Each PUT is an Update of the last revision, so one that
// crosses a payment or another PUT is refused by the engine, and tried again on the new revision if there is one. A PUT
// replaces, but members that it omits are kept (line_items, buyer, fulfillment, discounts, and within a fulfillment method
// its destinations, selections and groups), as the public platforms expect; null clears. What it came to has an ETag, and
// a request with If-Match is answered with 412 if the checkout is another by then.
//
// # Idempotency
//
// An Idempotency-Key stands for one request, of one operation on one checkout with one body, for [KeysRemembered],
// whatever became of the request; any other request with it is answered with 409. The same request is answered with the
// same bytes, by any process. If the first was never answered, it goes on where it was: its attempts have ids made of
// the key, so the engine lets each happen once. For a create even the cid is made of the key.
//
// # What is kept where
//
// Checkouts and orders stand in the logs of the executor, so any number of bridges may serve them. The payment goes into
// the Complete attempt and nowhere else. Nothing is kept in memory but what is under way.
//
// ServeHTTP is safe for concurrent use. It needs a Business that has joined the executor; Run tells platforms of their
// orders.
type Inbound struct {
	rules    *enactment.Rules
	exec     adapter.Attendant
	identity enactment.Identity
	options  InboundOptions
	log      *slog.Logger
	mux      *http.ServeMux
	handlers []byte        // the payment handlers, encoded
	places   chan struct{} // a token for each request under way
	arrivals arrivals
	courier  *courier
	flights  sync.Map // of *flight, by the name of an Idempotency-Key that is being answered
}

// NewInbound makes an inbound bridge for ucp-incremental on an executor. The error says what the rules or the options
// lack.
func NewInbound(rules *enactment.Rules, exec adapter.Attendant, options InboundOptions) (*Inbound, error) {
	switch {
	case rules == nil || exec == nil:
		return nil, errors.New("ucp: inbound: no rules, or no executor")
	case options.Keys == nil || options.Store == nil:
		return nil, errors.New("ucp: inbound: no store")
	}
	if err := checkInboundProtocol(rules.Protocol()); err != nil {
		return nil, err
	}
	if err := options.Mandates.check(); err != nil {
		return nil, err
	}
	if options.PublicURL != "" {
		if u, err := url.Parse(options.PublicURL); err != nil || u.Host == "" {
			return nil, fmt.Errorf("ucp: inbound: public URL %q is not absolute", options.PublicURL)
		}
	}
	setDefault(&options.AnswerTimeout, DefaultAnswerTimeout)
	setDefault(&options.BodyTimeout, DefaultBodyTimeout)
	setDefault(&options.BodyLimit, DefaultBodyLimit)
	setDefault(&options.Requests, DefaultRequests)
	setDefault(&options.Changes, DefaultChanges)
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	in := &Inbound{
		rules: rules, exec: exec, options: options, log: options.Logger, places: make(chan struct{}, options.Requests),
		identity: enactment.Identity{Role: "Platform", Party: options.Party},
	}
	if in.identity.Party == "" {
		in.identity.Party, _ = rules.Party("Platform")
	}
	if in.options.PaymentHandlers == nil {
		in.options.PaymentHandlers = []PaymentHandler{}
	}
	var err error
	if in.handlers, err = json.Marshal(in.options.PaymentHandlers); err != nil {
		return nil, fmt.Errorf("ucp: inbound: payment handlers: %w", err)
	}
	in.arrivals.most = options.Requests
	in.courier = newCourier(in)
	in.mux = in.routes()
	return in, nil
}

func setDefault[T comparable](option *T, value T) {
	var unset T
	if *option == unset {
		*option = value
	}
}

// Run tells platforms of their orders, and brings to an end what other processes have left behind, until ctx ends. It
// blocks, and may be called once. It returns nil: what fails is tried again.
func (in *Inbound) Run(ctx context.Context) error {
	in.courier.run(ctx)
	return nil
}

// ServeHTTP answers one request of a remote platform.
func (in *Inbound) ServeHTTP(w http.ResponseWriter, r *http.Request) { in.mux.ServeHTTP(w, r) }
