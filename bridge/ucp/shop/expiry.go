package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pause"
)

// A checkout of which the time is over while nobody looks at it is found in the order in which checkouts began, since all
// have the same life: how far that order was looked through stands in [Options.Store], for all processes of the shop. One
// that cannot be ended when it is its turn, since its time is longer or since something failed, is noted down there and
// looked at again. Whether it has expired, or was paid just before, is decided where all that happens to it is.

const (
	// expiryInterval is how often the shop looks for checkouts of which the time is over.
	expiryInterval = 30 * time.Second
	// stated is how long after its beginning a checkout has been answered, from when on it lives. Those that were answered later
	// are noted down.
	stated = 2 * time.Second
	// expiryClaim is how long one process looks through them before another one may, should it have died.
	expiryClaim = 2 * time.Minute
	// expiryBatch is how many are looked at before it is noted down how far that was, expiryAtOnce how many at the same time.
	expiryBatch, expiryAtOnce = 64, 8
	// lookAgain and lookAgainLongest bound the time until one is looked at again that could not be ended.
	lookAgain, lookAgainLongest = time.Minute, time.Hour

	expiryName, overduePrefix = "expiry", "overdue."
)

// expiryProgress is how far checkouts were looked through, and who does it until when.
type expiryProgress struct {
	Place string    `json:"place,omitempty"`
	By    string    `json:"by,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// overdue is a checkout that is to be looked at again.
type overdue struct {
	Key      enactment.Key `json:"key"`
	Next     time.Time     `json:"next"`
	Attempts int           `json:"attempts,omitempty"`

	name     string
	revision uint64 // in the store; 0 while it is not there
}

// Expire ends the checkouts of which the time was over at a moment and that nobody has paid: those that began so long before
// as a checkout lives, and those that were noted down before. It may run beside others of its kind, of which one does the
// work, and beside anything that happens to a checkout. An executor that is no [adapter.Lister] cannot say which there are;
// then a checkout expires when somebody asks for it.
//
// The error says that not all could be looked at; what is left is done the next time. That one checkout cannot be ended is
// logged and no error.
func (s *Shop) Expire(ctx context.Context, agent *adapter.Adapter, executor adapter.Attendant, now time.Time) error {
	lister, ok := executor.(adapter.Lister)
	if !ok {
		return nil
	}
	x := &expiry{shop: s, agent: agent, executor: executor, now: now}
	if mine, err := x.claim(ctx); err != nil || !mine {
		return err
	}
	err := x.lookAgain(ctx)
	if err == nil {
		err = x.lookOn(ctx, lister)
	}
	if ctx.Err() == nil { // Else others may go on when the claim is over.
		x.progress.By, x.progress.Until = "", time.Time{}
		err = errors.Join(err, x.save(ctx))
	}
	if errors.Is(err, keyvalue.ErrConflict) { // Somebody else goes on.
		return nil
	}
	return err
}

// expiry is one run of [Shop.Expire].
type expiry struct {
	shop     *Shop
	agent    *adapter.Adapter
	executor adapter.Attendant
	now      time.Time
	progress expiryProgress
	revision uint64 // of it in the store
}

// claim begins the work, unless another process is at it.
func (x *expiry) claim(ctx context.Context) (mine bool, err error) {
	entry, err := x.shop.Store.Get(ctx, expiryName)
	switch {
	case errors.Is(err, keyvalue.ErrNone):
	case err != nil:
		return false, fmt.Errorf("shop: expiry: %w", err)
	default:
		if err := json.Unmarshal(entry.Value, &x.progress); err != nil {
			return false, fmt.Errorf("shop: expiry: %w", err)
		}
	}
	if x.progress.By != "" && time.Now().Before(x.progress.Until) {
		return false, nil
	}
	x.revision, x.progress.By = entry.Revision, x.shop.name
	err = x.save(ctx)
	if errors.Is(err, keyvalue.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// save notes down how far it was, and keeps the claim. The error is [keyvalue.ErrConflict] if another process has it.
func (x *expiry) save(ctx context.Context) error {
	if x.progress.By != "" {
		x.progress.Until = time.Now().Add(expiryClaim)
	}
	value, err := json.Marshal(x.progress)
	if err == nil {
		x.revision, err = x.shop.Store.Put(ctx, expiryName, value, x.revision)
	}
	if err != nil {
		return fmt.Errorf("shop: expiry: %w", err)
	}
	return nil
}

// lookOn looks at what began so long ago, from where it was.
func (x *expiry) lookOn(ctx context.Context, lister adapter.Lister) error {
	before := x.now.Add(-x.shop.Life - stated)
	batch, place := make([]overdue, 0, expiryBatch), ""
	for b, err := range lister.Began(ctx, x.progress.Place) {
		if err != nil {
			return fmt.Errorf("shop: expiry: %w", err)
		}
		if b.At.After(before) {
			break
		}
		batch, place = append(batch, overdue{Key: b.Key}), b.Place
		if len(batch) < expiryBatch {
			continue
		}
		began := time.Now()
		if err := x.lookAt(ctx, batch, place); err != nil {
			return err
		}
		batch = batch[:0]
		// Customers come first, where there are many to look at.
		if err := pause.For(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return x.lookAt(ctx, batch, place)
}

// lookAgain looks at what was noted down and is due.
func (x *expiry) lookAgain(ctx context.Context) error {
	batch := make([]overdue, 0, expiryBatch)
	for entry, err := range x.shop.Store.List(ctx, overduePrefix) {
		var o overdue
		if err == nil {
			err = json.Unmarshal(entry.Value, &o)
		}
		if err != nil {
			return fmt.Errorf("shop: expiry: %w", err)
		}
		if o.Next.After(x.now) {
			continue
		}
		o.name, o.revision = entry.Name, entry.Revision
		if batch = append(batch, o); len(batch) == expiryBatch {
			if err := x.lookAt(ctx, batch, x.progress.Place); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return x.lookAt(ctx, batch, x.progress.Place)
}

// lookAt looks at some checkouts, and notes down how far it was then. The error is one by which no other could be looked at
// either, or [keyvalue.ErrConflict] if another process has taken over.
func (x *expiry) lookAt(ctx context.Context, batch []overdue, place string) error {
	if len(batch) == 0 {
		return nil
	}
	group, looking := errgroup.WithContext(ctx)
	group.SetLimit(expiryAtOnce)
	for _, o := range batch {
		group.Go(func() error { return x.look(looking, o) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	x.progress.Place = place
	return x.save(ctx)
}

// look looks at a checkout, ends it if its time is over, and notes down when to look at it again if there is anything left to
// do.
func (x *expiry) look(ctx context.Context, o overdue) error {
	standing, err := x.end(ctx, o.Key)
	switch {
	case errors.Is(err, adapter.ErrUnavailable), errors.Is(err, adapter.ErrClosed):
		return fmt.Errorf("shop: expiry: %w", err)
	case err == nil && (standing.Ended() || standing.Create == nil):
		return x.done(ctx, o)
	case err != nil:
		x.shop.log.WarnContext(ctx, "shop: a checkout of which the time is over cannot be ended yet",
			slog.String("enactment", string(o.Key)), slog.Any("error", err))
	}
	o.Next = x.now.Add(min(lookAgain<<min(o.Attempts, 16), lookAgainLongest))
	if expires := standing.Expires(); standing.Statement != nil && expires.After(x.now) {
		o.Next = expires
	} else {
		o.Attempts++
	}
	return x.later(ctx, o)
}

// end answers what the customer is owed, and says that the checkout has expired if it has.
func (x *expiry) end(ctx context.Context, key enactment.Key) (model.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	visit, err := x.executor.Visit(ctx, x.agent.Identity(), key, adapter.Latest)
	if err != nil {
		return model.Standing{}, err
	}
	defer visit.Close(false)
	standing := model.StandingOf(slices.Values(visit.Instances()))
	if standing.Ended() {
		return standing, nil
	}
	return x.shop.serve(ctx, x.agent, slices.Values(visit.Instances()), x.now)
}

// later notes down when to look at a checkout again.
func (x *expiry) later(ctx context.Context, o overdue) error {
	if o.name == "" {
		o.name = overduePrefix + nameOf(string(o.Key))
	}
	value, err := json.Marshal(o)
	if err == nil {
		_, err = x.shop.Store.Put(ctx, o.name, value, o.revision)
	}
	if errors.Is(err, keyvalue.ErrConflict) { // It is noted down.
		return nil
	}
	return err
}

// done crosses out what was noted down.
func (x *expiry) done(ctx context.Context, o overdue) error {
	if o.revision == 0 {
		return nil
	}
	err := x.shop.Store.Delete(ctx, o.name, o.revision)
	if errors.Is(err, keyvalue.ErrConflict) {
		return nil
	}
	return err
}
