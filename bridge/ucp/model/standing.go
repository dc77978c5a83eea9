package model

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/compact"
)

// Standing is how a checkout stands: the fold of an enactment of ucp-incremental, as one role sees it. An instance that
// is nil has not happened. What may happen next is said by the protocol; this says only what has been said so far.
type Standing struct {
	// Create asked for the checkout.
	Create *enactment.Instance
	// Refused ended it before the business said anything else.
	Refused *enactment.Instance
	// Revision numbers the business's last statement from 1; 0: there is none yet.
	Revision int64
	// Statement is that statement, an Offered or a NeedsInput.
	Statement *enactment.Instance
	// Asked is what was asked for and is in force: by Create, or by the last Update that was not rejected.
	Asked *enactment.Instance
	// Update, Rejected, Complete and Declined are those of the last revision.
	Update, Rejected, Complete, Declined *enactment.Instance
	// Completed and BuyerCompleted made an order of the checkout; Cancelled and Expired ended it without one, and Cancel
	// asks for that.
	Completed, BuyerCompleted, Cancel, Cancelled, Expired *enactment.Instance
}

// StandingOf folds instances, in the order in which they happened.
func StandingOf(instances iter.Seq[enactment.Instance]) Standing {
	var s Standing
	for i := range instances {
		s.Fold(&i)
	}
	return s
}

// FoldAll adds instances, in the order in which they happened.
func (s *Standing) FoldAll(instances []enactment.Instance) {
	for n := range instances {
		s.Fold(&instances[n])
	}
}

// Fold adds an instance, which must not change any more.
func (s *Standing) Fold(i *enactment.Instance) {
	switch i.Action {
	case "Create":
		s.Create, s.Asked = i, i
	case "Refused":
		s.Refused = i
	case "Offered", "NeedsInput":
		if s.Update != nil && s.Rejected == nil {
			s.Asked = s.Update
		}
		s.Statement, s.Revision = i, revisionOf(i)
		s.Update, s.Rejected, s.Complete, s.Declined = nil, nil, nil, nil
	case "Update":
		s.Update = i
	case "Rejected":
		s.Rejected = i
	case "Complete":
		s.Complete = i
	case "Declined":
		s.Declined = i
	case "Completed":
		s.Completed = i
	case "BuyerCompleted":
		s.BuyerCompleted = i
	case "Cancel":
		s.Cancel = i
	case "Cancelled":
		s.Cancelled = i
	case "Expired":
		s.Expired = i
	}
}

// Ended tells that the checkout can become nothing else any more.
func (s *Standing) Ended() bool {
	return s.Completed != nil || s.BuyerCompleted != nil || s.Cancelled != nil || s.Expired != nil || s.Refused != nil
}

// Owed is what the business has been asked for and has not answered yet.
type Owed int

const (
	// Nothing is to be answered.
	Nothing Owed = iota
	// AnswerCreate is owed a first statement, or Refused.
	AnswerCreate
	// AnswerUpdate is owed the next statement, or Rejected.
	AnswerUpdate
	// Settle is owed Completed or Declined.
	Settle
	// Reopen is owed the next statement, after an Update was rejected or a payment declined.
	Reopen
	// Confirm is owed Cancelled, unless there is an order.
	Confirm
)

// Owed tells what the business owes. A cancellation comes after a payment that was there before it.
func (s *Standing) Owed() Owed {
	switch {
	case s.Create == nil || s.Ended():
		return Nothing
	case s.Complete != nil && s.Declined == nil:
		return Settle
	case s.Cancel != nil:
		return Confirm
	case s.Statement == nil:
		return AnswerCreate
	case s.Rejected != nil || s.Declined != nil:
		return Reopen
	case s.Update != nil:
		return AnswerUpdate
	default:
		return Nothing
	}
}

// Expires tells until when the checkout can be paid, as the last statement says; far in the future if it does not.
func (s *Standing) Expires() time.Time {
	if s.Statement != nil {
		value, _ := s.Statement.Value("checkout")
		text, _ := compact.Member(value.String(), "expires_at")
		if said, ok := compact.String(text); ok {
			if at, err := time.Parse(time.RFC3339Nano, said); err == nil {
				return at
			}
		}
	}
	return time.Unix(1<<40, 0)
}

// Status is UCP's word for how the checkout stands.
func (s *Standing) Status() string {
	switch {
	case s.Completed != nil || s.BuyerCompleted != nil:
		return "completed"
	case s.Cancelled != nil || s.Expired != nil:
		return "canceled"
	case s.Complete != nil && s.Declined == nil:
		return "complete_in_progress"
	case s.Statement != nil && s.Statement.Action == "Offered" && s.Cancel == nil:
		return "ready_for_complete"
	case s.asksForTheBuyer():
		return "requires_escalation"
	default:
		return "incomplete"
	}
}

// asksForTheBuyer tells that the last statement has an error that only the buyer can see to, and says where. UCP wants
// both for the status that sends the buyer there (UCP 2026-04-08, checkout, guidelines).
func (s *Standing) asksForTheBuyer() bool {
	if s.Statement == nil {
		return false
	}
	var messages []Message
	value, _ := s.Statement.Value("messages")
	if value.Decode(&messages) != nil || !slices.ContainsFunc(messages, func(m Message) bool {
		return m.Type == "error" && (m.Severity == "requires_buyer_input" || m.Severity == "requires_buyer_review")
	}) {
		return false
	}
	value, _ = s.Statement.Value("checkout")
	at, _ := compact.Member(value.String(), "continue_url")
	return at != "" && at != "null"
}

// revisionOf gives the revision that an instance is about; one that cannot be read is beyond all others.
func revisionOf(i *enactment.Instance) int64 {
	var revision int64
	if value, ok := i.Value("rev"); !ok || value.Decode(&revision) != nil {
		return math.MaxInt64
	}
	return revision
}
