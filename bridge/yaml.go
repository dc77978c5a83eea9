package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds the nesting of a mapping file, so that no text can exhaust the stack.
const maxDepth = 100

// reader turns YAML nodes into what a mapping is made of and collects every fault with its place.
type reader struct {
	file   string
	faults Faults
	hooks  map[string]Hook
	// anyHook tells that every hook is taken to be there.
	anyHook bool
	define  map[string]template
	places  map[any]place // of *path and *condition
	inEach  int
	depth   int
}

func (r *reader) fault(at *yaml.Node, format string, arguments ...any) {
	r.faultAt(placeOf(at), format, arguments...)
}

func (r *reader) faultAt(at place, format string, arguments ...any) {
	r.faults = append(r.faults, Fault{
		File: r.file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, arguments...),
	})
}

func placeOf(n *yaml.Node) place { return place{max(n.Line, 1), max(n.Column, 1)} }

// parseYAML gives the root of the one document in the text.
func parseYAML(input []byte) (root *yaml.Node, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(input)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, errors.New("the file is empty")
	}
	budget := maxNodes
	return resolveAliases(document.Content[0], 0, &budget)
}

// maxNodes bounds what a mapping file grows to when its aliases are put in, so that a few lines cannot become millions.
const maxNodes = 100_000

// resolveAliases puts what an alias stands for in its place.
func resolveAliases(n *yaml.Node, depth int, budget *int) (*yaml.Node, error) {
	if *budget--; *budget < 0 || depth > 4*maxDepth {
		return nil, errors.New("the file is too large, or has an alias within itself")
	}
	if n.Kind == yaml.AliasNode {
		return resolveAliases(n.Alias, depth+1, budget)
	}
	if len(n.Content) == 0 {
		return n, nil
	}
	resolved := *n
	resolved.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		var err error
		if resolved.Content[i], err = resolveAliases(child, depth+1, budget); err != nil {
			return nil, err
		}
	}
	return &resolved, nil
}

// field is one member of a YAML mapping.
type field struct{ key, value *yaml.Node }

// fields lists the members of a mapping, each name once; anything else is a fault.
func (r *reader) fields(n *yaml.Node, what string) []field {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be a mapping of names to values", what)
		return nil
	}
	var found []field
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			r.fault(key, "%s: a name must be plain text", what)
		case seen[key.Value]:
			r.fault(key, "%s has %q twice", what, key.Value)
		default:
			seen[key.Value] = true
			found = append(found, field{key, value})
		}
	}
	return found
}

// take reads a mapping with a fixed set of names: each is handed to its function, every other is a fault.
func (r *reader) take(n *yaml.Node, what string, by map[string]func(*yaml.Node)) {
	for _, f := range r.fields(n, what) {
		read, ok := by[f.key.Value]
		if !ok {
			names := make([]string, 0, len(by))
			for name := range by {
				names = append(names, name)
			}
			slices.Sort(names)
			r.fault(f.key, "%s has no %q; it may have %s", what, f.key.Value, strings.Join(names, ", "))
			continue
		}
		read(f.value)
	}
}

func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.ShortTag() == "!!null" {
		r.fault(n, "%s must be text", what)
		return ""
	}
	return n.Value
}

func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list", what)
		return nil
	}
	return n.Content
}

func (r *reader) path(n *yaml.Node, source string) (*path, bool) {
	p, err := parsePath(source)
	if err != nil {
		r.fault(n, "%v", err)
		return nil, false
	}
	r.note(n, p, p.references)
	return p, true
}

// note remembers where a path or condition stands.
func (r *reader) note(n *yaml.Node, what any, references []reference) {
	r.places[what] = placeOf(n)
	for _, reference := range references {
		if reference.root == rootEach && r.inEach == 0 {
			r.fault(n, "$.each has a meaning only below the give of an !each")
		}
	}
}

func (r *reader) condition(n *yaml.Node) *condition {
	source := r.text(n, "a condition")
	if source == "" {
		return nil
	}
	c, err := parseCondition(source)
	if err != nil {
		r.fault(n, "%v", err)
		return nil
	}
	r.note(n, c, c.references)
	return c
}

// template reads a template: text that begins with $ is a path, with $$ text that begins with $, other scalars are
// themselves, and the tags !optional, !first, !each, !next and !use have the meanings of MAPPING.md. It never gives nil.
func (r *reader) template(n *yaml.Node) template {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		r.fault(n, "templates may be nested %d deep", maxDepth)
		return literal{}
	}
	switch tag := n.Tag; {
	case tag == "!optional" || tag == "!first":
		return r.choice(n, tag == "!optional")
	case tag == "!each":
		return r.each(n)
	case tag == "!next":
		of := *n
		of.Tag = "!!str"
		p, ok := r.path(n, r.text(&of, "!next"))
		if !ok {
			return literal{}
		}
		return successor{selection{p}}
	case tag == "!use":
		found, ok := r.define[n.Value]
		if n.Kind != yaml.ScalarNode || !ok {
			r.fault(n, "!use %s: nothing of that name is defined", n.Value)
			return literal{}
		}
		return found
	case strings.HasPrefix(tag, "!") && !strings.HasPrefix(tag, "!!"):
		r.fault(n, "there is no tag %s: !optional, !first, !each, !next and !use are known", tag)
		return literal{}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return object{r.members(n, "an object")}
	case yaml.SequenceNode:
		var l array
		for _, element := range n.Content {
			l.elements = append(l.elements, r.template(element))
		}
		return l
	default:
		return r.scalar(n)
	}
}

func (r *reader) members(n *yaml.Node, what string) []member {
	var found []member
	for _, f := range r.fields(n, what) {
		found = append(found, member{f.key.Value, r.template(f.value)})
	}
	return found
}

func (r *reader) scalar(n *yaml.Node) template {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return literal{}
	case "!!bool":
		return literal{n.Value == "true" || n.Value == "True" || n.Value == "TRUE"}
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			r.fault(n, "write the number %s as JSON does", n.Value)
			return literal{}
		}
		return literal{json.Number(n.Value)}
	case "!!str", "!!timestamp":
	default:
		r.fault(n, "a value of the kind %s cannot be sent", tag)
		return literal{}
	}
	if unescaped, ok := strings.CutPrefix(n.Value, "$$"); ok {
		return literal{"$" + unescaped}
	}
	if !strings.HasPrefix(n.Value, "$") {
		return literal{n.Value}
	}
	if p, ok := r.path(n, n.Value); ok {
		return selection{p}
	}
	return literal{}
}

// choice reads !optional and !first, of one path or of a list of templates.
func (r *reader) choice(n *yaml.Node, optional bool) template {
	untagged := *n
	untagged.Tag = ""
	l := choice{optional: optional}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, element := range n.Content {
			l.from = append(l.from, r.template(element))
		}
	case yaml.ScalarNode:
		untagged.Tag = "!!str"
		l.from = append(l.from, r.template(&untagged))
	default:
		r.fault(n, "%s takes a path or a list", n.Tag)
	}
	if len(l.from) == 0 {
		r.fault(n, "%s needs something to take", n.Tag)
		return literal{}
	}
	return l
}

func (r *reader) each(n *yaml.Node) template {
	var l each
	r.take(n, "!each", map[string]func(*yaml.Node){
		"of": func(n *yaml.Node) { l.of, _ = r.path(n, r.text(n, "of")) },
		"give": func(n *yaml.Node) {
			r.inEach++
			l.give = r.template(n)
			r.inEach--
		},
	})
	if l.of == nil || l.give == nil {
		r.fault(n, "!each needs of, a path to an array, and give, what to make of each element")
		return literal{}
	}
	return l
}
