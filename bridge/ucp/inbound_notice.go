package ucp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// notice is something to tell, as it is noted down.
type notice struct {
	Event    string `json:"event"`
	Checkout string `json:"checkout"`
	Order    string `json:"order,omitempty"` // empty while there may be none
	Profile  string `json:"profile,omitempty"`
	// Attempts is how often it was tried, Next when it may be tried again, Since when it was noted down.
	Attempts int       `json:"attempts,omitempty"`
	Next     time.Time `json:"next"`
	Since    time.Time `json:"since"`

	name     string
	revision uint64
}

const (
	orderPlaced  = "order_placed"
	orderShipped = "order_shipped"
)

// claimed is how long a notice is a process's own before another one may take it up.
const claimed = 30 * time.Second

// abandoned is how old a notice must be before it is crossed out because nothing was paid.
const abandoned = 10 * time.Minute

func placedName(checkout string) string { return "outbox." + checkout }

// expect notes down that a checkout may become an order, before it is paid. The profile is that of the platform that
// pays. It gives the notice, nil if another payment's stands for this one too.
func (c *courier) expect(ctx context.Context, checkout string, profile any) (*notice, error) {
	n := notice{Event: orderPlaced, Checkout: checkout, name: placedName(checkout)}
	n.Profile, _ = profile.(string)
	n.Since = time.Now()
	n.Next = n.Since.Add(claimed)
	for {
		err := c.note(ctx, &n)
		if !errors.Is(err, keyvalue.ErrConflict) {
			return &n, err
		}
		// Another payment is under way, whose note is this one's too; or one before was declined, whose note may be crossed
		// out before this one is settled: then the note begins anew.
		entry, err := c.store().Get(ctx, n.name)
		if errors.Is(err, keyvalue.ErrNone) { // It was, just now.
			continue
		}
		if err != nil {
			return nil, err
		}
		other, err := readNotice(entry)
		if err != nil {
			return nil, err
		}
		if other.Order != "" || other.Next.After(n.Since) && n.Since.Sub(other.Since) < abandoned/2 {
			return nil, nil
		}
		n.revision = entry.Revision
	}
}

// note writes a notice down.
func (c *courier) note(ctx context.Context, n *notice) error {
	value, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("ucp: inbound: a notice: %w", err)
	}
	n.revision, err = c.store().Put(ctx, n.name, value, n.revision)
	return err
}

func readNotice(entry keyvalue.Entry) (notice, error) {
	n := notice{name: entry.Name, revision: entry.Revision}
	if err := json.Unmarshal(entry.Value, &n); err != nil {
		return n, fmt.Errorf("ucp: inbound: notice %s in the store: %w", entry.Name, err)
	}
	return n, nil
}

// placed keeps the order of a checkout that was completed, and has the platform told of it, unless that was done. Where
// the notice that was noted down is known it need not be read.
func (c *courier) placed(ctx context.Context, checkout string, standing *model.Standing, noted *notice) error {
	profile := platformOf(standing).URL
	n := notice{Event: orderPlaced, Checkout: checkout, Since: time.Now(), Next: time.Now().Add(claimed), name: placedName(checkout)}
	if noted != nil && time.Now().Before(noted.Next) { // Nobody else has taken it up.
		n = *noted
	} else {
		entry, err := c.store().Get(ctx, placedName(checkout))
		switch {
		case err == nil:
			if n, err = readNotice(entry); err != nil {
				return err
			}
		case !errors.Is(err, keyvalue.ErrNone):
			return err
		}
	}
	if n.Profile != "" {
		profile = n.Profile
	}
	n.Profile = profile
	kept, fresh, err := c.in.placed(ctx, standing, profile, c.nobody(&n))
	if err != nil {
		return err
	}
	n.Order = kept.Order.ID
	switch {
	case kept.Told:
		if n.revision > 0 { // Else it was crossed out.
			c.enqueue(n)
		}
		return nil
	case n.revision == 0 && !fresh: // It is being told, or was given up.
		return nil
	case n.revision == 0:
		if err := c.note(ctx, &n); err != nil {
			return err
		}
	}
	c.enqueue(n)
	return nil
}

// nobody tells whether there is nobody who could be told.
func (c *courier) nobody(n *notice) bool { return c.client == nil || n.Profile == "" }

// cross crosses a notice out. That another process has changed it meanwhile is none of this one's business.
func (c *courier) cross(ctx context.Context, n notice) error {
	err := c.store().Delete(ctx, n.name, n.revision)
	if errors.Is(err, keyvalue.ErrConflict) {
		return nil
	}
	return err
}

// shipped has the platform told that its order was sent.
func (c *courier) shipped(ctx context.Context, kept keptOrder) error {
	now := time.Now()
	n := notice{
		Event: orderShipped, Checkout: kept.Order.CheckoutID, Order: kept.Order.ID, Profile: kept.Profile, Since: now,
		Next: now.Add(claimed), name: placedName(kept.Order.CheckoutID) + "." + uuid.NewString(),
	}
	if err := c.note(ctx, &n); err != nil {
		return err
	}
	c.enqueue(n)
	return nil
}

// later notes down when to try again.
func (c *courier) later(ctx context.Context, n *notice) {
	if err := c.note(ctx, n); err != nil && !errors.Is(err, keyvalue.ErrConflict) && ctx.Err() == nil {
		c.in.log.WarnContext(ctx, "ucp: a notice could not be kept", "error", err)
	}
}
