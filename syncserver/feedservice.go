package syncserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// feedService is where a feed asks: servers over NATS, or the one in this process. What a server says is wrong is a
// [*wire.Error].
type feedService interface {
	// join asks any server to take the feed in.
	join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error)
	// pull asks the server that has taken the feed in for deliveries.
	pull(ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest) (*wire.Batch, error)
	// tell is for all other operations. The server must have answered after as long as limit says.
	tell(ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest, limit time.Duration) (*wire.Stored, error)
	// end is called when no feed is left.
	end()
}

// feedsThere asks over NATS.
type feedsThere struct {
	conn     *request.Conn
	subjects wire.Subjects
	codec    wire.Codec
	try      time.Duration // how long one request may take
}

func (t feedsThere) end() { t.conn.End() }

// ask makes a request, in the trace of the context, and gives the answer.
func (t feedsThere) ask(ctx context.Context, subject string, r *wire.FeedRequest, limit time.Duration) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	msg := nats.Msg{Subject: subject, Header: tracing.Header(ctx, len(data), t.conn.MaxPayload()), Data: data}
	reply, err := t.conn.Call(ctx, &msg, limit)
	if err != nil {
		return nil, err
	}
	return reply.Data, nil
}

func (t feedsThere) join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error) {
	answer, err := t.ask(ctx, t.subjects.Join(id), r, t.try)
	if err != nil {
		return nil, err
	}
	var joined wire.Joined
	if err := json.Unmarshal(answer, &joined); err != nil {
		return nil, err
	}
	if joined.Error != nil {
		return nil, joined.Error
	}
	return &joined, nil
}

func (t feedsThere) pull(ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest) (*wire.Batch, error) {
	answer, err := t.ask(ctx, t.subjects.Observe(id, server), r, r.Wait+t.try)
	if err != nil {
		return nil, err
	}
	return t.codec.DecodeBatch(answer)
}

func (t feedsThere) tell(
	ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest, limit time.Duration,
) (*wire.Stored, error) {
	answer, err := t.ask(ctx, t.subjects.Observe(id, server), r, limit)
	if err != nil {
		return nil, err
	}
	var stored wire.Stored
	if err := json.Unmarshal(answer, &stored); err != nil {
		return nil, err
	}
	if stored.Error != nil {
		return nil, stored.Error
	}
	return &stored, nil
}

// feedsHere asks the server in this process.
type feedsHere struct{ server *Server }

func (h feedsHere) end() {}

func (h feedsHere) join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error) {
	if !h.server.enter() {
		return nil, errStopping()
	}
	defer h.server.working.Done()
	return h.server.join(ctx, id, r)
}

func (h feedsHere) pull(ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest) (*wire.Batch, error) {
	if server != h.server.name || !h.server.enter() {
		return nil, errStopping()
	}
	defer h.server.working.Done()
	ctx, cancel := context.WithTimeout(ctx, h.server.config.Timeout+r.Wait)
	defer cancel()
	return h.server.host.Pull(ctx, id, r)
}

func (h feedsHere) tell(
	ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest, limit time.Duration,
) (*wire.Stored, error) {
	if server != h.server.name || !h.server.enter() {
		return nil, errStopping()
	}
	defer h.server.working.Done()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.server.tell(ctx, id, r)
}

func errStopping() error { return &wire.Error{Reason: wire.NoFeed, Detail: "the server stops"} }
