package ucp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// outdated are the refusals of an attempt that was about a revision which is not the last any more.
func outdated(r *enactment.Rejection) bool {
	switch r.Code {
	case enactment.AlreadyHappened, enactment.Excluded, enactment.Blocked, enactment.NotEnabled, enactment.GuardRefused,
		enactment.BoundDifferently, enactment.Dominated:
		return true
	}
	return false
}

// mostTries is how often a change is tried on a newer revision before the platform is told to try again.
const mostTries = 16

// find begins a visit to a checkout that is there, and waits for its first statement. The problem is 404. A request has to
// know all that was answered before it came in, at whatever process, so it asks for the latest; it is content with what is
// known only where it has asked before.
func (in *Inbound) find(ctx context.Context, id string, how adapter.Freshness) (*session, model.Standing, error) {
	if !isCheckoutID(id) {
		return nil, model.Standing{}, notFound("Checkout session", id)
	}
	s, err := in.enter(ctx, id, how)
	if err != nil {
		return nil, model.Standing{}, err
	}
	standing := s.standing()
	if standing.Create != nil && standing.Statement == nil {
		standing, err = s.await(ctx, "The checkout", answered)
	}
	if err == nil && standing.Statement == nil {
		err = notFound("Checkout session", id)
	}
	if err != nil {
		s.leave()
		return nil, model.Standing{}, err
	}
	if !mayUse(ctx, ownerOf(&standing)) { // As if there were none: whether there is one is not for others to know.
		s.leave()
		return nil, model.Standing{}, notFound("Checkout session", id)
	}
	if !standing.Ended() && standing.Expires().Before(time.Now()) {
		return in.expired(ctx, s)
	}
	return s, standing, nil
}

// expiryTime is how long a request waits for the Business to say that a checkout has expired.
const expiryTime = 2 * time.Second

// expired has the Business look at a checkout whose time is over. Whether it has expired is the Business's to say.
func (in *Inbound) expired(ctx context.Context, old *session) (*session, model.Standing, error) {
	old.again = true
	old.leave()
	s, err := in.enter(ctx, old.cid, adapter.Latest)
	if err != nil {
		return nil, model.Standing{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, expiryTime)
	defer cancel()
	standing, err := s.await(waiting, "The expiry", func(now model.Standing) bool { return now.Ended() || now.Owed() != model.Nothing })
	if _, silent := problemOf(err); silent {
		standing, err = s.standing(), nil
	}
	if err != nil {
		s.leave()
		return nil, model.Standing{}, err
	}
	return s, standing, nil
}

func answered(s model.Standing) bool { return s.Statement != nil || s.Ended() }

// showing answers with the checkout as it stands.
func (in *Inbound) showing(c *call, status int, standing model.Standing, more ...Message) (*result, error) {
	mandated := in.mandated(c, &standing)
	v, err := in.view(standing, mandated, more...)
	if err == nil && mandated {
		v, err = in.authorized(c, v)
	}
	return &result{status: status, body: v, etag: etagOf(&standing)}, err
}

func (in *Inbound) get(ctx context.Context, c call) (*result, error) {
	s, standing, err := in.find(ctx, c.id, adapter.Latest)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	switch {
	case !c.matches(&standing):
		return nil, preconditionFailed
	case c.has(&standing):
		return &result{status: http.StatusNotModified, etag: etagOf(&standing)}, nil
	}
	return in.showing(&c, http.StatusOK, standing)
}

// create begins an enactment.
func (in *Inbound) create(ctx context.Context, c call) (*result, error) {
	const what = "The checkout"
	asked, err := readAsked(c.body)
	if err != nil {
		return nil, err
	}
	if _, ok := asked["line_items"]; !ok {
		return nil, invalid("$.line_items", "line_items are missing.")
	}
	currency, err := asked.currency()
	if err != nil {
		return nil, err
	}
	wanted, err := asked.merge(nothing)
	if err != nil {
		return nil, err
	}
	s, err := in.enter(ctx, checkoutID(c.token), adapter.Begun)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	attempt := "create:" + c.token
	if signerOf(ctx) != "" {
		attempt = ownedCreate + attempt
	}
	rejection, err := s.attempt(ctx, attempt, "Create", wanted.bind(enactment.Values{
		"rev": enactment.MustValue(0), "profile": enactment.MustValue(in.platform(ctx, &c)),
	}))
	switch {
	case err != nil:
		return nil, err
	case rejection != nil && reused(rejection):
		return nil, errReused
	case rejection != nil:
		return nil, refusedBy(rejection, what)
	}
	standing, err := s.await(ctx, what, answered)
	if err != nil {
		return nil, err
	}
	if standing.Refused != nil {
		return nil, said(standing.Refused, "reason", statusOfRefusal)
	}
	// What was answered at first, also if the request is repeated after more has happened.
	standing = s.at(1, standing)
	return in.showing(&c, http.StatusCreated, standing, otherCurrency(currency, &standing)...)
}

// reused tells whether a Create was refused because its key has made another checkout; or the same, asked for in another
// way; or one that was removed since.
func reused(r *enactment.Rejection) bool {
	switch r.Code {
	case enactment.Malformed, enactment.AlreadyHappened, enactment.Expired:
		return true
	}
	return false
}

// at gives how the checkout stood right after the statement of a revision.
func (s *session) at(revision int64, now model.Standing) model.Standing {
	if now.Revision == revision && !now.Ended() && now.Update == nil && now.Complete == nil && now.Cancel == nil {
		return now
	}
	var then model.Standing
	for _, i := range s.visit.Instances() {
		then.Fold(&i)
		if then.Revision == revision {
			return then
		}
	}
	return now
}

// update asks for another revision.
func (in *Inbound) update(ctx context.Context, c call) (*result, error) {
	const what = "The change"
	asked, err := readAsked(c.body)
	if err != nil {
		return nil, err
	}
	if id, err := asked.id(); err != nil {
		return nil, err
	} else if id != "" && id != c.id {
		return nil, invalid("$.id", "The body is about another checkout than the path.")
	}
	currency, err := asked.currency()
	if err != nil {
		return nil, err
	}
	s, standing, err := in.find(ctx, c.id, adapter.Latest)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	request := "update:" + c.token
	attempt := request
	for range mostTries {
		if s.own(request) == nil {
			standing, err = s.changeable(ctx, what, standing)
		}
		// The request is repeated, or was just made; what another process has done for it may have come to light while
		// it was waited for.
		if own := s.own(request); own != nil {
			return in.changed(ctx, &c, s, own, currency)
		}
		if err != nil {
			return nil, err
		}
		if !c.matches(&standing) {
			return nil, preconditionFailed
		}
		if standing.Revision > int64(in.options.Changes) {
			return nil, &problem{
				status: http.StatusConflict, code: "TOO_MANY_CHANGES", outcome: true,
				detail: "The checkout has been changed too often: create another, or complete or cancel this one.",
			}
		}
		wanted, err := asked.merge(wishOf(standing.Asked))
		if err != nil {
			return nil, err
		}
		rejection, err := s.attempt(ctx, attempt, "Update", wanted.bind(enactment.Values{
			"rev": enactment.MustValue(standing.Revision), "cause": enactment.MustValue(attempt),
		}))
		switch {
		case err != nil:
			return nil, err
		case rejection == nil:
			continue
		case !outdated(rejection) && rejection.Code != enactment.Malformed:
			return nil, refusedBy(rejection, what)
		}
		// An attempt that was refused stays refused, so the next one is another.
		attempt = nextAttempt(attempt)
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
		standing = s.standing()
	}
	return nil, busy("The checkout is being changed by others.")
}

// changed waits for the answer to an update, which has named a currency.
func (in *Inbound) changed(ctx context.Context, c *call, s *session, update *enactment.Instance, currency string) (*result, error) {
	var was model.Standing
	var rejected *enactment.Instance
	now, err := s.await(ctx, "The change", func(now model.Standing) bool {
		was, rejected = model.Standing{}, nil
		after := false
		for _, i := range s.visit.Instances() {
			was.Fold(&i)
			switch {
			case i.Attempt == update.Attempt && i.Action == "Update":
				after = true
			case !after:
			case i.Action == "Rejected":
				rejected = &i
				return true
			case i.Action == "Offered" || i.Action == "NeedsInput":
				return true
			}
		}
		return now.Ended()
	})
	switch {
	case err != nil:
		return nil, err
	case rejected != nil:
		return nil, said(rejected, "notice", statusOfRefusal)
	case was.Ended():
		return nil, tooLate("The change", &now)
	}
	return in.showing(c, http.StatusOK, was, otherCurrency(currency, &was)...)
}

// changeable waits until nothing is to be answered, so that the checkout can be changed or paid. The problem says why it
// cannot be.
func (s *session) changeable(ctx context.Context, what string, standing model.Standing) (model.Standing, error) {
	undecided := func(now model.Standing) bool {
		owed := now.Owed()
		return owed != model.AnswerUpdate && owed != model.Reopen || now.Ended()
	}
	if !undecided(standing) {
		var err error
		if standing, err = s.await(ctx, what, undecided); err != nil {
			return standing, err
		}
	}
	switch {
	case standing.Ended():
		return standing, tooLate(what, &standing)
	case standing.Owed() == model.Settle:
		return standing, busy("%s is not possible now: a payment is being taken.", what)
	case standing.Cancel != nil:
		return standing, busy("%s is not possible any more: the checkout is being canceled.", what)
	}
	return standing, nil
}

// tooLate is the problem of what comes after the end.
func tooLate(what string, standing *model.Standing) *problem {
	return notModifiable("%s is not possible any more: the checkout has been %s.", what, standing.Status())
}

// cancel ends a checkout without an order.
func (in *Inbound) cancel(ctx context.Context, c call) (*result, error) {
	const what = "The cancellation"
	s, standing, err := in.find(ctx, c.id, adapter.Latest)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	attempt := "cancel:" + c.token
	if s.own(attempt) == nil {
		switch {
		case standing.Ended():
			return nil, tooLate(what, &standing)
		case !c.matches(&standing):
			return nil, preconditionFailed
		}
		rejection, err := s.attempt(ctx, attempt, "Cancel", enactment.Values{})
		switch {
		case err != nil:
			return nil, err
		case rejection != nil && outdated(rejection):
			now := s.standing()
			if !now.Ended() {
				return nil, busy("The checkout is being canceled by another request.")
			}
			return nil, tooLate(what, &now)
		case rejection != nil:
			return nil, refusedBy(rejection, what)
		}
	}
	standing, err = s.await(ctx, what, func(now model.Standing) bool { return now.Ended() })
	switch {
	case err != nil:
		return nil, err
	case standing.Cancelled == nil:
		return nil, tooLate(what, &standing)
	}
	return in.showing(&c, http.StatusOK, standing)
}

// errReused says that the Idempotency-Key of a create was used before, so that its answer has to be looked up.
var errReused = errors.New("ucp: inbound: the key of a create was used before")
