package syncserver

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
)

// AttendanceConfig says how an [Attendance] works. The zero value of a field stands for the default that it names.
type AttendanceConfig struct {
	// Client is what attempts are made with.
	Client ClientConfig
	// Idle is how many enactments are kept at hand after their last visit; the one visited longest ago goes first. 4096.
	Idle int
}

// Attendance is the [adapter.Attendant] of agents in a server's own process: it has what the server knows of an
// enactment at hand, reads the log where that is not enough, and stores no positions. Any number of processes may attend
// to the same enactments. Its methods are safe for concurrent use.
type Attendance struct {
	server *Server
	client *Client
	most   int
	done   chan struct{} // closed by Close

	// mu is taken after the lock of an enactment in the journal.
	mu       sync.Mutex
	closed   bool
	feeds    map[enactment.Identity]*attendedFeed
	attended map[enactment.Key]*attended
	idle     *list.List // of *attended that nobody visits, the one visited longest ago in front
	log      string     // which log it is; empty before somebody asks
}

var _ adapter.Attendant = (*Attendance)(nil)

// attended is an enactment that is at hand.
type attended struct {
	key       enactment.Key
	visits    []*visit
	place     *list.Element // while nobody visits it
	instances []enactment.Instance
	sequence  uint64
	completed bool
	changed   chan struct{}
	told      []*attendedFeed // that are told of it
	// unseen are the identities that may not see it, since another party plays their role.
	unseen map[enactment.Identity]bool
}

// Attend makes an executor that attends to enactments. There may be one for a server, and the server must finalise
// immediately: in batch finalisation another server may decide what is attempted here. Close it before the server.
func (s *Server) Attend(config AttendanceConfig) (*Attendance, error) {
	if s.batch() {
		return nil, errors.New("syncserver: attend: the server finalises in batches")
	}
	if config.Idle <= 0 {
		config.Idle = 4096
	}
	a := &Attendance{
		server: s, client: s.Client(config.Client), most: config.Idle, done: make(chan struct{}),
		feeds: make(map[enactment.Identity]*attendedFeed), attended: make(map[enactment.Key]*attended), idle: list.New(),
	}
	if !s.attendance.CompareAndSwap(nil, a) {
		a.client.Close()
		return nil, errors.New("syncserver: attend: the server is attended already")
	}
	return a, nil
}

// Close ends the executor: what waits returns [adapter.ErrClosed].
func (a *Attendance) Close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.closed = true
	close(a.done)
	a.mu.Unlock()
	a.server.attendance.CompareAndSwap(a, nil)
	a.client.Close()
}

// Attempt submits an attempt, as [Client.Attempt] does.
func (a *Attendance) Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error) {
	return a.client.Attempt(ctx, attempt)
}

// Visit implements [adapter.Attendant].
func (a *Attendance) Visit(
	ctx context.Context, identity enactment.Identity, key enactment.Key, how adapter.Freshness,
) (adapter.Visit, error) {
	v := &visit{attendance: a, identity: identity}
	var failure error
	look := func(e *journal.Enactment) { failure = a.begin(v, e) }
	err := a.server.journal.Look(ctx, key, how == adapter.Latest, how == adapter.Begun, look)
	if errors.Is(err, stream.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", adapter.ErrUnavailable, err)
	}
	if err = errors.Join(err, failure); err != nil {
		return nil, fmt.Errorf("syncserver: visit %s as %s: %w", key, identity, err)
	}
	return v, nil
}

// begin takes a visit in. The enactment is locked, so nothing happens in it meanwhile.
func (a *Attendance) begin(v *visit, e *journal.Enactment) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return adapter.ErrClosed
	}
	at, ok := a.attended[e.Key()]
	if !ok {
		at = &attended{
			key: e.Key(), sequence: e.State().Sequence(), completed: e.State().Complete(),
			instances: slices.Collect(e.State().Instances()), changed: make(chan struct{}),
		}
		a.attended[at.key] = at
		at.look(e.State(), a.identities(v.identity))
		for _, f := range a.feeds {
			at.told = append(at.told, f)
			f.deliver(at.history(f.identity, a.server.rules))
		}
	} else if at.place != nil {
		a.idle.Remove(at.place)
		at.place = nil
	}
	if _, asked := at.unseen[v.identity]; !asked {
		at.look(e.State(), []enactment.Identity{v.identity})
	}
	at.visits = append(at.visits, v)
	v.at = at
	return nil
}

func (a *Attendance) identities(more enactment.Identity) []enactment.Identity {
	all := []enactment.Identity{more}
	for identity := range a.feeds {
		all = append(all, identity)
	}
	return all
}

// look notes who may see the enactment.
func (at *attended) look(state *enactment.State, identities []enactment.Identity) {
	if at.unseen == nil {
		at.unseen = make(map[enactment.Identity]bool, len(identities))
	}
	for _, identity := range identities {
		at.unseen[identity] = !state.Sees(identity)
	}
}

// history makes one delivery of all that has happened, which is handled: what is left to do is offered.
func (at *attended) history(identity enactment.Identity, rules *enactment.Rules) adapter.Delivery {
	d := adapter.Delivery{Key: at.key, Handled: true}
	if at.sequence == 0 || at.unseen[identity] {
		return d
	}
	d.Finalisation = enactment.Finalisation{
		Sequence: at.sequence, Completed: at.completed, Instances: projected(rules, identity.Role, at.instances),
	}
	return d
}

func projected(rules *enactment.Rules, role string, instances []enactment.Instance) []enactment.Instance {
	seen := make([]enactment.Instance, 0, len(instances))
	for _, instance := range instances {
		if s, ok := rules.Project(role, instance); ok {
			seen = append(seen, s)
		}
	}
	return seen
}

// applied is told by the journal of what was folded into an enactment, which is locked: what this process has made
// happen, and what it has read.
func (a *Attendance) applied(state *enactment.State, f enactment.Finalisation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.attended[state.Key()]
	if !ok || f.Sequence <= at.sequence {
		return
	}
	at.instances = append(at.instances, f.Instances...)
	at.sequence, at.completed = f.Sequence, at.completed || f.Completed
	for identity := range at.unseen {
		at.unseen[identity] = !state.Sees(identity)
	}
	for _, feed := range at.told {
		if at.unseen[feed.identity] {
			continue
		}
		feed.deliver(adapter.Delivery{Key: at.key, Finalisation: enactment.Finalisation{
			Sequence: f.Sequence, Completed: f.Completed, Instances: projected(a.server.rules, feed.identity.Role, f.Instances),
		}})
	}
	close(at.changed)
	at.changed = make(chan struct{})
}

// removed is told by the journal that an enactment was removed, which is locked: it is to visits as if nothing had
// happened, and no more the agents'.
func (a *Attendance) removed(key enactment.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.attended[key]
	if !ok || at.sequence == 0 {
		return
	}
	at.instances, at.sequence, at.completed = nil, 0, false
	clear(at.unseen)
	for _, feed := range at.told {
		feed.deliver(adapter.Delivery{Key: key, Revoked: true})
	}
	close(at.changed)
	at.changed = make(chan struct{})
}

// removed passes on what the journal tells.
func (s *Server) removed(key enactment.Key) {
	if a := s.attendance.Load(); a != nil {
		a.removed(key)
	}
}

// folded passes on what the journal tells.
func (s *Server) folded(state *enactment.State, f enactment.Finalisation) {
	if a := s.attendance.Load(); a != nil {
		a.applied(state, f)
	}
}

// leave ends a visit.
func (a *Attendance) leave(v *visit, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := v.at
	if at == nil {
		return
	}
	v.at = nil
	at.visits = slices.DeleteFunc(at.visits, func(other *visit) bool { return other == v })
	if len(at.visits) > 0 {
		return
	}
	if again {
		a.forget(at)
		return
	}
	at.place = a.idle.PushBack(at)
	for a.idle.Len() > a.most {
		a.forget(a.idle.Remove(a.idle.Front()).(*attended))
	}
}

// forget takes an enactment from the feeds. The caller holds mu.
func (a *Attendance) forget(at *attended) {
	delete(a.attended, at.key)
	for _, f := range at.told {
		f.deliver(adapter.Delivery{Key: at.key, Revoked: true})
	}
}

// visit implements [adapter.Visit].
type visit struct {
	attendance *Attendance
	identity   enactment.Identity
	at         *attended // nil after Close

	mu   sync.Mutex
	seen []enactment.Instance // of the first of the enactment's instances
	read int                  // how many those are
}

func (v *visit) Instances() []enactment.Instance {
	a := v.attendance
	a.mu.Lock()
	if v.at == nil || v.at.unseen[v.identity] {
		a.mu.Unlock()
		return nil
	}
	all := v.at.instances
	a.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.read > len(all) { // it was removed meanwhile
		v.seen, v.read = nil, 0
	}
	if v.read < len(all) {
		v.seen = append(v.seen, projected(a.server.rules, v.identity.Role, all[v.read:])...)
		v.read = len(all)
	}
	return slices.Clip(v.seen)
}

func (v *visit) Sequence() uint64 {
	v.attendance.mu.Lock()
	defer v.attendance.mu.Unlock()
	if v.at == nil {
		return 0
	}
	return v.at.sequence
}

func (v *visit) Changed() <-chan struct{} {
	v.attendance.mu.Lock()
	defer v.attendance.mu.Unlock()
	if v.at == nil {
		return v.attendance.done
	}
	return v.at.changed
}

func (v *visit) Close(again bool) { v.attendance.leave(v, again) }
