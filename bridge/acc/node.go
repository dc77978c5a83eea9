package acc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// kind is what a node is.
type kind uint8

const (
	nullNode kind = iota
	booleanNode
	numberNode
	textNode
	arrayNode
	objectNode
	// brokenNode is what has no meaning in JSON, such as a number that is none, or a member that stands twice.
	brokenNode
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "text", "a list", "an object", "nothing that JSON knows"}[k]
}

// node is a part of a document, with where it stands. A node may stand in several places of a YAML document, and none
// stands within itself.
type node struct {
	kind kind
	// text is the text, the number as JSON writes it, true or false, or what is wrong with a broken node.
	text    string
	members []member
	items   []*node
	// start and end are byte offsets. For an object or a list, they are those of its beginning only.
	start, end int
	// in is the document that it is in.
	in *source
}

// member is one member of an object.
type member struct {
	name       string
	start, end int
	value      *node
}

// member finds a member by name; nil where there is none, or the node is no object.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// complete makes an object of members, or a broken node where a member stands twice. Many members are common, so that
// they are not compared each with each.
func (n *node) complete() {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.name] {
			*n = node{kind: brokenNode, text: fmt.Sprintf("an object that has %q twice", m.name), start: m.start, end: m.end, in: n.in}
			return
		}
		seen[m.name] = true
	}
}

// maximumDepth bounds the nesting of documents, so that no text can exhaust the stack.
const maximumDepth = 200

// maximumExponent bounds what numbers are reckoned with: beyond it there is no finite number in the programs that are
// called, and 1e1000000000 would take a lot of memory.
const maximumExponent = 400

// maximumDigits bounds how long a number may be written, for the same reason.
const maximumDigits = 1000

var errTooLarge = errors.New("it is too large, or repeats itself too often by references")

// brokenError says which node has no meaning in JSON.
type brokenError struct{ at *node }

func (e *brokenError) Error() string { return e.at.text }

// data gives the node as encoding/json would decode it, with numbers as json.Number. Each node costs one of the budget,
// as often as it is repeated.
func (n *node) data(budget *int) (any, error) {
	if *budget--; *budget < 0 {
		return nil, errTooLarge
	}
	switch n.kind {
	case nullNode:
		return nil, nil
	case booleanNode:
		return n.text == "true", nil
	case numberNode:
		return json.Number(n.text), nil
	case textNode:
		return n.text, nil
	case arrayNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			var err error
			if list[i], err = item.data(budget); err != nil {
				return nil, err
			}
		}
		return list, nil
	case objectNode:
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			var err error
			if object[m.name], err = m.value.data(budget); err != nil {
				return nil, err
			}
		}
		return object, nil
	default:
		return nil, &brokenError{n}
	}
}

// value gives the node as a value, its numbers as they are written.
func (n *node) value(budget *int) (enactment.Value, error) {
	text, err := n.appendJSON(nil, budget)
	if err != nil {
		return enactment.Value{}, err
	}
	return enactment.ParseValue(text)
}

// appendJSON writes members in the order of the text, which encoding/json would sort.
func (n *node) appendJSON(to []byte, budget *int) ([]byte, error) {
	if *budget--; *budget < 0 {
		return nil, errTooLarge
	}
	var err error
	switch n.kind {
	case nullNode:
		return append(to, "null"...), nil
	case booleanNode, numberNode:
		return append(to, n.text...), nil
	case textNode:
		return appendText(to, n.text), nil
	case arrayNode:
		to = append(to, '[')
		for i, item := range n.items {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = item.appendJSON(to, budget); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case objectNode:
		to = append(to, '{')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendText(to, m.name), ':')
			if to, err = m.value.appendJSON(to, budget); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	default:
		return nil, &brokenError{n}
	}
}

func appendText(to []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return strconv.AppendQuote(to, text) // a string is always encoded
	}
	return append(to, quoted...)
}

// report collects what is wrong with a text.
type report struct {
	places *places
	list   Diagnostics
}

// mostDiagnostics bounds what is said about one text. Nobody reads more.
const mostDiagnostics = 10_000

func (r *report) add(d Diagnostic) {
	if len(r.list) < mostDiagnostics {
		r.list = append(r.list, d)
	}
}

func (r *report) fault(code langshaw.Code, start, end int, format string, arguments ...any) {
	r.add(Diagnostic{
		Code: code, Severity: langshaw.Error, Message: fmt.Sprintf(format, arguments...), Span: r.places.span(start, end),
	})
}

func (r *report) warn(code langshaw.Code, start, end int, format string, arguments ...any) {
	r.add(Diagnostic{
		Code: code, Severity: langshaw.Warning, Message: fmt.Sprintf(format, arguments...), Span: r.places.span(start, end),
	})
}

// sorted gives the diagnostics in order of position.
func sorted(list Diagnostics) Diagnostics {
	slices.SortStableFunc(list, func(a, b Diagnostic) int { return a.Start.Offset - b.Start.Offset })
	return list
}
