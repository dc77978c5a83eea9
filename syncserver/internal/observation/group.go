package observation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
	"github.com/strabo-engine/strabo/syncserver/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// group is what the sessions of one identity at this host share.
type group struct {
	host     *Host
	identity enactment.Identity
	visible  map[string]bool // by action
	leases   *lease.Watch

	mu       sync.Mutex
	records  map[enactment.Key]*record
	sessions map[string]*session
	stop     context.CancelFunc
	look     chan struct{} // has a token when somebody may have left
}

// record says which feed of an identity has an enactment and how far it is handled.
type record struct {
	revision uint64 // 0 while there is none
	form     recordForm
}

type recordForm struct {
	Key  enactment.Key `json:"key"`
	Feed string        `json:"feed"`
	// Batch is the number of the batch in which the feed gets, or got, the history of the enactment.
	Batch  uint64 `json:"batch,omitempty"`
	Stored uint64 `json:"stored,omitempty"`
}

// append encodes the form as encoding/json does.
func (f *recordForm) append(to []byte) []byte {
	to = append(append(to, `{"key":`...), f.Key...)
	to = wire.AppendString(append(to, `,"feed":`...), f.Feed)
	if f.Batch > 0 {
		to = strconv.AppendUint(append(to, `,"batch":`...), f.Batch, 10)
	}
	if f.Stored > 0 {
		to = strconv.AppendUint(append(to, `,"stored":`...), f.Stored, 10)
	}
	return append(to, '}')
}

func newGroup(h *Host, identity enactment.Identity) *group {
	g := &group{
		host: h, identity: identity, visible: make(map[string]bool),
		leases:  lease.NewWatch(h.Conn, h.Subjects.LeaseStream(), h.Subjects.FeedLeases(identity), h.Lease, h.Timeout),
		records: make(map[enactment.Key]*record), sessions: make(map[string]*session),
		look: make(chan struct{}, 1),
	}
	for action := range h.Codec.Rules.Protocol().Actions() {
		g.visible[action.Name()], _ = h.Codec.Rules.Sight(identity.Role, action.Name())
	}
	return g
}

// watch looks who lives, every now and then, until the group is stopped.
func (g *group) watch(ctx context.Context) {
	ticker := time.NewTicker(g.host.Lease / 3)
	defer ticker.Stop()
	for {
		if err := g.lookAround(ctx); err != nil && ctx.Err() == nil {
			g.host.Logger.Warn("cannot see which feeds live", "identity", g.identity.String(), "error", err)
		}
		select {
		case <-ticker.C:
		case <-g.look:
		case <-ctx.Done():
			return
		}
	}
}

// lookAround learns which feeds have gone, and has their enactments taken over.
func (g *group) lookAround(ctx context.Context) error {
	gone, err := g.leases.Look(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	var sessions []*session
	for _, s := range g.sessions {
		sessions = append(sessions, s)
	}
	g.mu.Unlock()
	for _, s := range sessions {
		switch {
		case g.dead(s.feed) || s.abandoned():
			g.host.drop(s)
		case gone:
			s.orderSweep()
		}
	}
	return nil
}

// dead tells whether a feed of the identity is known to be gone, at whatever host it was.
func (g *group) dead(feed string) bool {
	return g.leases.Dead(g.host.Subjects.FeedLease(g.identity, feed))
}

// known gives what is known of who has an enactment.
func (g *group) known(key enactment.Key) (record, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.records[key]
	if !ok {
		return record{}, false
	}
	return *r, true
}

func (g *group) learn(r record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if had, ok := g.records[r.form.Key]; !ok || had.revision < r.revision {
		g.records[r.form.Key] = &r
	}
}

// read reads who has an enactment.
func (g *group) read(ctx context.Context, key enactment.Key) (record, error) {
	m, err := g.host.positions.Last(ctx, g.host.Subjects.Position(g.identity, key))
	if err != nil {
		return record{}, err
	}
	r := record{form: recordForm{Key: key}}
	if m.Sequence > 0 {
		if r, err = recordOf(m); err != nil {
			return record{}, err
		}
		if r.form.Key != key {
			return record{}, fmt.Errorf("the position at %s is of %s, not of %s", m.Subject, r.form.Key, key)
		}
	}
	g.learn(r)
	return r, nil
}

func recordOf(m stream.Message) (record, error) {
	r := record{revision: m.Sequence}
	if err := json.Unmarshal(m.Data, &r.form); err != nil {
		return record{}, fmt.Errorf("position %d: %w", m.Sequence, err)
	}
	return r, nil
}

// begin begins to change a record from what it was.
func (g *group) begin(was record, form *recordForm) stream.Writing {
	subject := g.host.Subjects.Position(g.identity, form.Key)
	return stream.Begin(g.host.Conn, subject, was.revision, "", form.append)
}

// write changes a record from what it was. The error is [stream.ErrConflict] if it was something else by then.
func (g *group) write(ctx context.Context, was record, form recordForm) (record, error) {
	revision, err := g.begin(was, &form).Wait(ctx, g.host.Timeout)
	if err != nil {
		return record{}, err
	}
	r := record{revision, form}
	g.learn(r)
	return r, nil
}

// claim makes enactments of which nothing is known a feed's, all at once, if nobody has them. They are delivered with
// the batch of that number.
func (g *group) claim(ctx context.Context, keys []enactment.Key, feed string, batch uint64) error {
	writings := make([]stream.Writing, len(keys))
	for n, key := range keys {
		writings[n] = g.begin(record{}, &recordForm{Key: key, Feed: feed, Batch: batch})
	}
	var failure error
	for n, key := range keys {
		revision, err := writings[n].Wait(ctx, g.host.Timeout)
		switch {
		case err == nil:
			g.learn(record{revision, recordForm{Key: key, Feed: feed, Batch: batch}})
		case errors.Is(err, stream.ErrConflict): // whose it is will be seen when it is looked at
		default:
			failure = err
		}
	}
	return failure
}

// errForeign says that an enactment is another feed's.
var errForeign = errors.New("the enactment is another feed's")

// change changes a record that is the feed's or, if take is set, that may become it. The error is errForeign if it is
// another's that is not known to be gone, or nobody's and not to be taken.
func (g *group) change(ctx context.Context, key enactment.Key, feed string, take bool, change func(*recordForm)) (record, error) {
	r, ok := g.known(key)
	if !ok && !take {
		var err error
		if r, err = g.read(ctx, key); err != nil {
			return record{}, err
		}
	}
	for backoff := stream.FirstBackoff; ; {
		if r.form.Feed != feed && (!take || r.revision > 0 && !g.dead(r.form.Feed)) {
			return r, errForeign
		}
		form := r.form
		form.Key = key
		if form.Feed != feed {
			form.Feed, form.Batch = feed, 0
		}
		change(&form)
		if r.revision > 0 && form == r.form {
			return r, nil
		}
		written, err := g.write(ctx, r, form)
		if !errors.Is(err, stream.ErrConflict) {
			return written, err
		}
		was := r.revision
		if r, err = g.read(ctx, key); err != nil {
			return record{}, err
		}
		if r.revision == was { // no conflict at all: see package stream
			if backoff, err = stream.Pause(ctx, backoff); err != nil {
				return record{}, err
			}
		}
	}
}
