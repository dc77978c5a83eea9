package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
)

// following follows an order after it was placed. The zero value follows nothing.
type following struct {
	command *buyCommand
	streams *streams
	orders  *ucp.Orders
	changes *changes
	printed int // how many records were
	server  *http.Server
	known   *connections
	ended   chan error
	idle    func()
}

// mostCallers is how many connections shops may have to the command at once.
const mostCallers = 64

// ordersPath is where the command's own webhook is.
const ordersPath = "/orders"

// follow prepares for that, and begins to listen, before anything is bought.
func (c *buyCommand) follow(s *streams) (*following, error) {
	f := &following{command: c, streams: s, changes: newChanges(), idle: func() {}}
	if !c.Follow {
		return f, nil
	}
	// The shop is the user's own word; whatever else is fetched has to be on the public internet.
	source, err := guard.New(guard.Options{Trusted: []string{c.Business}, AllowLoopback: guard.IsLoopback(c.Business)})
	if err != nil {
		return nil, fmt.Errorf("--business: %w", err)
	}
	f.idle = source.CloseIdleConnections
	keys, err := profiles.New(profiles.Options{Source: source})
	if err != nil {
		return nil, err
	}
	look := c.Look
	if look == 0 {
		look = -1
	}
	// What is in the engine of the command goes with the process, and so does what was heard.
	f.orders, err = ucp.NewOrders(ucp.OrdersOptions{
		Store: keyvalue.NewMemory(0), Key: keys.Key, Look: look,
		Logger: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil || c.Webhooks == "" {
		return f, err
	}
	return f, f.listen()
}

// listen serves the webhook, and the profile that names it where the user has none.
func (f *following) listen() error {
	c := f.command
	listener, err := net.Listen("tcp", c.Webhooks)
	if err != nil {
		return fmt.Errorf("--webhooks: %w", err)
	}
	public := strings.TrimRight(c.PublicURL, "/")
	if public == "" {
		public = "http://" + listener.Addr().String()
	}
	mux := http.NewServeMux()
	mux.Handle(ordersPath, f.orders)
	if c.Profile == "" {
		c.Profile = public + "/{release}"
		own := profileCommand{
			Webhook: public + ordersPath, SigningKey: c.SigningKey, SigningKeyID: c.SigningKeyID,
			MandateKey: c.MandateKey, MandateKeyID: c.MandateKeyID,
		}
		keys, err := own.keys()
		if err == nil {
			err = own.mount(mux, keys)
		}
		if err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	f.known = newConnections(mostCallers)
	f.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: 2 * headerTimeout, WriteTimeout: 6 * headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: mostHeader, ConnState: f.known.note, ErrorLog: slog.NewLogLogger(slog.NewTextHandler(f.streams.err, nil), slog.LevelDebug),
	}
	f.ended = make(chan error, 1)
	go func() { f.ended <- f.server.Serve(listener) }()
	return nil
}

// close ends what listens.
func (f *following) close() {
	if f.server != nil {
		closing, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		f.known.close()
		err := f.server.Shutdown(closing)
		if stopped := <-f.ended; !errors.Is(stopped, http.ErrServerClosed) {
			err = errors.Join(err, stopped)
		}
		if err != nil {
			fmt.Fprintf(f.streams.err, "strabo: --webhooks: %v\n", err)
		}
	}
	f.idle()
}

// changed takes in what has become of an order.
func (f *following) changed(_ string, order enactment.Value) { f.changes.add(order) }

// run says what becomes of the order until all of it is delivered, the time is over, or the user has had enough.
func (f *following) run(ctx context.Context, at *counter.Counter, told *story.Story) {
	ctx, cancel := context.WithTimeout(ctx, f.command.FollowFor)
	defer cancel()
	lost := make(chan error, 1)
	go func() { lost <- at.Follow(ctx) }()
	defer func() { cancel(); <-lost }()
	said := orderSaid{}
	for {
		for _, order := range f.changes.take() {
			var err error
			if f.command.JSON {
				err = f.tell(told)
			} else {
				err = said.print(f.streams, order)
			}
			if err != nil {
				fmt.Fprintf(f.streams.err, "strabo: cannot print what becomes of the order: %v\n", err)
				return
			}
			if ucp.Delivered(order) {
				return
			}
		}
		select {
		case <-f.changes.more:
		case err := <-lost:
			lost <- nil
			switch {
			case err != nil:
				fmt.Fprintf(f.streams.err, "strabo: the order is followed no more: %s\n", story.Short(err.Error(), longestWords))
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				fmt.Fprintf(f.streams.err, "strabo: not all is delivered after %s\n", f.command.FollowFor.Round(time.Second))
			}
			return
		}
	}
}

// tell prints the records that were not printed yet.
func (f *following) tell(told *story.Story) (err error) {
	f.printed, err = told.WriteJSONFrom(f.streams.out, f.printed)
	return err
}

// changes hands what was heard to whoever prints it, so that nobody waits for a terminal.
type changes struct {
	mu     sync.Mutex
	orders []enactment.Value
	more   chan struct{} // has room for one
}

func newChanges() *changes { return &changes{more: make(chan struct{}, 1)} }

func (c *changes) add(order enactment.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders = append(c.orders, order)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *changes) take() []enactment.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	orders := c.orders
	c.orders = nil
	return orders
}

// orderSaid is what was printed of an order: the ids of events, and of adjustments with their status.
type orderSaid map[string]bool

// print prints what is new in an order, a line for each thing that has happened.
func (said orderSaid) print(s *streams, value enactment.Value) error {
	var order struct {
		model.Order
		Adjustments []struct {
			model.Adjustment
			Totals []model.Total `json:"totals"`
		} `json:"adjustments"`
	}
	if err := value.Decode(&order); err != nil {
		_, err = fmt.Fprintln(s.out, "The order has changed, and the shop's words for it are not understood:", story.Short(value.String(), longestWords))
		return err
	}
	titles := make(map[string]string)
	for _, line := range order.LineItems {
		titles[line.ID] = line.Item.Title
		if line.Item.Title == "" {
			titles[line.ID] = line.Item.ID
		}
	}
	for i, event := range order.Fulfillment.Events {
		if key := fmt.Sprintf("event %s %d %s", event.ID, i, event.Type); said.news(key) {
			text := sentence(event.Type, goods(event.LineItems, titles), event.Carrier, event.TrackingNumber, event.TrackingURL, event.Description)
			if _, err := fmt.Fprintln(s.out, text); err != nil {
				return err
			}
		}
	}
	for i, a := range order.Adjustments {
		if key := fmt.Sprintf("adjustment %s %d %s %s", a.ID, i, a.Type, a.Status); said.news(key) {
			text := sentence("adjusted", a.Type, sum(a.Totals, order.Currency), goods(a.LineItems, titles), a.Status, a.Description)
			if _, err := fmt.Fprintln(s.out, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (said orderSaid) news(key string) bool {
	if said[key] {
		return false
	}
	said[key] = true
	return true
}

// sentence is what has happened, and what is known of it.
func sentence(what string, known ...string) string {
	text := "Order: " + story.Short(what, longestID)
	first := true
	for _, part := range known {
		if part == "" {
			continue
		}
		if first {
			text += ": "
		} else {
			text += ", "
		}
		text, first = text+story.Short(part, longestWords), false
	}
	return text
}

// goods lists pieces by their titles.
func goods(lines []model.LineQuantity, titles map[string]string) string {
	var parts []string
	for _, line := range lines {
		title := titles[line.ID]
		if title == "" {
			title = line.ID
		}
		parts = append(parts, fmt.Sprintf("%d x %s", line.Quantity, title))
	}
	return strings.Join(parts, " + ")
}

// sum is what an adjustment comes to; empty where it is not said.
func sum(totals []model.Total, currency string) string {
	for _, total := range totals {
		if total.Type == "total" {
			return shopper.Bill{Currency: currency}.Money(total.Amount)
		}
	}
	return ""
}
