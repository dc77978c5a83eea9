package ucp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// session is one wire checkout: the chain of the enactments that it has been. The cid of an enactment is the wire id,
// a point, and its number in the chain; after the first there follow a point and something random, since a bridge that
// was started anew does not know all numbers that were used.
type session struct {
	id      string
	members []*member // by number
	// since is the number of the first enactment that is remembered.
	since int
	// changed is closed, and another one made, whenever something was observed in the chain.
	changed chan struct{}
	// turn has a token for the one request that may add to the chain.
	turn chan struct{}
	// codes are the discount codes asked for, where the protocol does not bind them.
	codes enactment.Value
	// currency is the one asked for last, which the protocol does not bind: the Business says what it sells in.
	currency string
	// order is the id of the order that it has become, or empty.
	order string
	// abandoned tells that nobody knows of the checkout, so that it is cancelled if it is created after all.
	abandoned bool
	// used is when a request was last about the checkout.
	used time.Time
	// ended tells that it was last seen with nothing more to come.
	ended bool
	// queued tells that it stands in the line of those that ended.
	queued bool
}

// member is one enactment of a chain.
type member struct {
	cid    string
	number int
	// observed is what has been observed of it, known that there is anything yet. It changes together with what follows
	// from it for the chain, so a request that has seen the one has seen the other.
	observed facts
	known    bool
	// wanted tells that a request is waiting to put it in force, so that it is not cancelled as left over.
	wanted bool
	// swept tells that it is being cancelled as left over.
	swept bool
}

// replacing begins the id of an attempt to cancel an enactment in favour of another; the rest is that one's cid.
const replacing = "replace:"

// member finds or adds an enactment of the chain.
func (s *session) member(cid string, number int) *member {
	for _, m := range s.members {
		if m.cid == cid {
			return m
		}
	}
	m := &member{number: number, cid: cid}
	s.members = append(s.members, m)
	slices.SortStableFunc(s.members, func(a, b *member) int { return a.number - b.number })
	return m
}

// first adds the enactment that the chain begins with.
func (s *session) first() *member { return s.member(s.id+".1", 1) }

// changes counts the enactments that were added after the first, also those that came to nothing.
func (s *session) changes() int { return s.members[len(s.members)-1].number - 1 }

// next adds an enactment after those that there are.
func (s *session) next() *member {
	number := s.changes() + 2
	return s.member(fmt.Sprintf("%s.%d.%s", s.id, number, uuid.NewString()[:8]), number)
}

// inForce gives the enactment that is shown under the wire id: the first of the chain, or the one that replaced it, and
// so on. It is nil when nothing is known yet.
func (s *session) inForce() *member {
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.known })
	if i < 0 {
		return nil
	}
	current := s.members[i]
	for {
		next := s.successor(current)
		if next == nil || !current.facts().over() {
			return current
		}
		current = next
	}
}

// successor gives the enactment that the Cancel of m was attempted in favour of, if any.
func (s *session) successor(m *member) *member {
	cancel := m.facts().cancel
	if cancel == nil {
		return nil
	}
	cid, ok := strings.CutPrefix(cancel.Attempt, replacing)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.cid == cid && m.known })
	if i < 0 {
		return nil
	}
	return s.members[i]
}

// leftOver lists the enactments that the Business still holds open and that nothing can put in force any more: those
// after the one in force, unless it is being cancelled in their favour or a request is about to do so.
func (s *session) leftOver() []*member {
	current := s.inForce()
	var left []*member
	for _, m := range s.members {
		f := m.facts()
		if f.created == nil || f.cancel != nil || f.ended() || m.wanted || m.swept {
			continue
		}
		coming := s.successor(current) == m && !current.facts().ended()
		if s.abandoned || m.number > current.number && !coming {
			left = append(left, m)
		}
	}
	return left
}

// heard keeps what was asked for and is not bound. The caller holds the lock.
func (s *session) heard(wanted asked, contents Contents) {
	s.codes = contents.Discounts
	if wanted.Currency != nil {
		s.currency = *wanted.Currency
	}
}

// announce wakes whoever waits for the chain to change.
func (s *session) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// facts are the instances of one enactment, nil where they have not happened.
type facts struct {
	create, created, refused, complete, completed, declined, cancel, cancelled *enactment.Instance
}

// factsOf reads what has happened in an enactment.
func factsOf(e adapter.Enactment) facts {
	var f facts
	for i := range e.Instances() {
		switch i.Action {
		case "Create":
			f.create = &i
		case "Created":
			f.created = &i
		case "Refused":
			f.refused = &i
		case "Complete":
			f.complete = &i
		case "Completed":
			f.completed = &i
		case "Declined":
			f.declined = &i
		case "Cancel":
			f.cancel = &i
		case "Cancelled":
			f.cancelled = &i
		}
	}
	return f
}

// facts gives what has been observed, nothing for nil.
func (m *member) facts() facts {
	if m == nil {
		return facts{}
	}
	return m.observed
}

// answered tells that the Business has priced or refused the enactment.
func (f facts) answered() bool { return f.created != nil || f.refused != nil }

// ended tells that nothing more comes of the enactment.
func (f facts) ended() bool { return f.completed != nil || f.over() }

// over tells that the enactment ended without an order.
func (f facts) over() bool { return f.cancelled != nil || f.declined != nil || f.refused != nil }

// status gives the wire's word for the state. A checkout whose payment was declined may be paid in another way, unless
// it was cancelled as well.
func (f facts) status(ready bool) string {
	switch {
	case f.completed != nil:
		return "completed"
	case f.cancelled != nil, f.declined != nil && f.cancel != nil:
		return "canceled"
	case f.complete != nil && f.declined == nil:
		return "complete_in_progress"
	case ready && f.cancel == nil:
		return "ready_for_complete"
	default:
		return "incomplete"
	}
}

// listen makes the agent follow the chains.
func (in *Inbound) listen() {
	for _, watched := range inboundActions {
		in.agent.OnObservation(watched.action, func(ctx context.Context, o adapter.Observation) error {
			in.observe(ctx, o.Enactment)
			return nil
		})
	}
	// What was handled before the process was started anew is not observed again, but Cancel is offered again in
	// whatever was created and not cancelled: that brings back the checkouts.
	in.agent.OnEnabled("Cancel", func(ctx context.Context, f *adapter.FeasibleAction) error {
		in.observe(ctx, f.Enactment)
		return nil
	})
}

// observe takes note of what is known of an enactment, and cancels what is left over in its chain.
func (in *Inbound) observe(ctx context.Context, e adapter.Enactment) {
	cid, id, number, ok := chainOf(e)
	if !ok {
		return // Another agent of the party started it.
	}
	in.mu.Lock()
	f := factsOf(e)
	s, ok := in.sessions[id]
	if !ok {
		if f.cancel != nil || f.refused != nil {
			in.mu.Unlock()
			return // It was forgotten, or ended before the process was started anew.
		}
		s = newSession(id)
		in.sessions[id] = s
	}
	if number < s.since {
		in.mu.Unlock()
		return // It was replaced, and forgotten.
	}
	m := s.member(cid, number)
	m.observed, m.known = f, true
	in.follow(s)
	s.announce()
	in.mu.Unlock()
	in.sweep(ctx, s)
}

// longestChain is how many enactments of a chain are remembered before those that ended are forgotten.
const longestChain = 16

// follow notes what has become of the chain. The caller holds mu.
func (in *Inbound) follow(s *session) {
	current := s.inForce()
	f := current.facts()
	s.ended = f.ended()
	if s.ended && !s.queued {
		s.queued = true
		in.ended = append(in.ended, s)
		if len(in.ended) > 2*len(in.sessions)+longestChain { // Most of them have been dropped.
			in.ended = slices.DeleteFunc(in.ended, func(s *session) bool { return in.sessions[s.id] != s })
		}
	}
	if f.completed != nil {
		if id := orderID(*f.completed); id != "" {
			s.order = id
			in.orders[id] = s
		}
	}
	if len(s.members) > longestChain {
		s.since = current.number
		s.members = slices.DeleteFunc(s.members, func(m *member) bool {
			return m.number < s.since || m != current && !m.wanted && m.facts().ended()
		})
	}
}

// sweep cancels what is left over in a chain. If that fails, the Business holds something open that nobody can pay.
func (in *Inbound) sweep(ctx context.Context, s *session) {
	in.mu.Lock()
	left := s.leftOver()
	for _, m := range left {
		m.swept = true
	}
	in.mu.Unlock()
	for _, m := range left {
		cancel := in.agent.Attempt(ctx, "Cancel", adapter.Values{"cid": m.cid}, adapter.WithAttemptID("sweep:"+m.cid))
		if err := cancel.Err(ctx); err != nil && ctx.Err() == nil {
			in.log.WarnContext(ctx, "ucp: what a checkout has left over could not be cancelled", "cid", m.cid, "error", err)
		}
	}
}

// orderID reads the id of the order that a Completed has bound; empty if there is none.
func orderID(completed enactment.Instance) string {
	var order struct {
		ID string `json:"id"`
	}
	value, _ := completed.Value("order")
	if value.IsZero() || value.Decode(&order) != nil {
		return ""
	}
	return order.ID
}

func newSession(id string) *session {
	s := &session{id: id, used: time.Now(), changed: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// chainOf reads the wire id and the number from the cid of an enactment.
func chainOf(e adapter.Enactment) (cid, id string, number int, ok bool) {
	if err := e.Key().Values()["cid"].Decode(&cid); err != nil {
		return "", "", 0, false
	}
	parts := strings.Split(cid, ".")
	if len(parts) < 2 || !strings.HasPrefix(cid, sessionPrefix) {
		return "", "", 0, false
	}
	number, err := strconv.Atoi(parts[1])
	return cid, parts[0], number, err == nil && number > 0
}

// sessionPrefix begins every wire id, so that enactments of other agents are told apart.
const sessionPrefix = "chk_"

// await waits until done holds of the chain; done is called with the lock held. The error is the context's.
func (in *Inbound) await(ctx context.Context, s *session, done func() bool) error {
	for {
		in.mu.Lock()
		reached, changed := done(), s.changed
		in.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
