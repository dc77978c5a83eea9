package bridge

import (
	"context"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// locks has a lock for each enactment that somebody is in.
type locks struct {
	mu   sync.Mutex
	held map[enactment.Key]*heldLock
}

type heldLock struct {
	free  chan struct{} // has one token
	users int
}

func (l *locks) lock(ctx context.Context, key enactment.Key) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[enactment.Key]*heldLock)
	}
	h := l.held[key]
	if h == nil {
		h = &heldLock{free: make(chan struct{}, 1)}
		h.free <- struct{}{}
		l.held[key] = h
	}
	h.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, key)
		}
	}
	select {
	case <-h.free:
		return func() { h.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
