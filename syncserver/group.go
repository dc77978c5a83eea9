package syncserver

import (
	"slices"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// group is what the feeds of one identity share: which of them has which enactment, and how far it is handled.
type group struct {
	identity enactment.Identity
	rules    *enactment.Rules
	visible  map[string]bool // by action

	mu      sync.Mutex
	joined  bool // a feed has joined, and with it all that had happened before
	members map[enactment.Key]*member
	feeds   []*feed
	nobodys []*member // have something to deliver and are no feed's
}

// member is an enactment that the identity sees.
type member struct {
	log    *log
	owner  *feed  // nil while it is nobody's
	next   int    // the first entry of the log that the owner has not looked at
	begun  bool   // the owner was delivered something
	last   uint64 // the sequence of what was delivered last
	stored uint64 // the position up to which it is handled
	queued bool   // in a list of what has something to deliver
	gone   bool   // the identity sees it no more
}

func newGroup(rules *enactment.Rules, identity enactment.Identity) *group {
	g := &group{
		identity: identity, rules: rules,
		visible: make(map[string]bool), members: make(map[enactment.Key]*member),
	}
	for action := range rules.Protocol().Actions() {
		g.visible[action.Name()], _ = rules.Sight(identity.Role, action.Name())
	}
	return g
}

// sees tells whether there is anything to deliver of an entry.
func (g *group) sees(e entry) bool {
	return e.finalisation.Completed || slices.ContainsFunc(e.finalisation.Instances, func(i enactment.Instance) bool {
		return g.visible[i.Action]
	})
}

// caughtUp tells whether a feed has joined before, so that nothing that happened earlier is missing.
func (g *group) caughtUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.joined
}

// add notes that an enactment has something to deliver. The caller holds the log's lock.
func (g *group) add(e *log) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.members[e.key]
	if !ok {
		m = &member{log: e}
		g.members[e.key] = m
	}
	g.enqueue(m)
}

// drop takes an enactment from the identity, since another party plays the role. The caller holds the log's lock.
func (g *group) drop(e *log) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.members[e.key]
	if !ok {
		return
	}
	m.gone = true
	g.enqueue(m)
}

// enqueue puts an enactment in the list of its owner, or in that of nobody. The caller holds the group's lock.
func (g *group) enqueue(m *member) {
	if m.queued {
		return
	}
	m.queued = true
	if m.owner != nil {
		m.owner.ready = append(m.owner.ready, m)
		m.owner.rouse()
		return
	}
	g.nobodys = append(g.nobodys, m)
	for _, f := range g.feeds {
		f.rouse()
	}
}

func (g *group) join(executor <-chan struct{}) *feed {
	f := &feed{group: g, wake: make(chan struct{}, 1), done: make(chan struct{}), executor: executor}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joined = true
	g.feeds = append(g.feeds, f)
	return f
}

// leave gives the enactments of a feed to the others of its identity.
func (g *group) leave(f *feed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.left = true
	g.feeds = slices.DeleteFunc(g.feeds, func(other *feed) bool { return other == f })
	for _, m := range g.members {
		if m.owner != f {
			continue
		}
		m.owner, m.queued, m.next, m.begun = nil, false, 0, false
		g.enqueue(m)
	}
	f.ready = nil
}

// take gives the first enactment in a list, nil if there is none.
func take(list *[]*member) *member {
	if len(*list) == 0 {
		return nil
	}
	m := (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	m.queued = false
	return m
}
