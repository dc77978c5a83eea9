package acc

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Gate judges whether calls need an approval. It is checked against the inputs when it is made, and never changes.
type Gate struct {
	input      *Input
	required   bool
	conditions []gateCondition
}

// gateCondition is a condition with what is known of its input.
type gateCondition struct {
	Condition
	path []string
	// list are the values of in.
	list []enactment.Value
	// text is the value of contains if it is text.
	text string
	// assumed is what the operation takes an input to be that is left out; the zero value where that is not declared.
	assumed enactment.Value
	// optional tells that the input may be left out.
	optional bool
}

// Gate makes what judges the approval of calls: always needed, or needed when any of the conditions holds. What a
// condition refers to must be an input with a declared type that it can be compared with; anything else is an error, and
// then the gate is nil.
func (i *Input) Gate(required bool, conditions []Condition) (*Gate, Diagnostics) {
	g := &Gate{input: i, required: required}
	var diagnostics Diagnostics
	for _, condition := range conditions {
		resolved, fault := i.resolve(condition)
		if fault != nil {
			fault.Severity, fault.Span = langshaw.Error, condition.Span
			diagnostics = append(diagnostics, *fault)
			continue
		}
		g.conditions = append(g.conditions, resolved)
	}
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return g, nil
}

func faultOf(code langshaw.Code, format string, arguments ...any) *Diagnostic {
	return &Diagnostic{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// longestPath is how many names a condition's param may consist of.
const longestPath = 50

// resolve finds the input of a condition and checks that the condition says something about it.
func (i *Input) resolve(c Condition) (gateCondition, *Diagnostic) {
	result := gateCondition{Condition: c, path: strings.Split(c.Param, ".")}
	param := shorten(c.Param)
	if len(result.path) > longestPath {
		return result, faultOf(CodeUnknownInput, "the operation has no input %s", param)
	}
	parts, required, fault := i.named(result.path[0])
	if fault != nil {
		return result, fault
	}
	optional := !required
	for at, name := range result.path[1:] {
		holder := shorten(strings.Join(result.path[:at+1], "."))
		if typesOf(parts)&arrayType != 0 && typesOf(parts) != anyType {
			return result, faultOf(CodeArrayInput, "%s is a list: a condition cannot reach into its elements", holder)
		}
		member, required := memberOf(parts, name)
		if len(member) == 0 {
			fault := faultOf(CodeUnknownInput, "%s is not declared to have a member %s", holder, shorten(name))
			fault.Suggestion = nearest(result.path[:at+1], name, memberNames(parts))
			return result, fault
		}
		optional = optional || !required || typesOf(parts)&nullType != 0
		parts = member
	}
	result.optional = optional
	types := typesOf(parts)
	if types == anyType {
		return result, faultOf(CodeUntypedInput, "%s is not declared with a type, so that nothing can be said about it", param)
	}
	if optional {
		result.assumed = assumed(parts)
	}
	return result, result.match(types, parts)
}

// named finds an input by its name.
func (i *Input) named(name string) (parts []*openapi3.Schema, required bool, fault *Diagnostic) {
	places := 0
	for _, p := range i.parameters {
		if p.name == name {
			parts, required = p.schema, p.required
			places++
		}
	}
	if member, isRequired := memberOf(i.body, name); len(member) > 0 {
		parts, required = member, isRequired && i.bodyRequired
		places++
	}
	switch {
	case places > 1:
		return nil, false, faultOf(CodeAmbiguousInput, "%s stands for %d inputs of the operation, in different places", shorten(name), places)
	case places == 0:
		fault := faultOf(CodeUnknownInput, "the operation declares no input %s", shorten(name))
		fault.Suggestion = nearest(nil, name, i.Names())
		return nil, false, fault
	}
	return parts, required, nil
}

func nearest(holder []string, name string, among []string) string {
	found := langshaw.Nearest(name, among)
	if found == "" {
		return ""
	}
	return strings.Join(append(holder[:len(holder):len(holder)], found), ".")
}

// assumed gives the default of an input that may be left out.
func assumed(parts []*openapi3.Schema) enactment.Value {
	for _, part := range parts {
		if part.Default != nil {
			if value, err := enactment.ValueOf(part.Default); err == nil {
				return value
			}
		}
	}
	return enactment.Value{}
}

// match checks that the operator and its value can be used with the types of the input, and prepares the value. What
// could never hold is an error: whoever wrote it believes that somebody is asked.
func (c *gateCondition) match(types typeSet, parts []*openapi3.Schema) *Diagnostic {
	param := shorten(c.Param)
	switch {
	case c.Op == Exists:
	case c.Value.IsZero():
		return faultOf(CodeImpossibleCondition, "the condition on %s has no value to compare with", param)
	case c.Op.orders():
		if types&^(numberType|nullType) != 0 {
			return faultOf(CodeImpossibleCondition, "%s is not a number, and %s compares numbers only", param, c.Op)
		}
		if !isNumber(c.Value) || !isReckonable(c.Value.String()) {
			return faultOf(CodeImpossibleCondition, "%s compares with a number, and the value is none that can be used", c.Op)
		}
	case c.Op == Equal, c.Op == NotEqual:
		if !possible(c.Value, types) {
			return faultOf(CodeImpossibleCondition, "%s can never be equal to a value of this type: nothing is converted", param)
		}
	case c.Op == In:
		if typeOf(c.Value) != arrayType || c.Value.Decode(&c.list) != nil || len(c.list) == 0 {
			return faultOf(CodeImpossibleCondition, "in needs a list of one or more values")
		}
		for _, value := range c.list {
			if !possible(value, types) {
				return faultOf(CodeImpossibleCondition, "%s can never be equal to one of the values, by its type: nothing is converted", param)
			}
		}
	case c.Op == Contains:
		return c.matchContains(types, parts)
	default:
		return faultOf(CodeImpossibleCondition, "there is no operator %s", shorten(string(c.Op)))
	}
	return nil
}

func (c *gateCondition) matchContains(types typeSet, parts []*openapi3.Schema) *Diagnostic {
	param := shorten(c.Param)
	if isText(c.Value) && c.Value.Decode(&c.text) != nil {
		return faultOf(CodeImpossibleCondition, "the value of the condition on %s cannot be read", param)
	}
	switch types &^ nullType {
	case stringType:
		if !isText(c.Value) {
			return faultOf(CodeImpossibleCondition, "%s is text, and contains no value that is not", param)
		}
	case arrayType:
		items := anyType
		for _, part := range parts {
			if part.Items != nil {
				items &= typesOf(partsOf(part.Items.Value))
			}
		}
		if !possible(c.Value, items) {
			return faultOf(CodeImpossibleCondition, "%s can never contain a value of this type: nothing is converted", param)
		}
	default:
		return faultOf(CodeImpossibleCondition, "%s is neither text nor a list, and contains nothing", param)
	}
	return nil
}

// possible tells whether an input of the types may have the value.
func possible(value enactment.Value, types typeSet) bool { return typeOf(value)&types != 0 }

// Outcome says what a gate decides.
type Outcome string

// What a gate decides, as ACC spells it.
const (
	// Allow: no approval is asked for. It is no authorization.
	Allow Outcome = "allow"
	// ApprovalRequired: somebody must agree first.
	ApprovalRequired Outcome = "approval_required"
	// RejectInvalidArguments: the arguments are not valid, or a condition cannot be judged with them.
	RejectInvalidArguments Outcome = "reject_invalid_arguments"
)

// Decision is what a gate decides about one call.
type Decision struct {
	Outcome Outcome
	// Condition is the one that holds; nil unless one is why an approval is required.
	Condition *Condition
	// Err says what is wrong with the arguments; it wraps [ErrInvalidArguments] and does not quote values.
	Err error
}

// Decide judges a call by its arguments, which are first checked by the schemas of the operation. Conditions are judged
// in order, and the first that holds is enough. One that compares numbers, or asks what an input contains, cannot be
// judged without its input: the call is then refused. An input that is left out is judged as that and also as the
// default that the operation declares for it, and an approval is required if either asks for it.
func (g *Gate) Decide(arguments enactment.Values) Decision {
	data, err := g.input.decode(arguments)
	if err != nil {
		return Decision{Outcome: RejectInvalidArguments, Err: err}
	}
	if g.required {
		return Decision{Outcome: ApprovalRequired}
	}
	for i := range g.conditions {
		c := &g.conditions[i]
		holds, err := c.judge(arguments, data)
		switch {
		case err != nil:
			return Decision{Outcome: RejectInvalidArguments, Err: err}
		case holds:
			return Decision{Outcome: ApprovalRequired, Condition: &c.Condition}
		}
	}
	return Decision{Outcome: Allow}
}

// lookUp finds an input; what is not there, or has no such member, is left out.
func lookUp(data map[string]any, path []string) (value any, given bool) {
	value, given = data[path[0]]
	for _, name := range path[1:] {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		value, given = object[name]
	}
	return value, given
}

// judge judges the condition for arguments, which are given as values and decoded.
func (c *gateCondition) judge(arguments enactment.Values, data map[string]any) (bool, error) {
	if value := arguments[c.path[0]]; len(c.path) == 1 && !value.IsZero() {
		return c.holds(value)
	}
	argument, given := lookUp(data, c.path)
	if !given {
		holds, err := c.holds(enactment.Value{})
		if err != nil || holds || c.assumed.IsZero() {
			return holds, err
		}
		return c.holds(c.assumed)
	}
	value, err := enactment.ValueOf(argument)
	if err != nil {
		return false, fmt.Errorf("%w: %s cannot be read", ErrInvalidArguments, c.Param)
	}
	return c.holds(value)
}

// holds judges the condition for a value; the zero value is one that is left out.
func (c *gateCondition) holds(value enactment.Value) (bool, error) {
	unjudged := func() (bool, error) {
		return false, fmt.Errorf("%w: the condition %s cannot be judged without a value", ErrInvalidArguments, c.Condition)
	}
	switch c.Op {
	case Exists:
		return !value.IsZero() && !isNull(value), nil
	case Equal:
		return !value.IsZero() && value.Equal(c.Value), nil
	case NotEqual:
		return value.IsZero() || !value.Equal(c.Value), nil
	case In:
		for _, one := range c.list {
			if !value.IsZero() && value.Equal(one) {
				return true, nil
			}
		}
		return false, nil
	case Contains:
		return c.contains(value, unjudged)
	}
	if !isNumber(value) {
		return unjudged()
	}
	order, ok := compareNumbers(value.String(), c.Value.String())
	if !ok {
		return unjudged()
	}
	switch c.Op {
	case Greater:
		return order > 0, nil
	case GreaterOrEqual:
		return order >= 0, nil
	case Less:
		return order < 0, nil
	case LessOrEqual:
		return order <= 0, nil
	}
	return unjudged()
}

func (c *gateCondition) contains(value enactment.Value, unjudged func() (bool, error)) (bool, error) {
	switch typeOf(value) {
	case stringType:
		var text string
		if value.Decode(&text) != nil {
			return unjudged()
		}
		return isText(c.Value) && strings.Contains(text, c.text), nil
	case arrayType:
		var elements []enactment.Value
		if value.Decode(&elements) != nil {
			return unjudged()
		}
		for _, element := range elements {
			if element.Equal(c.Value) {
				return true, nil
			}
		}
		return false, nil
	}
	return unjudged()
}

// reckonable tells whether all numbers in decoded JSON can be reckoned with.
func reckonable(data any) bool {
	switch data := data.(type) {
	case json.Number:
		return isReckonable(data.String())
	case []any:
		for _, element := range data {
			if !reckonable(element) {
				return false
			}
		}
	case map[string]any:
		for _, element := range data {
			if !reckonable(element) {
				return false
			}
		}
	}
	return true
}
