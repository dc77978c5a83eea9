// Package observation serves what identities see of a system's log. Nothing projected is stored: a session reads the log
// from where its feed has got to, and projects what the feed's identity may see (semantics sections 3 and 7).
//
// Feeds of one identity share the enactments. Which feed has which, and how far it is handled, is one message an
// identity and enactment, changed under compare-and-set; who lives is said by leases (package lease). A feed asks one
// server at a time, which keeps a session for it; any other can take over, since a session knows nothing that is not
// stored or told by the feed. Start reading at [Host] and session.pull.
package observation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Config says how a host works.
type Config struct {
	Conn     *request.Conn
	Subjects wire.Subjects
	Codec    wire.Codec
	// Name is the server's own, under which feeds find it.
	Name string
	// Lease is how long a feed lives without being renewed.
	Lease time.Duration
	// Timeout bounds one write.
	Timeout time.Duration
	// Records is of how many enactments of one identity it is remembered which feed has them; of others it is read when
	// it is needed.
	Records int
	// MaxBytes is how large a batch for a feed elsewhere may be before what comes next is left to the batch that follows:
	// it becomes larger by one delivery, and by a short history.
	MaxBytes int
	Logger   *slog.Logger
}

// Host keeps the sessions of one server. Its methods are safe for concurrent use.
type Host struct {
	Config
	js        jetstream.JetStream
	log       stream.Reader
	positions stream.Reader

	ctx    context.Context // ends with the host
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	tail   *tail // nil before the first session
	groups map[enactment.Identity]*group
	gone   *nats.Subscription
}

// New makes a host.
func New(config Config) (*Host, error) {
	js, err := jetstream.New(config.Conn.Conn)
	if err != nil {
		return nil, err
	}
	h := &Host{
		Config: config, js: js,
		log:       stream.Reader{Conn: config.Conn.Conn, Stream: config.Subjects.LogStream()},
		positions: stream.Reader{Conn: config.Conn.Conn, Stream: config.Subjects.PositionStream()},
		groups:    make(map[enactment.Identity]*group),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.gone, err = config.Conn.Subscribe(config.Subjects.Gone(), h.somebodyLeft)
	if err != nil {
		h.cancel()
		return nil, err
	}
	return h, nil
}

// Close ends all sessions; their feeds go on at another server.
func (h *Host) Close() {
	h.cancel()
	_ = h.gone.Unsubscribe()
	h.mu.Lock()
	follower := h.tail
	h.mu.Unlock()
	h.done.Wait()
	if follower != nil {
		follower.stop()
	}
}

// Announce tells of an entry that this process has written.
func (h *Host) Announce(sequence uint64, entry *wire.Entry) {
	h.mu.Lock()
	follower := h.tail
	h.mu.Unlock()
	if follower != nil {
		follower.announce(sequence, entry)
	}
}

// Sessions is how many there are.
func (h *Host) Sessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := 0
	for _, g := range h.groups {
		g.mu.Lock()
		count += len(g.sessions)
		g.mu.Unlock()
	}
	return count
}

// Remembered is of how many enactments it is remembered which feed has them, for all identities together.
func (h *Host) Remembered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := 0
	for _, g := range h.groups {
		count += g.records.len()
	}
	return count
}

// somebodyLeft has the groups of an identity look who lives.
func (h *Host) somebodyLeft(msg *nats.Msg) {
	id, err := h.Subjects.IdentityOf(string(msg.Data))
	if err != nil {
		return
	}
	h.mu.Lock()
	g := h.groups[id]
	h.mu.Unlock()
	if g != nil {
		select {
		case g.look <- struct{}{}:
		default:
		}
	}
}

// Join takes a feed in, or takes it over from another server.
func (h *Host) Join(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Joined, error) {
	if !h.Codec.Rules.NewState("").Sees(id) {
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: id.String() + " plays no role of the protocol"}
	}
	if r.Feed == "" {
		return nil, &wire.Error{Reason: wire.BadRequest, Detail: "the feed has no name"}
	}
	if err := h.reaches(ctx, r.After); err != nil {
		return nil, err
	}
	holder, err := lease.Take(ctx, h.Conn, h.Subjects.LeaseStream(), h.Subjects.FeedLease(id, r.Feed), r.Feed, false, h.Timeout)
	if errors.Is(err, lease.ErrLost) {
		return nil, &wire.Error{Reason: wire.Lost, Detail: "the feed was held for dead"}
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g, err := h.group(ctx, id)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.sessions[r.Feed]; old != nil {
		old.end()
	}
	g.sessions[r.Feed] = newSession(g, r.Feed, holder, r.After, r.Batch)
	return &wire.Joined{Server: h.Name, Lease: h.Lease}, nil
}

// reaches checks that the log reaches as far as a feed has received it. Where the power went before the store flushed
// what it had acknowledged it does not, and gives the same sequences once more: such a feed must begin anew.
func (h *Host) reaches(ctx context.Context, position uint64) error {
	if position == 0 {
		return nil
	}
	log, err := h.js.Stream(ctx, h.Subjects.LogStream())
	if err != nil {
		return err
	}
	if last := log.CachedInfo().State.LastSeq; last < position {
		h.Logger.Warn("the log has lost its end", "last", last, "received", position)
		return &wire.Error{Reason: wire.Lost, Detail: "the log does not reach as far as the feed has received it"}
	}
	return nil
}

// group finds or makes the group of an identity. The caller holds the mutex.
func (h *Host) group(ctx context.Context, id enactment.Identity) (*group, error) {
	if h.ctx.Err() != nil {
		return nil, &wire.Error{Reason: wire.Unavailable, Detail: "the server stops"}
	}
	if h.tail == nil {
		var err error
		if h.tail, err = follow(ctx, h.js, h.Subjects.LogStream(), h.Codec, h.Logger); err != nil {
			return nil, err
		}
	}
	if g, ok := h.groups[id]; ok {
		return g, nil
	}
	g := newGroup(h, id)
	if err := g.lookAround(ctx); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(h.ctx)
	g.stop = stop
	h.groups[id] = g
	h.done.Go(func() { g.watch(watching) })
	return g, nil
}

// session finds the session of a feed.
func (h *Host) session(id enactment.Identity, feed string) (*session, error) {
	h.mu.Lock()
	g := h.groups[id]
	h.mu.Unlock()
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if s := g.sessions[feed]; s != nil {
			return s, nil
		}
	}
	return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the server does not know the feed"}
}

// Pull gives the next batch of a feed in this process. It waits until there is something, as long as the feed says. The
// deliveries are shared, not to be changed.
func (h *Host) Pull(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Batch, error) {
	a, err := h.pull(ctx, id, r, nil)
	if err != nil {
		return nil, err
	}
	if a.batch == nil {
		return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the feed was elsewhere"}
	}
	return a.batch, nil
}

// PullText is Pull for a feed elsewhere; the batch is encoded.
func (h *Host) PullText(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) ([]byte, error) {
	a, err := h.pull(ctx, id, r, &wire.BatchText{})
	if err != nil {
		return nil, err
	}
	if a.text == nil {
		return nil, &wire.Error{Reason: wire.NoFeed, Detail: "the feed was elsewhere"}
	}
	return a.text, nil
}

func (h *Host) pull(ctx context.Context, id enactment.Identity, r *wire.FeedRequest, text *wire.BatchText) (*answer, error) {
	s, err := h.session(id, r.Feed)
	if err != nil {
		return nil, err
	}
	return s.pull(ctx, r, text)
}

// Renew keeps a feed alive.
func (h *Host) Renew(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) error {
	s, err := h.session(id, r.Feed)
	if err != nil {
		return err
	}
	err = s.holder.Renew(ctx)
	if errors.Is(err, lease.ErrLost) {
		h.drop(s)
		return &wire.Error{Reason: wire.Lost, Detail: "the feed was held for dead"}
	}
	if err == nil {
		s.renewed()
	}
	return err
}

// Leave gives a feed's enactments to the others of its identity.
func (h *Host) Leave(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) error {
	s, err := h.session(id, r.Feed)
	if err != nil {
		return err
	}
	s.end()
	h.drop(s)
	if err := s.holder.End(ctx); err != nil && !errors.Is(err, lease.ErrLost) {
		return err
	}
	return h.Conn.Publish(h.Subjects.Gone(), []byte(h.Subjects.Join(id)))
}

// drop forgets a session, and the group with its last one.
func (h *Host) drop(s *session) {
	s.end()
	h.mu.Lock()
	defer h.mu.Unlock()
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[s.feed] == s {
		delete(g.sessions, s.feed)
	}
	if len(g.sessions) == 0 && h.groups[g.identity] == g {
		delete(h.groups, g.identity)
		g.stop()
	}
}

// Store keeps positions of a feed.
func (h *Host) Store(ctx context.Context, id enactment.Identity, r *wire.FeedRequest) (*wire.Stored, error) {
	s, err := h.session(id, r.Feed)
	if err != nil {
		return nil, err
	}
	return s.store(ctx, r.Positions)
}
