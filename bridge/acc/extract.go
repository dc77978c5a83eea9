package acc

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// inputError says why the inputs of an operation are not understood.
type inputError struct {
	code    langshaw.Code
	at      *node
	message string
}

func (e *inputError) Error() string { return e.message }

func unsupported(at *node, format string, arguments ...any) error {
	return &inputError{CodeUnsupportedConstruct, at, fmt.Sprintf(format, arguments...)}
}

// extractor takes out of a document what describes the inputs of one operation: its parameters and its body with the
// references in their place, and the schemas that they need. So a fault elsewhere in the document is no fault of the
// operation, and the libraries that read what is taken out see the same document as the reader of contracts did.
type extractor struct {
	root    *node
	version string
	budget  *int
	// wanted are names of components/schemas in the order in which they are found.
	wanted []string
	seen   map[*node]bool
	// names are those of all members of schemas.
	names map[string]bool
}

// maximumHops is how many references may lead to one thing.
const maximumHops = 20

// follow gives what a reference refers to, and anything else itself.
func (x *extractor) follow(n *node) (*node, error) {
	from := n
	for range maximumHops {
		reference := n.member("$ref")
		if reference == nil || reference.kind != textNode {
			return n, nil
		}
		target, err := x.resolve(reference)
		if err != nil {
			return nil, err
		}
		n = target
	}
	return nil, &inputError{CodeUnresolvedReference, from.member("$ref"), "the reference leads to more references, and never to an end"}
}

// resolve finds what a reference refers to.
func (x *extractor) resolve(reference *node) (*node, error) {
	missing := &inputError{CodeUnresolvedReference, reference, "the reference " + shorten(reference.text) + " does not lead to anything in this document"}
	pointer, ok := strings.CutPrefix(reference.text, "#/")
	if !ok {
		return nil, missing
	}
	n := x.root
	for _, token := range strings.Split(pointer, "/") {
		name, err := unescape(token)
		if err != nil {
			return nil, missing
		}
		next := n.member(name)
		if n.kind == arrayNode {
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.items) {
				next = n.items[i]
			}
		}
		if next == nil {
			return nil, missing
		}
		n = next
	}
	return n, nil
}

func unescape(token string) (string, error) {
	name, err := url.PathUnescape(token)
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), err
}

// locations are where parameters may stand.
var locations = []string{"path", "query", "header", "cookie"}

// ignoredHeaders are the header parameters that OpenAPI says to ignore.
var ignoredHeaders = []string{"accept", "content-type", "authorization"}

// input takes out the inputs of an operation and reads them.
func (x *extractor) input(reference Reference, item, operation *node) (*Input, error) {
	x.seen, x.names = make(map[*node]bool), make(map[string]bool)
	parameters, err := x.parameters(item, operation)
	if err != nil {
		return nil, err
	}
	e := &extract{version: x.version, reference: reference, schemas: make(map[string]any)}
	for _, p := range parameters {
		data, err := x.parameter(p)
		if err != nil {
			return nil, err
		}
		e.parameters = append(e.parameters, data)
	}
	if body := operation.member("requestBody"); body != nil {
		if err := x.body(body, e); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(x.wanted); i++ { // which grows
		name := x.wanted[i]
		schema := x.root.member("components").member("schemas").member(name)
		if e.schemas[name], err = x.schema(schema); err != nil {
			return nil, err
		}
	}
	e.names = x.names
	return e.input()
}

// parameters lists those of the path and of the operation, which come in place of those of the same name and location.
func (x *extractor) parameters(item, operation *node) ([]*node, error) {
	var found []*node
	at := make(map[string]int)
	for _, owner := range []*node{item, operation} {
		list := owner.member("parameters")
		if list == nil {
			continue
		}
		if list.kind != arrayNode {
			return nil, unsupported(list, "parameters must be a list, and is %s", describe(list))
		}
		own := make(map[string]bool)
		for _, n := range list.items {
			p, err := x.follow(n)
			if err != nil {
				return nil, err
			}
			name, in := p.member("name"), p.member("in")
			if name == nil || in == nil || name.kind != textNode || !slices.Contains(locations, in.text) {
				return nil, unsupported(n, "a parameter needs a name, and in: path, query, header or cookie")
			}
			if in.text == "header" && slices.Contains(ignoredHeaders, strings.ToLower(name.text)) {
				continue
			}
			key := in.text + " " + name.text
			if own[key] {
				return nil, unsupported(n, "the parameter %s in %s is declared twice", shorten(name.text), in.text)
			}
			own[key] = true
			if i, ok := at[key]; ok {
				found[i] = p
				continue
			}
			at[key] = len(found)
			found = append(found, p)
		}
	}
	return found, nil
}

// parameter gives what matters of a parameter.
func (x *extractor) parameter(n *node) (map[string]any, error) {
	schema := n.member("schema")
	if content := n.member("content"); schema == nil && content != nil && len(content.members) == 1 {
		schema = content.members[0].value.member("schema")
	}
	if schema == nil {
		return nil, unsupported(n, "the parameter %s has no schema", shorten(n.member("name").text))
	}
	data, err := x.schema(schema)
	if err != nil {
		return nil, err
	}
	required := n.member("required")
	if required != nil && required.kind != booleanNode {
		return nil, unsupported(required, "required must be true or false, and is %s", describe(required))
	}
	return map[string]any{
		"name": n.member("name").text, "in": n.member("in").text, "schema": data,
		"required": required != nil && required.text == "true",
	}, nil
}

// body takes out the schema of a body that is a JSON object. The members of any other body have no names, so that it is
// not among the inputs.
func (x *extractor) body(n *node, e *extract) error {
	body, err := x.follow(n)
	if err != nil {
		return err
	}
	content := body.member("content")
	if content == nil || content.kind != objectNode {
		return unsupported(n, "requestBody needs content")
	}
	chosen := (*node)(nil)
	for _, m := range content.members {
		name, _, _ := strings.Cut(strings.ToLower(m.name), ";")
		switch name = strings.TrimSpace(name); {
		case name == "application/json":
			chosen = m.value
		case strings.HasSuffix(name, "+json"):
			chosen = cmp.Or(chosen, m.value)
		}
	}
	if chosen == nil {
		return nil
	}
	schema := chosen.member("schema")
	if schema == nil {
		return unsupported(n, "the body has no schema")
	}
	if e.body, err = x.schema(schema); err != nil {
		return err
	}
	required := body.member("required")
	e.bodyRequired = required != nil && required.text == "true"
	return nil
}

// schema gives a schema, and notes which others it refers to.
func (x *extractor) schema(n *node) (any, error) {
	if err := x.visit(n); err != nil {
		return nil, err
	}
	data, err := n.data(x.budget)
	var broken *brokenError
	switch {
	case errors.As(err, &broken):
		return nil, unsupported(broken.at, "a schema has %s", broken.at.text)
	case err != nil:
		return nil, unsupported(n, "the schemas cannot be used: %v", err)
	}
	return data, nil
}

// foreignKeywords change what a reference means, or which rules a schema is read by.
var foreignKeywords = []string{"$id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"}

// visit checks what a schema consists of.
func (x *extractor) visit(n *node) error {
	if x.seen[n] {
		return nil
	}
	x.seen[n] = true
	if n.kind == numberNode && !isReckonable(n.text) {
		return unsupported(n, "a schema has a number that is too large to reckon with")
	}
	for _, m := range n.members {
		x.names[m.name] = true
		switch {
		case m.value.kind != textNode:
		case m.name == "$ref":
			if err := x.want(m.value); err != nil {
				return err
			}
		case slices.Contains(foreignKeywords, m.name) && (m.name != "$schema" || m.value.text != dialects[0]):
			return unsupported(m.value, "%s in a schema is not supported", m.name)
		}
		if err := x.visit(m.value); err != nil {
			return err
		}
	}
	for _, item := range n.items {
		if err := x.visit(item); err != nil {
			return err
		}
	}
	return nil
}

// want notes a schema that is referred to.
func (x *extractor) want(reference *node) error {
	if _, err := x.resolve(reference); err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(reference.text, "#/components/schemas/")
	if !ok {
		return unsupported(reference, "a schema may refer to #/components/schemas only")
	}
	token, _, _ := strings.Cut(rest, "/")
	name, err := unescape(token)
	if err != nil {
		return unsupported(reference, "the reference cannot be read")
	}
	if !slices.Contains(x.wanted, name) {
		x.wanted = append(x.wanted, name)
	}
	return nil
}
