package syncserver

import (
	"time"

	"github.com/strabo-engine/strabo/adapter"
)

// WithClock has a server take the time of day from elsewhere.
func (c ServerConfig) WithClock(now func() time.Time) ServerConfig {
	c.clock = now
	return c
}

// Remembered is of how many enactments the server knows without asking which feed has them.
func (s *Server) Remembered() int { return s.host.Remembered() }

// LogCount is how many enactments are held in memory, those without a log included.
func (l *Local) LogCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.logs)
}

// MemberCount is how many enactments are held for the feeds.
func (l *Local) MemberCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := 0
	for _, parties := range l.groups {
		for _, g := range parties {
			g.mu.Lock()
			count += len(g.members)
			g.mu.Unlock()
		}
	}
	return count
}

// Queued is how many deliveries a feed of a [Client] holds that were not received.
func Queued(feed adapter.Feed) int { return feed.(*remoteFeed).queued() }
