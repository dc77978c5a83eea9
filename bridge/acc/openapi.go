package acc

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// Extension is the member of an OpenAPI operation that holds its contract.
const Extension = "x-agent-capability"

// Document is what is usable of an OpenAPI document.
type Document struct {
	// Operations are those with a contract that may be used, in the order of the text. Those that are not enabled are
	// among them.
	Operations []*Operation
	// Skipped are those whose contract cannot be used. They must not be exposed.
	Skipped []Reference

	// ungoverned are operations without a contract that have an extension with nearly its name.
	misspelt []Diagnostic
}

// Reference says which operation is meant.
type Reference struct {
	// Method is an HTTP method in capital letters.
	Method string `json:"method"`
	// Path is the path of the OpenAPI document.
	Path string `json:"path"`
	// ID is the operationId, empty where there is none.
	ID string `json:"operation_id,omitempty"`
	// Span is where the contract stands.
	Span langshaw.Span `json:"span"`
}

// String gives method and path.
func (r Reference) String() string { return r.Method + " " + r.Path }

// Operation is an operation whose contract is valid, and whose inputs are understood as far as the contract needs them.
type Operation struct {
	Reference
	Declaration *Declaration
	// Input is what a call may be given.
	Input *Input
	// Gate judges the approval that the declaration asks for.
	Gate *Gate
}

// Contract is the effective contract of the operation; see [Declaration.Contract].
func (o *Operation) Contract() Contract { return o.Declaration.Contract(o.Method) }

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// supportedOpenAPI are the versions of OpenAPI that are read.
var supportedOpenAPI = regexp.MustCompile(`^3\.[01]\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Parse reads an OpenAPI document of version 3.0 or 3.1, as JSON or YAML, and the contracts of its operations.
//
// It always returns a document, which has no operations if the text as a whole is not understood, and everything there
// is to say, in order of position. An operation with an error is skipped: it must not be exposed, and the others may
// be. Parameters, body and schemas may be references within components of the same document; references to anything
// else are errors of the operations that need them, see [ParseIn].
//
// It does no I/O, keeps no reference to the text, does not panic, and bounds what it does by [MaximumText].
func Parse(text []byte) (*Document, Diagnostics) { return ParseIn(text, "", nil) }

// ParseIn is Parse for a document that refers to others: parameters, bodies and schemas may be in other documents of a
// folder, of which name is the path of this one (see io/fs). A reference is a path relative to the document that it is
// in, and may have a # and a JSON pointer; a schema there may be anywhere, and refer to others in turn. All are read by
// the version of OpenAPI of the first document. Contracts, and paths as a whole, stand in that one. Nothing outside of
// the folder is read, nothing that has a scheme or a host, and no more than [MaximumDocuments] and [MaximumText]
// altogether. What is wrong in another document is reported at the contract that needs it.
func ParseIn(text []byte, name string, folder fs.FS) (*Document, Diagnostics) {
	r := &report{}
	d := &documentReader{report: r, document: &Document{}}
	if d.root = readText(text, r); d.root != nil {
		d.root.in.name = name
		d.library = newLibrary(folder, d.root.in, len(text))
		d.read()
	}
	return d.document, sorted(r.list)
}

type documentReader struct {
	*report
	root     *node
	version  string
	document *Document
	library  *library
	// governed are the declarations that are in their place.
	governed map[*node]bool
	// budget bounds what is made of the document's schemas, however often they are referred to.
	budget int
}

// largestDocument is how many values all inputs of a document may have together.
const largestDocument = 500_000

func (d *documentReader) read() {
	d.budget = largestDocument
	d.governed = make(map[*node]bool)
	if !d.isSupported() {
		return
	}
	paths := d.root.member("paths")
	switch {
	case paths == nil: // as version 3.1 permits
	case paths.kind != objectNode:
		d.fault(CodeUnsupportedOpenAPI, paths.start, paths.end, "paths must be an object, and is %s", describe(paths))
	default:
		for _, path := range paths.members {
			if !strings.HasPrefix(path.name, "x-") {
				d.path(path)
			}
		}
	}
	(&misplacedReader{documentReader: d, seen: make(map[*node]bool)}).walk(d.root, "")
}

func (d *documentReader) isSupported() bool {
	version := d.root.member("openapi")
	switch {
	case d.root.kind != objectNode:
		d.fault(CodeUnsupportedOpenAPI, d.root.start, d.root.end, "an OpenAPI document must be an object, and this is %s", describe(d.root))
		return false
	case version == nil:
		d.fault(CodeUnsupportedOpenAPI, d.root.start, d.root.end, "the document does not say openapi: 3.0 and 3.1 are supported")
		return false
	case version.kind != textNode || !supportedOpenAPI.MatchString(version.text):
		d.fault(CodeUnsupportedOpenAPI, version.start, version.end, "version %s of OpenAPI is not supported: 3.0 and 3.1 are", describe(version))
		return false
	}
	d.version = version.text
	if dialect := d.root.member("jsonSchemaDialect"); dialect != nil && !slices.Contains(dialects, dialect.text) {
		d.fault(CodeUnsupportedOpenAPI, dialect.start, dialect.end, "schemas of another dialect than JSON Schema 2020-12 are not supported")
		return false
	}
	return true
}

var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"https://spec.openapis.org/oas/3.1/dialect/base",
	"https://spec.openapis.org/oas/3.1/dialect/2024-10-25",
	"https://spec.openapis.org/oas/3.1/dialect/2024-11-10",
}

// path reads the operations of one path. A reference in place of a path item is followed.
func (d *documentReader) path(path member) {
	x := &extractor{root: d.root, library: d.library, version: d.version, budget: &d.budget}
	item, err := x.follow(path.value)
	if err == nil && item.in != d.root.in {
		err = &inputError{CodeUnsupportedConstruct, path.value.member("$ref"), "a path stands in the document itself, with its contracts"}
	}
	if err != nil || item.kind != objectNode {
		if err == nil {
			err = &inputError{CodeUnsupportedConstruct, path.value, "a path must be an object, and this is " + describe(path.value)}
		}
		d.inputFault(path.name, err, path)
		return
	}
	if item != path.value && len(path.value.members) > 1 && slices.ContainsFunc(path.value.members, func(m member) bool { return slices.Contains(methods, m.name) }) {
		d.fault(CodeUnsupportedConstruct, path.start, path.end, "a path that is a reference and has operations too has no defined meaning")
		return
	}
	for _, m := range item.members {
		if !slices.Contains(methods, m.name) {
			continue
		}
		if m.value.kind == brokenNode {
			d.fault(CodeUnsupportedConstruct, m.start, m.end, "the operation has %s", m.value.text)
			d.document.Skipped = append(d.document.Skipped, Reference{Method: strings.ToUpper(m.name), Path: path.name, Span: d.places.span(m.start, m.end)})
			continue
		}
		d.operation(path.name, item, m)
	}
}

func (d *documentReader) operation(path string, item *node, m member) {
	operation := &Operation{Reference: Reference{Method: strings.ToUpper(m.name), Path: path}}
	if id := m.value.member("operationId"); id != nil && id.kind == textNode {
		operation.ID = id.text
	}
	var contract *member
	for i := range m.value.members {
		if m.value.members[i].name == Extension {
			contract = &m.value.members[i]
		}
	}
	if contract == nil {
		d.misspelt(operation, m.value)
		return
	}
	d.governed[contract.value] = true
	operation.Span = d.places.span(contract.start, contract.end)
	operation.Declaration = readDeclaration(contract.value, operation.Span, d.report)
	if operation.Declaration == nil {
		d.document.Skipped = append(d.document.Skipped, operation.Reference)
		return
	}
	x := &extractor{root: d.root, library: d.library, version: d.version, budget: &d.budget}
	input, err := x.input(operation.Reference, item, m.value)
	if err != nil {
		d.inputFault(operation.String(), err, *contract)
		d.document.Skipped = append(d.document.Skipped, operation.Reference)
		return
	}
	operation.Input = input
	approval := operation.Declaration.Approval
	gate, diagnostics := input.Gate(approval.Required != nil && *approval.Required, approval.When)
	for _, diagnostic := range diagnostics {
		d.add(diagnostic)
	}
	if diagnostics.HasErrors() {
		d.document.Skipped = append(d.document.Skipped, operation.Reference)
		return
	}
	operation.Gate = gate
	d.document.Operations = append(d.document.Operations, operation)
}

// misspelt remembers an extension that was probably meant to be a contract, for [Lint].
func (d *documentReader) misspelt(operation *Operation, n *node) {
	for _, m := range n.members {
		folded := strings.ToLower(strings.ReplaceAll(m.name, "_", "-"))
		if strings.HasPrefix(folded, "x-") && (folded == Extension || langshaw.Nearest(folded, []string{Extension}) != "") {
			d.document.misspelt = append(d.document.misspelt, Diagnostic{
				Code: CodeMisspeltExtension, Severity: langshaw.Warning, Suggestion: Extension,
				Message: operation.String() + " has no contract, and " + shorten(m.name) + " looks like one", Span: d.places.span(m.start, m.end),
			})
		}
	}
}

// inputFault reports what is wrong with the inputs of an operation at its place, or where they are needed.
func (d *documentReader) inputFault(what string, err error, needed member) {
	code, start, end := CodeUnsupportedConstruct, needed.start, needed.end
	var fault *inputError
	if errors.As(err, &fault) {
		code = fault.code
		switch {
		case fault.at == nil:
		case fault.at.in != d.root.in: // Diagnostics are about this document.
			what = fmt.Sprintf("%s: %s:%s", what, fault.at.in.name, fault.at.in.places.at(fault.at.start))
		default:
			start, end = fault.at.start, fault.at.end
		}
	}
	d.fault(code, start, end, "%s: %v", what, err)
}

// misplacedReader looks for contracts where they have no effect.
type misplacedReader struct {
	*documentReader
	seen map[*node]bool
}

func (d *misplacedReader) walk(n *node, name string) {
	if d.seen[n] || name == "example" || name == "examples" {
		return
	}
	d.seen[n] = true
	for _, m := range n.members {
		switch {
		case m.name != Extension:
			d.walk(m.value, m.name)
		case !d.governed[m.value]:
			d.warn(CodeMisplaced, m.start, m.end, "a contract has an effect on an operation of paths only: here it is ignored")
		}
	}
	for _, item := range n.items {
		d.walk(item, "")
	}
}
