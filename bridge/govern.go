package bridge

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// governed is a request of a mapping with what holds for the operation that it calls.
type governed struct {
	*policy.Operation
	// declared tells that there is a contract.
	declared bool
	// path are the parameters in the path, by their names in the declaration: a path of the mapping, or a text.
	path map[string]textPart
	// keyed tells that the remote party recognises a repetition by the request's key.
	keyed bool
}

// keyless tells that the request goes without an idempotency key, since nothing is changed.
func (g *governed) keyless(c *call) bool {
	return g.Contract.Readonly.Value || !g.declared && c.reads()
}

// repeatable tells whether it could make sense to send the request again, if the operator permits that.
func (g *governed) repeatable() bool {
	return g.DeclaredIdempotent() && (g.Contract.Readonly.Value || g.keyed)
}

// govern finds what holds for each request of the mapping. The error is [Faults], at their places in the mapping.
func (b *Bridge) govern() error {
	r := &reader{file: b.mapping.name}
	b.governed = make(map[*call]*governed)
	for _, action := range b.mapping.order {
		for _, s := range b.mapping.actions[action].steps {
			if s.request != nil {
				b.governStep(r, action, s)
			}
		}
	}
	if len(r.faults) > 0 {
		return r.faults.sorted()
	}
	return nil
}

func (b *Bridge) governStep(r *reader, action string, s *step) {
	name := b.mapping.protocol + "." + action + "." + s.name
	g := b.governCall(r, s.request, name, s.retry)
	if g == nil {
		return
	}
	switch {
	case s.retry && !g.DeclaredIdempotent():
		r.faultAt(s.request.where, "retry: same-key of step %s: %s is not declared idempotent", s.name, g.Name)
	case s.status == nil && !g.repeatable() && s.repeats():
		r.faultAt(s.where, "step %s asks or sends again, and %s must not be sent again", s.name, g.Name)
	case g.Contract.Idempotent.Value && !g.Contract.Readonly.Value && !s.retry:
		b.log.Warn("declared idempotent, and the mapping does not say how a repetition is recognised: never sent again",
			"operation", g.Name, "action", action, "step", s.name)
	}
	if s.status == nil {
		return
	}
	q := b.governCall(r, s.status.request, name+".status", true)
	switch {
	case q == nil || !q.declared:
	case !q.Contract.Readonly.Value:
		r.faultAt(s.status.request.where, "a status query must only read, and %s is not declared readonly", q.Name)
	case q.Contract.ApprovalRequired.Value || len(q.Contract.When) > 0:
		r.faultAt(s.status.request.where, "a status query cannot wait until somebody agrees, as %s may have to", q.Name)
	}
}

// repeats tells whether an answer asks to send the request again.
func (s *step) repeats() bool {
	for _, a := range s.answers {
		if a.kind == ask || a.kind == resend {
			return true
		}
	}
	return false
}

func (b *Bridge) governCall(r *reader, c *call, name string, keyed bool) *governed {
	g := &governed{keyed: keyed, path: make(map[string]textPart)}
	var err error
	switch {
	case c.operation != "":
		if g.Operation, err = b.options.Policy.Operation(c.operation); err != nil {
			r.faultAt(c.where, "%v", err)
			return nil
		}
		g.declared = true
	case b.options.Policy.Governs():
		r.faultAt(c.where, "the request names no operation: where contracts are declared, nothing is called without one")
		return nil
	default:
		if g.Operation, err = b.options.Policy.Undeclared(name, keyed); err != nil {
			r.faultAt(c.where, "%v", err)
			return nil
		}
	}
	if reference, ok := g.Declared(); ok {
		if reference.Method != c.method || !g.matchPath(reference.Path, c.path) {
			r.faultAt(c.where, "%s is declared as %s, which this request is not", c.operation, reference)
			return nil
		}
	}
	b.governed[c] = g
	return g
}

// matchPath holds the path of a request against that of its declaration, segment by segment, and notes the parameters.
func (g *governed) matchPath(declared string, actual text) bool {
	// Whatever the mapping puts in is one segment, or part of one.
	const put = "\x00"
	var flat strings.Builder
	var parts []textPart
	for _, part := range actual.parts {
		if part.path == nil {
			flat.WriteString(part.between)
			continue
		}
		flat.WriteString(put)
		parts = append(parts, part)
	}
	path, _, _ := strings.Cut(flat.String(), "?")
	want, got := strings.Split(declared, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		inside := strings.Count(got[i], put)
		isParameter := len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}'
		switch {
		case isParameter && got[i] == put:
			g.path[segment[1:len(segment)-1]] = parts[0]
		case isParameter && inside == 0:
			g.path[segment[1:len(segment)-1]] = textPart{between: got[i]}
		case isParameter, segment != got[i]:
			return false
		}
		parts = parts[inside:]
	}
	return true
}

// arguments are what a request gives to the operation, by the names of its declaration.
func (g *governed) arguments(s *scene, address string, header http.Header, body any) (enactment.Values, error) {
	arguments := make(enactment.Values)
	put := func(name string, value any) (err error) {
		arguments[name], err = enactment.ValueOf(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, name := range g.Inputs() {
		if values := header.Values(name); len(values) > 0 {
			if err := put(name, values[0]); err != nil {
				return nil, err
			}
		}
	}
	if _, query, found := strings.Cut(address, "?"); found {
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, err
		}
		for name := range values {
			if err := put(name, values.Get(name)); err != nil {
				return nil, err
			}
		}
	}
	for name, part := range g.path {
		var value any = part.between
		if part.path != nil {
			found, ok, err := part.path.one(s.world)
			if err != nil || !ok {
				return nil, fmt.Errorf("%s: %w", name, errAbsent)
			}
			value = found
		}
		if err := put(name, value); err != nil {
			return nil, err
		}
	}
	members, _ := body.(map[string]any)
	for name, value := range members {
		if err := put(name, value); err != nil {
			return nil, err
		}
	}
	return arguments, nil
}
