package acc

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/strabo-engine/strabo/langshaw"
)

// The bounds of ACC. Lengths are in code points.
const (
	longestScope    = 160
	longestPrompt   = 500
	longestLabel    = 300
	longestGuidance = 2000
	longestContext  = 120
	// MaximumTimeout is the longest timeout that a contract may declare.
	MaximumTimeout = 10 * time.Minute
)

// largestDeclaration is how many values one declaration may have.
const largestDeclaration = 20_000

var scopePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// fieldsOf are the fields that ACC knows, by the dotted name of the object that has them.
var fieldsOf = map[string][]string{
	"":                     {"version", "enabled", "scope", "risk", "subject", "approval", "audit", "execution", "guidance"},
	"risk":                 {"level"},
	"subject":              {"required"},
	"approval":             {"required", "prompt", "when"},
	"approval.when":        {"param", "op", "value", "label"},
	"audit":                {"sensitive"},
	"execution":            {"readonly", "idempotent", "timeout_ms", "rate_limit"},
	"execution.rate_limit": {"count", "window"},
	"guidance":             {"when_to_use", "returns", "examples", "context"},
}

// ParseDeclaration reads a contract that stands alone, as JSON or YAML. Without errors the declaration is valid; with
// any it is nil, and must not be acted upon (fail closed). Of two versions of ACC only [Version] is understood: another
// is unsupported_version, and nothing more is said about it.
func ParseDeclaration(text []byte) (*Declaration, Diagnostics) {
	r := &report{}
	root := readText(text, r)
	if root == nil {
		return nil, r.list
	}
	d := readDeclaration(root, langshaw.Span{}, r)
	return d, sorted(r.list)
}

// declarationReader reads one declaration.
type declarationReader struct {
	*report
	declaration *Declaration
	// code is that of what is not valid.
	code   langshaw.Code
	failed bool
}

// readDeclaration gives nil for a declaration that is not valid, which it has reported. The span is that of the name
// under which it stands, if it has one.
func readDeclaration(n *node, at langshaw.Span, r *report) *Declaration {
	if at == (langshaw.Span{}) {
		at = r.places.span(n.start, n.end)
	}
	d := &declarationReader{
		report: r, declaration: &Declaration{places: map[string]langshaw.Span{"": at}}, code: CodeInvalidDeclaration,
	}
	if n.kind != objectNode {
		d.invalid(n, "a contract must be an object, and this is %s", describe(n))
		return nil
	}
	if !d.version(n) {
		return nil
	}
	budget := largestDeclaration
	raw, err := n.value(&budget)
	if err != nil {
		d.unreadable(n, err)
		return nil
	}
	d.declaration.Raw = raw
	d.fields(n)
	if d.failed {
		return nil
	}
	return d.declaration
}

// unreadable reports a declaration that is no JSON.
func (d *declarationReader) unreadable(n *node, err error) {
	var broken *brokenError
	if errors.As(err, &broken) {
		d.invalid(broken.at, "the contract has %s", broken.at.text)
		return
	}
	d.invalid(n, "the contract cannot be used: %v", err)
}

func (d *declarationReader) invalid(n *node, format string, arguments ...any) {
	d.failed = true
	d.fault(d.code, n.start, n.end, format, arguments...)
}

// version reads the version, since nothing else has a meaning without it.
func (d *declarationReader) version(n *node) bool {
	version := n.member("version")
	if version == nil {
		d.missing(n, "version")
		return false
	}
	value, isInteger, fits := int64(0), false, false
	if version.kind == numberNode {
		value, isInteger, fits = integer(version.text)
	}
	switch {
	case !isInteger:
		d.invalid(version, "version must be the integer %d, and is %s", Version, describe(version))
		return false
	case !fits || value != Version:
		d.failed = true
		d.fault(CodeUnsupportedVersion, version.start, version.end, "version %s of ACC is not supported: only %d is", shorten(version.text), Version)
		return false
	}
	return true
}

func (d *declarationReader) missing(n *node, name string) {
	d.failed = true
	at := d.declaration.places[""]
	d.add(Diagnostic{
		Code: CodeInvalidDeclaration, Severity: langshaw.Error, Message: "the contract has no " + name, Span: at,
	})
}

// object reads the fields of an object: those that are known by the functions given, and all others as unknown.
func (d *declarationReader) object(n *node, path string, known map[string]func(*node)) {
	if n.kind != objectNode {
		d.invalid(n, "%s must be an object, and is %s", path, describe(n))
		return
	}
	list := fieldsOf[path]
	for _, m := range n.members {
		name := m.name
		if path != "" {
			name = path + "." + m.name
		}
		if slices.Contains(list, m.name) {
			d.declaration.places[name] = d.places.span(m.start, m.end)
			known[m.name](m.value)
			continue
		}
		budget := largestDeclaration // that the whole is small enough is known
		value, err := m.value.value(&budget)
		if err != nil {
			d.unreadable(m.value, err)
			continue
		}
		d.declaration.Unknown = append(d.declaration.Unknown, UnknownField{Path: name, Value: value, Span: d.places.span(m.start, m.end)})
	}
}

func (d *declarationReader) fields(n *node) {
	result := d.declaration
	for _, name := range []string{"enabled", "scope"} {
		if n.member(name) == nil {
			d.missing(n, name)
		}
	}
	d.object(n, "", map[string]func(*node){
		"version": func(*node) {},
		"enabled": func(n *node) {
			if enabled := d.boolean(n, "enabled"); enabled != nil {
				result.Enabled = *enabled
			}
		},
		"scope": func(n *node) { result.Scope = d.scope(n) },
		"risk": func(n *node) {
			d.object(n, "risk", map[string]func(*node){"level": func(n *node) { result.RiskLevel = d.riskLevel(n) }})
		},
		"subject": func(n *node) {
			d.object(n, "subject", map[string]func(*node){
				"required": func(n *node) { result.SubjectRequired = d.boolean(n, "subject.required") },
			})
		},
		"approval": d.approval,
		"audit": func(n *node) {
			d.object(n, "audit", map[string]func(*node){
				"sensitive": func(n *node) { result.AuditSensitive = d.boolean(n, "audit.sensitive") },
			})
		},
		"execution": d.execution,
		"guidance":  d.guidance,
	})
}

func (d *declarationReader) scope(n *node) string {
	scope := d.text(n, "scope", 1, longestScope)
	if scope != "" && !scopePattern.MatchString(scope) {
		d.invalid(n, "scope must be letters and digits, and after the first of them also . _ : and -")
	}
	return scope
}

func (d *declarationReader) riskLevel(n *node) RiskLevel {
	level := RiskLevel(n.text)
	if n.kind != textNode || level.rank() > HighRisk.rank() {
		d.invalid(n, "risk.level must be low, medium or high, and is %s", describe(n))
	}
	return level
}

func (d *declarationReader) approval(n *node) {
	approval := &d.declaration.Approval
	d.object(n, "approval", map[string]func(*node){
		"required": func(n *node) { approval.Required = d.boolean(n, "approval.required") },
		"prompt":   func(n *node) { approval.Prompt = d.text(n, "approval.prompt", 0, longestPrompt) },
		"when": func(n *node) {
			for i, item := range d.list(n, "approval.when") {
				if condition, ok := d.condition(item, i); ok {
					approval.When = append(approval.When, condition)
				}
			}
		},
	})
}

// condition reads an item of approval.when. Its unknown fields carry its number.
func (d *declarationReader) condition(n *node, number int) (Condition, bool) {
	const path = "approval.when"
	before, failed := len(d.declaration.Unknown), d.failed
	d.failed = false
	var c Condition
	hasValue := false
	d.object(n, path, map[string]func(*node){
		"param": func(n *node) {
			c.Param = d.text(n, path+".param", 1, math.MaxInt)
			c.Span = d.places.span(n.start, n.end)
		},
		"op": func(n *node) {
			c.Op = Operator(n.text)
			if n.kind != textNode || !slices.Contains(operators, c.Op) {
				d.invalid(n, "approval.when.op must be one of > >= < <= == != in contains exists, and is %s", describe(n))
			}
		},
		"value": func(n *node) {
			hasValue = true
			budget := largestDeclaration // that the whole is small enough is known
			c.Value, _ = n.value(&budget)
		},
		"label": func(n *node) { c.Label = d.text(n, path+".label", 0, longestLabel) },
	})
	for i := range d.declaration.Unknown[before:] {
		u := &d.declaration.Unknown[before+i]
		u.Path = path + "[" + strconv.Itoa(number) + "]" + strings.TrimPrefix(u.Path, path)
	}
	if n.kind == objectNode {
		switch {
		case n.member("param") == nil:
			d.invalid(n, "a condition of approval.when has no param")
		case n.member("op") == nil:
			d.invalid(n, "a condition of approval.when has no op")
		case !hasValue && c.Op != Exists && !d.failed:
			d.invalid(n, "a condition of approval.when has no value to compare with")
		}
	}
	ok := !d.failed
	d.failed = d.failed || failed
	return c, ok
}

func (d *declarationReader) guidance(n *node) {
	guidance := &d.declaration.Guidance
	d.object(n, "guidance", map[string]func(*node){
		"when_to_use": func(n *node) { guidance.WhenToUse = d.text(n, "guidance.when_to_use", 0, longestGuidance) },
		"returns":     func(n *node) { guidance.Returns = d.text(n, "guidance.returns", 0, longestGuidance) },
		"examples": func(n *node) {
			for _, item := range d.list(n, "guidance.examples") {
				if item.kind != objectNode {
					d.invalid(item, "guidance.examples must be objects, and this is %s", describe(item))
					continue
				}
				budget := largestDeclaration // that the whole is small enough is known
				example, _ := item.value(&budget)
				guidance.Examples = append(guidance.Examples, example)
			}
		},
		"context": func(n *node) {
			for _, item := range d.list(n, "guidance.context") {
				guidance.Context = append(guidance.Context, d.text(item, "guidance.context", 1, longestContext))
			}
		},
	})
}

func (d *declarationReader) boolean(n *node, path string) *bool {
	if n.kind != booleanNode {
		d.invalid(n, "%s must be true or false, and is %s", path, describe(n))
		return nil
	}
	value := n.text == "true"
	return &value
}

func (d *declarationReader) integer(n *node, path string) (value int64, isInteger, fits bool) {
	if n.kind == numberNode {
		value, isInteger, fits = integer(n.text)
	}
	if !isInteger {
		d.invalid(n, "%s must be an integer, and is %s", path, describe(n))
	}
	return value, isInteger, fits
}

func (d *declarationReader) text(n *node, path string, least, most int) string {
	if n.kind != textNode {
		d.invalid(n, "%s must be text, and is %s", path, describe(n))
		return ""
	}
	switch length := utf8.RuneCountInString(n.text); {
	case length < least:
		d.invalid(n, "%s must not be empty", path)
	case length > most:
		d.invalid(n, "%s may have %d characters, and has %d", path, most, length)
	}
	return n.text
}

func (d *declarationReader) list(n *node, path string) []*node {
	if n.kind != arrayNode {
		d.invalid(n, "%s must be a list, and is %s", path, describe(n))
		return nil
	}
	return n.items
}

// describe says what a node is in a message: short scalars themselves, others by kind.
func describe(n *node) string {
	switch n.kind {
	case booleanNode, numberNode:
		return shorten(n.text)
	case textNode:
		return "the text " + strconv.Quote(shorten(n.text))
	case brokenNode:
		return n.text
	}
	return n.kind.String()
}

// shorten cuts what is quoted from a text.
func shorten(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}
