package ucp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// find gives the checkout of a wire id.
func (in *Inbound) find(id string) (*session, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s, ok := in.sessions[id]; ok {
		s.used = time.Now()
		return s, nil
	}
	return nil, notFound("Checkout session", id)
}

// showing answers with the checkout as it is.
func (in *Inbound) showing(ctx context.Context, status int, s *session) (int, any, error) {
	v, err := in.view(ctx, s)
	if err != nil {
		return 0, nil, err
	}
	return status, v, nil
}

func (in *Inbound) get(ctx context.Context, c call) (int, any, error) {
	s, err := in.find(c.id)
	if err != nil {
		return 0, nil, err
	}
	return in.showing(ctx, http.StatusOK, s)
}

// create starts a chain.
func (in *Inbound) create(ctx context.Context, c call) (int, any, error) {
	wanted, err := readAsked(c.body)
	if err != nil {
		return 0, nil, err
	}
	if wanted.LineItems == nil {
		return 0, nil, invalid("$.line_items", "line_items are missing.")
	}
	contents, err := wanted.merge(Contents{LineItems: null, Buyer: null, Fulfillment: null, Discounts: null})
	if err != nil {
		return 0, nil, err
	}
	s, err := in.open(ctx, sessionPrefix+c.token)
	if errors.Is(err, errFull) {
		return 0, nil, &problem{
			status: http.StatusServiceUnavailable, code: "TOO_MANY_CHECKOUTS", transient: true,
			detail: "There are too many open checkouts.",
		}
	}
	if err != nil {
		return 0, nil, err
	}
	in.mu.Lock()
	m := s.first()
	s.heard(wanted, contents)
	in.mu.Unlock()
	if err := in.bind(ctx, s, m, contents); err != nil {
		if p, ok := errors.AsType[*problem](err); ok && !p.transient {
			in.mu.Lock()
			in.drop(s)
			in.mu.Unlock()
		} else if !c.repeatable {
			in.abandon(ctx, s)
		}
		return 0, nil, err
	}
	status, v, err := in.showing(ctx, http.StatusCreated, s)
	if err != nil && !c.repeatable {
		in.abandon(ctx, s)
	}
	return status, v, err
}

// bind attempts Create in an enactment and waits for the Business to price it. It fails with a problem if the Business
// refuses, and if it has not answered in time.
func (in *Inbound) bind(ctx context.Context, s *session, m *member, contents Contents) error {
	const what = "The checkout"
	in.mu.Lock()
	happened := m.facts().create != nil
	in.mu.Unlock()
	if happened { // The request is repeated.
		return in.priced(ctx, s, m, what)
	}
	values := adapter.Values{
		"cid": m.cid, "line_items": contents.LineItems, "buyer": contents.Buyer, "fulfillment": contents.Fulfillment,
	}
	if in.carriesDiscounts {
		values["discounts"] = contents.Discounts
	}
	if err := in.agent.Attempt(ctx, "Create", values, adapter.WithAttemptID("create:"+m.cid)).Err(ctx); err != nil {
		return refusedBy(err, what)
	}
	return in.priced(ctx, s, m, what)
}

// priced waits for the Business to price an enactment.
func (in *Inbound) priced(ctx context.Context, s *session, m *member, what string) error {
	var f facts
	if err := in.await(ctx, s, func() bool { f = m.facts(); return f.answered() }); err != nil {
		return unanswered(what)
	}
	if f.refused != nil {
		return refusal(*f.refused)
	}
	return nil
}

// update makes the chain's contents what the platform asks for.
func (in *Inbound) update(ctx context.Context, c call) (int, any, error) {
	s, err := in.find(c.id)
	if err != nil {
		return 0, nil, err
	}
	wanted, err := readAsked(c.body)
	if err != nil {
		return 0, nil, err
	}
	if wanted.ID != nil && *wanted.ID != c.id {
		return 0, nil, invalid("$.id", "The body is about another checkout than the path.")
	}
	release, err := in.take(ctx, s)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	now, err := in.now(s)
	if err != nil {
		return 0, nil, err
	}
	// The protocol knows no change, so the engine cannot say whether there may be one: it would let the next enactment be
	// created, and a Cancel of the one in force even after Completed.
	if status := now.facts.status(true); status != "ready_for_complete" {
		return 0, nil, notModifiable("The checkout cannot be changed: %s.", describe(status))
	}
	before := now.contents
	if !in.carriesDiscounts {
		before.Discounts = now.codes
	}
	contents, err := wanted.merge(before)
	if err != nil {
		return 0, nil, err
	}
	asShown, err := in.asShown(ctx, before)
	if err != nil {
		return 0, nil, err
	}
	again, err := wanted.merge(asShown)
	if err != nil {
		return 0, nil, err
	}
	if !in.same(contents, before) && !in.same(again, asShown) {
		if err := in.replace(ctx, s, now.member, contents); err != nil {
			return 0, nil, err
		}
	}
	in.mu.Lock()
	s.heard(wanted, contents)
	in.mu.Unlock()
	return in.showing(ctx, http.StatusOK, s)
}

// same tells whether there is no difference that would be bound.
func (in *Inbound) same(a, b Contents) bool {
	return a.LineItems.Equal(b.LineItems) && a.Buyer.Equal(b.Buyer) && a.Fulfillment.Equal(b.Fulfillment) &&
		(!in.carriesDiscounts || a.Discounts.Equal(b.Discounts))
}

// asShown gives contents with fulfillment as the platform was shown it, which has ids that the platform did not give: a
// platform that sends back what it was shown changes nothing.
func (in *Inbound) asShown(ctx context.Context, contents Contents) (Contents, error) {
	p, err := in.present(ctx, contents)
	if err != nil {
		return Contents{}, err
	}
	if p.Fulfillment == nil {
		return contents, nil
	}
	shown, err := json.Marshal(p.Fulfillment)
	if err != nil {
		return Contents{}, fmt.Errorf("ucp: inbound: encode fulfillment: %w", err)
	}
	contents.Fulfillment, err = mergeFulfillment(shown, null)
	return contents, err
}

// take waits for the turn to change the chain. Only what adds to a chain takes turns; payments and cancellations meet
// it in the engine.
func (in *Inbound) take(ctx context.Context, s *session) (release func(), err error) {
	select {
	case <-s.turn:
		return func() { s.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, &problem{
			status: http.StatusServiceUnavailable, code: "BUSY", transient: true, detail: "The checkout is being changed by another request.",
		}
	}
}

// replace puts an enactment with other contents in the place of the one in force: first the new one is created, then
// the old one is cancelled in its favour. It fails with a problem, and the old one stays in force, if the Business
// refuses the new one, or if the old one is paid for first.
func (in *Inbound) replace(ctx context.Context, s *session, old *member, contents Contents) error {
	const what = "The change"
	in.mu.Lock()
	if s.changes() >= in.options.Changes {
		in.mu.Unlock()
		return &problem{
			status: http.StatusConflict, code: "TOO_MANY_CHANGES",
			detail: "The checkout has been changed too often: create another, or complete or cancel this one.",
		}
	}
	m := s.next()
	m.wanted = true
	in.mu.Unlock()
	err := in.bind(ctx, s, m, contents)
	if err == nil {
		// What cannot be shown must not be put in force: nobody could look at the checkout any more, or change it.
		_, err = in.present(ctx, contents)
	}
	if err != nil {
		in.giveUp(ctx, s, m)
		return err
	}
	// Not with ctx, for if this were given up before it is decided, the new one would have to be cancelled, and might
	// be in force nevertheless.
	cancel := in.agent.Attempt(context.WithoutCancel(ctx), "Cancel", adapter.Values{"cid": old.cid}, adapter.WithAttemptID(replacing+m.cid))
	if err := cancel.Err(ctx); err != nil {
		select {
		case <-cancel.Done():
			in.giveUp(ctx, s, m)
		default:
			go func() {
				<-cancel.Done()
				in.giveUp(ctx, s, m)
			}()
		}
		return refusedBy(err, what)
	}
	var f facts
	err = in.await(ctx, s, func() bool { f = old.facts(); return f.cancel != nil && f.ended() })
	in.giveUp(ctx, s, m)
	switch {
	case err != nil:
		return unanswered(what)
	case f.completed != nil:
		return notModifiable("The change came too late: the checkout has been completed.")
	}
	return nil
}

// giveUp ends the wait to put an enactment in force. If it is in force, or will be when the Cancel of the one before is
// answered, nothing comes of that; if it cannot be any more, it is cancelled, now or when the Business has created it.
func (in *Inbound) giveUp(ctx context.Context, s *session, m *member) {
	in.mu.Lock()
	m.wanted = false
	in.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.options.AnswerTimeout)
	defer cancel()
	in.sweep(ctx, s)
}

// cancel ends the chain.
func (in *Inbound) cancel(ctx context.Context, c call) (int, any, error) {
	const what = "The cancellation"
	s, err := in.find(c.id)
	if err != nil {
		return 0, nil, err
	}
	release, err := in.take(ctx, s)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	now, err := in.now(s)
	if err != nil {
		return 0, nil, err
	}
	attempt := "cancel:" + c.token + ":"
	m := in.memberWith(s, "Cancel", attempt)
	if m == nil {
		// The engine would accept a Cancel after Completed or Declined, which nobody could answer then.
		if status := now.facts.status(true); status == "completed" || status == "canceled" {
			return 0, nil, notModifiable("The checkout cannot be canceled: %s.", describe(status))
		}
		m = now.member
		cancel := in.agent.Attempt(ctx, "Cancel", adapter.Values{"cid": m.cid}, adapter.WithAttemptID(attempt+m.cid))
		if err := cancel.Err(ctx); err != nil {
			return 0, nil, refusedBy(err, what)
		}
	}
	var f facts
	if err := in.await(ctx, s, func() bool { f = m.facts(); return f.cancel != nil && f.ended() }); err != nil {
		return 0, nil, unanswered(what)
	}
	if f.completed != nil {
		return 0, nil, notModifiable("The cancellation came too late: the checkout has been completed.")
	}
	return in.showing(ctx, http.StatusOK, s)
}

// memberWith gives the enactment of the chain in which an action happened by an attempt of a request, the beginning of
// whose id is given; its end is the cid. A request that is repeated after its outcome was unknown is about that one,
// whatever is in force by now. It is nil if there is none.
func (in *Inbound) memberWith(s *session, action, attempt string) *member {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range s.members {
		f := m.facts()
		for _, done := range []*enactment.Instance{f.complete, f.cancel} {
			if done != nil && done.Action == action && done.Attempt == attempt+m.cid {
				return m
			}
		}
	}
	return nil
}

// describe says in words what a status means for whoever wants to change the checkout.
func describe(status string) string {
	switch status {
	case "completed":
		return "it has been completed"
	case "canceled":
		return "it has been canceled"
	case "complete_in_progress":
		return "its payment is being taken"
	default:
		return "it is being canceled or replaced"
	}
}

// abandon gives up a checkout that nobody has been told of. It is cancelled, now or when the Business has created it.
func (in *Inbound) abandon(ctx context.Context, s *session) {
	in.mu.Lock()
	s.abandoned = true
	in.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.options.AnswerTimeout)
	defer cancel()
	in.sweep(ctx, s)
}
