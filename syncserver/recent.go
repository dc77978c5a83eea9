package syncserver

import (
	"sync"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
)

// recentSize is how many ids a server remembers.
const recentSize = 1 << 15

// recent remembers to which enactment the attempts belonged that this server answered lately, to find ids that are used
// again in another one. Within an enactment the log itself knows what an id stands for; across enactments this is the only
// memory, so what it does not find it does not refuse.
type recent struct {
	mu    sync.Mutex
	given map[attemptName]recalled
	order []attemptName // a ring
	next  int
}

type recalled struct {
	key      enactment.Key // empty if it belonged to none
	sequence uint64
}

func newRecent() *recent {
	return &recent{given: make(map[attemptName]recalled), order: make([]attemptName, 0, recentSize)}
}

// reused refuses an attempt in an enactment whose id was used for one in another enactment.
func (r *recent) reused(a *enactment.Attempt, key enactment.Key) (enactment.Outcome, bool) {
	r.mu.Lock()
	had, ok := r.given[nameOf(*a)]
	r.mu.Unlock()
	if !ok || had.key == key {
		return enactment.Outcome{}, false
	}
	return enactment.Outcome{Rejection: journal.ReusedID(), Sequence: had.sequence}, true
}

func (r *recent) remember(a *enactment.Attempt, key enactment.Key, sequence uint64) {
	name := nameOf(*a)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.given[name]; ok {
		return
	}
	r.given[name] = recalled{key, sequence}
	if len(r.order) < recentSize {
		r.order = append(r.order, name)
		return
	}
	delete(r.given, r.order[r.next])
	r.order[r.next] = name
	r.next = (r.next + 1) % recentSize
}
