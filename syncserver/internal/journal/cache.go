package journal

import (
	"container/list"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
)

// cache keeps the enactments that are in use and, up to a bound, those used last.
type cache struct {
	bound   int
	folded  func(*enactment.State, enactment.Finalisation) // see [Config.Folded]
	removed func(enactment.Key)                            // see [Config.Removed]

	mu     sync.Mutex
	known  map[enactment.Key]*Enactment
	unused *list.List // of *Enactment, the one used last in front
	cost   int        // of those unused
}

// usage is the cache's own note on an enactment, guarded by its mutex.
type usage struct {
	users int
	cost  int           // when somebody last had it
	place *list.Element // nil while it is in use
}

func newCache(bound int, folded func(*enactment.State, enactment.Finalisation), removed func(enactment.Key)) *cache {
	return &cache{bound: bound, folded: folded, removed: removed, known: make(map[enactment.Key]*Enactment), unused: list.New()}
}

func (c *cache) acquire(key enactment.Key, rules *enactment.Rules) *Enactment {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		e = newEnactment(key, rules)
		e.folded, e.gone = c.folded, c.removed
		c.known[key] = e
	}
	e.use.users++
	if e.use.place != nil {
		c.unused.Remove(e.use.place)
		e.use.place = nil
		c.cost -= e.use.cost
	}
	return e
}

// release gives an enactment back. The caller has its lock.
func (c *cache) release(e *Enactment) {
	cost := e.cost()
	c.mu.Lock()
	defer c.mu.Unlock()
	e.use.cost = cost
	c.leave(e)
}

// abandon gives back an enactment of which the caller has not got the lock.
func (c *cache) abandon(e *Enactment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(e)
}

// leave counts one user less, and makes room. The caller holds mu.
func (c *cache) leave(e *Enactment) {
	e.use.users--
	if e.use.users > 0 {
		return
	}
	e.use.place = c.unused.PushFront(e)
	c.cost += e.use.cost
	// The one used last stays, however large: it would be read again for each attempt.
	for c.cost > c.bound && c.unused.Len() > 1 {
		oldest := c.unused.Remove(c.unused.Back()).(*Enactment)
		oldest.use.place = nil
		c.cost -= oldest.use.cost
		delete(c.known, oldest.key)
	}
}

// size is how many enactments are kept.
func (c *cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.known)
}
