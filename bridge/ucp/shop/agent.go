package shop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// Agent makes the shop play Business in ucp-incremental on an executor. It does nothing before Run.
//
// The engine offers an action when the protocol allows it, and that tells that the platform has asked for something: a
// checkout may be refused as long as its creation is not answered, an update rejected, a payment completed, and so on.
// So the offer of each way to say no, or of what can only be an answer, is the moment to answer. Any checkout that has not
// ended might expire, so with that offer begins whatever another process has left undone.
func (s *Shop) Agent(rules *enactment.Rules, executor adapter.Executor, options ...adapter.Option) (*adapter.Adapter, error) {
	agent, err := adapter.New(rules, "Business", executor, append([]adapter.Option{adapter.WithLogger(s.log)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	for _, action := range []string{"Refused", "Rejected", "Completed", "Cancelled", "Expired"} {
		agent.OnEnabled(action, func(ctx context.Context, f *adapter.FeasibleAction) error {
			_, err := s.serve(ctx, agent, f.Enactment.Instances(), time.Now())
			return err
		})
	}
	return agent, nil
}

// patience is how long it may take to serve a customer. It is shorter than what is taken on hold is safe from others.
const patience = 20 * time.Second

// serve answers whatever the customer is owed at a moment, and gives how the checkout stands then.
func (s *Shop) serve(
	ctx context.Context, agent *adapter.Adapter, happened iter.Seq[enactment.Instance], now time.Time,
) (model.Standing, error) {
	c := &customer{shop: s, agent: agent, Standing: model.StandingOf(happened)}
	if c.Create == nil { // Nobody has wished for anything yet.
		return c.Standing, nil
	}
	answer := c.answer(now)
	if answer == nil {
		return c.Standing, nil
	}
	if cid, _ := c.Create.Value("cid"); cid.Decode(&c.cid) != nil {
		return c.Standing, fmt.Errorf("shop: the checkout's id is no string: %s", cid)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ; answer != nil; answer = c.answer(now) {
		if err := answer(ctx); err != nil {
			return c.Standing, forgiven(err)
		}
	}
	return c.Standing, nil
}

// answer gives how to answer what the customer is owed at a moment; nil if that is nothing.
func (c *customer) answer(now time.Time) func(context.Context) error {
	switch c.Owed() {
	case model.AnswerCreate, // somebody wishes for goods
		model.AnswerUpdate, // somebody changes their mind
		model.Reopen:       // somebody was told no, and may go on
		return c.price
	case model.Settle: // somebody pays
		return c.sell
	case model.Confirm:
		return c.cancel
	}
	if !c.Ended() && c.Expires().Before(now) { // nobody has paid in time
		return c.expire
	}
	return nil
}

// forgiven forgives a refusal because something else was first: the engine has decided, and what has happened instead is
// going to be offered.
func forgiven(err error) error {
	if errors.Is(err, enactment.Excluded) || errors.Is(err, enactment.AlreadyHappened) || errors.Is(err, enactment.Blocked) {
		return nil
	}
	return err
}

// customer is one checkout, and how it stands while it is served.
type customer struct {
	model.Standing
	shop  *Shop
	agent *adapter.Adapter
	cid   string
}

// say attempts an action of the business.
func (c *customer) say(ctx context.Context, action string, values adapter.Values, options ...adapter.AttemptOption) error {
	values["cid"] = c.cid
	outcome, err := c.agent.Attempt(ctx, action, values, options...).Outcome(ctx)
	if err != nil {
		return err
	}
	if err := outcome.Err(); err != nil {
		return err
	}
	c.Fold(&outcome.Instance)
	return nil
}

// expiryForm is RFC 3339 to the millisecond, since many a reader of times refuses more.
const expiryForm = "2006-01-02T15:04:05.000Z07:00"

// price says what the wish comes to, or why there is no answer to it: then nothing changes for the customer.
func (c *customer) price(ctx context.Context) error {
	asked, changing := c.Asked, c.Owed() == model.AnswerUpdate
	if changing {
		asked = c.Update
	}
	statement, err := c.shop.Price(ctx, asked)
	expires := c.Expires()
	if c.Statement == nil {
		expires = time.Now().Add(c.shop.Life)
	}
	statement.Body.ExpiresAt = expires.UTC().Format(expiryForm)
	if c.shop.ContinueURL != "" {
		statement.Body.ContinueURL = c.shop.ContinueURL + c.cid
	}
	again := !changing && c.Statement != nil
	if no, refused := errors.AsType[*model.No](err); refused {
		if !again {
			return c.refuse(ctx, no)
		}
		// What was said before cannot be had any more; it stays to be looked at, changed or cancelled.
		statement, err = c.unavailable(no)
	}
	if err != nil {
		return err
	}
	action := "Offered"
	if !statement.Ready() {
		action = "NeedsInput"
	}
	err = c.say(ctx, action, adapter.Values{
		"rev": c.Revision + 1, "id": c.cid, "checkout": statement.Body, "messages": statement.Messages,
		"currency": c.shop.Currency, "totals": statement.Totals,
	})
	if errors.Is(err, enactment.Malformed) && !again { // The log does not take it, and the customer is owed an answer.
		c.shop.log.WarnContext(ctx, "shop: a statement cannot be made", "checkout", c.cid, "error", err)
		return c.refuse(ctx, model.Refuse("invalid", "$", "That is more than one checkout can hold."))
	}
	return err
}

// refuse says no to what was wished for.
func (c *customer) refuse(ctx context.Context, no *model.No) error {
	if c.Statement == nil {
		return c.say(ctx, "Refused", adapter.Values{"reason": no})
	}
	return c.say(ctx, "Rejected", adapter.Values{"rev": c.Revision, "notice": no})
}

// unavailable says again what was said last, and why it cannot be paid.
func (c *customer) unavailable(no *model.No) (Statement, error) {
	var again Statement
	var err error
	if again.Body, again.Totals, err = c.ReadStatement(); err != nil {
		return Statement{}, fmt.Errorf("shop: the last statement: %w", err)
	}
	again.Messages = []model.Message{errorOf(no)}
	return again, nil
}

// sell takes the goods off the shelf, then the money, and writes the order; or says why not.
func (c *customer) sell(ctx context.Context) error {
	wish, err := model.ReadWish(c.Asked)
	if err != nil {
		return err
	}
	pieces := wish.Pieces()
	products := make([]string, 0, len(pieces))
	for product := range pieces {
		products = append(products, product)
	}
	hold := holdOf(c.cid, c.Revision)
	token, err := c.shop.Stock.Take(ctx, hold, pieces)
	if shortage, short := errors.AsType[*Shortage](err); short {
		return c.decline(ctx, outOfStock("$.line_items", shortage))
	}
	if err != nil {
		return err
	}
	giveBack := func() error { return c.shop.Stock.GiveBack(ctx, hold, token, products) }
	payment, err := c.payment(hold)
	if err != nil {
		return err
	}
	err = c.shop.Payments.Take(ctx, payment)
	if no, declined := errors.AsType[*model.No](err); declined {
		if err := giveBack(); err != nil {
			return err
		}
		return c.decline(ctx, no)
	}
	if err != nil {
		return err
	}
	order, err := c.order()
	if err != nil {
		return err
	}
	err = c.say(ctx, "Completed", adapter.Values{"rev": c.Revision, "order": order}, adapter.WithAttemptID(soldBy(token)))
	switch {
	case err == nil:
		return c.shop.Stock.Sold(ctx, hold, token, products)
	case errors.Is(err, enactment.AlreadyHappened): // It is paid for, with other goods in hand.
		if failure := giveBack(); failure != nil {
			return failure
		}
		return err
	case errors.Is(err, enactment.Excluded):
		return errors.Join(c.shop.Payments.GiveBack(ctx, hold), giveBack())
	}
	return err
}

// payment is what the customer pays with, for what they have agreed to.
func (c *customer) payment(name string) (Payment, error) {
	p := Payment{Name: name, Checkout: c.cid}
	totals, err := model.ReadTotals(c.Complete)
	if err != nil {
		return Payment{}, fmt.Errorf("shop: the payment: %w", err)
	}
	for _, total := range totals {
		if total.Type == "total" {
			p.Amount = total.Amount
		}
	}
	value, _ := c.Complete.Value("currency")
	if err := value.Decode(&p.Currency); err != nil {
		return Payment{}, fmt.Errorf("shop: currency of the payment: %w", err)
	}
	p.Instrument, _ = c.Complete.Value("credential")
	return p, nil
}

func (c *customer) decline(ctx context.Context, no *model.No) error {
	return c.say(ctx, "Declined", adapter.Values{"rev": c.Revision, "notice": no})
}

// cancel lets the customer go.
func (c *customer) cancel(ctx context.Context) error {
	return c.say(ctx, "Cancelled", adapter.Values{})
}

// expire takes back what was offered. Whoever else finds the checkout so at the same time makes the same attempt.
func (c *customer) expire(ctx context.Context) error {
	return c.say(ctx, "Expired", adapter.Values{}, adapter.WithAttemptID("expired:"+c.cid))
}
