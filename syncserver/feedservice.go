package syncserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/strabo-engine/strabo/enactment"
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
}

// feedsThere asks over NATS.
type feedsThere struct{ client *Client }

// ask makes a request and decodes the answer.
func (t feedsThere) ask(ctx context.Context, subject string, r *wire.FeedRequest, limit time.Duration, answer any) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	reply, err := t.client.request(ctx, subject, data, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(reply, answer)
}

func (t feedsThere) join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error) {
	var joined wire.Joined
	if err := t.ask(ctx, t.client.subjects.Join(id), r, t.client.config.Try, &joined); err != nil {
		return nil, err
	}
	if joined.Error != nil {
		return nil, joined.Error
	}
	return &joined, nil
}

func (t feedsThere) pull(ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest) (*wire.Batch, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	reply, err := t.client.request(ctx, t.client.subjects.Observe(id, server), data, r.Wait+t.client.config.Try)
	if err != nil {
		return nil, err
	}
	return t.client.codec.DecodeBatch(reply)
}

func (t feedsThere) tell(
	ctx context.Context, id enactment.Identity, server string, r *wire.FeedRequest, limit time.Duration,
) (*wire.Stored, error) {
	var stored wire.Stored
	if err := t.ask(ctx, t.client.subjects.Observe(id, server), r, limit, &stored); err != nil {
		return nil, err
	}
	if stored.Error != nil {
		return nil, stored.Error
	}
	return &stored, nil
}

// feedsHere asks the server in this process.
type feedsHere struct{ server *Server }

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
