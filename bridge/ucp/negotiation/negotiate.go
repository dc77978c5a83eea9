package negotiation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Range is a range of versions, both ends included; no Max means no end.
type Range struct {
	Min string `json:"min"`
	Max string `json:"max,omitempty"`
}

// holds tells whether a version is in the range.
func (r Range) holds(version string) bool {
	return version >= r.Min && (r.Max == "" || version <= r.Max)
}

// Requires is what the schema of an extension asks for (UCP 2026-04-08, overview, version requirements).
type Requires struct {
	Protocol     *Range           `json:"protocol,omitempty"`
	Capabilities map[string]Range `json:"capabilities,omitempty"`
}

// Active is a capability that both parties have, in the version that they use.
type Active struct {
	Version string
	Extends []string
	// Schema is where its schema is, as the platform declares it, or the business if the platform does not.
	Schema string
	// Business and Platform are what the two parties have configured.
	Business, Platform []byte
}

// Dropped is a capability of the business that is not active, with the reason. Unfit tells that both parties have it, and
// that the reason lies in its schema: in what that requires, or that it cannot be read.
type Dropped struct {
	Name, Reason string
	Unfit        bool
}

// Agreement is what two parties can do together. It is not changed after it was made.
type Agreement struct {
	Release wire.Release
	// Capabilities are active, by name.
	Capabilities map[string]Active
	// Dropped are not, in the order of their names.
	Dropped []Dropped
}

// Has tells whether a capability is active.
func (a *Agreement) Has(capability string) bool {
	_, ok := a.Capabilities[capability]
	return ok
}

// Response gives what a response says of capabilities: those of root and what extends it, in the form of the model (see
// package wire). A business lists in a response what is both negotiated and relevant to the operation.
func (a *Agreement) Response(root string) wire.Object {
	out := wire.Object{}
	for name := range a.Capabilities {
		if a.below(name, root, len(a.Capabilities)) {
			out[name] = []any{wire.Object{"version": a.Capabilities[name].Version}}
		}
	}
	return out
}

// below tells whether a capability is root or extends it, perhaps through others.
func (a *Agreement) below(name, root string, depth int) bool {
	if name == root {
		return a.Has(root)
	}
	active, ok := a.Capabilities[name]
	if !ok || depth == 0 {
		return false
	}
	return slices.ContainsFunc(active.Extends, func(parent string) bool { return a.below(parent, root, depth-1) })
}

// Negotiate computes what is active between a platform and a business in a release (UCP 2026-04-08, overview,
// intersection algorithm): of each capability that both have the highest version that both have, without those that
// point outside of whoever governs their name, without extensions whose parents are all missing, and without those whose
// schema requires another release or other versions; the last two until nothing changes any more.
//
// The function requires gives what the schema of an extension at a URL asks for, nil if nothing; it may be nil where no
// schema is looked at, as before 2026-04-08, whose schemas require nothing. It is asked once for each extension at most. The error is an [*Error] with
// [CapabilitiesIncompatible] if nothing is left; the agreement with its reasons comes along.
func Negotiate(
	release wire.Release, platform, business *Profile, requires func(name, schema string) (*Requires, error),
) (*Agreement, error) {
	a := &Agreement{Release: release, Capabilities: map[string]Active{}}
	drop := func(name, format string, arguments ...any) {
		delete(a.Capabilities, name)
		a.Dropped = append(a.Dropped, Dropped{Name: name, Reason: fmt.Sprintf(format, arguments...)})
	}
	for _, name := range slices.Sorted(maps.Keys(business.Capabilities)) {
		theirs, ok := platform.Capabilities[name]
		if !ok {
			drop(name, "the platform has it not")
			continue
		}
		active, reason := highest(name, theirs, business.Capabilities[name])
		if reason != "" {
			drop(name, "%s", reason)
			continue
		}
		a.Capabilities[name] = active
	}
	wanted := map[string]*Requires{}
	if requires != nil {
		for _, name := range slices.Sorted(maps.Keys(a.Capabilities)) {
			active := a.Capabilities[name]
			if active.Schema == "" || len(active.Extends) == 0 {
				continue
			}
			r, err := requires(name, active.Schema)
			if err != nil {
				drop(name, "its schema cannot be read: %v", err)
				a.Dropped[len(a.Dropped)-1].Unfit = true
				continue
			}
			wanted[name] = r
		}
	}
	for changed := true; changed; {
		changed = false
		for _, name := range slices.Sorted(maps.Keys(a.Capabilities)) {
			reason, unfit := a.unmet(name, wanted[name])
			if reason != "" {
				drop(name, "%s", reason)
				a.Dropped[len(a.Dropped)-1].Unfit = unfit
				changed = true
			}
		}
	}
	slices.SortFunc(a.Dropped, func(x, y Dropped) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	})
	if len(a.Capabilities) == 0 {
		return a, &Error{Code: CapabilitiesIncompatible, Content: "The platform and this business have no capability in common."}
	}
	return a, nil
}

// highest finds the highest version of a capability that both have.
func highest(name string, platform, business []Capability) (Active, string) {
	found, misplaced := Active{}, false
	for _, b := range business {
		for _, p := range platform {
			if b.Version != p.Version {
				continue
			}
			if !governed(name, b.Entity) || !governed(name, p.Entity) {
				misplaced = true
				continue
			}
			if b.Version > found.Version {
				schema := p.Schema
				if schema == "" {
					schema = b.Schema
				}
				extends := b.Extends
				if len(extends) == 0 {
					extends = p.Extends
				}
				found = Active{
					Version: b.Version, Extends: extends, Schema: schema, Business: b.Config, Platform: p.Config,
				}
			}
		}
	}
	switch {
	case found.Version != "":
		return found, ""
	case misplaced:
		return found, "its schema or specification is not where the owner of its name has it"
	}
	return found, "there is no version of it that both have"
}

// unmet tells why a capability cannot be active beside the others that are; empty if it can. Unfit tells that this lies
// in what its schema requires.
func (a *Agreement) unmet(name string, wanted *Requires) (reason string, unfit bool) {
	active := a.Capabilities[name]
	if len(active.Extends) > 0 && !slices.ContainsFunc(active.Extends, a.Has) {
		return fmt.Sprintf("nothing that it extends is active (%v)", active.Extends), false
	}
	if wanted == nil {
		return "", false
	}
	if wanted.Protocol != nil && !wanted.Protocol.holds(string(a.Release)) {
		return fmt.Sprintf("it requires UCP %s", wanted.Protocol), true
	}
	for _, other := range slices.Sorted(maps.Keys(wanted.Capabilities)) {
		needs := wanted.Capabilities[other]
		// Of several parents an extension needs one only; what is not active is not extended, so it is not required.
		if there, ok := a.Capabilities[other]; ok && !needs.holds(there.Version) {
			return fmt.Sprintf("it requires %s %s, and %s is active", other, needs, there.Version), true
		}
	}
	return "", false
}

// String shows the range as a person writes it.
func (r Range) String() string {
	if r.Max == "" {
		return "from " + r.Min
	}
	return r.Min + " to " + r.Max
}
