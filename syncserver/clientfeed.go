package syncserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pause"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// remoteFeed delivers what a server has for one identity. It asks for a batch when there is room for one, so nothing
// piles up where an agent is slow; and it goes on at another server if the one that it asks is gone.
type remoteFeed struct {
	client   *Client
	identity enactment.Identity
	log      *slog.Logger
	ctx      context.Context // ends with Close
	cancel   context.CancelCauseFunc
	done     sync.WaitGroup
	closing  sync.Once
	failure  error // of Close
	positions

	wake chan struct{} // has a token when there is something to receive
	room chan struct{} // has a token when there is room

	mu       sync.Mutex
	name     string // of the feed, as servers know it
	server   string // empty while none serves it
	lease    time.Duration
	until    time.Time // when the feed holds itself for dead
	position uint64
	batch    uint64
	queue    []adapter.Delivery
	// held is what the feed has delivered and was not released of, and up to which sequence it was queued.
	held map[enactment.Key]uint64
	// recalled is what was released and of which there is more: its history is to come first.
	recalled map[enactment.Key]bool
	ended    error // why there will be nothing more
}

func newRemoteFeed(c *Client, identity enactment.Identity) *remoteFeed {
	f := &remoteFeed{
		client: c, identity: identity, log: c.log.With("identity", identity.String()), name: nuid.Next(),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), held: make(map[enactment.Key]uint64),
		recalled: make(map[enactment.Key]bool),
	}
	f.ctx, f.cancel = context.WithCancelCause(c.ctx)
	f.positions.wake = make(chan struct{}, 1)
	return f
}

func (f *remoteFeed) start() {
	f.client.done.Add(1)
	f.done.Go(f.pull)
	f.done.Go(f.renew)
	f.done.Go(f.storeAll)
	go func() {
		defer f.client.done.Done()
		<-f.ctx.Done()
		_ = f.Close() // if it was the client that was closed
	}()
}

// join finds a server, again and again until there is one.
func (f *remoteFeed) join(ctx context.Context) error {
	c := f.client
	began := time.Now()
	for wait := c.config.FirstWait; ; wait = min(2*wait, c.config.LongestWait) {
		err := f.joinOnce(ctx)
		if err == nil {
			return nil
		}
		if told, ok := errors.AsType[*wire.Error](err); ok && told.Reason == wire.Lost {
			f.lose()
			continue
		}
		if err := c.hopeless(err); err != nil {
			return err
		}
		f.log.DebugContext(ctx, "no server takes the feed, trying again", "error", err)
		c.unanswered(ctx, f.log, began, err)
		if err := rest(ctx, wait); err != nil {
			return err
		}
		f.checkLease()
	}
}

func (f *remoteFeed) joinOnce(ctx context.Context) error {
	f.mu.Lock()
	request := wire.FeedRequest{Hash: f.client.rules.Hash(), Feed: f.name, After: f.position, Batch: f.batch}
	f.mu.Unlock()
	began := time.Now()
	joined, err := f.client.feeds.join(ctx, f.identity, &request)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.name == request.Feed {
		f.server, f.lease, f.until = joined.Server, joined.Lease, began.Add(joined.Lease)
	}
	return nil
}

// present gives where to ask and as whom; false if the feed has no server at the moment.
func (f *remoteFeed) present() (server string, request wire.FeedRequest, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.server, wire.FeedRequest{Hash: f.client.rules.Hash(), Feed: f.name, Batch: f.batch}, f.server != ""
}

// patience is how long a server may wait for something to deliver.
const patience = 5 * time.Second

// pull asks for batches as long as the feed lives.
func (f *remoteFeed) pull() {
	wait := f.client.config.FirstWait
	for f.ctx.Err() == nil {
		most := f.client.config.Buffer - f.queued()
		if most <= 0 {
			select {
			case <-f.room:
			case <-f.ctx.Done():
			}
			continue
		}
		err := f.pullOnce(most)
		if err == nil {
			wait = f.client.config.FirstWait
			continue
		}
		if f.ctx.Err() != nil {
			return
		}
		if told, ok := errors.AsType[*wire.Error](err); ok && told.Reason == wire.Lost {
			f.lose()
		}
		f.log.DebugContext(f.ctx, "the feed looks for a server", "error", err)
		if rest(f.ctx, wait) != nil {
			return
		}
		wait = min(2*wait, f.client.config.LongestWait)
		if err := f.join(f.ctx); err != nil {
			f.end(err)
			return
		}
	}
}

func (f *remoteFeed) pullOnce(most int) error {
	server, request, ok := f.present()
	if !ok {
		return errors.New("no server serves the feed")
	}
	request.Operation, request.Most, request.Wait = wire.Pull, most, patience
	request.Recall = f.recalls()
	batch, err := f.client.feeds.pull(f.ctx, f.identity, server, &request)
	if err != nil {
		return err
	}
	f.accept(request.Feed, batch)
	return nil
}

// accept queues what was pulled.
func (f *remoteFeed) accept(name string, batch *wire.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name != f.name || batch.Number != f.batch+1 {
		return // it was lost meanwhile
	}
	f.batch, f.position = batch.Number, batch.Position
	for _, d := range batch.Deliveries {
		had, held := f.held[d.Key]
		switch {
		case d.Revoked && !held:
			delete(f.recalled, d.Key)
			continue
		case !d.Revoked && held && d.Finalisation.Sequence <= had:
			continue
		case d.Revoked:
			delete(f.held, d.Key)
		case !held && !d.Begins:
			f.recalled[d.Key] = true
			continue
		default:
			delete(f.recalled, d.Key)
			f.held[d.Key] = d.Finalisation.Sequence
		}
		f.queue = append(f.queue, d)
	}
	signal(f.wake)
}

// recalls lists some of the enactments whose history is to come.
func (f *remoteFeed) recalls() []enactment.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []enactment.Key
	size := 0
	for key := range f.recalled {
		if len(keys) == mostPositions || size > mostPositionBytes {
			break
		}
		keys = append(keys, key)
		size += len(key)
	}
	return keys
}

// Release forgets that the feed has delivered an enactment, if there is nothing more of it.
func (f *remoteFeed) Release(key enactment.Key, sequence uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if had, held := f.held[key]; !held || had != sequence {
		return false
	}
	delete(f.held, key)
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (f *remoteFeed) queued() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}

// renew keeps the lease, and gives everything up when it could not be kept.
func (f *remoteFeed) renew() {
	for {
		f.mu.Lock()
		between := max(f.lease/3, time.Millisecond)
		f.mu.Unlock()
		if pause.For(f.ctx, between) != nil {
			return
		}
		f.renewOnce(between)
		f.checkLease()
	}
}

func (f *remoteFeed) renewOnce(limit time.Duration) {
	server, request, ok := f.present()
	if !ok {
		return
	}
	request.Operation = wire.Renew
	began := time.Now()
	if _, err := f.client.feeds.tell(f.ctx, f.identity, server, &request, limit); err != nil {
		if told, ok := errors.AsType[*wire.Error](err); ok && told.Reason == wire.Lost {
			f.lose()
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.name == request.Feed {
		f.until = began.Add(f.lease)
	}
}

// checkLease gives everything up if the lease has run out: others may have taken it over by now.
func (f *remoteFeed) checkLease() {
	f.mu.Lock()
	out := f.lease > 0 && !time.Now().Before(f.until)
	f.mu.Unlock()
	if out {
		f.lose()
	}
}

// lose gives up what the feed had. It goes on as another feed, which begins with nothing.
func (f *remoteFeed) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.held) > 0 {
		f.log.Warn("the feed was out of touch for too long and lost its enactments", "enactments", len(f.held))
	}
	f.name, f.server, f.lease, f.position, f.batch = nuid.Next(), "", 0, 0, 0
	f.queue = f.queue[:0:0]
	for key := range f.held {
		f.queue = append(f.queue, adapter.Delivery{Key: key, Revoked: true})
	}
	clear(f.held)
	clear(f.recalled)
	signal(f.wake)
}

// end says that nothing more will come.
func (f *remoteFeed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended = err
	}
	signal(f.wake)
}

// Receive gives what was delivered, in order.
func (f *remoteFeed) Receive(ctx context.Context) (adapter.Delivery, error) {
	for {
		switch {
		case ctx.Err() != nil:
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, context.Cause(ctx))
		case f.ctx.Err() != nil:
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, adapter.ErrClosed)
		}
		delivery, ok, err := f.next()
		if err != nil {
			return adapter.Delivery{}, fmt.Errorf("syncserver: receive as %s: %w", f.identity, err)
		}
		if ok {
			return delivery, nil
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		case <-f.ctx.Done():
		}
	}
}

func (f *remoteFeed) next() (adapter.Delivery, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return adapter.Delivery{}, false, f.ended
	}
	d := f.queue[0]
	f.queue[0] = adapter.Delivery{}
	f.queue = f.queue[1:]
	if len(f.queue) <= f.client.config.Buffer/2 {
		signal(f.room)
	}
	return d, true, nil
}

// Close gives the enactments to other feeds of the identity: at once if a server can be told, else when the lease has
// run out.
func (f *remoteFeed) Close() error {
	f.closing.Do(func() {
		f.cancel(adapter.ErrClosed)
		f.done.Wait()
		server, request, ok := f.present()
		if !ok {
			return
		}
		request.Operation = wire.Leave
		// The feed's own context has ended, and so may have the client's.
		ctx, cancel := context.WithTimeout(context.Background(), f.client.config.Try)
		defer cancel()
		if _, err := f.client.feeds.tell(ctx, f.identity, server, &request, f.client.config.Try); err != nil {
			f.log.Debug("no server was told that the feed left", "error", err)
		}
	})
	return f.failure
}
