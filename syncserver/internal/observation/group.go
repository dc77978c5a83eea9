package observation

import (
	"context"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
)

// group is what the sessions of one identity at this host share.
type group struct {
	host     *Host
	identity enactment.Identity
	visible  map[string]bool // by action
	leases   *lease.Watch

	mu       sync.Mutex
	records  *records
	sessions map[string]*session
	stop     context.CancelFunc
	look     chan struct{} // has a token when somebody may have left
}

func newGroup(h *Host, identity enactment.Identity) *group {
	g := &group{
		host: h, identity: identity, visible: make(map[string]bool),
		leases:  lease.NewWatch(h.Conn, h.Subjects.LeaseStream(), h.Subjects.FeedLeases(identity), h.Lease, h.Timeout),
		records: newRecords(h.Records), sessions: make(map[string]*session),
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
