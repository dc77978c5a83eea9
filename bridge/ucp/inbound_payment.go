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
	credential, err := in.readPayment(c.body)
	if err != nil {
		return nil, err
	}
	s, standing, err := in.find(ctx, c.id, adapter.Known)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	attempt := "complete:" + c.token
	own := s.own(attempt)
	var noted *notice
	if own == nil {
		if standing, err = s.changeable(ctx, what, standing); err != nil {
			return nil, err
		}
		switch {
		case !c.matches(&standing):
			return nil, preconditionFailed
		case standing.Statement.Action != "Offered":
			if err := s.refresh(ctx); err != nil {
				return nil, err
			}
			if standing = s.standing(); standing.Statement.Action != "Offered" {
				return nil, unready(standing.Statement)
			}
		}
		if noted, err = in.courier.expect(ctx, c.id, profileIn(c.agent)); err != nil {
			return nil, err
		}
		rejection, err := s.attempt(ctx, attempt, "Complete", enactment.Values{
			"rev": enactment.MustValue(standing.Revision), "cause": enactment.MustValue(attempt), "credential": credential,
		})
		switch {
		case err != nil:
			return nil, err
		case rejection != nil && outdated(rejection):
			now := s.standing()
			if !now.Ended() {
				return nil, busy("The checkout was changed, or is being paid, by another request.")
			}
			return nil, tooLate(what, &now)
		case rejection != nil:
			return nil, refusedBy(rejection, what)
		}
		if own = s.own(attempt); own == nil {
			return nil, fmt.Errorf("ucp: inbound: %s was accepted and is not there", attempt)
		}
	}
	return in.paid(ctx, s, own, noted)
}

// paid waits for the Business to take a payment, or not.
func (in *Inbound) paid(ctx context.Context, s *session, complete *enactment.Instance, noted *notice) (*result, error) {
	var declined *enactment.Instance
	standing, err := s.await(ctx, "The payment", func(now model.Standing) bool {
		declined = nil
		for _, i := range s.visit.Instances() {
			if value, ok := i.Value("rev"); ok && i.Action == "Declined" {
				if revision, _ := complete.Value("rev"); revision.Equal(value) {
					declined = &i
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
	return in.showing(http.StatusOK, standing)
}

// unready says what lacks before a checkout can be paid.
func unready(statement *enactment.Instance) *problem {
	p := &problem{
		status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The checkout cannot be paid yet.", transient: true,
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

// readPayment gives the instrument of a complete, together with a mandate that comes with it. Its contents are the
// Business's to judge, but for the handler and the form of the mandate.
func (in *Inbound) readPayment(text []byte) (enactment.Value, error) {
	body, err := parse(text)
	if err != nil {
		return enactment.Value{}, err
	}
	var asked struct {
		PaymentData map[string]json.RawMessage `json:"payment_data"`
		AP2         *struct {
			CheckoutMandate string `json:"checkout_mandate"`
		} `json:"ap2"`
	}
	if err := readAs(body, "$", &asked); err != nil {
		return enactment.Value{}, err
	}
	var handler string
	instrument := asked.PaymentData
	if json.Unmarshal(instrument["handler_id"], &handler) != nil {
		return enactment.Value{}, invalid("$.payment_data.handler_id", "payment_data must be a payment instrument with a handler_id.")
	}
	if !in.takes(handler) {
		return enactment.Value{}, &problem{
			status: http.StatusBadRequest, code: "INVALID_REQUEST", path: "$.payment_data.handler_id",
			detail: "Unsupported payment handler: it is not one that is offered.",
		}
	}
	if asked.AP2 != nil {
		if !mandate.MatchString(asked.AP2.CheckoutMandate) {
			return enactment.Value{}, invalid("$.ap2.checkout_mandate", "The checkout mandate is not an SD-JWT with key binding.")
		}
		instrument["ap2"], _ = json.Marshal(asked.AP2)
	}
	value, err := enactment.ValueOf(instrument)
	if err != nil {
		return enactment.Value{}, invalid("$.payment_data", "payment_data is not sound JSON.")
	}
	return value, nil
}

func (in *Inbound) takes(handler string) bool {
	for _, h := range in.options.PaymentHandlers {
		if h.ID == handler {
			return true
		}
	}
	return len(in.options.PaymentHandlers) == 0
}
