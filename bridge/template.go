package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// SecretMark stands wherever a piece of a secret would: in what is written down and told, and in what the remote party has
// said in answer to an action that carries one. So where it stands for the whole of a value, the value is one of the secret's.
const SecretMark = "[secret]"

// errAbsent is why a template cannot be rendered: something that it needs is not there.
var errAbsent = errors.New("not there")

// scene is what a template is rendered from.
type scene struct {
	// world has the roots of paths.
	world map[string]any
	// secret tells whether what a reference denotes is a secret or was made of one.
	secret func(reference) bool
}

// rendered is a value, and the same as others may see it.
type rendered struct {
	value any
	shown any
	// absent tells that the member or element is left out.
	absent bool
}

// template gives a JSON value, in the sense of json.go.
type template interface {
	render(s *scene) (rendered, error)
	// walk visits every path; optional are those that need not give a value.
	walk(visit func(p *path, optional bool))
}

// literal is a value that stands in the mapping itself.
type literal struct{ value any }

func (l literal) render(*scene) (rendered, error) {
	return rendered{value: l.value, shown: l.value}, nil
}

func (literal) walk(func(*path, bool)) {}

// selection is the one node that a path gives.
type selection struct{ path *path }

func (l selection) render(s *scene) (rendered, error) {
	value, found, err := l.path.one(s.world)
	switch {
	case err != nil:
		return rendered{}, err
	case !found:
		return rendered{}, fmt.Errorf("%s is %w", l.path.text, errAbsent)
	}
	return rendered{value: value, shown: s.mask(l.path, value)}, nil
}

func (l selection) walk(visit func(*path, bool)) { visit(l.path, false) }

func (s *scene) mask(p *path, value any) any {
	if s.secret != nil && s.secret(p.references[0]) {
		return SecretMark
	}
	return value
}

// choice is the first of several templates that gives a value other than null. If none does, an optional choice leaves
// its member out, and another cannot be rendered.
type choice struct {
	from     []template
	optional bool
}

func (l choice) render(s *scene) (rendered, error) {
	var first error
	for _, t := range l.from {
		r, err := t.render(s)
		switch {
		case errors.Is(err, errAbsent):
			if first == nil {
				first = err
			}
		case err != nil:
			return rendered{}, err
		case !r.absent && r.value != nil:
			return r, nil
		}
	}
	switch {
	case l.optional:
		return rendered{absent: true}, nil
	case first == nil:
		return rendered{}, fmt.Errorf("every alternative is null: %w", errAbsent)
	default:
		return rendered{}, first
	}
}

func (l choice) walk(visit func(*path, bool)) {
	for i, t := range l.from {
		last := i == len(l.from)-1
		t.walk(func(p *path, optional bool) { visit(p, optional || l.optional || !last) })
	}
}

// member is a member of an object, in the order of the mapping.
type member struct {
	name  string
	value template
}

type object struct{ members []member }

func (l object) render(s *scene) (rendered, error) {
	value, shown := make(map[string]any, len(l.members)), make(map[string]any, len(l.members))
	for _, m := range l.members {
		r, err := m.value.render(s)
		if err != nil {
			return rendered{}, fmt.Errorf("%s: %w", m.name, err)
		}
		if !r.absent {
			value[m.name], shown[m.name] = r.value, r.shown
		}
	}
	return rendered{value: value, shown: shown}, nil
}

func (l object) walk(visit func(*path, bool)) {
	for _, m := range l.members {
		m.value.walk(visit)
	}
}

type array struct{ elements []template }

func (l array) render(s *scene) (rendered, error) {
	value, shown := make([]any, 0, len(l.elements)), make([]any, 0, len(l.elements))
	for i, t := range l.elements {
		r, err := t.render(s)
		if err != nil {
			return rendered{}, fmt.Errorf("element %d: %w", i, err)
		}
		if !r.absent {
			value, shown = append(value, r.value), append(shown, r.shown)
		}
	}
	return rendered{value: value, shown: shown}, nil
}

func (l array) walk(visit func(*path, bool)) {
	for _, t := range l.elements {
		t.walk(visit)
	}
}

// each renders a template for every element of an array, which the template knows as $.each.
type each struct {
	of   *path
	give template
}

func (l each) render(s *scene) (rendered, error) {
	found, ok, err := l.of.one(s.world)
	if err != nil {
		return rendered{}, err
	}
	elements, isArray := found.([]any)
	switch {
	case !ok:
		return rendered{}, fmt.Errorf("%s is %w", l.of.text, errAbsent)
	case !isArray:
		return rendered{}, fmt.Errorf("%s is no array: its elements are %w", l.of.text, errAbsent)
	}
	inner := &scene{world: make(map[string]any, len(s.world)+1), secret: s.secret}
	for root, value := range s.world {
		inner.world[root] = value
	}
	if s.secret != nil && s.secret(l.of.references[0]) {
		inner.secret = func(r reference) bool { return r.root == rootEach || s.secret(r) }
	}
	value, shown := make([]any, 0, len(elements)), make([]any, 0, len(elements))
	for i, element := range elements {
		inner.world[rootEach] = element
		r, err := l.give.render(inner)
		if err != nil {
			return rendered{}, fmt.Errorf("element %d of %s: %w", i, l.of.text, err)
		}
		if !r.absent {
			value, shown = append(value, r.value), append(shown, r.shown)
		}
	}
	return rendered{value: value, shown: shown}, nil
}

func (l each) walk(visit func(*path, bool)) {
	visit(l.of, false)
	l.give.walk(visit)
}

// successor is the whole number that follows the one that a path gives.
type successor struct{ of template }

func (l successor) render(s *scene) (rendered, error) {
	r, err := l.of.render(s)
	if err != nil {
		return rendered{}, err
	}
	number, ok := r.value.(json.Number)
	whole, err := strconv.ParseInt(number.String(), 10, 64)
	if !ok || err != nil || whole == math.MaxInt64 {
		return rendered{}, errors.New("what follows is known of whole numbers only")
	}
	next := rendered{value: json.Number(strconv.FormatInt(whole+1, 10))}
	if next.shown = next.value; r.shown == SecretMark {
		next.shown = SecretMark
	}
	return next, nil
}

func (l successor) walk(visit func(*path, bool)) { l.of.walk(visit) }

// text is a string with paths in braces, for headers and for the path of a request. Each must give a string, a number
// or a boolean.
type text struct {
	parts []textPart
	// escape tells that what the paths give is one segment of a URL's path each.
	escape bool
}

// textPart is a path, or else what stands between paths.
type textPart struct {
	between string
	path    *path
}

// parseText splits a string at its braces. There is no way to write a brace itself: neither a header nor the path of a
// URL needs one.
func parseText(source string, escape bool) (text, error) {
	t := text{escape: escape}
	for rest := source; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return text{}, fmt.Errorf("%q has a } without a {", source)
		}
		if before != "" {
			t.parts = append(t.parts, textPart{between: before})
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed {
			return text{}, fmt.Errorf("%q has a { without a }", source)
		}
		p, err := parsePath(inside)
		if err != nil {
			return text{}, err
		}
		t.parts = append(t.parts, textPart{path: p})
		rest = behind
	}
	return t, nil
}

func (l text) render(s *scene) (rendered, error) {
	var value, shown strings.Builder
	for _, part := range l.parts {
		if part.path == nil {
			value.WriteString(part.between)
			shown.WriteString(part.between)
			continue
		}
		found, ok, err := part.path.one(s.world)
		if err != nil {
			return rendered{}, err
		}
		if !ok || found == nil {
			return rendered{}, fmt.Errorf("%s is %w", part.path.text, errAbsent)
		}
		piece, err := l.piece(part.path, found)
		if err != nil {
			return rendered{}, err
		}
		value.WriteString(piece)
		if s.mask(part.path, nil) != nil {
			piece = SecretMark
		}
		shown.WriteString(piece)
	}
	return rendered{value: value.String(), shown: shown.String()}, nil
}

func (l text) piece(p *path, found any) (string, error) {
	var piece string
	switch found := found.(type) {
	case string:
		piece = found
	case json.Number:
		piece = found.String()
	case bool:
		piece = fmt.Sprint(found)
	default:
		return "", fmt.Errorf("%s is neither a string nor a number nor a boolean", p.text)
	}
	if !l.escape {
		if strings.ContainsFunc(piece, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return "", fmt.Errorf("%s has a line break or another control character", p.text)
		}
		return piece, nil
	}
	// A segment that is empty or made of dots would name another resource than the one that was meant.
	if piece == "" || piece == "." || piece == ".." {
		return "", fmt.Errorf("%s is %q, which is no segment of a URL's path", p.text, piece)
	}
	return url.PathEscape(piece), nil
}

func (l text) walk(visit func(*path, bool)) {
	for _, part := range l.parts {
		if part.path != nil {
			visit(part.path, false)
		}
	}
}
