package syncserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// positions are on their way to be stored. Those that come while a request is under way go together with the next.
type positions struct {
	wake chan struct{} // has a token when there is something to store

	mu      sync.Mutex
	waiting []*storing
}

// storing is one call of Store. err is set before done is closed.
type storing struct {
	wire.Position
	feed string
	done chan struct{}
	err  error
}

// mostPositions is how many positions go in one request, and mostPositionBytes how many bytes of keys before the last.
const (
	mostPositions     = 256
	mostPositionBytes = 64 << 10
)

// Store keeps a position, together with others that are to be stored at the time. It tries again until a server has it,
// the context ends or the feed is closed.
func (f *remoteFeed) Store(ctx context.Context, key enactment.Key, sequence uint64) error {
	f.mu.Lock()
	_, held := f.held[key]
	s := &storing{Position: wire.Position{Key: key, Sequence: sequence}, feed: f.name, done: make(chan struct{})}
	f.mu.Unlock()
	fail := func(err error) error {
		return fmt.Errorf("syncserver: store position %d of %s: %w", sequence, key, err)
	}
	if !held || f.ctx.Err() != nil {
		return fail(adapter.ErrRevoked)
	}
	f.positions.mu.Lock()
	f.positions.waiting = append(f.positions.waiting, s)
	f.positions.mu.Unlock()
	signal(f.positions.wake)
	select {
	case <-s.done:
		if s.err != nil {
			return fail(s.err)
		}
		return nil
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	case <-f.ctx.Done():
		return fail(adapter.ErrClosed)
	}
}

// storeAll stores what is waiting as long as the feed lives.
func (f *remoteFeed) storeAll() {
	for {
		select {
		case <-f.positions.wake:
		case <-f.ctx.Done():
			return
		}
		for {
			together := f.take()
			if len(together) == 0 {
				break
			}
			for wait := f.client.config.FirstWait; ; wait = min(2*wait, f.client.config.LongestWait) {
				err := f.storeOnce(together)
				if err == nil {
					break
				}
				f.log.DebugContext(f.ctx, "positions not stored, trying again", "error", err)
				if rest(f.ctx, wait) != nil {
					return
				}
			}
		}
	}
}

// take takes positions that are waiting; those of a feed that was lost are answered.
func (f *remoteFeed) take() []*storing {
	f.mu.Lock()
	name := f.name
	f.mu.Unlock()
	f.positions.mu.Lock()
	defer f.positions.mu.Unlock()
	f.positions.waiting = slices.DeleteFunc(f.positions.waiting, func(s *storing) bool { return s.answerIfLost(name) })
	n, size := 0, 0
	for n < min(mostPositions, len(f.positions.waiting)) && size <= mostPositionBytes {
		size += len(f.positions.waiting[n].Key)
		n++
	}
	together := f.positions.waiting[:n:n]
	f.positions.waiting = f.positions.waiting[n:]
	return together
}

func (s *storing) answerIfLost(feed string) bool {
	if s.feed == feed {
		return false
	}
	s.err = adapter.ErrRevoked
	close(s.done)
	return true
}

// storeOnce makes one request and answers those that waited. An error says that they still wait.
func (f *remoteFeed) storeOnce(together []*storing) error {
	server, request, ok := f.present()
	if together[0].feed != request.Feed { // lost meanwhile
		for _, s := range together {
			s.answerIfLost(request.Feed)
		}
		return nil
	}
	if !ok {
		return errors.New("no server serves the feed")
	}
	request.Operation = wire.Store
	for _, s := range together {
		request.Positions = append(request.Positions, s.Position)
	}
	answer, err := f.client.feeds.tell(f.ctx, f.identity, server, &request, f.client.config.Try)
	if err != nil {
		return err
	}
	for _, at := range answer.Revoked {
		if at >= 0 && at < len(together) {
			together[at].err = adapter.ErrRevoked
		}
	}
	for _, s := range together {
		close(s.done)
	}
	return nil
}
