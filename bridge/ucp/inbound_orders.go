package ucp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// keptOrder is what is kept of an order: what it was when it was placed stands in the log of its checkout, and here with
// what has become of it since.
type keptOrder struct {
	Order model.Order `json:"order"`
	// Owner is the profile of the platform whose order it is; empty: of whoever knows its id.
	Owner string `json:"owner,omitempty"`
	// Profile is that of the platform which is told of the order; empty: nobody is.
	Profile string `json:"profile,omitempty"`
	// Told tells that it was told that the order was placed.
	Told bool `json:"told,omitempty"`
}

// orderView is an order as the wire shows it. Adjustments are left out while there are none.
type orderView struct {
	UCP          metadata               `json:"ucp"`
	ID           string                 `json:"id"`
	CheckoutID   string                 `json:"checkout_id"`
	PermalinkURL string                 `json:"permalink_url"`
	Currency     string                 `json:"currency,omitempty"` // Later releases demand it.
	LineItems    []model.OrderLine      `json:"line_items"`
	Fulfillment  model.OrderFulfillment `json:"fulfillment"`
	Adjustments  []model.Adjustment     `json:"adjustments,omitempty"`
	Totals       []Total                `json:"totals"`
}

func viewOrder(o model.Order) orderView {
	return orderView{
		UCP: spoken(orderCapability), ID: o.ID, CheckoutID: o.CheckoutID, PermalinkURL: o.PermalinkURL, Currency: o.Currency,
		LineItems:   o.LineItems,
		Fulfillment: o.Fulfillment, Adjustments: o.Adjustments, Totals: lowered(slices.Clone(o.Totals)),
	}
}

// orderName is the name in the store of an order.
func orderName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "order." + hex.EncodeToString(sum[:16])
}

// placed keeps an order that a checkout has become, and gives what is kept; fresh tells that it was not kept before. It
// is kept as told if there is nobody to tell.
func (in *Inbound) placed(
	ctx context.Context, standing *model.Standing, profile string, nobody bool,
) (kept keptOrder, fresh bool, err error) {
	if kept.Order, err = model.ReadOrder(standing.Completed); err != nil {
		return keptOrder{}, false, fmt.Errorf("ucp: inbound: order of a checkout: %w", err)
	}
	kept.Profile, kept.Owner, kept.Told = profile, ownerOf(standing), nobody
	encoded, err := json.Marshal(kept)
	if err != nil {
		return keptOrder{}, false, fmt.Errorf("ucp: inbound: order %s: %w", kept.Order.ID, err)
	}
	_, err = in.options.Store.Put(ctx, orderName(kept.Order.ID), encoded, 0)
	if errors.Is(err, keyvalue.ErrConflict) {
		kept, err = in.readOrder(ctx, kept.Order.ID)
		return kept, false, err
	}
	return kept, true, err
}

// told notes that a platform was told that its order was placed.
func (in *Inbound) told(ctx context.Context, id string) error {
	_, err := in.changeOrder(ctx, id, func(kept *keptOrder) { kept.Told = true })
	return err
}

func (in *Inbound) readOrder(ctx context.Context, id string) (keptOrder, error) {
	entry, err := in.options.Store.Get(ctx, orderName(id))
	if errors.Is(err, keyvalue.ErrNone) {
		return keptOrder{}, notFound("Order", id)
	}
	if err != nil {
		return keptOrder{}, err
	}
	return decodeOrder(entry.Value)
}

func decodeOrder(value []byte) (keptOrder, error) {
	var kept keptOrder
	if err := json.Unmarshal(value, &kept); err != nil {
		return keptOrder{}, fmt.Errorf("ucp: inbound: an order in the store: %w", err)
	}
	return kept, nil
}

// changeOrder changes what is kept of an order and gives it as it is then.
func (in *Inbound) changeOrder(ctx context.Context, id string, change func(*keptOrder)) (kept keptOrder, err error) {
	err = keyvalue.Change(ctx, in.options.Store, orderName(id), func(value []byte) ([]byte, error) {
		if value == nil {
			return nil, notFound("Order", id)
		}
		if kept, err = decodeOrder(value); err != nil {
			return nil, err
		}
		change(&kept)
		fulfil(&kept.Order)
		return json.Marshal(kept)
	})
	return kept, err
}

// fulfil counts what has been sent (UCP 2026-01-11, order_line_item: both quantity and status are derived).
func fulfil(o *model.Order) {
	for i := range o.LineItems {
		line := &o.LineItems[i]
		line.Quantity.Fulfilled = 0
		for _, event := range o.Fulfillment.Events {
			if event.Type != "shipped" {
				continue
			}
			for _, sent := range event.LineItems {
				if sent.ID == line.ID {
					line.Quantity.Fulfilled = min(line.Quantity.Total, line.Quantity.Fulfilled+sent.Quantity)
				}
			}
		}
		switch line.Quantity.Fulfilled {
		case line.Quantity.Total:
			line.Status = "fulfilled"
		case 0:
			line.Status = "processing"
		default:
			line.Status = "partial"
		}
	}
}

// getOrder shows an order.
func (in *Inbound) getOrder(ctx context.Context, c call) (*result, error) {
	kept, err := in.readOrder(ctx, c.id)
	if err == nil && !mayUse(ctx, kept.Owner) {
		err = notFound("Order", c.id)
	}
	if err != nil {
		return nil, err
	}
	return &result{status: http.StatusOK, body: viewOrder(kept.Order)}, nil
}

// mostEvents is how many events and how many adjustments an order may have.
const mostEvents = 200

// putOrder takes over events and adjustments, as the public suite puts them. It is no operation of UCP, so it is there
// only together with the simulation.
func (in *Inbound) putOrder(ctx context.Context, c call) (*result, error) {
	var asked struct {
		ID          *string `json:"id"`
		Fulfillment *struct {
			Events []model.FulfillmentEvent `json:"events"`
		} `json:"fulfillment"`
		Adjustments []model.Adjustment `json:"adjustments"`
	}
	body, err := parse(c.body)
	if err == nil {
		err = readAs(body, "$", &asked)
	}
	if err != nil {
		return nil, err
	}
	if asked.ID != nil && *asked.ID != c.id {
		return nil, invalid("$.id", "The body is about another order than the path.")
	}
	if err := checkAdjustments(asked.Adjustments); err != nil {
		return nil, err
	}
	var events []model.FulfillmentEvent
	if asked.Fulfillment != nil {
		events = asked.Fulfillment.Events
	}
	if err := checkEvents(events); err != nil {
		return nil, err
	}
	kept, err := in.changeOrder(ctx, c.id, func(kept *keptOrder) {
		o := &kept.Order
		if asked.Adjustments != nil {
			o.Adjustments = asked.Adjustments
		}
		if events != nil {
			o.Fulfillment.Events = events
		}
	})
	if err != nil {
		return nil, err
	}
	return &result{status: http.StatusOK, body: viewOrder(kept.Order)}, nil
}

func checkAdjustments(adjustments []model.Adjustment) error {
	if len(adjustments) > mostEvents {
		return invalid("$.adjustments", "There are more than %d adjustments.", mostEvents)
	}
	for i, a := range adjustments {
		path := fmt.Sprintf("$.adjustments[%d]", i)
		switch {
		case a.ID == "" || a.Type == "":
			return invalid(path, "An adjustment needs an id and a type.")
		case !slices.Contains([]string{"pending", "completed", "failed"}, a.Status):
			return invalid(path+".status", "The status must be pending, completed or failed.")
		case !isTime(a.OccurredAt):
			return invalid(path+".occurred_at", "The time must be one of RFC 3339.")
		}
	}
	return nil
}

func checkEvents(events []model.FulfillmentEvent) error {
	if len(events) > mostEvents {
		return invalid("$.fulfillment.events", "There are more than %d events.", mostEvents)
	}
	for i, e := range events {
		path := fmt.Sprintf("$.fulfillment.events[%d]", i)
		_, noURL := url.Parse(e.TrackingURL)
		switch {
		case e.ID == "" || e.Type == "":
			return invalid(path, "An event needs an id and a type.")
		case !isTime(e.OccurredAt):
			return invalid(path+".occurred_at", "The time must be one of RFC 3339.")
		case noURL != nil:
			return invalid(path+".tracking_url", "The tracking_url must be a URL.")
		}
		for n, line := range e.LineItems {
			if line.ID == "" || line.Quantity < 1 {
				return invalid(fmt.Sprintf("%s.line_items[%d]", path, n), "A line needs an id and a quantity of at least 1.")
			}
		}
	}
	return nil
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// simulateShipping sends an order, for whoever knows the secret: an endpoint of the public suite, not of UCP.
func (in *Inbound) simulateShipping(ctx context.Context, c call) (*result, error) {
	given, wanted := sha256.Sum256([]byte(c.secret)), sha256.Sum256([]byte(in.options.SimulationSecret))
	if subtle.ConstantTimeCompare(given[:], wanted[:]) != 1 {
		return nil, &problem{
			status: http.StatusForbidden, code: "FORBIDDEN", detail: "The Simulation-Secret is missing or wrong.", transient: true,
		}
	}
	kept, err := in.changeOrder(ctx, c.id, func(kept *keptOrder) {
		o := &kept.Order
		if len(o.Fulfillment.Events) >= mostEvents {
			return
		}
		event := model.FulfillmentEvent{
			ID: "event_" + uuid.NewString(), Type: "shipped", OccurredAt: time.Now().UTC().Format(time.RFC3339),
			LineItems: []model.LineQuantity{}, TrackingNumber: "SIMULATED", TrackingURL: "https://example.com/track/SIMULATED",
		}
		for _, line := range o.LineItems {
			event.LineItems = append(event.LineItems, model.LineQuantity{ID: line.ID, Quantity: line.Quantity.Total})
		}
		o.Fulfillment.Events = append(o.Fulfillment.Events, event)
	})
	if err != nil {
		return nil, err
	}
	if err := in.courier.shipped(ctx, kept); err != nil {
		return nil, err
	}
	return &result{status: http.StatusOK, body: struct {
		Status string `json:"status"`
	}{"shipped"}}, nil
}
