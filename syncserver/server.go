package syncserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/crew"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/observation"
	"github.com/strabo-engine/strabo/syncserver/internal/sequencer"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// What holds for a [Server] and a [Client] where their configuration says nothing else.
const (
	// DefaultServerRetention is how long refusals are kept.
	DefaultServerRetention = 24 * time.Hour
	// DefaultLease is how long an agent that has fallen silent keeps its enactments.
	DefaultLease = 10 * time.Second
	// DefaultTimeout bounds one write to the log.
	DefaultTimeout = 5 * time.Second
	// DefaultCache is how many instances a server keeps of enactments that nobody uses at the moment.
	DefaultCache = 1 << 18
	// DefaultMaxAttempt is how many bytes an attempt may have.
	DefaultMaxAttempt = 256 << 10
	// DefaultMaxInFlight is how many attempts a server decides at the same time.
	DefaultMaxInFlight = 4096
	// DefaultClockTolerance is how far an attempt's time may lie in the future.
	DefaultClockTolerance = time.Minute
)

// ServerConfig says how a [Server] works. The zero value of a field stands for the default that it names.
type ServerConfig struct {
	// System names the system: servers and clients of one name belong together. The default is the name of the protocol
	// in lower case, with - for what is neither letter nor digit.
	System string
	// Replicas is how many servers of a NATS cluster keep each stream; 1 by default. It counts when the streams are
	// made.
	Replicas int
	// Memory keeps the streams in memory: they are lost when the NATS server stops. It counts when the streams are made.
	Memory bool
	// Alone tells that no other server of the system runs as long as this one does, as where NATS is inside the process and
	// takes no connections. Then what this one knows of an enactment is the latest, and is shown without looking into the
	// log. If it is not so, visits to enactments may show what was true a while ago; nothing else depends on it.
	Alone bool
	// Window makes finalisation batch instead of immediate: attempts of one enactment that arrive within it are judged
	// together. WindowCount closes a window as soon as it holds that many, if it is positive.
	Window      time.Duration
	WindowCount int
	// Retention is how long a refusal is kept, so that an attempt that arrives again gets it; attempts made longer ago
	// are refused as expired. [DefaultServerRetention].
	Retention time.Duration
	// Lease is how long the enactments of an agent that has fallen silent stay its own. [DefaultLease].
	Lease time.Duration
	// Timeout bounds one write to the log. [DefaultTimeout].
	Timeout time.Duration
	// Cache is how many instances are kept of enactments that nobody uses at the moment; one with more than a KiB of
	// values counts as one for each KiB. Of an eighth as many enactments of each identity that has a feed here it is kept
	// in memory which agent has them. [DefaultCache].
	Cache int
	// MaxAttempt is how many bytes an attempt may have. [DefaultMaxAttempt]. Whatever it says, an attempt is refused by
	// which something would happen that has more than 5/8 of the largest payload of a message of NATS, with what is known.
	MaxAttempt int
	// MaxInFlight is how many attempts may be on their way at once; more are told to come back. [DefaultMaxInFlight].
	MaxInFlight int
	// ClockTolerance is how far an attempt's time may lie in the future. [DefaultClockTolerance].
	ClockTolerance time.Duration
	// Keys seal the values that are secret before they are stored. They are needed where the protocol has secrets.
	Keys *Keyring
	// Recorder is told of what happened, was refused and became complete by this server's judgement, in the manner of
	// [WithRecorder], but for one thing: what is written may be delivered before it is recorded, for any server may read
	// it. It is recorded before this server answers the attempt, and before its Close returns. It may be nil.
	Recorder func(enactment.Record)
	// Tracer makes a span for each attempt that is decided here and for each write to the log, in the trace of whoever
	// attempted. They tell protocol, action and outcome, no values. No spans if nil.
	Tracer trace.TracerProvider
	// Logger is where the server logs; slog.Default() if nil.
	Logger *slog.Logger

	// clock tells the time of day, by which attempts are late or early, and which the log says. Tests have it jump. What
	// lasts a while, such as a lease, is measured by the monotonic clock of package time, which does not.
	clock func() time.Time
}

func (c ServerConfig) withDefaults(rules *enactment.Rules) ServerConfig {
	if c.System == "" {
		c.System = SystemName(rules)
	}
	positive(&c.Retention, DefaultServerRetention)
	positive(&c.Lease, DefaultLease)
	positive(&c.Timeout, DefaultTimeout)
	positive(&c.ClockTolerance, DefaultClockTolerance)
	positive(&c.Cache, DefaultCache)
	positive(&c.MaxAttempt, DefaultMaxAttempt)
	positive(&c.MaxInFlight, DefaultMaxInFlight)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c
}

func positive[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// SystemName is the name that a system has where nobody gives it another: that of the protocol in lower case, with - for
// what is neither letter nor digit.
func SystemName(rules *enactment.Rules) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, rules.Protocol().Name())
}

// Server decides the attempts of a system and serves what identities see, together with any number of others on the
// same streams: it keeps nothing that is not in them.
type Server struct {
	rules    *enactment.Rules
	config   ServerConfig
	conn     *nats.Conn
	requests *request.Conn // over conn
	subjects wire.Subjects
	codec    wire.Codec
	journal  *journal.Journal
	host     *observation.Host
	intake   *sequencer.Intake   // nil in immediate finalisation
	election *sequencer.Election // nil in immediate finalisation
	service  micro.Service
	name     string
	recent   *recent
	metrics  metrics
	tally    tally
	tracer   tracing.Tracer
	// logHealth and intakeHealth know whether writes to the log and to the arrivals come through.
	logHealth, intakeHealth *stream.Health
	log                     *slog.Logger

	attendance atomic.Pointer[Attendance] // nil where nobody attends

	places chan struct{} // a token for each attempt on its way
	asking chan struct{} // a token for each request of a feed
	crew   *crew.Crew
	limits wire.Limits
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	stopping bool
	working  sync.WaitGroup
}

// NewServer starts to serve a system on a connection, which stays the caller's. The streams are made if they are
// missing. The error is a [*ProtocolError] if they hold another protocol.
func NewServer(ctx context.Context, conn *nats.Conn, rules *enactment.Rules, config ServerConfig) (*Server, error) {
	config = config.withDefaults(rules)
	subjects, err := wire.NewSubjects(config.System)
	if err != nil {
		return nil, err
	}
	s := &Server{
		rules: rules, config: config, conn: conn, subjects: subjects, name: nuid.Next(),
		codec: wire.Codec{Rules: rules}, recent: newRecent(), tracer: tracing.New(config.Tracer, rules),
		places: make(chan struct{}, config.MaxInFlight), asking: make(chan struct{}, mostAsking), crew: crew.New(),
	}
	s.log = config.Logger.With("system", config.System, "server", s.name)
	s.logHealth, s.intakeHealth = stream.NewHealth(s.log), stream.NewHealth(s.log)
	if config.Keys != nil {
		s.codec.Sealer = config.Keys
	} else if secrets(rules) {
		return nil, ErrNoKeys
	}
	if err := s.open(ctx); err != nil {
		if s.requests != nil {
			s.requests.End()
		}
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.tally.ctx, s.tally.cancel = context.WithCancel(s.ctx)
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func secrets(rules *enactment.Rules) bool {
	for a := range rules.Protocol().Attributes() {
		if rules.Secret(a.Name()) {
			return true
		}
	}
	return false
}

// ProtocolError says that the streams of the system hold another protocol, or another version of it.
type ProtocolError = journal.MismatchError

func (s *Server) open(ctx context.Context) error {
	js, err := jetstream.New(s.conn)
	if err != nil {
		return err
	}
	if s.requests, err = request.Over(s.conn); err != nil {
		return err
	}
	c := s.config
	s.limits = wire.LimitsOf(s.conn.MaxPayload())
	if err := journal.Open(ctx, js, journal.Layout{
		Subjects: s.subjects, Rules: s.rules, Replicas: c.Replicas, Memory: c.Memory,
		Batch: s.batch(), Retention: c.Retention,
	}); err != nil {
		return fmt.Errorf("syncserver: %w", err)
	}
	s.host, err = observation.New(observation.Config{
		Conn: s.requests, Subjects: s.subjects, Codec: s.codec, Name: s.name, Lease: c.Lease, Timeout: c.Timeout,
		MaxBytes: s.limits.Together, Records: c.Cache / recordShare, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.journal, err = journal.New(journal.Config{
		Conn: s.requests, Subjects: s.subjects, Codec: s.codec, Retention: c.Retention, Timeout: c.Timeout, Cache: c.Cache,
		Clock: c.clock, Health: s.logHealth, Logger: s.log, MaxEntry: s.limits.Entry,
		SnapshotEvery: snapshotEvery, Alone: c.Alone, Appended: s.appended, Conflict: s.metrics.conflict,
		Folded: s.folded, Tracer: s.tracer,
	})
	return err
}

// mostAsking is how many requests of feeds may wait at once, so that nobody can have a server wait for ever more. A feed
// has two at the most.
const mostAsking = 1 << 16

const snapshotEvery = 1000

// recordShare is the part of a cache's size that says of how many enactments a server remembers which agent has them, for
// each identity.
const recordShare = 8

// sequence starts batch finalisation.
func (s *Server) sequence() error {
	c := s.config
	config := sequencer.Config{
		Conn: s.requests, Subjects: s.subjects, Codec: s.codec, Name: s.name, Health: s.intakeHealth, Timeout: c.Timeout, Tracer: s.tracer,
		Together: s.limits.Together,
		Logger:   s.log,
	}
	var err error
	if s.intake, err = sequencer.NewIntake(config); err != nil {
		return err
	}
	s.election, err = sequencer.Stand(sequencer.ElectionConfig{
		Config: config, Journal: s.journal, Intake: s.intake, Span: c.Window, Count: windowCount(c), Retention: c.Retention,
		Lease: min(c.Lease, sequencerLease),
	})
	return err
}

// sequencerLease is how long a partition stays without a sequencer, at the most, when a server dies.
const sequencerLease = 3 * time.Second

func (s *Server) batch() bool { return s.config.Window > 0 || s.config.WindowCount > 0 }

// start takes requests.
func (s *Server) start() error {
	var err error
	if s.batch() {
		if err = s.sequence(); err != nil {
			return fmt.Errorf("syncserver: %w", err)
		}
	}
	s.service, err = micro.AddService(s.conn, micro.Config{
		Name: "strabo-" + strings.ReplaceAll(wire.Token(s.config.System), "=", "_"), Version: "1.0.0",
		Description: "coordinates protocol " + s.rules.Protocol().Name(),
		Metadata:    map[string]string{"protocol": s.rules.Protocol().Name(), "hash": s.rules.Hash(), "server": s.name},
	})
	if err != nil {
		return fmt.Errorf("syncserver: %w", err)
	}
	endpoints := []struct {
		name, subject string
		handler       micro.HandlerFunc
		alone         bool
	}{
		{"attempt", s.subjects.Attempts(), s.takeAttempt, false},
		{"join", s.subjects.Joins(), s.takeFeed(s.takeJoin), false},
		{"observe", s.subjects.Observations(s.name), s.takeFeed(s.observe), true},
	}
	for _, e := range endpoints {
		options := []micro.EndpointOpt{micro.WithEndpointSubject(e.subject), micro.WithEndpointQueueGroup("strabo")}
		if e.alone {
			options = append(options, micro.WithEndpointQueueGroupDisabled())
		}
		if err := s.service.AddEndpoint(e.name, e.handler, options...); err != nil {
			return fmt.Errorf("syncserver: %w", err)
		}
	}
	return s.conn.Flush()
}

// enter counts a request; false if the server stops.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.working.Add(1)
	return true
}

// Close stops the server: it takes no more requests, decides what it has taken, and hands its feeds to other servers. It
// does not close the connection. The error is that of the context, if it ends before all is decided.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil
	}
	s.stopping = true
	s.mu.Unlock()
	var failure error
	if s.service != nil && !s.conn.IsClosed() {
		failure = s.service.Stop()
	}
	s.host.Close()
	s.tally.cancel()
	done := make(chan struct{})
	go func() {
		s.working.Wait()
		s.crew.Close()
		if s.election != nil {
			s.election.Close()
		}
		if s.intake != nil {
			s.intake.Close()
		}
		s.journal.Close()
		s.requests.End()
		close(done)
	}()
	select {
	case <-done:
		s.cancel()
		if s.conn.IsConnected() {
			ctx, cancel := context.WithTimeout(ctx, max(s.config.Timeout, DefaultTimeout))
			defer cancel()
			failure = errors.Join(failure, s.conn.FlushWithContext(ctx))
		}
		return failure
	case <-ctx.Done():
		s.cancel()
		<-done
		return errors.Join(failure, fmt.Errorf("syncserver: close: %w", context.Cause(ctx)))
	}
}

// Name identifies the server among others of the system.
func (s *Server) Name() string { return s.name }

// Ready tells why the server cannot decide at the moment; nil if it can.
func (s *Server) Ready(ctx context.Context) error {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		return errors.New("syncserver: the server stops")
	}
	if !s.conn.IsConnected() {
		return errors.New("syncserver: not connected to NATS")
	}
	if err := errors.Join(s.logHealth.Err(), s.intakeHealth.Err()); err != nil {
		return fmt.Errorf("syncserver: %w", err)
	}
	return s.journal.Reachable(ctx)
}

// windowCount is how many attempts close a window.
func windowCount(c ServerConfig) int {
	if c.WindowCount <= 0 || c.WindowCount > MostInWindow {
		return MostInWindow
	}
	return c.WindowCount
}
