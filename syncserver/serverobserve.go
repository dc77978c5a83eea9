package syncserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
			s.metrics.refusedRequest()
			return
		}
		if !s.enter() {
			s.answer(reply, (&wire.Error{Reason: wire.NoFeed, Detail: "the server stops"}).Encode())
			return
		}
		go func() {
			defer s.working.Done()
			answer, err := s.feedRequest(subject, data, serve)
			if err != nil {
				answer = failure(err).Encode()
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

func (s *Server) join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	joined, err := s.host.Join(ctx, id, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(joined)
}

func (s *Server) observe(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout+max(r.Wait, 0))
	defer cancel()
	switch r.Operation {
	case wire.Pull:
		return s.host.Pull(ctx, id, r)
	case wire.Renew:
		return []byte("{}"), s.host.Renew(ctx, id, r)
	case wire.Leave:
		return []byte("{}"), s.host.Leave(ctx, id, r)
	case wire.Store:
		stored, err := s.host.Store(ctx, id, r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(stored)
	default:
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: fmt.Sprintf("no such operation: %q", r.Operation)}
	}
}

// feedHere serves what a feed in the server's own process asks.
func (s *Server) feedHere(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if !s.enter() {
		return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the server stops"}
	}
	defer s.working.Done()
	return s.feedRequest(subject, data, func(_ context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
		if strings.HasSuffix(subject, "."+s.name) {
			return s.observe(ctx, id, r)
		}
		return s.join(ctx, id, r)
	})
}
