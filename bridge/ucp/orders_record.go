package ucp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/webhook"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// errLater says that somebody else has stated something about the order, which is observed soon.
var errLater = errors.New("ucp: orders: something else was stated first")

// bringUp records what was told of an order, and asks for it if it is time.
func (d *orderDesk) bringUp(ctx context.Context, f *followed, e adapter.Enactment) error {
	standing := model.StandingOf(e.Instances())
	waiting, err := d.orders.waiting(ctx, f.prefix)
	if err != nil {
		return err
	}
	placed := placedBy(&standing)
	if placed == nil {
		for _, t := range waiting {
			d.diverged(ctx, e, "the shop tells of an order of a checkout that has become none", t.Order)
			if err := d.orders.forget(ctx, t); err != nil {
				return err
			}
		}
		return nil
	}
	id, err := orderID(placed)
	if err != nil {
		return err
	}
	if err := d.reopen(ctx, f, e); err != nil {
		return err
	}
	var outdated []told
	for _, t := range waiting {
		// What is older than what was seen says nothing: whether there is anything newer is seen.
		if t.Order == nil || t.At.Before(f.work.looked) && !t.At.IsZero() {
			outdated = append(outdated, t)
			continue
		}
		if err := d.record(ctx, f, e, t, id); err != nil {
			return err
		}
	}
	looked := f.work.looked
	if len(outdated) > 0 && !d.blind.Load() {
		if soon := looked.Add(soonest); f.work.look.IsZero() || soon.Before(f.work.look) {
			f.work.look = soon
		}
	}
	if !f.work.look.IsZero() && !time.Now().Before(f.work.look) {
		if err := d.see(ctx, f, e, placed, id); err != nil {
			return err
		}
	} else if len(outdated) > 0 && !f.work.look.IsZero() {
		return nil
	}
	for _, t := range outdated {
		if f.work.looked.After(looked) || t.Order == nil {
			err = d.orders.forget(ctx, t)
		} else {
			err = d.record(ctx, f, e, t, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record states one thing that was told.
func (d *orderDesk) record(ctx context.Context, f *followed, e adapter.Enactment, t told, id string) error {
	if about, _ := t.Order["id"].(string); about != id {
		d.diverged(ctx, e, "the shop tells of another order than the checkout has become", t.Order)
	} else if err := d.state(ctx, f, e, t.Event, t.Order); err != nil {
		return err
	}
	return d.orders.forget(ctx, t)
}

// reopen notes where the checkout was opened, should that have failed when the shop told its id.
func (d *orderDesk) reopen(ctx context.Context, f *followed, e adapter.Enactment) error {
	if f.work.opened {
		return nil
	}
	at := d.origin
	at.Enactment = e.Key()
	err := d.orders.open(ctx, f.checkout, at)
	f.work.opened = err == nil
	return err
}

// see asks for an order, and states what it has become.
func (d *orderDesk) see(ctx context.Context, f *followed, e adapter.Enactment, placed *enactment.Instance, id string) error {
	began := time.Now()
	response, err := d.bridge.Ask(ctx, e, bridge.Query{
		Operation: "order_get", Arguments: map[string]string{"id": id}, About: *placed, Step: "order",
	})
	if errors.Is(err, bridge.ErrNoQuery) || errors.As(err, new(*policy.DeniedError)) {
		d.log.WarnContext(ctx, "ucp: orders may not be asked for", "error", err)
		d.blind.Store(true)
		f.work.look = time.Time{}
		return nil
	}
	if err != nil {
		return err
	}
	order, err := d.seen(response, f.checkout, id)
	switch {
	case err != nil && response.Status < http.StatusInternalServerError && response.Status != http.StatusTooManyRequests:
		// The shop has no such thing, or not this one: its webhooks are all that there is.
		d.log.InfoContext(ctx, "ucp: the order cannot be seen at the shop", "enactment", e.Key(), "error", err)
		f.work.look = time.Time{}
		return nil
	case err != nil:
		return err
	}
	f.work.looked = began
	text, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("ucp: orders: %w", err)
	}
	if err := d.state(ctx, f, e, "seen:"+hashOf(string(text)), order); err != nil {
		return err
	}
	f.work.look = time.Time{}
	if look := d.orders.options.Look; look > 0 && !f.work.full && !Delivered(f.work.said) {
		f.work.look = time.Now().Add(jitter(look))
	}
	return nil
}

// seen reads the answer to a look.
func (d *orderDesk) seen(response bridge.Response, checkout, id string) (wire.Object, error) {
	order, err := wire.Decode(response.Body)
	if err != nil || response.Status != http.StatusOK || len(response.Body) > webhook.MaximumBody {
		return nil, fmt.Errorf("ucp: orders: the order is answered with status %d", response.Status)
	}
	if order["id"] != id || order["checkout_id"] != checkout {
		return nil, errors.New("ucp: orders: what is answered is not the order")
	}
	// UCP 2026-04-08, order REST binding, conformance: messages are looked at before the order is.
	if ucp, _ := order["ucp"].(wire.Object); ucp["status"] == "error" {
		return nil, errors.New("ucp: orders: the order is answered with an error")
	}
	return order, nil
}

// state states a change of the order, unless that says nothing new.
func (d *orderDesk) state(ctx context.Context, f *followed, e adapter.Enactment, event string, order wire.Object) error {
	notice, err := noticeOf(order)
	if err == nil {
		notice, err = d.bridge.WithoutSecrets(e, notice)
	}
	if err != nil {
		return err
	}
	revision, said := f.work.revision, f.work.said
	for i := range e.Instances() {
		if at := revisionOf(&i); at >= revision && (i.Action == "Offered" || i.Action == "NeedsInput" || i.Action == "OrderChanged") {
			revision = at
			if i.Action == "OrderChanged" {
				said, _ = i.Value("notice")
			}
		}
		if i.Action == "OrderChanged" && i.Attempt == attemptOf(event, revisionOf(&i)) {
			return nil // It was stated before the process that was told of it died.
		}
	}
	f.work.revision, f.work.said = revision, said
	if said.Equal(notice) {
		return nil
	}
	if revision >= mostRevised {
		if !f.work.full {
			f.work.full = true
			d.log.WarnContext(ctx, "ucp: the order has changed too often, and is followed no more", "enactment", e.Key(), "revision", revision)
		}
		return nil
	}
	var key map[string]enactment.Value
	if err := json.Unmarshal([]byte(e.Key()), &key); err != nil {
		return fmt.Errorf("ucp: orders: enactment %s: %w", e.Key(), err)
	}
	answer := bridge.Answer{ID: attemptOf(event, revision+1), Action: "OrderChanged", Values: enactment.Values{
		"cid": key["cid"], "rev": enactment.MustValue(revision + 1), "notice": notice,
	}}
	values := make(adapter.Values, len(answer.Values))
	for name, value := range answer.Values {
		values[name] = value
	}
	err = d.bridge.Adapter().Attempt(ctx, answer.Action, values, adapter.WithAttemptID(answer.ID)).Err(ctx)
	var refused *enactment.Rejection
	switch {
	case err == nil:
		f.work.revision, f.work.said = revision+1, notice
		return nil
	case errors.As(err, &refused) && outdated(refused):
		return errLater
	case errors.As(err, &refused):
		d.bridge.Diverged(ctx, bridge.Divergence{
			Enactment: e.Key(), Action: "OrderChanged", Step: "order", Attempt: &answer, Rejection: refused,
			Detail: fmt.Sprintf("a change of the order was refused: %v", refused),
		})
		return nil
	}
	return err
}

// attemptOf names the attempt to state an event as a revision, which is the same for whoever attempts it.
func attemptOf(event string, revision int64) string {
	return "order:" + hashOf(event, fmt.Sprint(revision))
}

// aboutTheMessage are members that are about the message in which an order came; the last two are of 2026-01-23.
var aboutTheMessage = []string{"ucp", "event_id", "created_time"}

// noticeOf is an order as it is stated.
func noticeOf(order wire.Object) (enactment.Value, error) {
	plain := maps.Clone(order)
	for _, name := range aboutTheMessage {
		delete(plain, name)
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return enactment.Value{}, fmt.Errorf("ucp: orders: %w", err)
	}
	return enactment.ParseValue(text)
}

// diverged raises what a shop says of an order that cannot be so.
func (d *orderDesk) diverged(ctx context.Context, e adapter.Enactment, detail string, order wire.Object) {
	facts := enactment.Values{}
	if id, ok := order["id"].(string); ok {
		facts["order"] = enactment.MustValue(id)
		detail += ": " + id
	}
	d.bridge.Diverged(ctx, bridge.Divergence{Enactment: e.Key(), Action: "OrderChanged", Step: "order", Facts: facts, Detail: detail})
}

// revisionOf gives the revision that an instance is about; -1 if it is about none.
func revisionOf(i *enactment.Instance) int64 {
	revision := int64(-1)
	if value, ok := i.Value("rev"); !ok || value.Decode(&revision) != nil {
		return -1
	}
	return revision
}

// Delivered tells whether nothing of an order is still to come, by the notice of an OrderChanged: of each line all was
// delivered, or nothing is left of it.
func Delivered(notice enactment.Value) bool {
	var order model.Order
	if notice.IsZero() || notice.Decode(&order) != nil || len(order.LineItems) == 0 {
		return false
	}
	arrived := make(map[string]int64)
	for _, event := range order.Fulfillment.Events {
		if event.Type == "delivered" {
			for _, line := range event.LineItems {
				arrived[line.ID] += line.Quantity
			}
		}
	}
	for _, line := range order.LineItems {
		if arrived[line.ID] < line.Quantity.Total {
			return false
		}
	}
	return true
}
