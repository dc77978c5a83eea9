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
	library *library
	version string
	budget  *int
	// wanted are schemas that others refer to, in the order in which they are found, and byName finds them: those of
	// components/schemas by their names, and those of other documents by names that are made for them.
	wanted []wanted
	byName map[string]bool
	// elsewhere are the names of schemas of other documents, and renamed what references to those become.
	elsewhere map[*node]string
	renamed   map[*node]string
	seen      map[*node]bool
	// names are those of all members of schemas.
	names map[string]bool
}

// wanted is a schema that others refer to.
type wanted struct {
	name   string
	schema *node
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
	missing := &inputError{CodeUnresolvedReference, reference, "the reference " + shorten(reference.text) + " does not lead to anything"}
	file, pointer, _ := strings.Cut(reference.text, "#")
	in := reference.in
	if file != "" {
		var err error
		if in, err = x.library.find(reference, file); err != nil {
			return nil, err
		}
	}
	n := in.root
	if pointer == "" && file != "" {
		return n, nil
	}
	pointer, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, missing
	}
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
	x.begin()
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
		if e.schemas[x.wanted[i].name], err = x.schema(x.wanted[i].schema); err != nil {
			return nil, err
		}
	}
	e.names = x.names
	return e.input()
}

func (x *extractor) begin() {
	x.seen, x.names, x.byName = make(map[*node]bool), make(map[string]bool), make(map[string]bool)
	x.elsewhere, x.renamed = make(map[*node]string), make(map[*node]string)
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
	if len(x.renamed) > 0 {
		x.rename(n, data)
	}
	return data, nil
}

// rename puts the new references in the place of those to other documents, in what was made of a node.
func (x *extractor) rename(n *node, data any) {
	switch data := data.(type) {
	case map[string]any:
		for _, m := range n.members {
			if name, ok := x.renamed[m.value]; ok && m.name == "$ref" {
				data[m.name] = componentSchemas + name
				continue
			}
			x.rename(m.value, data[m.name])
		}
	case []any:
		for i, item := range n.items {
			x.rename(item, data[i])
		}
	}
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

const componentSchemas = "#/components/schemas/"

// want notes a schema that is referred to.
func (x *extractor) want(reference *node) error {
	target, err := x.resolve(reference)
	if err != nil {
		return err
	}
	if target.in != x.root.in {
		x.renamed[reference] = x.nameOf(target)
		return nil
	}
	_, pointer, _ := strings.Cut(reference.text, "#")
	rest, ok := strings.CutPrefix("#"+pointer, componentSchemas)
	if !ok {
		return unsupported(reference, "a schema may refer to #/components/schemas only")
	}
	token, _, _ := strings.Cut(rest, "/")
	name, err := unescape(token)
	if err != nil {
		return unsupported(reference, "the reference cannot be read")
	}
	if reference.in != x.root.in || !strings.HasPrefix(reference.text, "#") {
		x.renamed[reference] = rest // It leads back to the first document.
	}
	if !x.byName[name] {
		x.byName[name] = true
		x.wanted = append(x.wanted, wanted{name, x.root.member("components").member("schemas").member(name)})
	}
	return nil
}

// nameOf gives a schema of another document a name among the schemas of this one.
func (x *extractor) nameOf(schema *node) string {
	name, ok := x.elsewhere[schema]
	if ok {
		return name
	}
	own := x.root.member("components").member("schemas")
	for i := len(x.elsewhere) + 1; ; i++ {
		name = "elsewhere." + strconv.Itoa(i)
		if !x.byName[name] && own.member(name) == nil {
			break
		}
	}
	x.elsewhere[schema], x.byName[name] = name, true
	x.wanted = append(x.wanted, wanted{name, schema})
	return name
}
