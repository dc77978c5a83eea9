package ucp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// session is a visit to a checkout by one request.
type session struct {
	in    *Inbound
	cid   string
	id    enactment.Value // cid
	visit adapter.Visit
	// again tells that the Business has not answered, so that it is to be asked anew.
	again bool
}

// enter begins a visit; leave ends it.
func (in *Inbound) enter(ctx context.Context, cid string, how adapter.Freshness) (*session, error) {
	id, err := enactment.ValueOf(cid)
	if err != nil {
		return nil, err
	}
	visit, err := in.exec.Visit(ctx, in.identity, enactment.Key(`{"cid":`+id.String()+`}`), how)
	if err != nil {
		return nil, err
	}
	return &session{in: in, cid: cid, id: id, visit: visit}, nil
}

func (s *session) leave() { s.visit.Close(s.again) }

func (s *session) standing() model.Standing {
	var standing model.Standing
	standing.FoldAll(s.visit.Instances())
	return standing
}

// refresh learns what other processes have done.
func (s *session) refresh(ctx context.Context) error {
	fresh, err := s.in.enter(ctx, s.cid, adapter.Latest)
	if err == nil {
		fresh.leave()
	}
	return err
}

// await waits until something is found in how the checkout stands. The error is [unanswered].
func (s *session) await(ctx context.Context, what string, found func(model.Standing) bool) (model.Standing, error) {
	// Another process may be the one that answers; of that the log alone knows.
	look := time.NewTimer(lookInterval)
	defer look.Stop()
	for {
		changed := s.visit.Changed()
		standing := s.standing()
		if found(standing) {
			return standing, nil
		}
		look.Reset(lookInterval)
		select {
		case <-changed:
		case <-look.C:
			if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
				return model.Standing{}, err
			}
		case <-ctx.Done():
			s.again = true
			return model.Standing{}, unanswered(what)
		}
	}
}

// lookInterval is how long nothing may be heard of an answer before the log is asked. An answer of this process is heard
// at once.
const lookInterval = 500 * time.Millisecond

// attempt submits an action of the Platform. It is refused with a rejection; the error says that the outcome is unknown.
func (s *session) attempt(ctx context.Context, id, action string, values enactment.Values) (*enactment.Rejection, error) {
	values["cid"] = s.id
	outcome, err := s.in.exec.Attempt(ctx, enactment.Attempt{
		ID: id, Identity: s.in.identity, Action: action, Values: values, At: time.Now(),
	})
	switch {
	case err == nil && outcome.Rejection != nil:
		return outcome.Rejection, nil
	case err == nil:
		return nil, s.reach(ctx, outcome.Sequence)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, adapter.ErrUnknown):
		return nil, unanswered("The request")
	}
	return nil, err
}

// reach waits until what is known has come to a place in the log. An executor that is asked over a network may tell of
// what happened before it shows it.
func (s *session) reach(ctx context.Context, sequence uint64) error {
	for {
		changed := s.visit.Changed()
		if s.visit.Sequence() >= sequence {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return unanswered("The request")
		}
	}
}

// own finds what happened by an attempt of a request, of which the id of the first is given; nil if nothing has.
func (s *session) own(id string) *enactment.Instance {
	for _, i := range s.visit.Instances() {
		if strings.TrimRight(i.Attempt, nextMark) == id {
			return &i
		}
	}
	return nil
}

// nextMark stands at the end of an attempt's id, once for each attempt that the same request has made before.
const nextMark = "+"

// nextAttempt gives the id of another attempt of the same request.
func nextAttempt(id string) string { return id + nextMark }
