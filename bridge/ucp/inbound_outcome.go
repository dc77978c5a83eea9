package ucp

import (
	"context"
	"net/http"
	"slices"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// outcome tells a no by the checkout. Of one that is not there nothing can be shown: the problem is answered. Where the log
// cannot be reached, the error says so, and the request is to be repeated. One that has ended is shown too, lest a platform whose payment came second takes it for gone and orders again.
func (in *Inbound) outcome(ctx context.Context, c call, p *problem) (*result, error) {
	s, standing, err := in.find(ctx, c.id, adapter.Known)
	if _, none := problemOf(err); none {
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	defer s.leave()
	if standing.Owed() == model.Reopen { // What it is from now on is about to be said.
		again, err := s.await(ctx, "The checkout", func(now model.Standing) bool { return now.Owed() != model.Reopen })
		if err == nil {
			standing = again
		}
	}
	said := slices.Clone(p.said())
	for i := range said {
		if standing.Ended() {
			said[i].Severity = "unrecoverable"
		}
	}
	return in.showing(&c, http.StatusOK, standing, said...)
}

// tellsOutcomes tells whether a no about a checkout that is there is told by the checkout, with the reason among its
// messages, as releases since 2026-04-08 have it (UCP 2026-04-08, overview, error handling: business outcomes). For others
// the status says no, and the checkout is not shown.
func (d *dialect) tellsOutcomes() bool { return d != nil && d.outcomes }
