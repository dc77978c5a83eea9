package syncserver

import (
	"sync"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// recentSize is how many ids a server remembers.
const recentSize = 1 << 15

// recent remembers the content of the attempts that this server answered lately, to find ids that are used again in
// another enactment. Within an enactment the log itself says so; across enactments this is the only memory, so what it
// does not find it does not refuse.
type recent struct {
	mu    sync.Mutex
	given map[attemptName]recalled
	order []attemptName // a ring
	next  int
}

type recalled struct {
	digest   wire.Digest
	sequence uint64
}

func newRecent() *recent {
	return &recent{given: make(map[attemptName]recalled), order: make([]attemptName, 0, recentSize)}
}

// reused refuses an attempt whose id was used for another.
func (r *recent) reused(a *enactment.Attempt) (enactment.Outcome, bool) {
	r.mu.Lock()
	had, ok := r.given[nameOf(*a)]
	r.mu.Unlock()
	if !ok || had.digest == a.Digest() {
		return enactment.Outcome{}, false
	}
	return enactment.Outcome{Rejection: journal.ReusedID(), Sequence: had.sequence}, true
}

func (r *recent) remember(a *enactment.Attempt, sequence uint64) {
	name, digest := nameOf(*a), wire.Digest(a.Digest())
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.given[name]; ok {
		return
	}
	r.given[name] = recalled{digest, sequence}
	if len(r.order) < recentSize {
		r.order = append(r.order, name)
		return
	}
	delete(r.given, r.order[r.next])
	r.order[r.next] = name
	r.next = (r.next + 1) % recentSize
}
