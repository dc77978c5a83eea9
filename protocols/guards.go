package protocols

import (
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// predicate is a guard without the action that it guards, for it may guard several.
type predicate struct {
	// actions are those that the guard is for.
	actions []string
	allow   func(view enactment.View, candidate enactment.Instance) bool
	detail  string
}

// guards are the predicates that companions may name. The names are part of the hashes of the protocols that use them:
// a predicate that is changed needs a new name (see [enactment.Guard]).
var guards = map[string]predicate{
	"first-revision": {
		[]string{"Create"},
		firstRevision,
		"a checkout is created at revision 0, of which the business has said nothing yet",
	},
	"next-revision": {
		[]string{"Offered", "NeedsInput", "OrderChanged"},
		nextRevision,
		"the next revision is one more than the last, and comes when the last was updated, declined or withdrawn, or there is an order to change",
	},
	"latest-revision": {
		[]string{"Rejected", "Withdrawn"},
		latestRevision,
		"only the latest revision can be withdrawn, or an update of it rejected",
	},
	"revision-seen": {
		[]string{"Cancel"},
		revisionSeen,
		"the checkout is not any more what was seen: there is a later revision, or something has been asked for in this one",
	},
	"totals-add-up": {
		[]string{"Offered"},
		totalsAddUp,
		"totals have one subtotal and one total, discounts below zero and charges not, and add up",
	},
}

// GuardNames lists the guards that a companion may name, sorted.
func GuardNames() []string { return slices.Sorted(maps.Keys(guards)) }

// guardOptions gives the guards of the names, which have been checked, in the form that [enactment.Compile] takes.
func guardOptions(names []string) []enactment.Option {
	var all []enactment.Guard
	for _, name := range names {
		p := guards[name]
		for _, action := range p.actions {
			all = append(all, enactment.Guard{Name: name, Action: action, Allow: p.allow, Detail: p.detail})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []enactment.Option{enactment.WithGuards(all...)}
}
