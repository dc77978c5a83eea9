package negotiation

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// ErrSchema says that a schema of an extension is none, or is none of that extension.
var ErrSchema = errors.New("ucp: not a schema of the extension")

// ParseRequires reads what the schema of an extension asks for; nil if that is nothing. A schema that says so in another
// form than the specification has it (UCP 2026-04-08, overview, version requirements) cannot be relied on: the error
// wraps [ErrSchema].
func ParseRequires(name string, schema []byte) (*Requires, error) {
	whole, err := wire.Decode(schema)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrSchema)
	}
	if said, ok := whole["name"]; ok && said != name {
		return nil, fmt.Errorf("%w: it is that of another, by its name", ErrSchema)
	}
	said, ok := whole["requires"]
	if !ok {
		return nil, nil
	}
	asked, ok := said.(wire.Object)
	if !ok {
		return nil, fmt.Errorf("%w: its requires is no object", ErrSchema)
	}
	out := &Requires{}
	if protocol, ok := asked["protocol"]; ok {
		r, err := rangeOf("the protocol", protocol)
		if err != nil {
			return nil, err
		}
		out.Protocol = &r
	}
	listed, ok := asked["capabilities"].(wire.Object)
	if _, there := asked["capabilities"]; there && !ok {
		return nil, fmt.Errorf("%w: its requires.capabilities is no object", ErrSchema)
	}
	definitions, _ := whole["$defs"].(wire.Object)
	for _, other := range slices.Sorted(maps.Keys(listed)) {
		if _, defined := definitions[other]; !defined || !nameForm.MatchString(other) {
			return nil, fmt.Errorf("%w: it requires a version of what it does not define: %.100q", ErrSchema, other)
		}
		r, err := rangeOf(other, listed[other])
		if err != nil {
			return nil, err
		}
		if out.Capabilities == nil {
			out.Capabilities = make(map[string]Range)
		}
		out.Capabilities[other] = r
	}
	return out, nil
}

func rangeOf(what string, said any) (Range, error) {
	asked, _ := said.(wire.Object)
	r := Range{}
	r.Min, _ = asked["min"].(string)
	most, bounded := asked["max"]
	r.Max, _ = most.(string)
	if !ValidVersion(r.Min) || bounded && !ValidVersion(r.Max) {
		return r, fmt.Errorf("%w: what it requires of %s is no range of versions", ErrSchema, what)
	}
	return r, nil
}
