package ucp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// The limits that hold where [InboundOptions] says nothing.
const (
	// DefaultAnswerTimeout is how long a request waits for the Business, DefaultBodyTimeout how long for its own body.
	DefaultAnswerTimeout = 30 * time.Second
	DefaultBodyTimeout   = 15 * time.Second
	// DefaultBodyLimit is how many bytes a request body may have.
	DefaultBodyLimit = 256 << 10
	// DefaultCheckouts is how many checkouts are kept, DefaultChanges how often one may be changed.
	DefaultCheckouts = 100_000
	DefaultChanges   = 200
	// DefaultRemembered, DefaultRememberedBytes and DefaultRememberedFor bound the memory of answers by Idempotency-Key.
	DefaultRemembered      = 10_000
	DefaultRememberedBytes = 64 << 20
	DefaultRememberedFor   = 24 * time.Hour
)

// InboundOptions configures an inbound bridge. Only Storefront is needed.
type InboundOptions struct {
	// Storefront presents what the protocol does not bind: how goods and ways of delivery look.
	Storefront Storefront
	// PaymentHandlers are offered in discovery and in checkouts; a payment for another handler is refused with 400
	// before it is attempted.
	PaymentHandlers []PaymentHandler
	// PublicURL is where remote platforms reach the bridge, such as https://shop.example/ucp. Empty: each discovery
	// answers with the host that it was asked at.
	PublicURL string
	// Links are legal and help pages, shown in every checkout.
	Links []Link
	// Party plays Platform for all remote platforms; empty: the party that the rules configure.
	Party string

	// AnswerTimeout is how long a request waits for the Business, once it has arrived, before it is answered with 503.
	AnswerTimeout time.Duration
	// BodyTimeout is how long a request's body may take to arrive before it is answered with 408, where the server can
	// be told so.
	BodyTimeout time.Duration
	// BodyLimit is the largest request body in bytes; a larger one is answered with 413.
	BodyLimit int64
	// Checkouts is how many checkouts are kept. When there are more, the one that ended first is forgotten; when all
	// are open, a new one is answered with 503.
	Checkouts int
	// Changes is how often a checkout may be changed: each change is an enactment, which the executor keeps. One more
	// is answered with 409.
	Changes int
	// Remembered and RememberedBytes bound how many answers are repeated for an Idempotency-Key and how many bytes they
	// have, RememberedFor for how long. The oldest are forgotten first.
	Remembered      int
	RememberedBytes int64
	RememberedFor   time.Duration
	// Logger is told of failures; slog.Default() if nil. No value of an enactment gets there.
	Logger *slog.Logger
}

// Inbound lets remote platforms that speak UCP 2026-01-11 over REST take part in enactments: it is an agent that plays
// Platform, and an HTTP handler. A request becomes an attempt, and what the agent then observes becomes the response.
// What is allowed, and who wins when requests cross, is said by the protocol and decided by the engine; the bridge
// translates the answer.
//
// # Checkouts and enactments
//
// UCP lets a checkout be changed until it is paid, while in an enactment what is bound is bound. So a wire checkout is
// a chain of enactments, of which the newest that is in force is shown under the one wire id. A PUT that changes
// something first creates the next enactment, and so has the Business price it; if the Business refuses, the checkout
// stays as it was. Then it attempts Cancel on the enactment in force. If the Business answers Cancelled, the next one
// takes its place; if it answers Completed, a payment was first, the next one is cancelled again and the PUT is
// answered with 409. The other way round there would be a moment without any checkout, and a refusal would leave none.
// A Complete that finds its enactment being replaced is told 409, too. A Complete after Declined renews the enactment
// in the same way, and goes on only if the total is still the same.
//
// The link from an enactment to the next lies in the id of the attempt that cancels it, so what is in force follows
// from the logs alone. A PUT replaces, but members that it omits are kept (line_items, buyer, fulfillment, discounts, and
// within a fulfillment method its destinations, selections and groups), as the public platforms expect; null clears.
//
// # What is kept where
//
// The payment goes into the Complete attempt and nowhere else. Discount codes are bound only if the protocol's Create
// carries discounts; else they are answered with a warning. Answers by Idempotency-Key are kept in memory, bounded in
// time, number and bytes; a bridge that was restarted repeats none, but the engine still lets nothing happen twice. It finds open
// and paid checkouts again in what the executor keeps, and answers 404 for canceled ones. One bridge serves one Platform
// party: two of them would share its enactments between them.
//
// ServeHTTP is safe for concurrent use, and needs Run to run.
type Inbound struct {
	rules   *enactment.Rules
	agent   *adapter.Adapter
	options InboundOptions
	log     *slog.Logger
	mux     *http.ServeMux
	answers *answers
	// carriesDiscounts tells that the protocol binds discounts with Create.
	carriesDiscounts bool

	mu       sync.Mutex
	sessions map[string]*session // by wire id
	orders   map[string]*session // by order id
	ended    []*session          // those that ended, in that order; some may have been renewed since
	searched time.Time           // when expired checkouts were last looked for
}

// NewInbound makes an inbound bridge for a protocol of the SimpleUCP shape on an executor. It does nothing before
// [Inbound.Run]. The error says what the rules or the options lack.
func NewInbound(rules *enactment.Rules, exec adapter.Executor, options InboundOptions) (*Inbound, error) {
	switch {
	case rules == nil:
		return nil, errors.New("ucp: inbound: no rules")
	case options.Storefront == nil:
		return nil, errors.New("ucp: inbound: no storefront")
	}
	if err := checkInboundProtocol(rules.Protocol()); err != nil {
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
	setDefault(&options.Checkouts, DefaultCheckouts)
	setDefault(&options.Changes, DefaultChanges)
	setDefault(&options.Remembered, DefaultRemembered)
	setDefault(&options.RememberedBytes, DefaultRememberedBytes)
	setDefault(&options.RememberedFor, DefaultRememberedFor)
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	party := []adapter.Option{adapter.WithLogger(options.Logger)}
	if options.Party != "" {
		party = append(party, adapter.WithParty(options.Party))
	}
	agent, err := adapter.New(rules, "Platform", exec, party...)
	if err != nil {
		return nil, fmt.Errorf("ucp: inbound: %w", err)
	}
	create, _ := rules.Protocol().Action("Create")
	in := &Inbound{
		rules: rules, agent: agent, options: options, log: options.Logger,
		answers:          newAnswers(options.Remembered, options.RememberedBytes, options.RememberedFor),
		carriesDiscounts: create.Carries("discounts"),
		sessions:         make(map[string]*session),
		orders:           make(map[string]*session),
	}
	in.listen()
	in.mux = in.routes()
	return in, nil
}

func setDefault[T comparable](option *T, value T) {
	var unset T
	if *option == unset {
		*option = value
	}
}

// Run plays Platform until ctx ends. It blocks, and may be called once. The error is the executor's.
func (in *Inbound) Run(ctx context.Context) error {
	if err := in.agent.Run(ctx); err != nil {
		return fmt.Errorf("ucp: inbound: %w", err)
	}
	return nil
}

// ServeHTTP answers one request of a remote platform.
func (in *Inbound) ServeHTTP(w http.ResponseWriter, r *http.Request) { in.mux.ServeHTTP(w, r) }
