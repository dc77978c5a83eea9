package acc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// extract is what describes the inputs of one operation, as encoding/json would decode it.
type extract struct {
	version      string
	reference    Reference
	parameters   []map[string]any
	body         any
	bodyRequired bool
	schemas      map[string]any
	// names are those of all members of schemas.
	names map[string]bool
}

// document is an OpenAPI document of this operation only.
func (e *extract) document() map[string]any {
	operation := map[string]any{"responses": map[string]any{"default": map[string]any{"description": "not an input"}}}
	if len(e.parameters) > 0 {
		operation["parameters"] = e.parameters
	}
	if e.body != nil {
		operation["requestBody"] = map[string]any{
			"required": e.bodyRequired, "content": map[string]any{"application/json": map[string]any{"schema": e.body}},
		}
	}
	return map[string]any{
		"openapi":    e.version,
		"info":       map[string]any{"title": e.reference.String(), "version": "0"},
		"paths":      map[string]any{e.reference.Path: map[string]any{strings.ToLower(e.reference.Method): operation}},
		"components": map[string]any{"schemas": e.schemas},
	}
}

// input checks the extract, and makes of it what conditions and arguments are checked against.
func (e *extract) input() (*Input, error) {
	text, err := json.Marshal(e.document())
	if err != nil {
		return nil, unsupported(nil, "the inputs cannot be used: %v", err)
	}
	operation, err := e.load(text)
	if err != nil {
		return nil, err
	}
	validators, err := e.compile()
	if err != nil {
		return nil, err
	}
	input := &Input{}
	for i, p := range operation.Parameters {
		input.parameters = append(input.parameters, parameter{
			name: p.Value.Name, in: p.Value.In, required: p.Value.Required, schema: partsOf(p.Value.Schema.Value), validator: validators[i],
		})
	}
	if e.body != nil {
		parts := partsOf(operation.RequestBody.Value.Content["application/json"].Schema.Value)
		types := typesOf(parts)
		if types&^nullType == objectType || types == anyType && len(memberNames(parts)) > 0 {
			input.body, input.bodyRequired = parts, e.bodyRequired
			input.bodyValidator = validators[len(validators)-1]
		}
	}
	return input, nil
}

// load reads and checks the document by the rules of OpenAPI.
func (e *extract) load(text []byte) (*openapi3.Operation, error) {
	options := []openapi3.ValidationOption{openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation()}
	if !e.isVersion30() {
		// JSON Schema ignores members of a schema that it does not know.
		options = append(options, openapi3.AllowExtraSiblingFields(slices.Sorted(maps.Keys(e.names))...))
	}
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromData(text)
	if err == nil {
		err = document.Validate(loader.Context, options...)
	}
	if err != nil {
		return nil, unsupported(nil, "parameters and body are not valid OpenAPI: %s", firstLine(err))
	}
	item := document.Paths.Value(e.reference.Path)
	if item == nil || item.GetOperation(e.reference.Method) == nil {
		return nil, unsupported(nil, "the operation is not found again")
	}
	return item.GetOperation(e.reference.Method), nil
}

func (e *extract) isVersion30() bool { return strings.HasPrefix(e.version, "3.0.") }

// firstLine keeps messages of libraries to one line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	const most = 300
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

// resource is the name of the extract among schemas.
const resource = "urn:strabo:input"

// compile makes validators for the parameters, in order, and then for the body if there is one. Numbers are compared
// exactly, which those of the OpenAPI library are not.
func (e *extract) compile() ([]*jsonschema.Schema, error) {
	c := &converter{version30: e.isVersion30(), schemas: e.schemas, counts: make(map[string]int)}
	schemas := make(map[string]any, len(e.schemas))
	for name, schema := range e.schemas {
		schemas[name] = c.convert(schema)
	}
	parameters := make([]any, len(e.parameters))
	places := make([]string, 0, len(parameters)+1)
	for i, p := range e.parameters {
		parameters[i] = c.convert(p["schema"])
		places = append(places, fmt.Sprintf("#/parameters/%d", i))
	}
	whole := map[string]any{"parameters": parameters, "components": map[string]any{"schemas": schemas}}
	if e.body != nil {
		whole["body"] = c.convert(e.body)
		places = append(places, "#/body")
	}
	for _, schema := range append(slices.Collect(maps.Values(schemas)), append(parameters, whole["body"])...) {
		if !c.isAffordable(schema) {
			return nil, unsupported(nil, "the schemas combine more than %d schemas for one value", mostCombined)
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(resource, whole); err != nil {
		return nil, unsupported(nil, "the schemas cannot be used: %s", firstLine(err))
	}
	validators := make([]*jsonschema.Schema, len(places))
	for i, place := range places {
		var err error
		if validators[i], err = compiler.Compile(resource + place); err != nil {
			return nil, unsupported(nil, "the schemas cannot be used: %s", firstLine(err))
		}
	}
	return validators, nil
}

// mostCombined bounds how many schemas one value is checked by, since a few that refer to each other twice, and those to
// others twice, make millions.
const mostCombined = 10_000

// isAffordable tells whether no value in what a schema describes is checked by too many schemas.
func (c *converter) isAffordable(schema any) bool {
	switch schema := schema.(type) {
	case map[string]any:
		if c.combined(schema) > mostCombined {
			return false
		}
		for _, below := range schema {
			if !c.isAffordable(below) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(schema, func(below any) bool { return !c.isAffordable(below) })
	}
	return true
}

// combined counts the schemas that a value is checked by, itself, if it is checked by this one. It stops counting soon
// after mostCombined.
func (c *converter) combined(schema any) int {
	object, ok := schema.(map[string]any)
	if !ok {
		return 1
	}
	sum := 1
	for _, keyword := range []string{"not", "if", "then", "else"} {
		if below, ok := object[keyword]; ok {
			sum += c.combined(below)
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[keyword].([]any)
		for _, below := range list {
			sum = min(sum+c.combined(below), mostCombined+1)
		}
	}
	dependent, _ := object["dependentSchemas"].(map[string]any)
	for _, below := range dependent {
		sum = min(sum+c.combined(below), mostCombined+1)
	}
	if reference, ok := object["$ref"].(string); ok {
		sum += c.combinedBy(reference)
	}
	return min(sum, mostCombined+1)
}

// combinedBy counts for what a reference refers to, each once. One that is within itself counts as too many: nothing
// could be checked by it.
func (c *converter) combinedBy(reference string) int {
	if count, ok := c.counts[reference]; ok {
		return count
	}
	c.counts[reference] = mostCombined + 1
	var target any = c.schemas
	for _, token := range strings.Split(strings.TrimPrefix(reference, "#/components/schemas/"), "/") {
		name, _ := unescape(token)
		switch below := target.(type) {
		case map[string]any:
			target = below[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(below) {
				return mostCombined + 1
			}
			target = below[i]
		}
	}
	c.counts[reference] = c.combined(target)
	return c.counts[reference]
}

// noLoader keeps schemas from being read from anywhere.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("no schema is loaded from elsewhere")
}

// converter makes JSON Schema 2020-12 of schemas of OpenAPI, for values that are sent.
type converter struct {
	version30 bool
	schemas   map[string]any
	// counts are those of combinedBy.
	counts map[string]int
}

// Keywords by what is below them.
var (
	schemaKeywords = []string{
		"not", "items", "additionalProperties", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	listKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapKeywords  = []string{"properties", "patternProperties", "dependentSchemas", "$defs"}
)

func (c *converter) convert(schema any) any {
	object, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	if reference, ok := object["$ref"]; ok && c.version30 {
		return map[string]any{"$ref": reference} // all else beside it is ignored
	}
	result := maps.Clone(object)
	for _, keyword := range schemaKeywords {
		if below, ok := result[keyword]; ok {
			result[keyword] = c.convert(below)
		}
	}
	for _, keyword := range listKeywords {
		if list, ok := result[keyword].([]any); ok {
			list = slices.Clone(list)
			for i := range list {
				list[i] = c.convert(list[i])
			}
			result[keyword] = list
		}
	}
	for _, keyword := range mapKeywords {
		if below, ok := result[keyword].(map[string]any); ok {
			below = maps.Clone(below)
			for name := range below {
				below[name] = c.convert(below[name])
			}
			result[keyword] = below
		}
	}
	c.dropReadOnly(result)
	if c.version30 {
		convert30(result)
	}
	return result
}

// dropReadOnly takes members that are only ever answered out of those that must be sent.
func (c *converter) dropReadOnly(schema map[string]any) {
	required, ok := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	if !ok || len(properties) == 0 {
		return
	}
	kept := []any{}
	for _, name := range required {
		text, _ := name.(string)
		if !c.isReadOnly(properties[text]) {
			kept = append(kept, name)
		}
	}
	schema["required"] = kept
}

func (c *converter) isReadOnly(schema any) bool {
	for range maximumHops {
		object, _ := schema.(map[string]any)
		if object["readOnly"] == true {
			return true
		}
		reference, _ := object["$ref"].(string)
		name, ok := strings.CutPrefix(reference, "#/components/schemas/")
		if !ok {
			return false
		}
		name, _ = unescape(name)
		schema = c.schemas[name]
	}
	return false
}

// convert30 writes what version 3.0 says in its own way as JSON Schema does.
func convert30(schema map[string]any) {
	if name, ok := schema["type"].(string); ok && schema["nullable"] == true {
		schema["type"] = []any{name, "null"}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		isExclusive, ok := schema[exclusive].(bool)
		if !ok {
			continue
		}
		delete(schema, exclusive)
		if value, ok := schema[bound]; ok && isExclusive {
			schema[exclusive] = value
			delete(schema, bound)
		}
	}
}
