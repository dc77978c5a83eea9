package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// complete pays.
func (in *Inbound) complete(ctx context.Context, c call) (*result, error) {
	const what = "The payment"
	instrument, given, err := in.readPayment(c.body)
	if err != nil {
		return nil, err
	}
	s, standing, err := in.find(ctx, c.id, adapter.Latest)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	request := "complete:" + c.token
	attempt, malformed := request, error(nil)
	var noted *notice
	for range mostTries {
		if s.own(request) == nil {
			standing, err = s.payable(ctx, what, standing, &c)
		}
		// What another process has done for the same request may have come to light while it was waited for.
		if own := s.own(request); own != nil {
			return in.paid(ctx, &c, s, own, noted)
		}
		if err != nil {
			return nil, err
		}
		credential, err := in.credential(ctx, &c, &standing, instrument, given)
		if err != nil {
			return nil, err
		}
		if noted, err = in.courier.expect(ctx, c.id, c.profile); err != nil {
			return nil, err
		}
		rejection, err := s.attempt(ctx, attempt, "Complete", enactment.Values{
			"rev": enactment.MustValue(standing.Revision), "cause": enactment.MustValue(attempt), "credential": credential,
		})
		switch {
		case err != nil:
			return nil, err
		case rejection == nil:
			if s.own(request) == nil {
				return nil, fmt.Errorf("ucp: inbound: %s was accepted and is not there", attempt)
			}
		case outdated(rejection) && s.own(request) != nil:
		case outdated(rejection):
			now := s.standing()
			if !now.Ended() {
				return nil, busy("The checkout was changed, or is being paid, by another request.")
			}
			return nil, tooLate(what, &now)
		case rejection.Code == enactment.Malformed:
			// The request is repeated: another revision was to be paid then, and that was refused. Now there is another.
			malformed = refusedBy(rejection, what)
			attempt = nextAttempt(attempt)
			if err := s.refresh(ctx); err != nil {
				return nil, err
			}
			standing = s.standing()
		default:
			return nil, refusedBy(rejection, what)
		}
	}
	return nil, malformed
}

// payable waits until the checkout can be paid. The problem says why it cannot be.
func (s *session) payable(ctx context.Context, what string, standing model.Standing, c *call) (model.Standing, error) {
	standing, err := s.changeable(ctx, what, standing)
	if err != nil {
		return standing, err
	}
	if !c.matches(&standing) {
		return standing, preconditionFailed
	}
	if standing.Statement.Action != "Offered" {
		return standing, unready(standing.Statement)
	}
	return standing, nil
}

// paid waits for the Business to take a payment, or not. Where it is known what was noted down before, that is given.
func (in *Inbound) paid(ctx context.Context, c *call, s *session, complete *enactment.Instance, noted *notice) (*result, error) {
	var declined *enactment.Instance
	standing, err := s.await(ctx, "The payment", func(now model.Standing) bool {
		declined = nil
		instances := s.visit.Instances()
		for n := range instances {
			i := &instances[n]
			if value, ok := i.Value("rev"); ok && i.Action == "Declined" {
				if revision, _ := complete.Value("rev"); revision.Equal(value) {
					declined = i
					return true
				}
			}
		}
		return now.Ended()
	})
	switch {
	case err != nil:
		return nil, err
	case declined != nil:
		return nil, said(declined, "notice", statusOfDecline)
	case standing.Completed == nil:
		return nil, tooLate("The payment", &standing)
	}
	if err := in.courier.placed(ctx, s.cid, &standing, noted); err != nil {
		return nil, err
	}
	return in.showing(c, http.StatusOK, standing)
}

// unready says what lacks before a checkout can be paid.
func unready(statement *enactment.Instance) *problem {
	p := &problem{
		status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The checkout cannot be paid yet.", transient: true,
		outcome: true,
	}
	var messages []Message
	if value, ok := statement.Value("messages"); ok && value.Decode(&messages) == nil {
		p.messages = messages
		for i := len(messages) - 1; i >= 0; i-- {
			if messages[i].Type == "error" {
				p.detail = messages[i].Content
			}
		}
	}
	return p
}

// credential gives what pays: the instrument and, where the checkout needs a mandate, that as the member ap2. One that was
// not verified does not get so far.
func (in *Inbound) credential(
	ctx context.Context, c *call, standing *model.Standing, instrument map[string]json.RawMessage, given *string,
) (enactment.Value, error) {
	verified, err := in.checkMandate(ctx, c, standing, given)
	if err != nil {
		return enactment.Value{}, err
	}
	delete(instrument, "ap2")
	if verified {
		if instrument["ap2"], err = json.Marshal(map[string]string{"checkout_mandate": *given}); err != nil {
			return enactment.Value{}, err
		}
	}
	value, err := enactment.ValueOf(instrument)
	if err != nil {
		return enactment.Value{}, invalid("$.payment_data", "payment_data is not sound JSON.")
	}
	return value, nil
}

// readPayment gives the instrument of a complete, and the mandate that comes with it; nil if there is none. The contents
// of the instrument are the Business's to judge, but for the handler.
func (in *Inbound) readPayment(text []byte) (map[string]json.RawMessage, *string, error) {
	body, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	var asked struct {
		PaymentData map[string]json.RawMessage `json:"payment_data"`
		AP2         *struct {
			CheckoutMandate string `json:"checkout_mandate"`
		} `json:"ap2"`
	}
	if err := readAs(body, "$", &asked); err != nil {
		return nil, nil, err
	}
	var handler string
	instrument := asked.PaymentData
	if json.Unmarshal(instrument["handler_id"], &handler) != nil {
		return nil, nil, invalid("$.payment_data.handler_id", "payment_data must be a payment instrument with a handler_id.")
	}
	if !in.takes(handler) {
		return nil, nil, &problem{
			status: http.StatusBadRequest, code: "INVALID_REQUEST", path: "$.payment_data.handler_id",
			detail: "Unsupported payment handler: it is not one that is offered.", outcome: true,
		}
	}
	for _, name := range []string{"id", "type"} {
		var text string
		if json.Unmarshal(instrument[name], &text) != nil || text == "" {
			return nil, nil, invalid("$.payment_data."+name, "A payment instrument needs a member %s.", name)
		}
	}
	if asked.AP2 == nil {
		return instrument, nil, nil
	}
	return instrument, &asked.AP2.CheckoutMandate, nil
}

func (in *Inbound) takes(handler string) bool {
	for _, h := range in.options.PaymentHandlers {
		if h.ID == handler {
			return true
		}
	}
	return len(in.options.PaymentHandlers) == 0
}
