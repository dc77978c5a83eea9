package syncserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pause"
	"github.com/strabo-engine/strabo/internal/request"
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
	server   *Server       // in the same process; nil if it is asked over a connection
	attempts *request.Conn // that attempts are asked over; nil where there is a server
	feeds    feedService
	subjects wire.Subjects
	codec    wire.Codec
	log      *slog.Logger
	places   chan struct{}
	tracer   tracing.Tracer
	warned   atomic.Int64 // when unanswered last warned, in nanoseconds of Unix time

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
	c := newClient(rules, subjects, config)
	if c.attempts, err = request.Over(conn); err != nil {
		return nil, fmt.Errorf("syncserver: %w", err)
	}
	feeds, err := request.Over(conn)
	if err != nil {
		c.attempts.End()
		return nil, fmt.Errorf("syncserver: %w", err)
	}
	c.feeds = feedsThere{feeds, subjects, c.codec, config.Try}
	return c, nil
}

func newClient(rules *enactment.Rules, subjects wire.Subjects, config ClientConfig) *Client {
	c := &Client{
		rules: rules, config: config, subjects: subjects, codec: wire.Codec{Rules: rules},
		log: config.Logger.With("system", config.System), places: make(chan struct{}, config.MaxInFlight),
		tracer: tracing.New(config.Tracer, rules),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Client makes an executor for agents in the server's own process: what they ask does not go through NATS. Such agents
// may be anybody.
func (s *Server) Client(config ClientConfig) *Client {
	config.System = s.config.System
	c := newClient(s.rules, s.subjects, config.withDefaults(s.rules))
	c.server, c.feeds = s, feedsHere{s}
	return c
}

// Close ends the executor: what waits returns [adapter.ErrClosed], and feeds that are open give their enactments back.
// It returns when no goroutine of the executor is left.
func (c *Client) Close() {
	c.cancel(adapter.ErrClosed)
	if c.attempts != nil {
		c.attempts.End()
	}
	c.done.Wait()
	c.feeds.end()
}

// Attempt submits an attempt, again and again with the same id if answers are lost, until it is decided. It blocks while
// too many are on their way. The error is that of the context, [adapter.ErrClosed], or [ErrProtocol].
func (c *Client) Attempt(ctx context.Context, attempt enactment.Attempt) (outcome enactment.Outcome, err error) {
	ctx, span := c.tracer.Start(ctx, "strabo.attempt", trace.SpanKindClient, attempt.Action)
	defer func() { span.Decided(&outcome, err) }()
	if err := c.enter(ctx); err != nil {
		return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, err)
	}
	defer func() { <-c.places }()
	if c.server != nil {
		return c.until(ctx, &attempt, func() (enactment.Outcome, error) { return c.server.attemptHere(ctx, attempt) })
	}
	msg := nats.Msg{
		Subject: c.subjects.Attempt(attempt.Identity), Data: wire.AppendRequest(make([]byte, 0, 256), c.rules.Hash(), &attempt),
	}
	limit := c.attempts.MaxPayload()
	if limit > 0 && int64(len(msg.Data)) > limit {
		return refused(&enactment.Rejection{
			Code: enactment.Malformed, Detail: fmt.Sprintf("the attempt has more than the %d bytes of a message", limit),
		}), nil
	}
	msg.Header = tracing.Header(ctx, len(msg.Data), limit)
	return c.until(ctx, &attempt, func() (enactment.Outcome, error) {
		reply, err := c.attempts.Call(ctx, &msg, c.config.Try)
		if err != nil {
			return enactment.Outcome{}, err
		}
		return c.codec.DecodeAnswer(reply.Data)
	})
}

// enter waits for a place among the attempts on their way.
func (c *Client) enter(ctx context.Context) error {
	if err := c.over(ctx); err != nil {
		return err
	}
	select {
	case c.places <- struct{}{}:
	default:
		select {
		case c.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.ctx.Done():
			return adapter.ErrClosed
		}
	}
	return nil
}

// over tells why there is no point in going on: the context has ended, or the client.
func (c *Client) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.ctx.Err() != nil:
		return adapter.ErrClosed
	}
	return nil
}

// until tries again and again until there is an answer, or no hope of one.
func (c *Client) until(ctx context.Context, attempt *enactment.Attempt, try func() (enactment.Outcome, error)) (enactment.Outcome, error) {
	var last error // what went wrong with the last try that had its time
	failed := func(err error) (enactment.Outcome, error) {
		if last != nil {
			err = fmt.Errorf("%w; the last try: %w", err, last)
		}
		return enactment.Outcome{}, fmt.Errorf("syncserver: attempt of %s: %w", attempt.Action, err)
	}
	began := time.Now()
	for wait := c.config.FirstWait; ; wait = min(2*wait, c.config.LongestWait) {
		outcome, err := try()
		if err == nil {
			return outcome, nil
		}
		ending := c.over(ctx)
		if last == nil || ending == nil {
			last = err
		}
		if ending != nil {
			return failed(ending)
		}
		if err := c.hopeless(err); err != nil {
			last = nil // it says so itself
			return failed(err)
		}
		c.log.DebugContext(ctx, "attempt not answered, trying again", "action", attempt.Action, "attempt", attempt.ID, "error", err)
		c.unanswered(ctx, c.log, began, err)
		if err := c.rest(ctx, wait); err != nil {
			return failed(err)
		}
	}
}

// unanswered warns, now and then, that nobody has answered for longer than one try takes. It says what that may come from,
// since NATS tells a client neither that no server runs nor that the connection may not be the identity.
func (c *Client) unanswered(ctx context.Context, log *slog.Logger, began time.Time, err error) {
	const interval = time.Minute
	now, last := time.Now(), c.warned.Load()
	if now.Sub(began) < c.config.Try || last != 0 && now.Sub(time.Unix(0, last)) < interval || !c.warned.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	log.WarnContext(ctx, "no server answers, trying again: does one serve the system, and are the credentials those of the identity?", "error", err)
}

// rest waits about as long as said, not longer than ctx and the client live.
func (c *Client) rest(ctx context.Context, wait time.Duration) error {
	ctx, stop := c.bound(ctx)
	defer stop()
	return rest(ctx, wait)
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

// hopeless gives an error if trying again makes no sense, else nil.
func (c *Client) hopeless(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, request.ErrClosed) {
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
	return pause.For(ctx, wait/2+rand.N(wait/2+1))
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
