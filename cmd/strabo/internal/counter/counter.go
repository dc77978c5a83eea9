// Package counter is where the shopper meets a remote shop: the Platform agent and the outbound bridge, which plays the
// Business for the shop, on an executor of their own.
package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// Options configures a [Counter].
type Options struct {
	// Decide is asked about each bill; see [shopper.New].
	Decide func(shopper.Bill) shopper.Decision
	// Currency is the one to buy in.
	Currency string
	// Engine opens what the agent and the bridge meet on; in memory if nil.
	Engine engine.Open
	// Recorder is told of what happens in the engine, Audit of each call to the shop and each decision not to call. They
	// may be nil.
	Recorder func(enactment.Record)
	Audit    audit.Sink
	// AuditRequired keeps what changes anything from leaving unless Audit has it first. Hasher makes the hashes of Audit and
	// of approvals; nil for one that is gone with the process.
	AuditRequired bool
	Hasher        *audit.Hasher
	// Policy is that of the calls; nil for the contracts as they are.
	Policy *policy.Policy
	// Subject is for whom is bought, Approvals decide whether it may be paid. Without them no payment leaves.
	Subject   string
	Approvals policy.Approver
	// Purchase is the one that is going to be made; nil: those that are made are forgotten with the process.
	Purchase *Purchase
	// Patience is how long a call whose fate is unknown is followed up; 0 for the bridge's own default.
	Patience time.Duration
	// Logger is told of failures.
	Logger *slog.Logger
}

// Counter is a place to buy at one shop. It is safe for concurrent use.
type Counter struct {
	engine  *engine.Engine
	shopper *shopper.Shopper
	// ctx ends when the counter is closed, and when the fate of a call is unknown, with that as its cause.
	ctx    context.Context
	stop   context.CancelCauseFunc
	errors chan error // one from each of the two that run

	endpoint string
	purchase *Purchase
	journal  bridge.Journal

	mu   sync.Mutex
	last map[enactment.Key]lastCalls // of each checkout whose end is not known
}

// errClosed is why a purchase ends when the counter is closed.
var errClosed = errors.New("counter: closed")

// Open makes a counter at a shop that was discovered; close it when it is needed no more.
func Open(business *ucp.Business, options Options) (*Counter, error) {
	rules, err := protocols.Load("simple-ucp",
		enactment.WithParties("Platform", "shopper"), enactment.WithParties("Business", "outbound-bridge"))
	if err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	if options.Engine == nil {
		options.Engine = engine.Local()
	}
	c := &Counter{
		errors:   make(chan error, 2),
		endpoint: business.Endpoint, purchase: options.Purchase, journal: new(bridge.MemoryJournal), last: make(map[enactment.Key]lastCalls),
	}
	if c.purchase != nil {
		c.journal = c.purchase
	}
	if c.engine, err = options.Engine(rules, options.Recorder); err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	if err := c.open(rules, business, options); err != nil {
		c.engine.Close()
		return nil, err
	}
	return c, nil
}

func (c *Counter) open(rules *enactment.Rules, business *ucp.Business, options Options) (err error) {
	if c.shopper, err = shopper.New(rules, c.engine, options.Decide, adapter.WithLogger(options.Logger)); err != nil {
		return err
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	outbound, err := ucp.NewOutbound(rules, c.engine, business, ucp.OutboundOptions{
		Currency: options.Currency, Logger: options.Logger, Journal: c.journal,
		Patience: bridge.Patience{Deadline: options.Patience},
		Audit:    c.sink(options.Audit),
		Principal: func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: options.Subject}, nil
		},
		Approvals: options.Approvals, Policy: options.Policy, AuditRequired: options.AuditRequired, Hasher: options.Hasher,
		OnUnknown: func(u bridge.Unsettled) {
			c.told(u)
			c.stop(unsettled(u))
		},
		OnDiverged: func(d bridge.Divergence) { c.stop(divergence(d)) },
	})
	if err != nil {
		return fmt.Errorf("counter: %w", err)
	}
	go func() { c.errors <- c.shopper.Run(c.ctx) }()
	go func() { c.errors <- outbound.Run(c.ctx) }()
	return nil
}

// sink notes what was heard last, and gives it on.
func (c *Counter) sink(next audit.Sink) audit.Sink {
	return audit.SinkFunc(func(ctx context.Context, r audit.Record) error {
		c.heard(r)
		if next == nil {
			return nil
		}
		return next.Record(ctx, r)
	})
}

// Buy buys, and blocks until it is known how that ended. The error is an [*UnknownError] if nobody can tell, and the
// cause of ctx if that ended first; [Counter.Account] says more about both. A counter with a purchase makes that
// one, whatever the wish's id.
func (c *Counter) Buy(ctx context.Context, wish shopper.Wish) (shopper.Ending, error) {
	wish.ID = cmp.Or(wish.ID, uuid.NewString())
	if c.purchase != nil {
		wish.ID = c.purchase.ID
		if c.purchase.diverged != "" {
			return shopper.Ending{}, &UnknownError{Kind: kindDiverged, Detail: c.purchase.diverged}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	ending, err := c.shopper.Buy(ctx, wish)
	if err == nil {
		c.mu.Lock()
		delete(c.last, keyOf(wish.ID))
		c.mu.Unlock()
	}
	return ending, err
}

// Close ends what is under way. It returns what kept an agent from running, if anything did.
func (c *Counter) Close() error {
	c.stop(errClosed)
	var err error
	for range cap(c.errors) {
		err = errors.Join(err, <-c.errors)
	}
	c.engine.Close()
	return err
}
