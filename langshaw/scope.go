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
		if a.scope.set.len() > 0 {
			scope = "once for each " + listKeys(a.scope.set)
		}
		found.add(warningAt(a.span, CodeNarrowScope,
			"%s is bound %s, though each action that carries it has more keys than that: let them carry the same keys, or use two names",
			quote(a.name), scope))
	}
}

// warnOfRoot points at the first action that shares no key with all before it.
func warnOfRoot(p *Protocol, found *report) {
	var shared meeting
	for _, a := range p.actions {
		before := shared
		shared.meet(a.keys)
		if shared.met && shared.set.len() == 0 {
			found.add(warningAt(a.span, CodeNoRootKey,
				"no key is carried by all actions, as %s lacks what those above share (%s), so the whole system is one enactment: let all carry one key",
				quote(a.name), listKeys(before.set)))
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
		if c.keys.len() <= a.scope.set.len() {
			return false
		}
	}
	return keyed
}

// listKeys names a few keys of a set.
func listKeys(s keySet) string {
	const most = 3
	names := slices.Collect(s.all())
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
