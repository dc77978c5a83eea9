package ucp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/webhook"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// DefaultLook is how often an order is asked for where [OrdersOptions] says nothing.
const DefaultLook = 10 * time.Minute

// OrdersOptions configure [Orders]. Store and Key are needed.
type OrdersOptions struct {
	// Store keeps where checkouts were opened, what was heard of their orders, and what is still to be recorded, under the
	// names that begin with opened, heard and told. Processes that play the same platform share it, and its values have to
	// live as long as orders are followed. It goes with the engine: where enactments outlive the process, it has to, too.
	Store keyvalue.Store
	// Key finds a key in the profile of a business, as profiles.Fetcher does.
	Key func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
	// Look is how often an order is asked for, lest what no webhook has told of stays unknown; [DefaultLook] if 0, and
	// if it is negative only when a webhook that is not signed says that there is something to see.
	Look time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Orders is where businesses tell a platform what becomes of its orders: an HTTP handler for the webhook that the
// platform's profile names. It is one for all shops of the platform, which are the [Outbound] bridges that have it among
// their options.
//
// An event that is verified (see package webhook) is written into the store, and only then answered. After that it is
// stated in the enactment of its checkout, as the Business's OrderChanged, with the order in the model of package wire as
// the notice and with the next revision. An event that comes before the order is known waits for it; one that says what
// was stated last says nothing new; one about another order than the checkout has become, or about a checkout that has
// ended without one, has diverged. Events of a business that does not sign are believed in so far as its order is then
// asked for, at the place where the checkout was opened.
//
// Beside that each order is looked at from time to time (GET /orders/{id}, of UCP 2026-04-08, which the public servers of
// 2026-01-11 have as well), until all of it is delivered. Where a shop has no such thing there are webhooks alone.
// An order that has changed 256 times is followed no more, which is logged.
//
// It is safe for concurrent use.
type Orders struct {
	options  OrdersOptions
	log      *slog.Logger
	receiver *webhook.Receiver

	mu    sync.Mutex
	desks []*orderDesk
}

// NewOrders makes a handler. The error says what the options lack.
func NewOrders(options OrdersOptions) (*Orders, error) {
	if options.Store == nil || options.Key == nil {
		return nil, errors.New("ucp: orders: Store and Key are needed")
	}
	setDefault(&options.Look, DefaultLook)
	o := &Orders{options: options, log: options.Logger}
	if o.log == nil {
		o.log = slog.Default()
	}
	var err error
	o.receiver, err = webhook.New(webhook.Options{
		Key: options.Key, Origins: o.origins, Memory: webhook.Remember(options.Store), Handle: o.receive, Logger: o.log,
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// ServeHTTP implements [http.Handler].
func (o *Orders) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	o.receiver.ServeHTTP(w, request)
}

// opened is what is kept under the id of a checkout: where it was opened. Different shops may have the same id for one.
type opened struct {
	At []openedAt `json:"at"`
}

type openedAt struct {
	Business  string        `json:"business"`
	Also      []string      `json:"also,omitempty"`
	Release   wire.Release  `json:"release"`
	Currency  string        `json:"currency,omitempty"`
	Unsigned  bool          `json:"unsigned,omitempty"`
	Enactment enactment.Key `json:"enactment"`
}

// mostOpened is at how many shops a checkout may have the same id. No honest shop makes up an id of another's.
const mostOpened = 32

func hashOf(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func openedName(checkout string) string { return "opened." + hashOf(checkout) }

// toldPrefix is what the names begin with of what is to be recorded of an order.
func toldPrefix(business, checkout string) string { return "told." + hashOf(business, checkout) + "." }

// open notes where a checkout was opened. The first enactment that a shop has had an id for has it: a shop that gives one
// id twice says of neither what becomes of it.
func (o *Orders) open(ctx context.Context, checkout string, at openedAt) error {
	return keyvalue.Change(ctx, o.options.Store, openedName(checkout), func(value []byte) ([]byte, error) {
		var known opened
		if value != nil {
			if err := json.Unmarshal(value, &known); err != nil {
				return nil, fmt.Errorf("ucp: orders: where a checkout was opened: %w", err)
			}
		}
		switch {
		case slices.ContainsFunc(known.At, func(other openedAt) bool { return other.Business == at.Business }):
			return nil, nil
		case len(known.At) >= mostOpened:
			return nil, errors.New("ucp: orders: too many shops have this id for a checkout")
		}
		known.At = append(known.At, at)
		return json.Marshal(known)
	})
}

// origins implements [webhook.Options].
func (o *Orders) origins(ctx context.Context, checkout string) ([]webhook.Origin, error) {
	entry, err := o.options.Store.Get(ctx, openedName(checkout))
	if errors.Is(err, keyvalue.ErrNone) {
		return nil, nil
	}
	var known opened
	if err == nil {
		err = json.Unmarshal(entry.Value, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("ucp: orders: where a checkout was opened: %w", err)
	}
	origins := make([]webhook.Origin, len(known.At))
	for i, at := range known.At {
		origins[i] = webhook.Origin{
			Business: at.Business, Also: at.Also, Release: at.Release, Currency: at.Currency, Unsigned: at.Unsigned,
		}
	}
	return origins, nil
}

// told is something that is to be recorded of an order.
type told struct {
	Event string `json:"event"`
	// Order is what the business says; nil where all that is known is that there is something to see.
	Order wire.Object `json:"order,omitempty"`
	// At is when it happened, as the business says, and Heard when it came.
	At    time.Time `json:"at,omitzero"`
	Heard time.Time `json:"heard"`

	name     string
	revision uint64
}

// hint is the name of what tells that there is something to see.
const hint = "hint"

// mostTold is how many events of an order wait to be recorded. Each is the whole order, so the newest is what matters.
const mostTold = 64

// receive implements [webhook.Options]: an event is received when it is in the store.
func (o *Orders) receive(ctx context.Context, e webhook.Event) error {
	t := told{Event: e.ID, Order: e.Order, At: e.At, Heard: time.Now().UTC()}
	prefix := toldPrefix(e.Business, e.Checkout)
	name := prefix + hashOf(e.ID)
	if e.Key == "" {
		t.Order, name = nil, prefix+hint
	}
	if err := o.makeRoom(ctx, prefix); err != nil {
		return err
	}
	value, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("ucp: orders: an event: %w", err)
	}
	// One that is there already is put again: what was seen because of the one before may be older.
	err = keyvalue.Change(ctx, o.options.Store, name, func([]byte) ([]byte, error) { return value, nil })
	if err != nil {
		return fmt.Errorf("ucp: orders: an event cannot be kept: %w", err)
	}
	o.mu.Lock()
	desks := slices.Clone(o.desks)
	o.mu.Unlock()
	for _, d := range desks {
		d.heard(prefix)
	}
	return nil
}

// makeRoom lets go of the oldest of what is to be recorded of an order, where there is too much of it.
func (o *Orders) makeRoom(ctx context.Context, prefix string) error {
	waiting, err := o.waiting(ctx, prefix)
	if err != nil {
		return err
	}
	for i := range max(0, len(waiting)+1-mostTold) {
		if err := o.forget(ctx, waiting[i]); err != nil {
			return err
		}
	}
	return nil
}

// waiting gives what is to be recorded of an order, the oldest first.
func (o *Orders) waiting(ctx context.Context, prefix string) ([]told, error) {
	var found []told
	for entry, err := range o.options.Store.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("ucp: orders: what was told: %w", err)
		}
		t := told{name: entry.Name, revision: entry.Revision}
		reading := json.NewDecoder(bytes.NewReader(entry.Value))
		reading.UseNumber() // An amount stays what it is.
		if err := reading.Decode(&t); err != nil {
			return nil, fmt.Errorf("ucp: orders: what was told: %w", err)
		}
		found = append(found, t)
	}
	slices.SortStableFunc(found, func(a, b told) int {
		if !a.At.IsZero() && !b.At.IsZero() && !a.At.Equal(b.At) {
			return a.At.Compare(b.At)
		}
		return a.Heard.Compare(b.Heard)
	})
	return found, nil
}

// forget takes something away that was recorded, or need not be.
func (o *Orders) forget(ctx context.Context, t told) error {
	err := o.options.Store.Delete(ctx, t.name, t.revision)
	if err == nil || errors.Is(err, keyvalue.ErrConflict) || errors.Is(err, keyvalue.ErrNone) { // Another process was faster.
		return nil
	}
	return fmt.Errorf("ucp: orders: what was told: %w", err)
}

// join has a shop's orders followed.
func (o *Orders) join(d *orderDesk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.desks = append(o.desks, d)
}

// leave ends that.
func (o *Orders) leave(d *orderDesk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.desks = slices.DeleteFunc(o.desks, func(other *orderDesk) bool { return other == d })
}
