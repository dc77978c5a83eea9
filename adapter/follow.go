package adapter

import (
	"context"
	"fmt"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// Follower is an [Attendant] on any executor, for one process: it receives everything that one identity sees and keeps
// it in memory for as long as it lives. No other feed of the identity may be open, for it would be given some of the
// enactments. It attempts for any identity and shows what it keeps to that one alone.
type Follower struct {
	Executor
	identity enactment.Identity
	feed     Feed
	done     sync.WaitGroup

	mu       sync.Mutex
	ended    error // why there is nothing more to come; nil while there is
	followed map[enactment.Key]*followed
}

var _ Attendant = (*Follower)(nil)

// followed is an enactment, as far as it was received.
type followed struct {
	instances []enactment.Instance
	sequence  uint64
	changed   chan struct{}
}

// Follow begins to receive, until ctx ends. Close the follower then. It blocks as long as the executor's Join, whose error
// is wrapped.
func Follow(ctx context.Context, executor Executor, identity enactment.Identity) (*Follower, error) {
	feed, err := executor.Join(ctx, identity)
	if err != nil {
		return nil, fmt.Errorf("adapter: follow as %s: %w", identity, err)
	}
	f := &Follower{Executor: executor, identity: identity, feed: feed, followed: make(map[enactment.Key]*followed)}
	f.done.Go(func() { f.receive(ctx) })
	return f, nil
}

// Close waits until nothing is received any more, as when the context of Follow has ended, and closes the feed.
func (f *Follower) Close() error {
	f.done.Wait()
	return f.feed.Close()
}

func (f *Follower) receive(ctx context.Context) {
	for {
		d, err := f.feed.Receive(ctx)
		f.mu.Lock()
		if err != nil {
			f.ended = err
			f.mu.Unlock()
			return
		}
		e := f.find(d.Key)
		switch {
		case d.Revoked:
			delete(f.followed, d.Key)
		case d.Finalisation.Sequence > e.sequence:
			e.instances = append(e.instances, d.Finalisation.Instances...)
			e.sequence = d.Finalisation.Sequence
		}
		close(e.changed)
		e.changed = make(chan struct{})
		f.mu.Unlock()
	}
}

// find finds or makes an enactment. The caller holds mu.
func (f *Follower) find(key enactment.Key) *followed {
	e, ok := f.followed[key]
	if !ok {
		e = &followed{changed: make(chan struct{})}
		f.followed[key] = e
	}
	return e
}

// Visit implements [Attendant]. What is shown is what was received, however fresh it is asked for.
func (f *Follower) Visit(_ context.Context, identity enactment.Identity, key enactment.Key, _ Freshness) (Visit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case identity != f.identity:
		return nil, fmt.Errorf("adapter: visit %s as %s: it is followed as %s", key, identity, f.identity)
	case f.ended != nil:
		return nil, fmt.Errorf("adapter: visit %s: %w", key, f.ended)
	}
	return &followedVisit{f, f.find(key)}, nil
}

type followedVisit struct {
	follower *Follower
	followed *followed
}

func (v *followedVisit) Instances() []enactment.Instance {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.followed.instances[:len(v.followed.instances):len(v.followed.instances)]
}

func (v *followedVisit) Sequence() uint64 {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.followed.sequence
}

func (v *followedVisit) Changed() <-chan struct{} {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.followed.changed
}

func (v *followedVisit) Close(bool) {}
