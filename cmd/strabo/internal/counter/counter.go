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
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// Options configures a [Counter].
type Options struct {
	// Protocol is simple-ucp, on which all is asked for at once and with [shopper.New], or ucp-incremental, on which a
	// checkout is filled in step by step, with [shopper.NewStepwise]; the latter if it is empty.
	Protocol string
	// Profile, Signer and Signed are those of [ucp.OutboundOptions].
	Profile string
	Signer  *signature.Signer
	Signed  bool
	// Mandate makes the mandates of payments at shops that take them: see [ucp.OutboundOptions.Mandates]. It may be nil.
	Mandate mandate.Signer
	// Decide is asked about each bill; see [shopper.New] and [shopper.StepwiseOptions].
	Decide func(shopper.Bill) shopper.Decision
	// Show and HandOff are those of [shopper.StepwiseOptions].
	Show    func(ucp.Message)
	HandOff func(url string, why []ucp.Message)
	// Orders is where the shop tells what becomes of an order that was placed, and Changed is told of it; see
	// [shopper.StepwiseOptions]. They may be nil.
	Orders  *ucp.Orders
	Changed func(cid string, order enactment.Value)
	// PlainPages is that of [shopper.StepwiseOptions].
	PlainPages bool
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
	shopper agent
	// ctx ends when the counter is closed, and when the fate of a call is unknown, with that as its cause.
	ctx    context.Context
	stop   context.CancelCauseFunc
	errors chan error // one from each of the two that run

	endpoint string
	purchase *Purchase
	journal  bridge.Journal
	written  chan struct{} // has room for one: that there is something new in the journal

	mu   sync.Mutex
	last map[enactment.Key]lastCalls // of each checkout whose end is not known
}

// agent is the one that buys.
type agent interface {
	Run(ctx context.Context) error
	Buy(ctx context.Context, wish shopper.Wish) (shopper.Ending, error)
}

const (
	simple      = "simple-ucp"
	incremental = "ucp-incremental"
)

// errClosed is why a purchase ends when the counter is closed.
var errClosed = errors.New("counter: closed")

// Open makes a counter at a shop that was discovered; close it when it is needed no more.
func Open(business *ucp.Business, options Options) (*Counter, error) {
	options.Protocol = cmp.Or(options.Protocol, incremental)
	load := business.Rules
	if options.Purchase != nil && options.Purchase.Begun {
		// What an earlier process has asked of the shop it has asked for, whatever is active now.
		load = protocols.Load
	}
	rules, err := load(options.Protocol, enactment.WithParties("Platform", "shopper"), enactment.WithParties("Business", "outbound-bridge"))
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
	c.written = make(chan struct{}, 1)
	c.journal = noting{c.journal, c.written}
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
	switch options.Protocol {
	case simple:
		c.shopper, err = shopper.New(rules, c.engine, options.Decide, adapter.WithLogger(options.Logger))
	case incremental:
		c.shopper, err = shopper.NewStepwise(rules, c.engine, shopper.StepwiseOptions{
			Decide: options.Decide, Show: options.Show, HandOff: options.HandOff, Changed: options.Changed, Mandate: options.Mandate,
			Currency: options.Currency, PlainPages: options.PlainPages,
		}, adapter.WithLogger(options.Logger))
	default:
		err = fmt.Errorf("counter: nobody shops by %s", options.Protocol)
	}
	if err != nil {
		return err
	}
	patience := bridge.Patience{Deadline: options.Patience}
	if options.Patience > 0 {
		// What the shop takes its time for is waited for no longer, so that it can be said how it stands.
		patience.Until = time.Now().Add(options.Patience)
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	outbound, err := ucp.NewOutbound(rules, c.engine, business, ucp.OutboundOptions{
		Profile: options.Profile, Signer: options.Signer, Signed: options.Signed, Orders: options.Orders, Mandates: options.Mandate != nil,
		Currency: options.Currency, Logger: options.Logger, Journal: c.journal,
		Patience: patience, Discloses: options.Show != nil,
		Audit: c.sink(options.Audit),
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
	if err == nil && ending.Action == "Completed" {
		err = c.agreed(ctx, KeyOf(wish.ID))
	}
	if err == nil {
		c.mu.Lock()
		delete(c.last, KeyOf(wish.ID))
		c.mu.Unlock()
	}
	return ending, err
}

// agreed waits until the order that was placed is held against what was agreed to, which the bridge does after it has said
// that there is one. The error is the divergence, if it is another, or the cause of ctx.
func (c *Counter) agreed(ctx context.Context, key enactment.Key) error {
	for {
		entries, err := c.journal.Load(ctx, key)
		if err != nil {
			return fmt.Errorf("counter: %w", err)
		}
		next := ""
		for _, e := range entries {
			switch {
			case e.Kind == bridge.EntryKnown && e.Attempt != nil && e.Attempt.Action == "Completed":
				next = e.Next
			case next != "" && e.Step == next && e.Kind == bridge.EntryDiverged:
				<-ctx.Done() // Somebody is told of it right after it was written down.
				return context.Cause(ctx)
			case next != "" && e.Step == next && e.Kind == bridge.EntryKnown:
				return nil
			}
		}
		if next == "" {
			return nil
		}
		select {
		case <-c.written:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noting is a journal that tells when something was written.
type noting struct {
	bridge.Journal
	written chan struct{} // has room for one
}

// Append implements [bridge.Journal].
func (n noting) Append(ctx context.Context, e bridge.Entry) error {
	err := n.Journal.Append(ctx, e)
	select {
	case n.written <- struct{}{}:
	default:
	}
	return err
}

// Follow blocks while what becomes of orders is followed: until ctx ends, or it can be followed no more, and then the
// error says why.
func (c *Counter) Follow(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
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
