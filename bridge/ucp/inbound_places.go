package ucp

import (
	"context"
	"errors"
	"time"
)

// errFull is given when all checkouts that may be kept are open.
var errFull = errors.New("ucp: inbound: too many open checkouts")

// forgottenAfter is how long an open checkout that nobody asks for is kept if there are too many: the time after which
// UCP lets a checkout expire that does not say when it does.
const forgottenAfter = 6 * time.Hour

// searchInterval is how often expired checkouts are looked for: that is a walk over all of them.
const searchInterval = time.Minute

// open adds a checkout. If there are too many, the one that ended first makes place, else those that expired; the
// latter are cancelled.
func (in *Inbound) open(ctx context.Context, id string) (*session, error) {
	in.mu.Lock()
	s, expired, err := in.place(id)
	in.mu.Unlock()
	for _, old := range expired {
		in.sweep(context.WithoutCancel(ctx), old)
	}
	return s, err
}

// place finds a place for a checkout. The caller holds mu.
func (in *Inbound) place(id string) (s *session, expired []*session, err error) {
	if s, ok := in.sessions[id]; ok {
		return s, nil, nil
	}
	for len(in.sessions) >= in.options.Checkouts && len(in.ended) > 0 {
		oldest := in.ended[0]
		in.ended = in.ended[1:]
		oldest.queued = false
		// It may have been renewed since, after Declined: then it will stand in line again.
		if oldest.ended {
			in.drop(oldest)
		}
	}
	if len(in.sessions) >= in.options.Checkouts && time.Since(in.searched) > searchInterval {
		in.searched = time.Now()
		for _, s := range in.sessions {
			if time.Since(s.used) > forgottenAfter {
				s.abandoned = true
				expired = append(expired, s)
				in.drop(s)
			}
		}
	}
	if len(in.sessions) >= in.options.Checkouts {
		return nil, expired, errFull
	}
	s = newSession(id)
	in.sessions[id] = s
	return s, expired, nil
}

// drop forgets a checkout. The caller holds mu.
func (in *Inbound) drop(s *session) {
	if in.sessions[s.id] == s {
		delete(in.sessions, s.id)
	}
	if in.orders[s.order] == s {
		delete(in.orders, s.order)
	}
}
