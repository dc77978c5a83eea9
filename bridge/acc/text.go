package acc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaximumText is how many bytes a text may have.
const MaximumText = 16 << 20

const byteOrderMark = "\ufeff"

// readText reads one document of JSON or YAML. It returns nil where there is none, which it has reported.
func readText(text []byte, r *report) *node {
	in := &source{}
	in.root = readInto(in, text, r)
	return in.root
}

func readInto(in *source, text []byte, r *report) *node {
	r.places = newPlaces("")
	if len(text) > MaximumText {
		r.fault(CodeUnreadable, 0, 0, "the text has more than %d MiB", MaximumText>>20)
		return nil
	}
	r.places = newPlaces(string(text))
	in.places = r.places
	if !utf8.Valid(text) {
		at := 0
		for rest := text; len(rest) > 0; {
			c, size := utf8.DecodeRune(rest)
			if c == utf8.RuneError && size == 1 {
				break
			}
			at, rest = at+size, rest[size:]
		}
		r.fault(CodeUnreadable, at, at+1, "the text is not UTF-8: save it as UTF-8")
		return nil
	}
	// What is JSON is read as JSON: in YAML, escapes of characters beyond U+FFFF have another meaning.
	body := bytes.TrimPrefix(text, []byte(byteOrderMark))
	if json.Valid(body) {
		j := &jsonReader{in: in, decoder: json.NewDecoder(bytes.NewReader(body)), text: body, shift: len(text) - len(body)}
		j.decoder.UseNumber()
		return j.node(0)
	}
	return readYAML(in, text, r)
}

// jsonReader makes nodes of text that is known to be JSON.
type jsonReader struct {
	in      *source
	decoder *json.Decoder
	text    []byte
	shift   int
}

// token gives the next token and where it stands.
func (j *jsonReader) token() (token json.Token, start, end int) {
	start = int(j.decoder.InputOffset())
	token, _ = j.decoder.Token() // the text is known to be valid
	end = int(j.decoder.InputOffset())
	for start < end && strings.IndexByte(" \t\r\n,:", j.text[start]) >= 0 {
		start++
	}
	return token, start + j.shift, end + j.shift
}

func (j *jsonReader) node(depth int) *node {
	token, start, end := j.token()
	n := &node{start: start, end: end, in: j.in}
	switch token := token.(type) {
	case bool:
		n.kind, n.text = booleanNode, strconv.FormatBool(token)
	case string:
		n.kind, n.text = textNode, token
		if strings.ContainsRune(token, utf8.RuneError) {
			// The decoder replaces a lone surrogate without a word.
			if !bytes.ContainsRune(j.text[start-j.shift:end-j.shift], utf8.RuneError) {
				n.kind, n.text = brokenNode, "text with half of a character in it"
			}
		}
	case json.Number:
		n.kind, n.text = numberNode, token.String()
	case json.Delim:
		j.container(n, token == '{', depth)
	}
	return n
}

func (j *jsonReader) container(n *node, isObject bool, depth int) {
	n.kind = arrayNode
	if isObject {
		n.kind = objectNode
	}
	for j.decoder.More() {
		m := member{}
		if isObject {
			var name json.Token
			name, m.start, m.end = j.token()
			m.name, _ = name.(string)
		}
		if depth == maximumDepth {
			var skipped json.RawMessage
			_ = j.decoder.Decode(&skipped) // the text is known to be valid
			m.value = &node{kind: brokenNode, text: fmt.Sprintf("nested deeper than %d", maximumDepth), start: n.start, end: n.end, in: j.in}
		} else {
			m.value = j.node(depth + 1)
		}
		if isObject {
			n.members = append(n.members, m)
		} else {
			n.items = append(n.items, m.value)
		}
	}
	j.token()
	n.complete()
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// readYAML reads text that is not JSON.
func readYAML(in *source, text []byte, r *report) *node {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if err == nil {
		switch err = decoder.Decode(&second); {
		case err == nil:
			at := r.places.ofYAML(second.Line, second.Column)
			r.fault(CodeUnreadable, at, at, "the text has more than one document")
			return nil
		case errors.Is(err, io.EOF):
			err = nil
		}
	}
	switch {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) != 1:
		r.fault(CodeUnreadable, 0, 0, "the text is empty")
		return nil
	case err != nil:
		message, at := err.Error(), 0
		if found := yamlLine.FindStringSubmatch(message); found != nil {
			line, _ := strconv.Atoi(found[1])
			message, at = message[len(found[0]):], r.places.ofYAML(line, 1)
		}
		r.fault(CodeUnreadable, at, at, "the text is neither JSON nor YAML: %s", strings.TrimPrefix(message, "yaml: "))
		return nil
	}
	y := &yamlReader{in: in, places: r.places, made: make(map[*yaml.Node]*node)}
	return y.node(document.Content[0], 0)
}

// yamlReader makes nodes of those of the YAML parser. What an alias stands for is made once.
type yamlReader struct {
	in     *source
	places *places
	made   map[*yaml.Node]*node
}

func (y *yamlReader) node(from *yaml.Node, depth int) *node {
	start := y.places.ofYAML(from.Line, from.Column)
	n := &node{start: start, end: start, in: y.in}
	broken := func(what string) *node {
		n.kind, n.text = brokenNode, what
		return n
	}
	if depth > maximumDepth {
		return broken(fmt.Sprintf("nested deeper than %d", maximumDepth))
	}
	if from.Kind == yaml.AliasNode {
		made, ok := y.made[from.Alias]
		switch {
		case !ok:
			return broken("an alias of nothing")
		case made == nil:
			return broken("an alias within itself")
		}
		return made
	}
	y.made[from] = nil
	defer func() { y.made[from] = n }()
	n.end = y.end(from, start)
	switch tag := from.ShortTag(); {
	case from.Kind == yaml.MappingNode && tag == "!!map":
		n.kind, n.end = objectNode, start
		y.members(n, from, depth)
	case from.Kind == yaml.SequenceNode && tag == "!!seq":
		n.kind, n.end = arrayNode, start
		for _, item := range from.Content {
			n.items = append(n.items, y.node(item, depth+1))
		}
	case from.Kind != yaml.ScalarNode:
		return broken("a value of the kind " + tag)
	case tag == "!!null":
		n.kind = nullNode
	case tag == "!!bool":
		n.kind, n.text = booleanNode, strings.ToLower(from.Value)
		if n.text != "true" && n.text != "false" {
			return broken("a boolean that is neither true nor false")
		}
	case tag == "!!int" || tag == "!!float":
		text, ok := jsonNumber(from.Value)
		if !ok {
			return broken("a number that JSON does not know: " + from.Value)
		}
		n.kind, n.text = numberNode, text
	case tag == "!!str" && from.Style == 0 && isJSONNumber(from.Value):
		// The YAML parser takes a number beyond its own for text.
		n.kind, n.text = numberNode, from.Value
	case tag == "!!str" || tag == "!!timestamp":
		n.kind, n.text = textNode, from.Value
	default:
		return broken("a value of the kind " + tag)
	}
	return n
}

func (y *yamlReader) members(n *node, from *yaml.Node, depth int) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		key := from.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		start := y.places.ofYAML(key.Line, key.Column)
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			*n = node{kind: brokenNode, text: "an object with a member whose name is not plain text", start: start, end: start, in: y.in}
			return
		}
		n.members = append(n.members, member{
			name: key.Value, start: start, end: y.end(key, start), value: y.node(from.Content[i+1], depth+1),
		})
	}
	n.complete()
}

// end finds where a scalar ends that begins at an offset, as well as can be told from one line.
func (y *yamlReader) end(from *yaml.Node, start int) int {
	rest := y.places.text[start:]
	switch {
	case from.Kind != yaml.ScalarNode || rest == "":
		return start
	case strings.HasPrefix(rest, from.Value):
		return start + len(from.Value)
	case rest[0] == '"' || rest[0] == '\'':
		line, _, _ := strings.Cut(rest[1:], "\n")
		if at := strings.IndexByte(line, rest[0]); at >= 0 {
			return start + 1 + at + 1
		}
	}
	return start + 1
}

// isJSONNumber tells whether a plain text is a number as JSON writes it.
func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// jsonNumber gives a number of YAML as JSON writes it.
func jsonNumber(text string) (string, bool) {
	if json.Valid([]byte(text)) {
		return text, true
	}
	plain := strings.ReplaceAll(text, "_", "")
	if len(plain) > maximumDigits {
		return "", false
	}
	if whole, ok := new(big.Int).SetString(plain, 0); ok {
		return whole.String(), true
	}
	plain = strings.TrimPrefix(plain, "+")
	negative := strings.HasPrefix(plain, "-")
	plain = strings.TrimPrefix(plain, "-")
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	plain = strings.Replace(plain, ".e", ".0e", 1)
	plain = strings.Replace(plain, ".E", ".0E", 1)
	if strings.HasSuffix(plain, ".") {
		plain += "0"
	}
	if negative {
		plain = "-" + plain
	}
	return plain, json.Valid([]byte(plain))
}
