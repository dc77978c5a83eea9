package syncserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// ClientConfig says how a [Client] works. The zero value of a field stands for the default that it names.
type ClientConfig struct {
	// System names the system; by default it is [SystemName].
	System string
	// Try is how long one request may take before it is made again. 2 s.
	Try time.Duration
	// FirstWait and LongestWait bound the time between two tries. 10 ms and 1 s.
	FirstWait, LongestWait time.Duration
	// MaxInFlight is how many attempts may be on their way; further ones wait. 1024.
	MaxInFlight int
	// Buffer is how many deliveries a feed may hold that were not received; at least that many are asked for at once.
	// 256.
	Buffer int
	// Tracer makes a span for each attempt, from its submission to its answer, in the trace of the context. It tells
	// protocol, action and outcome, no values. No spans if nil; the trace of the context is handed on to the server
	// nevertheless.
	Tracer trace.TracerProvider
	// Logger is where the client logs; slog.Default() if nil.
	Logger *slog.Logger
}

func (c ClientConfig) withDefaults(rules *enactment.Rules) ClientConfig {
	if c.System == "" {
		c.System = SystemName(rules)
	}
	positive(&c.Try, 2*time.Second)
	positive(&c.FirstWait, 10*time.Millisecond)
	positive(&c.LongestWait, time.Second)
	positive(&c.MaxInFlight, 1024)
	positive(&c.Buffer, 256)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// ErrProtocol says that the server has another protocol than the client, or another version of it. Errors that say so
// are [adapter.ErrClosed] too, since there will be no answer.
var ErrProtocol = errors.New("syncserver: the server has another protocol")

// Client is the executor of agents whose system is served by [Server]s, wherever those are. What it may do is said by
// the connection's identity: a request as anybody else is not let through. Its methods are safe for concurrent use.
type Client struct {
	rules    *enactment.Rules
	config   ClientConfig
	conn     *nats.Conn
	server   *Server // in the same process; nil if it is asked over the connection
	feeds    feedService
	subjects wire.Subjects
	codec    wire.Codec
	log      *slog.Logger
	places   chan struct{}
	tracer   tracing.Tracer

	ctx    context.Context // ends with the client
	cancel context.CancelCauseFunc
	done   sync.WaitGroup
}

var _ adapter.Executor = (*Client)(nil)

// NewClient makes an executor on a connection, which stays the caller's; let it reconnect for ever (nats.MaxReconnects
// of -1). Close the executor when it is needed no more.
func NewClient(conn *nats.Conn, rules *enactment.Rules, config ClientConfig) (*Client, error) {
	config = config.withDefaults(rules)
	subjects, err := wire.NewSubjects(config.System)
	if err != nil {
		return nil, err
	}
	c := &Client{
		rules: rules, config: config, conn: conn, subjects: subjects, codec: wire.Codec{Rules: rules},
		log: config.Logger.With("system", config.System), places: make(chan struct{}, config.MaxInFlight),
		tracer: tracing.New(config.Tracer, rules),
	}
	c.feeds = feedsThere{c}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// Client makes an executor for agents in the server's own process: what they ask does not go through NATS. Such agents
// may be anybody.
func (s *Server) Client(config ClientConfig) *Client {
	config.System = s.config.System
	c, err := NewClient(s.conn, s.rules, config)
	if err != nil {
		panic(err) // the server has the same system
	}
	c.server, c.feeds = s, feedsHere{s}
	return c
}

// Close ends the executor: what waits returns [adapter.ErrClosed], and feeds that are open give their enactments back.
// It returns when no goroutine of the executor is left.
func (c *Client) Close() {
	c.cancel(adapter.ErrClosed)
	c.done.Wait()
}

// Attempt submits an attempt, again and again with the same id if answers are lost, until it is decided. It blocks while
// too many are on their way. The error is that of the context, [adapter.ErrClosed], or [ErrProtocol].
func (c *Client) Attempt(ctx context.Context, attempt enactment.Attempt) (outcome enactment.Outcome, err error) {
	ctx, stop := c.bound(ctx)
	defer stop()
	ctx, span := c.tracer.Start(ctx, "strabo.attempt", trace.SpanKindClient, attempt.Action)
	defer func() { span.Decided(&outcome, err) }()
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, context.Cause(ctx))
	}
	if c.server != nil {
		return c.until(ctx, &attempt, func() (enactment.Outcome, error) { return c.server.attemptHere(ctx, attempt) })
	}
	data := wire.AppendRequest(make([]byte, 0, 256), c.rules.Hash(), &attempt)
	if limit := c.conn.MaxPayload(); limit > 0 && int64(len(data)) > limit {
		return refused(&enactment.Rejection{
			Code: enactment.Malformed, Detail: fmt.Sprintf("the attempt has more than the %d bytes of a message", limit),
		}), nil
	}
	subject := c.subjects.Attempt(attempt.Identity)
	return c.until(ctx, &attempt, func() (enactment.Outcome, error) { return c.try(ctx, subject, data) })
}

// until tries again and again until there is an answer, or no hope of one.
func (c *Client) until(ctx context.Context, attempt *enactment.Attempt, try func() (enactment.Outcome, error)) (enactment.Outcome, error) {
	for wait := c.config.FirstWait; ; wait = min(2*wait, c.config.LongestWait) {
		if ctx.Err() != nil {
			return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, context.Cause(ctx))
		}
		outcome, err := try()
		if err == nil {
			return outcome, nil
		}
		if err := c.hopeless(err); err != nil {
			return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, err)
		}
		c.log.DebugContext(ctx, "attempt not answered, trying again", "action", attempt.Action, "attempt", attempt.ID, "error", err)
		if rest(ctx, wait) != nil {
			return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, context.Cause(ctx))
		}
	}
}

func (c *Client) try(ctx context.Context, subject string, data []byte) (enactment.Outcome, error) {
	reply, err := c.request(ctx, subject, data, c.config.Try)
	if err != nil {
		return enactment.Outcome{}, err
	}
	return c.codec.DecodeAnswer(reply)
}

// bound makes a context that also ends with the client.
func (c *Client) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(adapter.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func (c *Client) request(ctx context.Context, subject string, data []byte, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	msg, err := c.conn.RequestMsgWithContext(ctx, &nats.Msg{
		Subject: subject, Header: tracing.Header(ctx, len(data), c.conn.MaxPayload()), Data: data,
	})
	if err != nil {
		return nil, err
	}
	return msg.Data, nil
}

// hopeless gives an error if trying again makes no sense, else nil.
func (c *Client) hopeless(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("%w: %w", adapter.ErrClosed, err)
	}
	told, ok := errors.AsType[*wire.Error](err)
	switch {
	case ok && told.Reason == wire.Mismatch:
		return fmt.Errorf("%w: %w: %w", adapter.ErrClosed, ErrProtocol, err)
	case ok && (told.Reason == wire.BadRequest || told.Reason == wire.TooLarge):
		return fmt.Errorf("%w: %w", adapter.ErrClosed, err)
	}
	return nil
}

// rest waits about as long as said, not longer than ctx lives.
func rest(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Join starts to receive what an identity sees.
func (c *Client) Join(ctx context.Context, identity enactment.Identity) (adapter.Feed, error) {
	if !c.rules.NewState("").Sees(identity) {
		return nil, fmt.Errorf("syncserver: %s plays no role of protocol %s", identity, c.rules.Protocol().Name())
	}
	if c.ctx.Err() != nil {
		return nil, fmt.Errorf("syncserver: join as %s: %w", identity, adapter.ErrClosed)
	}
	f := newRemoteFeed(c, identity)
	bound, stop := c.bound(ctx)
	defer stop()
	if err := f.join(bound); err != nil {
		f.cancel(adapter.ErrClosed)
		return nil, fmt.Errorf("syncserver: join as %s: %w", identity, err)
	}
	f.start()
	return f, nil
}
