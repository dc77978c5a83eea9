package ucp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// complete pays the enactment in force.
func (in *Inbound) complete(ctx context.Context, c call) (int, any, error) {
	s, err := in.find(c.id)
	if err != nil {
		return 0, nil, err
	}
	payment, err := in.readPayment(c.body)
	if err != nil {
		return 0, nil, err
	}
	attempt := "complete:" + c.token + ":"
	if m := in.memberWith(s, "Complete", attempt); m != nil {
		return in.paid(ctx, s, m)
	}
	now, err := in.now(s)
	if err != nil {
		return 0, nil, err
	}
	// Whether it may still be paid is the engine's to say; what lacks, which no engine knows, is asked before.
	p, err := in.present(ctx, now.contents)
	if err != nil {
		return 0, nil, err
	}
	if m := missing(p.Messages); m != nil && now.facts.complete == nil && now.facts.cancel == nil {
		return 0, nil, &problem{
			status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: m.Content, messages: p.Messages, transient: true,
		}
	}
	if now.facts.declined != nil && now.facts.cancel == nil {
		if now, err = in.renew(ctx, s, now); err != nil {
			return 0, nil, err
		}
	}
	values := adapter.Values{"cid": now.member.cid, "payment": payment}
	complete := in.agent.Attempt(ctx, "Complete", values, adapter.WithAttemptID(attempt+now.member.cid))
	if err := complete.Err(ctx); err != nil {
		return 0, nil, refusedBy(err, payingFor)
	}
	return in.paid(ctx, s, now.member)
}

const payingFor = "The payment"

// paid waits for the Business to take a payment that has been attempted, or not.
func (in *Inbound) paid(ctx context.Context, s *session, m *member) (int, any, error) {
	var f facts
	if err := in.await(ctx, s, func() bool { f = m.facts(); return f.complete != nil && f.ended() }); err != nil {
		return 0, nil, unanswered(payingFor)
	}
	switch {
	case f.completed != nil:
		return in.showing(ctx, http.StatusOK, s)
	case f.declined != nil:
		return 0, nil, declined(f).problem(http.StatusPaymentRequired)
	default:
		return 0, nil, notModifiable("The payment was not taken: the checkout was canceled or changed before.")
	}
}

// renew puts a fresh enactment with the same contents in the place of one whose payment was declined, so that the
// checkout can be paid in another way. It fails with a problem if the Business now asks for another sum.
func (in *Inbound) renew(ctx context.Context, s *session, before shown) (shown, error) {
	release, err := in.take(ctx, s)
	if err != nil {
		return shown{}, err
	}
	defer release()
	now, err := in.now(s)
	if err != nil {
		return shown{}, err
	}
	if now.member == before.member {
		if err := in.replace(ctx, s, before.member, before.contents); err != nil {
			return shown{}, err
		}
		if now, err = in.now(s); err != nil {
			return shown{}, err
		}
	}
	sum := func(f facts) enactment.Value { v, _ := f.created.Value("totals"); return v }
	if !sum(now.facts).Equal(sum(before.facts)) {
		return shown{}, notModifiable("The checkout has been priced anew, and its total is another one now.")
	}
	return now, nil
}

// readPayment gives the instrument of a complete. Its contents are the Business's to judge, but for the handler.
func (in *Inbound) readPayment(body enactment.Value) (json.RawMessage, error) {
	var wanted struct {
		PaymentData json.RawMessage `json:"payment_data"`
	}
	var instrument struct {
		HandlerID string `json:"handler_id"`
	}
	if readAs([]byte(body.String()), "$", &wanted) != nil || wanted.PaymentData == nil ||
		readAs(wanted.PaymentData, "$.payment_data", &instrument) != nil {
		return nil, invalid("$.payment_data", "payment_data must be a payment instrument.")
	}
	known := func(h PaymentHandler) bool { return h.ID == instrument.HandlerID }
	if len(in.options.PaymentHandlers) > 0 && !slices.ContainsFunc(in.options.PaymentHandlers, known) {
		return nil, &problem{
			status: http.StatusBadRequest, code: "INVALID_REQUEST", path: "$.payment_data.handler_id",
			detail: "The payment handler is not one that is offered.",
		}
	}
	return wanted.PaymentData, nil
}
