// Package counter is where the shopper meets a remote shop: the Platform agent and the outbound bridge, which plays the
// Business for the shop, on an executor of their own.
package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// Options configures a [Counter].
type Options struct {
	// Decide is asked about each bill; see [shopper.New].
	Decide func(shopper.Bill) shopper.Decision
	// Currency is the one to buy in.
	Currency string
	// Recorder is told of what happens in the engine, Call of each call to the shop. They may be nil.
	Recorder func(enactment.Record)
	Call     func(bridge.Call)
	// Patience is how long a call whose fate is unknown is followed up; 0 for the bridge's own default.
	Patience time.Duration
	// Logger is told of failures.
	Logger *slog.Logger
}

// Counter is a place to buy at one shop. It is safe for concurrent use.
type Counter struct {
	local   *syncserver.Local
	shopper *shopper.Shopper
	// ctx ends when the counter is closed, and when the fate of a call is unknown, with that as its cause.
	ctx    context.Context
	stop   context.CancelCauseFunc
	errors chan error // one from each of the two that run
}

// UnknownError says that nobody can tell what the shop did, or that it did what the protocol does not allow.
type UnknownError struct{ What string }

// Error says what is not known.
func (e *UnknownError) Error() string { return e.What }

// errClosed is why a purchase ends when the counter is closed.
var errClosed = errors.New("counter: closed")

// Open makes a counter at a shop that was discovered; close it when it is needed no more.
func Open(business *ucp.Business, options Options) (*Counter, error) {
	rules, err := protocols.Load("simple-ucp",
		enactment.WithParties("Platform", "shopper"), enactment.WithParties("Business", "outbound-bridge"))
	if err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	var executorOptions []syncserver.Option
	if options.Recorder != nil {
		executorOptions = append(executorOptions, syncserver.WithRecorder(options.Recorder))
	}
	c := &Counter{local: syncserver.NewLocal(rules, executorOptions...), errors: make(chan error, 2)}
	if err := c.open(rules, business, options); err != nil {
		c.local.Close()
		return nil, err
	}
	return c, nil
}

func (c *Counter) open(rules *enactment.Rules, business *ucp.Business, options Options) (err error) {
	if c.shopper, err = shopper.New(rules, c.local, options.Decide, adapter.WithLogger(options.Logger)); err != nil {
		return err
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	outbound, err := ucp.NewOutbound(rules, c.local, business, ucp.OutboundOptions{
		Currency: options.Currency, Audit: options.Call, Logger: options.Logger,
		Patience: bridge.Patience{Deadline: options.Patience},
		OnUnknown: func(u bridge.Unsettled) {
			c.stop(&UnknownError{fmt.Sprintf("it is not known what became of %s (step %s): %s", u.Action, u.Step, u.Detail)})
		},
		OnDiverged: func(d bridge.Divergence) {
			c.stop(&UnknownError{fmt.Sprintf("the shop did what was not to be expected of %s (step %s): %s", d.Action, d.Step, d.Detail)})
		},
	})
	if err != nil {
		return fmt.Errorf("counter: %w", err)
	}
	go func() { c.errors <- c.shopper.Run(c.ctx) }()
	go func() { c.errors <- outbound.Run(c.ctx) }()
	return nil
}

// Buy buys, and blocks until it is known how that ended. The error is an [*UnknownError] if nobody can tell, and the
// cause of ctx if that ended first.
func (c *Counter) Buy(ctx context.Context, wish shopper.Wish) (shopper.Ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	return c.shopper.Buy(ctx, wish)
}

// Close ends what is under way. It returns what kept an agent from running, if anything did.
func (c *Counter) Close() error {
	c.stop(errClosed)
	var err error
	for range cap(c.errors) {
		err = errors.Join(err, <-c.errors)
	}
	c.local.Close()
	return err
}
