package bridge

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// The roots of what a mapping can speak of: paths begin with $ and one of these. Those that are true need a second
// name, which is checked when the mapping is loaded.
const (
	rootObserved = "observed" // the values of the observed instance
	rootHappened = "happened" // true for each action that has happened in the enactment
	rootBound    = "bound"    // what steps of this action have bound
	rootKept     = "kept"     // what was kept for the enactment by any action
	rootSettings = "settings" // what the bridge was configured with
	rootResponse = "response" // the answer to the step's request
	rootStatus   = "status"   // the answer to the step's status query
	rootExchange = "exchange" // key, request and sends of the step's exchange
	rootNone     = "none"     // why a hook could not choose
	rootDenied   = "denied"   // the code of why the policy does not let the request leave
	rootEach     = "each"     // the element that !each is at
)

var rootNeedsName = map[string]bool{
	rootObserved: true, rootHappened: true, rootBound: true, rootKept: true, rootSettings: true,
	rootResponse: false, rootStatus: false, rootExchange: true, rootNone: false, rootDenied: false, rootEach: false,
}

// reference is one mention of a root in a path or condition; name is empty where the root has no names.
type reference struct{ root, name string }

// path is a compiled RFC 9535 JSONPath.
type path struct {
	text       string
	query      *jsonpath.Path
	references []reference // the first is what the path selects from
}

func parsePath(text string) (*path, error) {
	references, err := findReferences(text)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(text, "$") || len(references) == 0 {
		return nil, fmt.Errorf("the path %q does not begin with $", text)
	}
	query, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the path %q is malformed: %w", text, err)
	}
	return &path{text: text, query: query, references: references}, nil
}

// one gives the node that the path selects; false when there is none. More than one is an error: whoever wrote the path
// did not know the document.
func (p *path) one(world map[string]any) (any, bool, error) {
	nodes := p.query.Select(world)
	switch len(nodes) {
	case 0:
		return nil, false, nil
	case 1:
		return nodes[0], true, nil
	default:
		return nil, false, fmt.Errorf("%s gives %d values, not one", p.text, len(nodes))
	}
}

// condition is an RFC 9535 filter expression about the whole context, which both $ and @ denote at its top level.
type condition struct {
	text       string
	filter     *spec.FilterSelector
	references []reference
}

func parseCondition(text string) (*condition, error) {
	references, err := findReferences(text)
	if err != nil {
		return nil, err
	}
	query, err := jsonpath.Parse("$[?" + text + "]")
	if err != nil {
		return nil, fmt.Errorf("the condition %q is malformed: %w", text, err)
	}
	// An expression that closes the bracket itself would smuggle in a path of its own.
	segments := query.Query().Segments()
	if len(segments) != 1 || len(segments[0].Selectors()) != 1 {
		return nil, fmt.Errorf("the condition %q is not one expression", text)
	}
	filter, ok := segments[0].Selectors()[0].(*spec.FilterSelector)
	if !ok {
		return nil, fmt.Errorf("the condition %q is not one expression", text)
	}
	return &condition{text: text, filter: filter, references: references}, nil
}

func (c *condition) holds(world map[string]any) bool {
	return c == nil || c.filter.Eval(world, world)
}

// findReferences lists the roots that a path or condition mentions, outside its string literals. Every $ names a root;
// @ belongs to a filter in brackets, for at the top level it would be a second spelling of $.
func findReferences(text string) ([]reference, error) {
	var found []reference
	depth := 0
	for at := 0; at < len(text); {
		switch c := text[at]; c {
		case '\'', '"':
			end := closingQuote(text, at)
			if end < 0 {
				return nil, fmt.Errorf("%q has a string that does not end", text)
			}
			at = end
		case '[':
			depth++
		case ']':
			depth--
		case '@':
			if depth == 0 {
				return nil, fmt.Errorf("%q has an @ outside brackets: write $ for the whole context", text)
			}
		case '$':
			r, end, err := readReference(text, at+1)
			if err != nil {
				return nil, err
			}
			found = append(found, r)
			at = end
			continue
		}
		at++
	}
	return found, nil
}

func readReference(text string, at int) (reference, int, error) {
	root, at := readName(text, at)
	needs, known := rootNeedsName[root]
	if !known {
		return reference{}, at, fmt.Errorf("%q: a path begins with $.observed, $.happened, $.bound, $.kept, $.settings, "+
			"$.response, $.status, $.exchange, $.none, $.denied or $.each", text)
	}
	if !needs {
		return reference{root: root}, at, nil
	}
	name, end := readName(text, at)
	if name == "" {
		return reference{}, at, fmt.Errorf("%q: $.%s needs a name after it", text, root)
	}
	return reference{root: root, name: name}, end, nil
}

// readName reads .name or ['name'], without escapes; the name is empty if neither stands there.
func readName(text string, at int) (string, int) {
	rest := text[at:]
	if name, ok := strings.CutPrefix(rest, "."); ok {
		length := 0
		for length < len(name) {
			r, size := utf8.DecodeRuneInString(name[length:])
			if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r < utf8.RuneSelf {
				break
			}
			length += size
		}
		return name[:length], at + 1 + length
	}
	if len(rest) > 3 && rest[0] == '[' && (rest[1] == '\'' || rest[1] == '"') {
		quote := rest[1]
		if end := strings.IndexByte(rest[2:], quote); end > 0 {
			name, after := rest[2:2+end], 2+end+1
			if after < len(rest) && rest[after] == ']' && !strings.Contains(name, `\`) {
				return name, at + after + 1
			}
		}
	}
	return "", at
}

func closingQuote(text string, at int) int {
	quote := text[at]
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}
