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

// NewServer starts to serve a system on a connection, which stays the caller's; one with nats.SyncQueueLen(1024) takes less
// memory and time for each read of the log than the 65536 of the client library. The streams are made if they are
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
		Folded: s.folded, Removed: s.removed, Tracer: s.tracer,
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
