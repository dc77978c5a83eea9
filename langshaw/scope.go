package langshaw

import (
	"fmt"
	"slices"
	"strings"
)

// warnOfKeys reports keys that do not fit together (semantics section 3). It needs a model that lacks no action and
// no key.
func warnOfKeys(p *Protocol, found *report) {
	warnOfRoot(p, found)
	for _, a := range p.attributes {
		if a.key || !isNarrow(a) {
			continue
		}
		scope := "once in the whole system"
		if a.scope.len() > 0 {
			scope = "once for each " + listKeys(a.scope)
		}
		found.add(warningAt(a.span, CodeNarrowScope,
			"%s is bound %s, though each action that carries it has more keys than that: let them carry the same keys, or use two names",
			quote(a.name), scope))
	}
}

// warnOfRoot points at the first action that shares no key with all before it.
func warnOfRoot(p *Protocol, found *report) {
	var shared []string
	for _, a := range p.actions {
		switch {
		case a.keys.len() == 0:
			continue
		case shared == nil:
			shared = slices.Clone(a.keys.names)
			continue
		}
		before := strings.Join(shared[:min(len(shared), 3)], ", ")
		shared = slices.DeleteFunc(shared, func(key string) bool { return !a.Carries(key) })
		if len(shared) == 0 {
			found.add(warningAt(a.span, CodeNoRootKey,
				"no key is carried by all actions, as %s lacks what those above share (%s), so the whole system is one enactment: let all carry one key",
				quote(a.name), before))
			return
		}
	}
}

// isNarrow tells whether the attribute is bound for fewer keys than each of its carriers has. A key is not meant: it
// is what others are bound for.
func isNarrow(a *Attribute) bool {
	keyed := false
	for _, c := range a.carriers {
		if c.keys.len() == 0 {
			continue
		}
		keyed = true
		if c.keys.len() <= a.scope.len() {
			return false
		}
	}
	return keyed
}

func listKeys(s *keySet) string {
	const most = 3
	names := strings.Join(s.names[:min(s.len(), most)], ", ")
	if s.len() > most {
		return fmt.Sprintf("%s and %d more", names, s.len()-most)
	}
	return names
}
