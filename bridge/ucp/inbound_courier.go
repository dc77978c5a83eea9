package ucp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/internal/pause"
)

// courier tells platforms of their orders. What it has to tell is noted down in the store before it can happen, and
// crossed out when it has been told, so that nothing is lost with a process: another one finds the note, looks what has
// become of the checkout, and goes on.
type courier struct {
	in     *Inbound
	queue  chan notice
	client *webhooks // nil where nobody is told
	deaf   deaf

	mu sync.Mutex
	// telling are the checkouts of which something is being told, with what comes after it.
	telling map[string][]notice
}

const (
	// sweepInterval is how often notices of others are looked for.
	sweepInterval = 5 * time.Second
	// sweepTime is how long that may take, should the store fall silent.
	sweepTime = time.Minute
	// tellAgain and tellAgainLongest bound the time between two attempts to tell, tellUntil how long it is tried.
	tellAgain        = 2 * time.Second
	tellAgainLongest = time.Hour
	tellUntil        = 24 * time.Hour
	// couriers is how many notices are told at once, waitingNotices how many may wait in memory.
	couriers       = 32
	waitingNotices = 1024
	// sweepShare is how many times as long as a sweep took it is to the next one, so that many notices that nobody wants
	// to hear cost little.
	sweepShare = 10
)

func newCourier(in *Inbound) *courier {
	c := &courier{in: in, queue: make(chan notice, waitingNotices), telling: make(map[string][]notice)}
	if in.options.Client != nil {
		c.client = newWebhooks(in.options)
	}
	return c
}

func (c *courier) store() keyvalue.Store { return c.in.options.Store }

// enqueue has a notice told soon. If too many wait, it is found in the store later.
func (c *courier) enqueue(n notice) {
	select {
	case c.queue <- n:
	default:
	}
}

// run tells, and looks for what others have left behind, until ctx ends.
func (c *courier) run(ctx context.Context) {
	var running sync.WaitGroup
	for range couriers {
		running.Go(func() {
			for {
				select {
				case n := <-c.queue:
					c.inTurn(ctx, n)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for {
		began := time.Now()
		c.sweep(ctx)
		if pause.For(ctx, max(sweepInterval, sweepShare*time.Since(began))) != nil {
			running.Wait()
			return
		}
	}
}

// sweep takes up the notices whose time has come.
func (c *courier) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime) // It goes on with the next one.
	defer cancel()
	for entry, err := range c.store().List(ctx, "outbox.") {
		var n notice
		if err == nil {
			n, err = readNotice(entry)
		}
		if err != nil {
			if ctx.Err() == nil {
				c.in.log.WarnContext(ctx, "ucp: notices cannot be read", "error", err)
			}
			return
		}
		if time.Now().Before(n.Next) {
			continue
		}
		n.Next = time.Now().Add(claimed)
		if err := c.note(ctx, &n); err != nil { // Another process was faster, or the next sweep is.
			continue
		}
		if n.Order != "" {
			c.enqueue(n)
		} else if err := c.resolve(ctx, n); err != nil && ctx.Err() == nil {
			c.in.log.WarnContext(ctx, "ucp: a payment is still not settled", "checkout", n.Checkout, "error", err)
		}
	}
}

// resolve sees to it that a payment which a process left behind is settled, by visiting the checkout.
func (c *courier) resolve(ctx context.Context, n notice) error {
	ctx, cancel := context.WithTimeout(ctx, claimed/2)
	defer cancel()
	s, err := c.in.enter(ctx, n.Checkout, adapter.Latest)
	if err != nil {
		return err
	}
	defer s.leave()
	standing, err := s.await(ctx, "The payment", func(now model.Standing) bool { return now.Owed() != model.Settle })
	switch {
	case err != nil:
		return err
	case standing.Completed != nil:
		return c.placed(ctx, n.Checkout, &standing, nil)
	case time.Since(n.Since) > abandoned || standing.Ended():
		return c.cross(ctx, n)
	}
	return nil
}

// inTurn tells what is told of one checkout one after the other.
func (c *courier) inTurn(ctx context.Context, n notice) {
	c.mu.Lock()
	if after, busy := c.telling[n.Checkout]; busy {
		if len(after) < mostAfter { // Else it is found in the store later.
			c.telling[n.Checkout] = append(after, n)
		}
		c.mu.Unlock()
		return
	}
	c.telling[n.Checkout] = nil
	c.mu.Unlock()
	c.tell(ctx, n)
	c.mu.Lock()
	after := c.telling[n.Checkout]
	delete(c.telling, n.Checkout)
	c.mu.Unlock()
	for _, next := range after {
		c.enqueue(next)
	}
}

// mostAfter is how many notices of one checkout may wait for another in memory.
const mostAfter = 16

// tell tells the platform, or notes down when to try again.
func (c *courier) tell(ctx context.Context, n notice) {
	// A platform that does not answer is left alone for a while, lest it keeps those that others wait for.
	until, leave := c.deaf.leave(n.Profile, time.Now())
	first, err := true, error(nil)
	if !leave {
		first, err = c.first(ctx, n)
	}
	switch {
	case leave && time.Since(n.Since) > tellUntil:
		err = errDeaf
	case leave:
		n.Next = until
		c.later(ctx, &n)
		return
	case !first && err == nil:
		n.Next = time.Now().Add(tellAgain)
		c.later(ctx, &n)
		return
	case err == nil:
		err = c.deliver(ctx, &n)
		c.deaf.heard(n.Profile, time.Now(), err)
	}
	log := c.in.log.With(slog.String("event", n.Event), slog.String("order", n.Order), slog.Int("attempts", n.Attempts+1))
	switch {
	case err == nil:
		if n.Event == orderPlaced && !c.nobody(&n) {
			err = c.in.told(ctx, n.Order)
		}
		if err == nil {
			err = c.cross(ctx, n)
		}
	case ctx.Err() != nil:
		return
	case errors.Is(err, errNobody): // It may ask for the order, and nobody has to do anything about it.
		log.InfoContext(ctx, "ucp: the platform is not told of its order", "error", err)
		err = c.cross(ctx, n)
	case time.Since(n.Since) > tellUntil:
		log.WarnContext(ctx, "ucp: the platform cannot be told of its order", "error", err)
		err = c.cross(ctx, n)
	default:
		log.InfoContext(ctx, "ucp: the platform was not told of its order yet", "error", err)
		n.Next = time.Now().Add(min(tellAgain<<min(n.Attempts, 16), tellAgainLongest))
		n.Attempts++
		c.later(ctx, &n)
		return
	}
	if err != nil && !errors.Is(err, keyvalue.ErrConflict) && ctx.Err() == nil {
		log.WarnContext(ctx, "ucp: a notice could not be kept", "error", err)
	}
}

// first tells whether nothing that happened before to the same order is still to be told.
func (c *courier) first(ctx context.Context, n notice) (bool, error) {
	if n.Event == orderPlaced {
		return true, nil
	}
	placed := placedName(n.Checkout)
	if _, err := c.store().Get(ctx, placed); !errors.Is(err, keyvalue.ErrNone) {
		return false, err
	}
	for entry, err := range c.store().List(ctx, placed+".") {
		if err != nil {
			return false, err
		}
		other, err := readNotice(entry)
		if err != nil || other.Since.Before(n.Since) {
			return false, err
		}
	}
	return true, nil
}

// deliver makes one attempt.
func (c *courier) deliver(ctx context.Context, n *notice) error {
	if c.nobody(n) {
		return nil
	}
	kept, err := c.in.readOrder(ctx, n.Order)
	if err != nil {
		return err
	}
	if n.Event == orderPlaced && kept.Told {
		return nil
	}
	target, err := c.client.target(ctx, n.Profile)
	if err != nil {
		return err
	}
	body, err := webhookBody(target.release, n, viewOrder(kept.Order))
	if err != nil {
		return fmt.Errorf("ucp: inbound: a notice: %w", err)
	}
	return c.client.post(ctx, target, body, n.name, n.Since)
}
