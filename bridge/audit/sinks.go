package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// SinkFunc is a function as a [Sink].
type SinkFunc func(ctx context.Context, r Record) error

// Record calls the function.
func (f SinkFunc) Record(ctx context.Context, r Record) error { return f(ctx, r) }

// All gives every record to all of the sinks, one after another, also when one fails. The error is that of those that
// failed, so all are needed; make those that are not with [BestEffort].
func All(sinks ...Sink) Sink {
	return SinkFunc(func(ctx context.Context, r Record) error {
		var failed []error
		for _, sink := range sinks {
			failed = append(failed, sink.Record(ctx, r))
		}
		return errors.Join(failed...)
	})
}

// BestEffort is a sink whose failures are only logged, at the level of errors: what it loses holds nobody up. A nil
// logger is slog.Default().
func BestEffort(sink Sink, logger *slog.Logger) Sink {
	if logger == nil {
		logger = slog.Default()
	}
	return SinkFunc(func(ctx context.Context, r Record) error {
		if err := sink.Record(ctx, r); err != nil {
			logger.ErrorContext(ctx, "a record of the audit is lost", "kind", string(r.Kind), "enactment", string(r.Enactment), "step", r.Step, "error", err)
		}
		return nil
	})
}

// NewLog is a sink that writes records to a structured log, at the level given: the message is audit, and every field
// that is not empty an attribute with its JSON name. The bodies of calls are left out: a log goes to more places than
// an audit. It never fails, since a log says nothing of what became of it; so it is no sink to rely upon. A nil logger is
// slog.Default().
func NewLog(logger *slog.Logger, level slog.Level) Sink {
	if logger == nil {
		logger = slog.Default()
	}
	return SinkFunc(func(ctx context.Context, r Record) error {
		if !logger.Enabled(ctx, level) {
			return nil
		}
		attributes := []slog.Attr{slog.Time("at", r.At.UTC()), slog.String("kind", string(r.Kind)), slog.String("enactment", string(r.Enactment))}
		for _, field := range [][2]string{
			{"action", r.Action},
			{"step", r.Step},
			{"operation", r.Operation},
			{"scope", r.Scope},
			{"risk", r.Risk},
			{"subject", r.Subject},
			{"approval", r.Approval},
			{"key_hash", r.KeyHash},
			{"body_digest", r.BodyDigest},
			{"method", r.Method},
			{"url", r.URL},
			{"outcome", r.Outcome},
			{"detail", r.Detail},
		} {
			if field[1] != "" {
				attributes = append(attributes, slog.String(field[0], cut(field[1], MaxText)))
			}
		}
		if r.Attempt != 0 {
			attributes = append(attributes, slog.Int("attempt", r.Attempt))
		}
		if r.Status != 0 {
			attributes = append(attributes, slog.Int("status", r.Status))
		}
		if r.Latency != 0 {
			attributes = append(attributes, slog.Duration("latency_ns", r.Latency))
		}
		if r.Inferred {
			attributes = append(attributes, slog.Bool("inferred", true))
		}
		if len(r.Sources) > 0 {
			attributes = append(attributes, slog.Any("sources", boundSources(r.Sources)))
		}
		logger.LogAttrs(ctx, level, "audit", attributes...)
		return nil
	})
}

// MaxOwed is how many records a sink made with [Require] holds back at most.
const MaxOwed = 1024

// ErrOwed says that a sink made with [Require] has records that it could not write yet, and is full of them, so that one
// more is lost.
var ErrOwed = errors.New("audit: too many records wait to be written")

// Require makes a sink with which no call leaves unaudited. When the sink behind it fails, a record of what has happened
// already is owed: it is held back, in order, and written before the next one. While anything is owed an [Intent] is
// refused without being held, so that no further call leaves; the calls that are under way owe one record each at most.
// What is owed when the process dies is lost, but the intents of those calls have been written. The error is returned in
// every case, for the caller to log; [ErrOwed] if more than [MaxOwed] records are owed.
//
// One record is written at a time, so that they stay in order.
func Require(sink Sink) Sink { return &required{sink: sink, turn: make(chan struct{}, 1)} }

type required struct {
	sink Sink
	turn chan struct{} // has room for whoever is writing
	mu   sync.Mutex
	owed []Record
}

// Record implements [Sink].
func (s *required) Record(ctx context.Context, r Record) error {
	select {
	case s.turn <- struct{}{}: // also where the context has ended: the sink behind decides
	default:
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return s.owe(r, ctx.Err())
		}
	}
	defer func() { <-s.turn }()
	for {
		first, ok := s.first()
		if !ok {
			break
		}
		if err := s.sink.Record(ctx, first); err != nil {
			return s.owe(r, fmt.Errorf("audit: earlier records are not written yet: %w", err))
		}
		s.mu.Lock()
		s.owed = s.owed[1:]
		s.mu.Unlock()
	}
	if err := s.sink.Record(ctx, r); err != nil {
		return s.owe(r, err)
	}
	return nil
}

func (s *required) first() (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) == 0 {
		s.owed = nil
		return Record{}, false
	}
	return s.owed[0], true
}

// owe holds a record back, unless nothing has happened yet.
func (s *required) owe(r Record, err error) error {
	if r.Kind == Intent {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) >= MaxOwed {
		return errors.Join(ErrOwed, err)
	}
	s.owed = append(s.owed, r)
	return err
}
