package ucp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// orderDesk follows the orders of one shop, for the [Outbound] that plays it.
type orderDesk struct {
	orders *Orders
	bridge *bridge.Bridge
	origin openedAt
	// blind tells that the shop's orders may not be asked for.
	blind atomic.Bool
	log   *slog.Logger

	mu       sync.Mutex
	held     map[enactment.Key]*followed
	byPrefix map[string]enactment.Key
	changed  chan struct{} // has room for one
}

// followed is an order that is followed. Its fields belong to the desk's mutex but those of work, which one goroutine at a
// time is at.
type followed struct {
	enactment adapter.Enactment
	prefix    string
	checkout  string
	// due is when it is to be worked on; busy tells that somebody is at it, and again that there is more by now.
	due         time.Time
	busy, again bool
	// over tells that nothing more is expected.
	over bool
	work work
}

// work is what is known of an order beside its enactment.
type work struct {
	// look is when the order is to be asked for; the zero time for never. looked is when it was for the last time.
	look, looked time.Time
	pause        time.Duration
	failing      bool
	// full tells that the order has changed too often to be followed any more.
	full bool
	// opened tells that it is known where the checkout was opened.
	opened bool
	// said and revision are what was stated last, and where, in so far as the enactment does not show it yet.
	said     enactment.Value
	revision int64
}

const (
	// sweepTold is how often is looked for what other processes have heard.
	sweepTold = 5 * time.Second
	// soonest is how long is waited between two looks at an order, whoever says that there is something to see.
	soonest = time.Second
	// mostFollowed is how many orders of a shop are worked on at once.
	mostFollowed = 16
	// mostRevised is the last revision at which a change of an order is recorded. No order takes as many; a shop that says
	// something else whenever it is asked would fill the log.
	mostRevised = 256
	// mostHeld is how many orders of a shop are held, beside those that something is expected of.
	mostHeld = 16384
)

// newOrderDesk registers with the adapter that plays the Business, before it runs.
func newOrderDesk(orders *Orders, b *bridge.Bridge, business *Business) *orderDesk {
	d := &orderDesk{
		orders: orders, bridge: b, log: orders.log.With("business", business.URL),
		held: make(map[enactment.Key]*followed), byPrefix: make(map[string]enactment.Key), changed: make(chan struct{}, 1),
		origin: business.origin(),
	}
	d.blind.Store(business.Release == wire.April2026 && !business.Active(orderCapability))
	a := b.Adapter()
	for _, action := range []string{"Offered", "NeedsInput"} {
		a.OnObservation(action, d.stated)
	}
	for _, action := range []string{"Completed", "BuyerCompleted", "Cancelled", "Expired", "OrderChanged"} {
		a.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			d.note(o.Enactment)
			return nil
		})
	}
	// What is enabled is offered anew after a restart.
	a.OnEnabled("OrderChanged", func(_ context.Context, f *adapter.FeasibleAction) error {
		d.note(f.Enactment)
		return nil
	})
	return d
}

// origin says where the checkouts of a business are opened.
func (b *Business) origin() openedAt {
	at := openedAt{Business: strings.TrimRight(b.URL, "/") + discoveryPath, Release: b.Release}
	if len(b.ProfileURLs) > 0 {
		at.Business, at.Also = b.ProfileURLs[0], b.ProfileURLs[1:]
	}
	if at.Release == "" {
		at.Release = wire.January11
	}
	// Whoever publishes no key cannot sign. Since 2026-04-08 that is no excuse.
	at.Unsigned = at.Release != wire.April2026 && (b.Profile == nil || len(b.Profile.Keys) == 0)
	return at
}

// stated notes where a checkout was opened, when the shop has told its id.
func (d *orderDesk) stated(ctx context.Context, o adapter.Observation) error {
	at, checkout := d.origin, ""
	at.Enactment = o.Enactment.Key()
	if value, ok := o.Value("id"); ok && value.Decode(&checkout) != nil {
		return nil
	}
	if value, ok := o.Value("currency"); ok && value.Decode(&at.Currency) != nil {
		at.Currency = ""
	}
	if rev, ok := o.Value("rev"); !ok || checkout == "" || rev.String() != "1" {
		return nil
	}
	return d.orders.open(ctx, checkout, at)
}

// note takes in how an enactment stands. Only one that has ended is followed.
func (d *orderDesk) note(e adapter.Enactment) {
	standing := model.StandingOf(e.Instances())
	checkout := ""
	if standing.Statement == nil || !standing.Ended() {
		return
	}
	if value, ok := standing.Statement.Value("id"); !ok || value.Decode(&checkout) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.held[e.Key()]
	if f == nil {
		f = &followed{checkout: checkout, prefix: toldPrefix(d.origin.Business, checkout)}
		if !d.blind.Load() && d.orders.options.Look > 0 && placedBy(&standing) != nil {
			f.work.look = time.Now()
		}
		d.makeRoom()
		d.held[e.Key()], d.byPrefix[f.prefix] = f, e.Key()
	}
	f.enactment = e
	d.hurry(f)
}

// makeRoom lets go of an order of which nothing more is expected, where there are many. What is told of it all the same
// is kept, and recorded when the process begins anew. The mutex is held.
func (d *orderDesk) makeRoom() {
	if len(d.held) < mostHeld {
		return
	}
	for key, f := range d.held {
		if f.over && !f.busy {
			delete(d.held, key)
			delete(d.byPrefix, f.prefix)
			return
		}
	}
}

// hurry has an order worked on now. The mutex is held.
func (d *orderDesk) hurry(f *followed) {
	if f.busy {
		f.again = true
		return
	}
	f.due = time.Now()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// heard has an order worked on of which something was told.
func (d *orderDesk) heard(prefix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key, ok := d.byPrefix[prefix]; ok {
		d.hurry(d.held[key])
	}
}

// run follows the orders until the context ends.
func (d *orderDesk) run(ctx context.Context) {
	d.orders.join(d)
	defer d.orders.leave(d)
	var working errgroup.Group
	working.SetLimit(mostFollowed)
	defer func() { _ = working.Wait() }() // They give no errors.
	sweep := time.NewTicker(sweepTold)
	defer sweep.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			d.sweep(ctx)
		case <-d.changed:
		case <-timer.C:
		}
		due, next := d.take(time.Now())
		for _, f := range due {
			working.Go(func() error {
				d.settle(ctx, f)
				return nil
			})
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// take gives the orders that are to be worked on, and when the next will be.
func (d *orderDesk) take(now time.Time) (due []*followed, next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.held {
		switch {
		case f.busy || f.due.IsZero():
		case !now.Before(f.due):
			f.busy, f.again = true, false
			due = append(due, f)
		case next.IsZero() || f.due.Before(next):
			next = f.due
		}
	}
	return due, next
}

// sweep finds what was told to other processes.
func (d *orderDesk) sweep(ctx context.Context) {
	for entry, err := range d.orders.options.Store.List(ctx, "told.") {
		if err != nil {
			if ctx.Err() == nil {
				d.log.WarnContext(ctx, "ucp: what was told of orders cannot be read", "error", err)
			}
			return
		}
		d.heard(entry.Name[:strings.LastIndexByte(entry.Name, '.')+1])
	}
}

// settle works on an order once, and says when again.
func (d *orderDesk) settle(ctx context.Context, f *followed) {
	d.mu.Lock()
	e := f.enactment
	d.mu.Unlock()
	err := d.bringUp(ctx, f, e)
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	f.busy = false
	switch {
	case err != nil && ctx.Err() == nil:
		if !f.work.failing && !errors.Is(err, errLater) {
			d.log.WarnContext(ctx, "ucp: what becomes of an order cannot be recorded yet", "enactment", e.Key(), "error", err)
		}
		f.work.failing, f.work.pause = true, min(max(2*f.work.pause, soonest), time.Minute)
		f.due = now.Add(jitter(f.work.pause))
	default:
		f.work.failing, f.work.pause = false, 0
		f.due, f.over = f.work.look, f.work.look.IsZero()
	}
	if f.again {
		f.due = now
	}
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// jitter keeps what has begun together from going on together.
func jitter(d time.Duration) time.Duration { return d*9/10 + rand.N(d/5+1) }

// placedBy gives what a checkout has become; nil if it has become no order.
func placedBy(standing *model.Standing) *enactment.Instance {
	if standing.Completed != nil {
		return standing.Completed
	}
	return standing.BuyerCompleted
}

// orderID gives the id of the order that was placed.
func orderID(placed *enactment.Instance) (string, error) {
	var order struct {
		ID string `json:"id"`
	}
	value, ok := placed.Value("order")
	if !ok {
		return "", fmt.Errorf("ucp: orders: no order in %s", placed.Action)
	}
	if err := value.Decode(&order); err != nil {
		return "", fmt.Errorf("ucp: orders: the order: %w", err)
	}
	return order.ID, nil
}
