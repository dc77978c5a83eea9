package syncserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/micro"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// takeFeed takes in what a feed asks and answers on a goroutine of its own, since some of it waits.
func (s *Server) takeFeed(
	serve func(context.Context, enactment.Identity, *wire.FeedRequest) ([]byte, error),
) micro.HandlerFunc {
	return func(r micro.Request) {
		subject, reply, data := r.Subject(), r.Reply(), r.Data()
		if !answerable(reply) {
			s.metrics.turnedAway(wire.BadReply)
			return
		}
		if !s.enter() {
			s.turnAway(reply, &wire.Error{Reason: wire.NoFeed, Detail: "the server stops"})
			return
		}
		select {
		case s.asking <- struct{}{}:
		default:
			s.working.Done()
			s.turnAway(reply, &wire.Error{Reason: wire.Busy, Detail: "too many feeds ask at once"})
			return
		}
		go func() {
			defer s.working.Done()
			defer func() { <-s.asking }()
			answer, err := s.feedRequest(subject, data, serve)
			if err != nil {
				s.turnAway(reply, err)
				return
			}
			s.answer(reply, answer)
		}()
	}
}

func (s *Server) feedRequest(
	subject string, data []byte, serve func(context.Context, enactment.Identity, *wire.FeedRequest) ([]byte, error),
) ([]byte, error) {
	id, err := s.subjects.IdentityOf(subject)
	if err != nil {
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: err.Error()}
	}
	var request wire.FeedRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: err.Error()}
	}
	if request.Hash != s.rules.Hash() {
		return nil, s.mismatch(request.Hash)
	}
	return serve(s.ctx, id, &request)
}

func (s *Server) takeJoin(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
	joined, err := s.join(ctx, id, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(joined)
}

func (s *Server) join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return s.host.Join(ctx, id, r)
}

func (s *Server) observe(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout+max(r.Wait, 0))
	defer cancel()
	if r.Operation == wire.Pull {
		return s.host.PullText(ctx, id, r)
	}
	stored, err := s.tell(ctx, id, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored)
}

// tell does what a feed asks beside deliveries.
func (s *Server) tell(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Stored, error) {
	switch r.Operation {
	case wire.Renew:
		return &wire.Stored{}, s.host.Renew(ctx, id, r)
	case wire.Leave:
		return &wire.Stored{}, s.host.Leave(ctx, id, r)
	case wire.Store:
		return s.host.Store(ctx, id, r)
	default:
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: fmt.Sprintf("no such operation: %q", r.Operation)}
	}
}
