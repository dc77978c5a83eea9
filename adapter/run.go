package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/crew"
)

// Run receives what the identity sees and calls the handlers until ctx ends. It blocks, and may be called once, after
// the handlers are registered; a second call returns [ErrAlreadyRun].
//
// When ctx ends, so do the contexts of the handlers that run; no other is started. Run waits until they have returned
// and until the attempts made with their contexts have resolved, and only then closes the feed, so that another
// adapter of the identity takes up what was not handled. A delivery whose handlers were not all called, or failed while
// ctx ended, is not stored as handled. Run then returns nil: to be stopped is no error. It returns the executor's error
// if the feed could not be had, ended by itself or could not be closed.
func (a *Adapter) Run(ctx context.Context) error {
	a.mu.Lock()
	if a.started {
		a.mu.Unlock()
		return ErrAlreadyRun
	}
	a.started = true
	a.mu.Unlock()

	feed, err := a.executor.Join(ctx, a.identity)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("adapter: join as %s: %w", a.identity, err)
	}
	r := newRun(ctx, a, feed)
	a.setCurrent(r)
	err = r.receive(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	r.end(err)
	a.setCurrent(nil)
	if closing := feed.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("adapter: close feed of %s: %w", a.identity, closing))
	}
	return err
}

func (a *Adapter) setCurrent(r *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = r
}

// run is one call of Run. Its scheduler gives each enactment that has something to do to one worker at a time, and has
// no worker while nothing is to be done, but for goroutines that wait to be one again.
type run struct {
	adapter *Adapter
	feed    Feed
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// storing outlives ctx, for a while, so that the position of what was handled is stored.
	storing     context.Context
	stopStoring context.CancelFunc
	crew        *crew.Crew
	seed        maphash.Seed // of the hashes of what is known
	// places has a token for each delivery that waits or is being handled.
	places chan struct{}

	mu      sync.Mutex
	views   map[enactment.Key]*view
	ready   []*view // that wait for a worker, each once
	working int     // workers that run

	// inside counts the goroutines that Run waits for: workers, and attempts made with a handler's context.
	inside int
	ended  bool
	empty  chan struct{} // closed when ended and nobody is inside
}

func newRun(ctx context.Context, a *Adapter, feed Feed) *run {
	r := &run{
		adapter: a, feed: feed, crew: crew.New(), seed: maphash.MakeSeed(),
		places: make(chan struct{}, a.options.queue),
		views:  make(map[enactment.Key]*view),
		empty:  make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.storing, r.stopStoring = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// receive takes deliveries from the feed as long as there are places for them.
func (r *run) receive(ctx context.Context) error {
	for {
		select {
		case r.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		delivery, err := r.feed.Receive(ctx)
		if err != nil {
			return fmt.Errorf("adapter: receive as %s: %w", r.adapter.identity, err)
		}
		r.accept(delivery)
	}
}

// accept queues a delivery at its enactment.
func (r *run) accept(d Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, held := r.views[d.Key]
	if !held {
		if d.Revoked {
			r.release(1)
			return
		}
		v = &view{key: d.Key}
		r.views[d.Key] = v
	}
	if d.Revoked {
		r.release(len(v.queue))
		v.queue = nil
		for _, s := range v.scopes {
			s.stop(ErrRevoked)
		}
	}
	v.queue = append(v.queue, d)
	r.schedule(v)
}

// release gives back places in the queue.
func (r *run) release(places int) {
	for range places {
		<-r.places
	}
}

// schedule sees to it that a worker looks at the enactment. The caller holds mu.
func (r *run) schedule(v *view) {
	if v.scheduled || r.ctx.Err() != nil {
		return
	}
	v.scheduled = true
	if r.working == r.adapter.options.concurrency {
		r.ready = append(r.ready, v)
		return
	}
	r.working++
	r.inside++
	r.crew.Do(func() { r.work(v) })
}

// work does what is to be done in one enactment after another, a step at a time so that none waits for all of
// another's.
func (r *run) work(v *view) {
	finished := false
	defer func() {
		if !finished { // a handler has ended this goroutine: another one carries on
			r.mu.Lock()
			if next := r.turn(v); next != nil {
				r.inside++
				r.crew.Do(func() { r.work(next) })
			}
			r.mu.Unlock()
		}
		r.leave()
	}()
	for v != nil {
		r.step(v)
		r.settle(v)
		r.mu.Lock()
		v = r.turn(v)
		r.mu.Unlock()
	}
	finished = true
}

// turn puts an enactment back in the line if it has more to do, and takes the first. The worker ends when there is
// none. The caller holds mu.
func (r *run) turn(v *view) *view {
	switch {
	case v.due():
		r.ready = append(r.ready, v)
	case v.ledger == nil, v.idle() && r.feed.Release(v.key, v.ledger.state.Sequence()):
		delete(r.views, v.key)
		v.scheduled = false
	default:
		v.scheduled = false
	}
	if len(r.ready) == 0 || r.ctx.Err() != nil {
		r.working--
		return nil
	}
	return take(&r.ready)
}

// take removes the first element. A list that becomes empty keeps its memory, since it often is filled again.
func take[T any](list *[]T) T {
	var none T
	first := (*list)[0]
	(*list)[0] = none
	if len(*list) == 1 {
		*list = (*list)[:0]
	} else {
		*list = (*list)[1:]
	}
	return first
}

// end waits until nobody is inside.
func (r *run) end(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	r.cancel(cause)
	defer r.stopStoring()
	defer time.AfterFunc(storeTimeout, r.stopStoring).Stop()
	r.mu.Lock()
	r.ended = true
	if r.inside == 0 {
		close(r.empty)
	}
	r.mu.Unlock()
	<-r.empty
	r.crew.Close()
}

func (r *run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	if r.ended && r.inside == 0 {
		close(r.empty)
	}
}

// held lists what the role knows of each enactment, in the order of the keys.
func (r *run) held() []*ledger {
	r.mu.Lock()
	ledgers := make([]*ledger, 0, len(r.views))
	for _, v := range r.views {
		if v.ledger != nil {
			ledgers = append(ledgers, v.ledger)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(ledgers, func(a, b *ledger) int { return cmp.Compare(a.key, b.key) })
	return ledgers
}

// await holds back offers in an enactment until what is known of it reaches the sequence.
func (r *run) await(key enactment.Key, sequence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, held := r.views[key]; held {
		v.awaited = max(v.awaited, sequence)
	}
}

// reoffer makes what the attempt was of be offered again.
func (r *run) reoffer(key enactment.Key, attempt enactment.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, held := r.views[key]; held {
		v.dominated = append(v.dominated, attempt)
		r.schedule(v)
	}
}
