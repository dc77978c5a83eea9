package profiles

import (
	"container/list"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// entry is a profile, or why there is none.
type entry struct {
	at             string
	profile        *negotiation.Profile
	err            error
	fetched, until time.Time
	// pause is how long a failure is kept.
	pause time.Duration
}

// good tells whether the entry answers who wants what was fetched after a time. A failure stands for its pause in any
// case.
func (e *entry) good(now, after time.Time) bool {
	return now.Before(e.until) && (e.err != nil || e.fetched.After(after))
}

// cache keeps the entries that were used last.
type cache struct {
	most    int
	order   *list.List
	entries map[string]*list.Element
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), entries: make(map[string]*list.Element)}
}

func (c *cache) get(at string) (*entry, bool) {
	found, ok := c.entries[at]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(found)
	e, ok := found.Value.(*entry)
	return e, ok
}

func (c *cache) put(e *entry) {
	if found, ok := c.entries[e.at]; ok {
		found.Value = e
		c.order.MoveToFront(found)
		return
	}
	c.entries[e.at] = c.order.PushFront(e)
	if c.order.Len() > c.most {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		if gone, ok := oldest.Value.(*entry); ok {
			delete(c.entries, gone.at)
		}
	}
}
