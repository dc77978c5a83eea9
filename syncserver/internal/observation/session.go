package observation

import (
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
)

// session serves one feed.
type session struct {
	group  *group
	feed   string
	name   string // of the session, among those of the feed
	holder *lease.Holder
	ended  chan struct{}
	once   sync.Once
	wake   chan struct{} // has a token when a sweep was ordered

	mu sync.Mutex
	// position is how far the log was looked at; number is that of the last batch, and sent what it said.
	position uint64
	number   uint64
	// unread is what was read of the log, behind the tail, and not yet looked at.
	unread   []item
	sent     *answer
	answered time.Time // when there was last something to deliver
	// ahead has up to where in the stream an enactment was delivered, where that is beyond the position.
	ahead map[enactment.Key]uint64
	// claimed are enactments that were made the feed's and of which nothing was delivered yet.
	claimed map[enactment.Key]bool
	// looked are records that were looked up for the items at hand, in case they are not remembered any more.
	looked map[enactment.Key]record
	// fetched are enactments that were made the feed's together with others, and are delivered when the session is there.
	fetched map[enactment.Key]fetched
	// rest is what a batch had no room for of the history that it ended with.
	rest []adapter.Delivery
	// begun is where the session started: what the feed had before was delivered up to there.
	begun struct{ position, number uint64 }
	// swept is how far the records were looked through.
	swept sweep

	orders struct {
		sync.Mutex
		sweep   bool
		renewed time.Time
		again   time.Time // when to sweep once more
	}
}

func newSession(g *group, feed string, holder *lease.Holder, position, number uint64) *session {
	s := &session{
		group: g, feed: feed, holder: holder, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		name: nuid.Next(), position: position, number: number, ahead: make(map[enactment.Key]uint64),
		claimed: make(map[enactment.Key]bool), fetched: make(map[enactment.Key]fetched),
	}
	s.begun.position, s.begun.number = position, number
	s.orders.sweep = true
	// Another session may still be at work for the feed, here or elsewhere, even if it has delivered nothing yet: what it
	// takes now, nobody would ever deliver.
	s.orders.again = time.Now().Add(g.host.Lease)
	s.renewed()
	return s
}

func (s *session) end() { s.once.Do(func() { close(s.ended) }) }

func (s *session) renewed() {
	s.orders.Lock()
	defer s.orders.Unlock()
	s.orders.renewed = time.Now()
}

// abandoned tells whether the feed has not asked here for so long that it must be elsewhere.
func (s *session) abandoned() bool {
	s.orders.Lock()
	defer s.orders.Unlock()
	return time.Since(s.orders.renewed) > 2*s.group.host.Lease
}
