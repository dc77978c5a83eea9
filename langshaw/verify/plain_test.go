package verify_test

import (
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// plainVerifier is the definition of semantics section 6, written down and enumerated: one enactment, one value a key.
// It shares nothing with the package.
type plainVerifier struct {
	p         *langshaw.Protocol
	actions   []*langshaw.Action
	immediate bool
}

type plainResult struct {
	live, safe bool
	dead       []string
	states     int
	// fewest is the least number of actions of a witness against liveness and against safety; -1 where there is none.
	fewestStuck, fewestUnsafe int
}

type plainState map[string]bool

func (v *plainVerifier) bound(s plainState, attribute string) bool {
	for _, a := range v.actions {
		if s[a.Name()] && a.Carries(attribute) {
			return true
		}
	}
	return false
}

func (v *plainVerifier) enabled(s plainState, a *langshaw.Action) bool {
	keys := slices.Collect(a.Keys())
	if s[a.Name()] || len(keys) == 0 {
		return false
	}
	for name := range a.Attributes() {
		attribute, _ := v.p.Attribute(name)
		if attribute.IsAction() {
			if !s[name] {
				return false
			}
			continue
		}
		sayso := slices.Collect(attribute.Sayso())
		may := slices.Contains(sayso, a.Role()) || attribute.IsKey() && len(sayso) == 0
		if !may && !v.bound(s, name) {
			return false
		}
	}
	for _, b := range v.actions {
		if s[b.Name()] && (v.p.Excludes(a.Name(), b.Name()) || v.p.Blocks(b.Name(), a.Name())) {
			return false
		}
	}
	return true
}

func (v *plainVerifier) dominates(s plainState, a, b *langshaw.Action) bool {
	if a.Role() == b.Role() {
		return false
	}
	for name := range a.Attributes() {
		attribute, _ := v.p.Attribute(name)
		if attribute.IsAction() || !b.Carries(name) || v.bound(s, name) {
			continue
		}
		sayso := slices.Collect(attribute.Sayso())
		mine, yours := slices.Index(sayso, a.Role()), slices.Index(sayso, b.Role())
		if mine >= 0 && yours >= 0 && mine < yours {
			return true
		}
	}
	return false
}

func (v *plainVerifier) stepAllowed(s plainState, step []*langshaw.Action) bool {
	for _, a := range step {
		for _, b := range step {
			if a == b {
				continue
			}
			if v.dominates(s, a, b) || v.p.Excludes(a.Name(), b.Name()) || a.Role() == b.Role() && v.p.Blocks(a.Name(), b.Name()) {
				return false
			}
		}
	}
	return len(step) > 0 && (!v.immediate || len(step) == 1)
}

func (v *plainVerifier) complete(s plainState) bool {
	for conjunct := range v.p.What() {
		satisfied := false
		for name := range conjunct.Alternatives() {
			satisfied = satisfied || v.bound(s, name)
		}
		if !satisfied {
			return false
		}
	}
	return true
}

func (v *plainVerifier) enabledIn(s plainState) []*langshaw.Action {
	var enabled []*langshaw.Action
	for _, a := range v.actions {
		if v.enabled(s, a) {
			enabled = append(enabled, a)
		}
	}
	return enabled
}

func (v *plainVerifier) stuck(s plainState) bool { return len(v.enabledIn(s)) == 0 && !v.complete(s) }

func (v *plainVerifier) unsafe(s plainState) (pairs [][2]string) {
	enabled := v.enabledIn(s)
	for i, a := range enabled {
		for _, b := range enabled[i+1:] {
			if a.Role() != b.Role() && v.p.Excludes(a.Name(), b.Name()) && !v.dominates(s, a, b) && !v.dominates(s, b, a) {
				pairs = append(pairs, [2]string{a.Name(), b.Name()})
			}
		}
	}
	return pairs
}

func (v *plainVerifier) key(s plainState) string {
	key := make([]byte, len(v.actions))
	for i, a := range v.actions {
		key[i] = '0'
		if s[a.Name()] {
			key[i] = '1'
		}
	}
	return string(key)
}

func (v *plainVerifier) run() plainResult {
	v.actions = slices.Collect(v.p.Actions())
	r := plainResult{live: true, safe: true, fewestStuck: -1, fewestUnsafe: -1}
	everEnabled := make(map[string]bool)
	seen := map[string]bool{v.key(plainState{}): true}
	queue := []plainState{{}}
	least := func(n *int, count int) {
		if *n < 0 || count < *n {
			*n = count
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		r.states++
		enabled := v.enabledIn(s)
		for _, a := range enabled {
			everEnabled[a.Name()] = true
		}
		if v.stuck(s) {
			r.live = false
			least(&r.fewestStuck, len(s))
		}
		if len(v.unsafe(s)) > 0 {
			r.safe = false
			least(&r.fewestUnsafe, len(s))
		}
		for subset := 1; subset < 1<<len(enabled); subset++ {
			var step []*langshaw.Action
			for i, a := range enabled {
				if subset&(1<<i) != 0 {
					step = append(step, a)
				}
			}
			if !v.stepAllowed(s, step) {
				continue
			}
			next := plainState{}
			for name := range s {
				next[name] = true
			}
			for _, a := range step {
				next[a.Name()] = true
			}
			if key := v.key(next); !seen[key] {
				seen[key] = true
				queue = append(queue, next)
			}
		}
	}
	for _, a := range v.actions {
		if !everEnabled[a.Name()] {
			r.dead = append(r.dead, a.Name())
		}
	}
	return r
}

// follow goes a witness step by step; false where one of its steps may not be taken.
func (v *plainVerifier) follow(steps [][]string) (plainState, bool) {
	s := plainState{}
	for _, step := range steps {
		var actions []*langshaw.Action
		for _, name := range step {
			a, ok := v.p.Action(name)
			if !ok || !v.enabled(s, a) {
				return nil, false
			}
			actions = append(actions, a)
		}
		if !v.stepAllowed(s, actions) {
			return nil, false
		}
		next := plainState{}
		for name := range s {
			next[name] = true
		}
		for _, name := range step {
			next[name] = true
		}
		s = next
	}
	return s, true
}
