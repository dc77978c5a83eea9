package syncserver

import (
	"context"
	"fmt"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

var _ adapter.Attendant = (*Local)(nil)

// localVisit implements [adapter.Visit].
type localVisit struct {
	local    *Local
	identity enactment.Identity
	log      *log
}

// Visit implements [adapter.Attendant]. A Local has every enactment at hand, so agents that have joined it work on all of
// them, visited or not.
func (l *Local) Visit(
	_ context.Context, identity enactment.Identity, key enactment.Key, _ adapter.Freshness,
) (adapter.Visit, error) {
	e, err := l.acquire(key)
	if err != nil {
		return nil, fmt.Errorf("syncserver: visit %s as %s: %w", key, identity, err)
	}
	return &localVisit{l, identity, e}, nil
}

func (v *localVisit) Instances() []enactment.Instance {
	if !v.log.sees(v.identity) {
		return nil
	}
	var seen []enactment.Instance
	for _, entry := range v.log.read() {
		seen = append(seen, projected(v.local.rules, v.identity.Role, entry.finalisation.Instances)...)
	}
	return seen
}

func (v *localVisit) Sequence() uint64 {
	entries := v.log.read()
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].finalisation.Sequence
}

func (v *localVisit) Changed() <-chan struct{} { return v.log.more() }

func (v *localVisit) Close(bool) {
	v.log.mu.Lock()
	defer v.log.mu.Unlock()
	v.local.release(v.log, 1)
}
