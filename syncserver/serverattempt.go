package syncserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// takeAttempt takes in an attempt and answers it when it is decided, without keeping the next one waiting.
func (s *Server) takeAttempt(r micro.Request) {
	subject, reply, header, data := r.Subject(), r.Reply(), nats.Header(r.Headers()), r.Data()
	if !answerable(reply) {
		s.metrics.turnedAway(wire.BadReply)
		return
	}
	if !s.enter() {
		s.turnAway(reply, &wire.Error{Reason: wire.Unavailable, Detail: "the server stops"})
		return
	}
	select {
	case s.places <- struct{}{}:
	default:
		s.working.Done()
		s.turnAway(reply, &wire.Error{Reason: wire.Busy, Detail: "too many attempts at once"})
		return
	}
	s.crew.Do(func() {
		defer s.working.Done()
		defer func() { <-s.places }()
		outcome, err := s.measured(func() (enactment.Outcome, error) {
			return s.attempt(tracing.WithHeader(s.ctx, header), subject, data)
		})
		if err != nil {
			s.turnAway(reply, err)
			return
		}
		s.answer(reply, wire.AppendAnswer(make([]byte, 0, 256), &outcome))
	})
}

// measured counts what an attempt came to.
func (s *Server) measured(attempt func() (enactment.Outcome, error)) (enactment.Outcome, error) {
	began := time.Now()
	outcome, err := attempt()
	outcome.Rejection = wire.Shorten(outcome.Rejection)
	if err != nil {
		s.metrics.failed(began)
	} else {
		s.metrics.decided(outcome.Rejection, began)
	}
	return outcome, err
}

// attemptHere decides an attempt of an agent in the server's own process. The agent waits for it as long as its context
// lives, as it would if it were elsewhere; what was begun is brought to an end without it.
func (s *Server) attemptHere(ctx context.Context, a enactment.Attempt) (enactment.Outcome, error) {
	if !s.enter() {
		return enactment.Outcome{}, &wire.Error{Reason: wire.Unavailable, Detail: "the server stops"}
	}
	select {
	case s.places <- struct{}{}:
	default:
		select {
		case s.places <- struct{}{}:
		case <-ctx.Done():
			s.working.Done()
			return enactment.Outcome{}, context.Cause(ctx)
		case <-s.ctx.Done():
			s.working.Done()
			return enactment.Outcome{}, &wire.Error{Reason: wire.Unavailable, Detail: "the server stops"}
		}
	}
	decide := func() (enactment.Outcome, error) {
		defer s.working.Done()
		defer func() { <-s.places }()
		return s.measured(func() (enactment.Outcome, error) {
			if wire.AttemptBound(&a) > s.config.MaxAttempt && len(wire.AppendRequest(nil, s.rules.Hash(), &a)) > s.config.MaxAttempt {
				return s.tooLarge(s.config.MaxAttempt), nil
			}
			return s.admit(ctx, a, true)
		})
	}
	if ctx.Done() == nil {
		return decide()
	}
	var outcome enactment.Outcome
	var err error
	decided := make(chan struct{})
	s.crew.Do(func() {
		outcome, err = decide()
		close(decided)
	})
	select {
	case <-decided:
		return outcome, err
	case <-ctx.Done():
		return enactment.Outcome{}, context.Cause(ctx)
	}
}

// answerable tells whether a reply subject is one of a waiting request. Any other could aim the answer at somebody
// else's subject, or at a log.
func answerable(reply string) bool {
	return strings.HasPrefix(reply, "_INBOX.") || strings.HasPrefix(reply, "_R_.")
}

func (s *Server) answer(reply string, data []byte) {
	err := s.conn.Publish(reply, data)
	if errors.Is(err, nats.ErrMaxPayload) {
		s.log.Error("an answer is too large", "bytes", len(data))
		err = s.conn.Publish(reply, (&wire.Error{Reason: wire.TooLarge, Detail: "the answer fits no message"}).Encode())
	}
	if err != nil && !s.conn.IsClosed() {
		s.log.Warn("cannot answer", "error", err)
	}
}

// turnAway answers a request that was not done, and counts it.
func (s *Server) turnAway(reply string, err error) {
	told := failure(err)
	s.metrics.turnedAway(told.Reason)
	s.answer(reply, told.Encode())
}

// failure is what is said to whoever asked, of what went wrong.
func failure(err error) *wire.Error {
	if told, ok := errors.AsType[*wire.Error](err); ok {
		return told
	}
	return &wire.Error{Reason: wire.Unavailable, Detail: err.Error()}
}

// attempt decides one attempt.
func (s *Server) attempt(ctx context.Context, subject string, data []byte) (enactment.Outcome, error) {
	if len(data) > s.config.MaxAttempt {
		return s.tooLarge(s.config.MaxAttempt), nil
	}
	id, err := s.subjects.IdentityOf(subject)
	if err != nil {
		return enactment.Outcome{}, &wire.Error{Reason: wire.BadRequest, Detail: err.Error()}
	}
	request, err := wire.DecodeRequest(data)
	rejection, malformed := errors.AsType[*enactment.Rejection](err)
	switch {
	case err != nil && !malformed:
		return enactment.Outcome{}, &wire.Error{Reason: wire.BadRequest, Detail: err.Error()}
	case request.Hash != s.rules.Hash():
		return enactment.Outcome{}, s.mismatch(request.Hash)
	case malformed:
		return refused(rejection), nil
	}
	a := request.Attempt
	a.Identity = id
	return s.admit(ctx, a, false)
}

// admit decides an attempt of which the identity is known; toEnd tells whether also when the context ends meanwhile.
func (s *Server) admit(ctx context.Context, a enactment.Attempt, toEnd bool) (outcome enactment.Outcome, err error) {
	ctx, span := s.tracer.Start(ctx, "strabo.decide", trace.SpanKindServer, a.Action)
	defer func() { span.Decided(&outcome, err) }()
	now := s.config.clock()
	if a.At.Sub(now) > s.config.ClockTolerance {
		return enactment.Outcome{}, &wire.Error{
			Reason: wire.Clock, Detail: fmt.Sprintf("the attempt was made %v in the future", a.At.Sub(now).Round(time.Second)),
		}
	}
	a.Late = !a.At.IsZero() && now.Sub(a.At) > s.config.Retention
	key, unplaced := s.rules.KeyOf(a)
	if reused, ok := s.recent.reused(&a, key); ok {
		return reused, nil
	}
	if unplaced != nil {
		if s.config.Recorder != nil {
			s.config.Recorder(s.rules.RefusedRecord("", 0, a, unplaced, now))
		}
		outcome = refused(unplaced)
	} else {
		outcome, err = s.decide(ctx, key, &a, toEnd)
	}
	if err == nil {
		s.recent.remember(&a, key, outcome.Sequence)
	}
	return outcome, err
}

func (s *Server) tooLarge(limit int) enactment.Outcome {
	return refused(&enactment.Rejection{
		Code: enactment.Malformed, Detail: fmt.Sprintf("the attempt has more than %d bytes", limit),
	})
}

func refused(r *enactment.Rejection) enactment.Outcome { return enactment.Outcome{Rejection: r} }

func (s *Server) mismatch(hash string) *wire.Error {
	return &wire.Error{Reason: wire.Mismatch, Detail: fmt.Sprintf(
		"the server has protocol %s with hash %s, the client one with hash %.64s", s.rules.Protocol().Name(), s.rules.Hash(), hash,
	)}
}

// decide decides an attempt in its enactment.
func (s *Server) decide(ctx context.Context, key enactment.Key, a *enactment.Attempt, toEnd bool) (enactment.Outcome, error) {
	if wire.AttemptBound(a) > s.limits.Entry && s.codec.AttemptSize(key, a) > s.limits.Entry {
		// It could not even be written that it is refused.
		return s.tooLarge(s.limits.Entry), nil
	}
	if s.intake != nil {
		if toEnd {
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, s.config.Window+s.config.Timeout)
		defer cancel()
		return s.intake.Submit(ctx, key, *a)
	}
	decide := s.journal.Decide
	if toEnd {
		decide = s.journal.DecideToEnd
	}
	outcomes, err := decide(ctx, key, []journal.Arrival{*a}, 0)
	if err != nil {
		return enactment.Outcome{}, err
	}
	return outcomes[0], nil
}

// appended is told of what this server has written.
func (s *Server) appended(sequence uint64, e *wire.Entry, attempts []enactment.Attempt, outcomes []enactment.Outcome) {
	defer s.host.Announce(sequence, e)
	if s.config.Recorder == nil {
		return
	}
	f := e.Finalisation
	for _, instance := range f.Instances {
		s.config.Recorder(s.rules.HappenedRecord(e.Key, f.Sequence, instance, e.At))
	}
	for i, outcome := range outcomes {
		if outcome.Rejection != nil {
			s.config.Recorder(s.rules.RefusedRecord(e.Key, outcome.Sequence, attempts[i], outcome.Rejection, e.At))
		}
	}
	if f.Completed {
		s.config.Recorder(s.rules.CompletedRecord(e.Key, f.Sequence, e.At))
	}
}
