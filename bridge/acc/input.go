package acc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/strabo-engine/strabo/enactment"
)

// Input is what a call of an operation may be given: its parameters, and the members of its body if that is a JSON
// object, all by name. A value goes to every parameter and member of its name. The zero Input takes nothing.
type Input struct {
	parameters    []parameter
	body          []*openapi3.Schema
	bodyRequired  bool
	bodyValidator *jsonschema.Schema
}

type parameter struct {
	name, in  string
	required  bool
	schema    []*openapi3.Schema
	validator *jsonschema.Schema
}

// NewInput makes an input of a JSON Schema (2020-12) of an object, for operations that are described elsewhere than in
// an OpenAPI document.
func NewInput(schema enactment.Value) (*Input, error) {
	r := &report{}
	root := readText([]byte(schema.String()), r)
	if root == nil || root.kind != objectNode {
		return nil, errors.New("acc: the schema is no object")
	}
	budget := largestDocument
	x := &extractor{root: root, library: newLibrary(nil, root.in, 0), version: "3.1.0", budget: &budget}
	x.begin()
	data, err := x.schema(root)
	if err != nil {
		return nil, fmt.Errorf("acc: the schema cannot be used: %w", err)
	}
	e := &extract{version: x.version, reference: Reference{Method: "POST", Path: "/"}, body: data, schemas: map[string]any{}, names: x.names}
	input, err := e.input()
	if err != nil {
		return nil, fmt.Errorf("acc: the schema cannot be used: %w", err)
	}
	if input.body == nil {
		return nil, errors.New("acc: the schema is not that of an object")
	}
	return input, nil
}

// Names lists the inputs, sorted, each once.
func (i *Input) Names() []string {
	names := memberNames(i.body)
	for _, p := range i.parameters {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ErrInvalidArguments is the error of arguments that the operation does not take as they are.
var ErrInvalidArguments = errors.New("acc: invalid arguments")

// Check tells whether arguments are valid by the schemas of the operation; the error wraps [ErrInvalidArguments] and
// does not quote values.
func (i *Input) Check(arguments enactment.Values) error {
	_, err := i.decode(arguments)
	return err
}

// decode checks arguments, and gives them as encoding/json decodes them, numbers as json.Number.
func (i *Input) decode(arguments enactment.Values) (map[string]any, error) {
	data := make(map[string]any, len(arguments))
	for name, value := range arguments {
		if value.IsZero() {
			continue
		}
		decoded, ok := plain(value)
		if !ok {
			return nil, fmt.Errorf("%w: %s cannot be read", ErrInvalidArguments, shorten(name))
		}
		if !reckonable(decoded) {
			return nil, fmt.Errorf("%w: %s has a number that is too large", ErrInvalidArguments, shorten(name))
		}
		data[name] = decoded
	}
	body := make(map[string]any, len(data))
	for name, value := range data {
		isParameter := slices.ContainsFunc(i.parameters, func(p parameter) bool { return p.name == name })
		if isParameter && !i.inBody(name) {
			continue
		}
		if !isParameter && i.body == nil {
			return nil, fmt.Errorf("%w: the operation takes no %s", ErrInvalidArguments, shorten(name))
		}
		body[name] = value
	}
	for _, p := range i.parameters {
		value, ok := data[p.name]
		switch {
		case !ok && p.required:
			return nil, fmt.Errorf("%w: %s is required", ErrInvalidArguments, p.name)
		case ok && p.validator.Validate(value) != nil:
			return nil, fmt.Errorf("%w: %s is not as its schema says", ErrInvalidArguments, p.name)
		}
	}
	if i.body != nil && (i.bodyRequired || len(body) > 0) {
		if err := i.bodyValidator.Validate(body); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrInvalidArguments, placesOf(err))
		}
	}
	return data, nil
}

// plain gives a value as encoding/json decodes it. Most arguments are no objects, and are read without a decoder.
func plain(value enactment.Value) (decoded any, ok bool) {
	switch text := value.String(); {
	case text == "null":
		return nil, true
	case text == "true", text == "false":
		return text == "true", true
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return json.Number(text), true
	}
	return decoded, value.Decode(&decoded) == nil
}

func (i *Input) inBody(name string) bool {
	member, _ := memberOf(i.body, name)
	return len(member) > 0
}

// placesOf says where in the body the schema is not met, and keeps the values out of it.
func placesOf(err error) string {
	var failure *jsonschema.ValidationError
	if !errors.As(err, &failure) {
		return "the body is not as its schema says"
	}
	for len(failure.Causes) > 0 {
		failure = failure.Causes[0]
	}
	place := shorten(strings.Join(failure.InstanceLocation, "."))
	if place == "" {
		place = "the body"
	}
	return place + " is not as its schema says: " + strings.Join(failure.ErrorKind.KeywordPath(), ".")
}
