package shopper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/enactment"
)

// StepwiseOptions configure a [Stepwise].
type StepwiseOptions struct {
	// Decide is asked about each bill that may be paid. Its Pay is the body of UCP's complete request.
	Decide func(Bill) Decision
	// Show shows the buyer a warning, before anything is paid, each once and those that may not be hidden first. It may be
	// nil: then the bridge has to be told so (see [ucp.OutboundOptions.Discloses]), for nothing is paid of which something
	// would have to be shown.
	Show func(ucp.Message)
	// HandOff is told where the buyer has to go on, and why. It may be nil: then such a checkout is cancelled.
	HandOff func(url string, why []ucp.Message)
	// Changed is told what has become of an order that was placed, each time that the shop says so, with the order in the
	// model of package wire. It should return soon. It may be nil.
	Changed func(cid string, order enactment.Value)
	// Mandate makes the mandate for a checkout that is going to be paid, where shop and platform have agreed on mandates. It
	// may be nil: then such a checkout is cancelled.
	Mandate mandate.Signer
	// PlainPages has the buyer sent to pages of http as well, as a shop may have that is not on https itself.
	PlainPages bool
	// Currency is the one to buy in, an ISO 4217 code.
	Currency string
}

// Stepwise is a Platform agent of ucp-incremental. It fills in a checkout step by step: whatever the Business states, it
// first does what it can (arrange the delivery), then hands off what needs the buyer, and pays what may be paid. What it
// asks for is the same whenever it is told the same, so that it can be played again after a restart.
type Stepwise struct {
	agent   *adapter.Adapter
	options StepwiseOptions
	choices ucp.Choices

	mu        sync.Mutex
	checkouts map[enactment.Key]*purchase
}

// purchase is what the agent knows of a checkout. Its fields belong to the handlers of the enactment, which run one at a
// time; ended has room for one.
type purchase struct {
	wish    Wish
	codes   []string       // that are still asked for
	dropped []RejectedCode // that are not any more
	move    string         // the last for the delivery
	// fulfillment is what was asked for last.
	fulfillment any
	order       enactment.Value
	bill        Bill
	why         string // it was cancelled
	declined    enactment.Value
	rejected    string // the shop's words for the last update
	retries     int    // of the payment, after the buyer was sent to the shop
	shown       map[ucp.Message]bool
	ended       chan Ending
}

// NewStepwise makes a shopper that plays Platform of ucp-incremental on an executor.
func NewStepwise(rules *enactment.Rules, executor adapter.Executor, options StepwiseOptions, more ...adapter.Option) (*Stepwise, error) {
	agent, err := adapter.New(rules, "Platform", executor, more...)
	if err != nil {
		return nil, fmt.Errorf("shopper: %w", err)
	}
	s := &Stepwise{agent: agent, options: options, checkouts: make(map[enactment.Key]*purchase)}
	on := func(action string, handle func(context.Context, *purchase, adapter.Observation) error) {
		agent.OnObservation(action, func(ctx context.Context, o adapter.Observation) error {
			p := s.purchase(o.Enactment.Key())
			if p == nil {
				return nil // Somebody else's, or nobody waits for it any more.
			}
			return handle(ctx, p, o)
		})
	}
	on("Offered", s.offered)
	on("NeedsInput", s.needsInput)
	on("Rejected", func(_ context.Context, p *purchase, o adapter.Observation) error {
		notice, _ := o.Value("notice")
		p.rejected = wordsOf(notice)
		return nil
	})
	on("Declined", func(_ context.Context, p *purchase, o adapter.Observation) error {
		p.declined, _ = o.Value("notice")
		return nil
	})
	on("Completed", func(_ context.Context, p *purchase, o adapter.Observation) error {
		p.order, _ = o.Value("order")
		return nil
	})
	// A purchase is whole when the platform has said that it has the order.
	agent.OnEnabled("Receipt", func(ctx context.Context, f *adapter.FeasibleAction) error {
		p := s.purchase(f.Enactment.Key())
		if p == nil {
			return nil
		}
		if err := f.Attempt(ctx).Err(ctx); err != nil && !refused(err) {
			return err
		}
		p.end("Completed", p.order)
		return nil
	})
	for action, says := range map[string]string{
		"BuyerCompleted": "order", "Refused": "reason", "Cancelled": "", "Expired": "",
	} {
		on(action, func(_ context.Context, p *purchase, o adapter.Observation) error {
			said, _ := o.Value(says)
			p.end(action, said)
			return nil
		})
	}
	agent.OnObservation("OrderChanged", s.changed)
	return s, nil
}

// changed notes what has become of an order, whether or not anybody still waits for the checkout.
func (s *Stepwise) changed(ctx context.Context, o adapter.Observation) error {
	var now statement
	now.cid, _ = o.Value("cid")
	now.rev, _ = o.Value("rev")
	if err := s.attempt(ctx, "Noted", now, adapter.Values{}); err != nil {
		return err
	}
	if s.options.Changed != nil {
		var cid string
		if err := now.cid.Decode(&cid); err != nil {
			return fmt.Errorf("shopper: %w", err)
		}
		notice, _ := o.Value("notice")
		s.options.Changed(cid, notice)
	}
	return nil
}

// offered is called when the checkout may be paid.
func (s *Stepwise) offered(ctx context.Context, p *purchase, o adapter.Observation) error {
	now := readStatement(o)
	s.show(p, now)
	switch handled, err := s.before(ctx, p, now); {
	case handled || err != nil:
		return err
	case !p.declined.IsZero():
		p.end("Declined", p.declined) // Another card might do, but there is none.
		return nil
	}
	p.bill = now.bill
	if !now.bill.AddsUp() { // The protocol lets through none that does not, so it has a form that is not understood here.
		return s.cancel(ctx, p, now, "the bill cannot be read")
	}
	p.bill.Discounts = discountsOf(p.codes, now)
	p.bill.Discounts.Rejected = append(p.bill.Discounts.Rejected, p.dropped...)
	decision := s.options.Decide(p.bill)
	if decision.Cancel || decision.Pay == nil {
		return s.cancel(ctx, p, now, decision.Why)
	}
	pay, err := s.mandated(ctx, now, decision.Pay)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return s.cancel(ctx, p, now, "there is no mandate: "+err.Error())
	}
	return s.attempt(ctx, "Complete", now, adapter.Values{"cause": "the bill is agreed to", "credential": pay})
}

// mandated gives what pays with a mandate, if it has to have one.
func (s *Stepwise) mandated(ctx context.Context, now statement, pay any) (any, error) {
	if now.checkout.AP2.Checkout == "" {
		return pay, nil
	}
	if s.options.Mandate == nil {
		return nil, errors.New("nobody makes one")
	}
	body, ok := pay.(map[string]any)
	if !ok {
		return nil, errors.New("there is no place for it")
	}
	token, err := s.options.Mandate.Sign(ctx, []byte(now.checkout.AP2.Checkout))
	if err != nil {
		return nil, err
	}
	body = maps.Clone(body)
	body["ap2"] = map[string]any{"checkout_mandate": token}
	return body, nil
}

// needsInput is called when the checkout may not be paid yet. What the agent can do itself it does first (UCP 2026-04-08,
// checkout, error processing), then it sends the buyer.
func (s *Stepwise) needsInput(ctx context.Context, p *purchase, o adapter.Observation) error {
	now := readStatement(o)
	s.show(p, now)
	if handled, err := s.before(ctx, p, now); handled || err != nil {
		return err
	}
	errs := now.errors("")
	to := now.checkout.ContinueURL
	switch {
	case s.isPage(to) && s.options.HandOff != nil:
		if err := s.attempt(ctx, "HandOff", now, adapter.Values{}); err != nil {
			return err
		}
		// What was declined for want of the buyer, as by their bank, may be paid once they were there (UCP 2026-04-08,
		// overview, challenge required).
		if !p.declined.IsZero() && p.retries < mostRetries {
			p.retries++
			p.declined = enactment.Value{}
		}
		s.options.HandOff(to, errs)
		return nil
	case !p.declined.IsZero():
		p.end("Declined", p.declined)
		return nil
	default:
		return s.cancel(ctx, p, now, sentenceOf(errs))
	}
}

// mostRetries is how often a payment is made anew after the buyer was sent to the shop for it.
const mostRetries = 3

// LongestPage is how many bytes the URL of a page may have that a person is sent to: it has to be shown whole, and browsers
// take no more.
const LongestPage = 2048

// isPage tells that a URL is that of a page which a person can be sent to: an absolute one of https (UCP 2026-04-08, checkout,
// continue URL), and on this machine also of http.
func (s *Stepwise) isPage(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || len(address) > LongestPage {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && (s.options.PlainPages || guard.IsLoopback(address))
}

// mostWarnings is how many warnings a checkout may have. Nobody reads more, and all have to be shown.
const mostWarnings = 100

// before does what comes before paying and handing off; handled tells that the next statement is to be waited for.
func (s *Stepwise) before(ctx context.Context, p *purchase, now statement) (handled bool, err error) {
	final := slices.Concat(now.errors(ucp.SeverityFinal), now.withCode(ucp.CodeContentsDiffer), now.withCode(ucp.CodeCurrencyDiffers))
	switch {
	case p.rejected != "":
		return true, s.cancel(ctx, p, now, p.rejected)
	case now.unreadable:
		return true, s.cancel(ctx, p, now, "what the shop says of the checkout cannot be read")
	case len(final) > 0:
		return true, s.cancel(ctx, p, now, sentenceOf(final))
	case len(now.warnings()) > mostWarnings:
		return true, s.cancel(ctx, p, now, fmt.Sprintf("the shop has %d warnings, more than can be shown", len(now.warnings())))
	case !p.declined.IsZero():
		return false, nil
	}
	if unwanted := now.unwanted(p.codes); len(unwanted) > 0 {
		return true, s.drop(ctx, p, now, unwanted)
	}
	delivery, err := s.choices.Deliver(ctx, p.move, now.id, p.wish.Fulfillment, p.wish.Buyer, now.checkout.Fulfillment)
	var none *bridge.NoChoice
	switch {
	case errors.As(err, &none):
		why, err := enactment.ValueOf(none.Reason)
		if err != nil {
			return true, err
		}
		return true, s.cancel(ctx, p, now, wordsOf(why))
	case err != nil:
		return true, err
	case delivery.Move == ucp.DeliveryArranged:
		return false, nil
	}
	p.move, p.fulfillment = delivery.Move, delivery.Fulfillment
	return true, s.update(ctx, p, now, "the delivery is arranged: "+delivery.Move)
}

// update asks for the whole of what is wished for.
func (s *Stepwise) update(ctx context.Context, p *purchase, now statement, cause string) error {
	values := p.wish.asked(s.options.Currency, p.fulfillment, p.codes)
	values["line_items"] = now.named(p.wish.LineItems)
	values["cause"] = cause
	return s.attempt(ctx, "Update", now, values)
}

// drop asks for the same without some codes.
func (s *Stepwise) drop(ctx context.Context, p *purchase, now statement, unwanted []RejectedCode) error {
	for _, rejected := range unwanted {
		if at := slices.Index(p.codes, rejected.Code); at >= 0 {
			p.codes = slices.Delete(p.codes, at, at+1)
			p.dropped = append(p.dropped, rejected)
		}
	}
	return s.update(ctx, p, now, "some discount codes are left out")
}

// show shows the warnings of a statement, those first that may not be hidden (UCP 2026-04-08, checkout, warning
// presentation: every warning has to be displayed).
func (s *Stepwise) show(p *purchase, now statement) {
	warnings := now.warnings()
	if s.options.Show == nil || len(warnings) > mostWarnings {
		return
	}
	for _, disclosures := range []bool{true, false} {
		for _, m := range warnings {
			if (m.Presentation == "disclosure") == disclosures && !p.shown[m] {
				p.shown[m] = true
				s.options.Show(m)
			}
		}
	}
}

func (s *Stepwise) cancel(ctx context.Context, p *purchase, now statement, why string) error {
	p.why = strings.TrimSuffix(why, ".")
	return s.attempt(ctx, "Cancel", now, adapter.Values{})
}

// attempt attempts something about a statement. A refusal means that something else came first, and needs no answer: what
// that was is observed.
func (s *Stepwise) attempt(ctx context.Context, action string, now statement, values adapter.Values) error {
	values["cid"] = now.cid
	if action != "Cancel" {
		values["rev"] = now.rev
	}
	if err := s.agent.Attempt(ctx, action, values).Err(ctx); err != nil && ctx.Err() == nil && !refused(err) {
		return err
	}
	return nil
}

// Run plays Platform until ctx ends. It blocks, and may be called once.
func (s *Stepwise) Run(ctx context.Context) error { return s.agent.Run(ctx) }

// Buy starts a checkout and waits for its end: Completed, BuyerCompleted, Declined, Refused, Cancelled or Expired. It needs
// Run to run. The error is why the checkout could not be started, or the cause of ctx ending before anybody knew.
func (s *Stepwise) Buy(ctx context.Context, wish Wish) (Ending, error) {
	cid := cmp.Or(wish.ID, uuid.NewString())
	delivery, err := s.choices.Deliver(ctx, "", cid, wish.Fulfillment, wish.Buyer, nil)
	if err != nil {
		return Ending{}, fmt.Errorf("shopper: %w", err)
	}
	values := wish.asked(s.options.Currency, delivery.Fulfillment, wish.Codes)
	values["cid"], values["rev"], values["profile"] = cid, 0, ucp.DefaultProfile
	key, rejection := s.agent.Rules().KeyOf(enactment.Attempt{Action: "Create", Values: enactment.Values{"cid": enactment.MustValue(cid)}})
	if rejection != nil {
		return Ending{}, rejection
	}
	p := &purchase{
		wish: wish, codes: slices.Clone(wish.Codes), move: delivery.Move, fulfillment: delivery.Fulfillment,
		ended: make(chan Ending, 1), shown: make(map[ucp.Message]bool),
	}
	s.mu.Lock()
	s.checkouts[key] = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.checkouts, key)
	}()
	if err := s.agent.Attempt(ctx, "Create", values).Err(ctx); err != nil {
		return Ending{}, fmt.Errorf("shopper: %w", err)
	}
	select {
	case ending := <-p.ended:
		return ending, nil
	case <-ctx.Done():
		return Ending{}, context.Cause(ctx)
	}
}

func (s *Stepwise) purchase(key enactment.Key) *purchase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkouts[key]
}

func (p *purchase) end(action string, said enactment.Value) {
	select {
	case p.ended <- Ending{Action: action, Said: said, Bill: p.bill, Why: p.why}:
	default: // It has ended before: an observation may be handled twice.
	}
}

// asked is all that a revision asks for: whatever is not said is null, since an update replaces everything.
func (w Wish) asked(currency string, fulfillment any, codes []string) adapter.Values {
	var where, discounts any
	if len(w.Codes) > 0 { // None that is left clears those that were asked for.
		discounts = map[string]any{"codes": append([]string{}, codes...)}
	}
	if currency != "" {
		where = map[string]any{"currency": currency}
	}
	return adapter.Values{
		"line_items": w.LineItems, "buyer": w.Buyer, "fulfillment": fulfillment, "discounts": discounts, "instruments": nil, "context": where,
	}
}
