package acc

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/strabo-engine/strabo/enactment"
)

// typeSet is a set of the types that a value may have.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	booleanType
	integerType
	fractionType
	stringType
	arrayType
	objectType

	numberType = integerType | fractionType
	anyType    = nullType | booleanType | numberType | stringType | arrayType | objectType
)

var namedTypes = map[string]typeSet{
	"null": nullType, "boolean": booleanType, "integer": integerType, "number": numberType, "string": stringType,
	"array": arrayType, "object": objectType,
}

// partsOf lists a schema and all that it combines with allOf, each once: a value must be valid by all of them. Schemas
// may contain themselves.
func partsOf(schemas ...*openapi3.Schema) []*openapi3.Schema {
	var parts []*openapi3.Schema
	seen := map[*openapi3.Schema]bool{nil: true}
	for _, schema := range schemas {
		if seen[schema] {
			continue
		}
		seen[schema] = true
		parts = append(parts, schema)
	}
	for i := 0; i < len(parts); i++ { // which grows
		for _, part := range parts[i].AllOf {
			if !seen[part.Value] {
				seen[part.Value] = true
				parts = append(parts, part.Value)
			}
		}
	}
	return parts
}

// typesOf gives the types that all parts permit; anyType where no type is declared.
func typesOf(parts []*openapi3.Schema) typeSet {
	types := anyType
	for _, part := range parts {
		if part.Type == nil {
			continue
		}
		own := typeSet(0)
		for _, name := range part.Type.Slice() {
			own |= namedTypes[name]
		}
		if part.Nullable {
			own |= nullType
		}
		types &= own
	}
	return types
}

// memberOf lists the parts that hold for a member of an object, and tells whether the member must be there.
func memberOf(parts []*openapi3.Schema, name string) (member []*openapi3.Schema, required bool) {
	for _, part := range parts {
		if property, ok := part.Properties[name]; ok && property.Value != nil {
			member = append(member, property.Value)
		}
		required = required || slices.Contains(part.Required, name)
	}
	return partsOf(member...), required
}

// memberNames lists the members that are declared.
func memberNames(parts []*openapi3.Schema) []string {
	var names []string
	for _, part := range parts {
		for name := range part.Properties {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// typeOf gives the type of a value. A number is an integer however it is written.
func typeOf(v enactment.Value) typeSet {
	text := v.String()
	switch {
	case text == "":
		return 0
	case text[0] == '{':
		return objectType
	case text[0] == '[':
		return arrayType
	case text[0] == '"':
		return stringType
	case text[0] == 'n':
		return nullType
	case text[0] == 't', text[0] == 'f':
		return booleanType
	}
	if _, isInteger, _ := integer(text); isInteger {
		return integerType
	}
	return fractionType
}
