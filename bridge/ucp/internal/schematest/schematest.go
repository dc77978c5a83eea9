// Package schematest holds what is said on the wire to the public schemas of UCP, for tests. The schemas are in the corpus
// beside the checkout, or where STRABO_CORPUS says; without them tests are skipped.
package schematest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Corpus is the folder with the public schemas and recorded exchanges of UCP, for a test whose package is so many folders
// below the root of the project. Without it the test is skipped.
func Corpus(t testing.TB, depth int) string {
	t.Helper()
	folder := os.Getenv("STRABO_CORPUS")
	if folder == "" {
		folder = filepath.Join(strings.Repeat("../", depth+1), "shared", "corpus")
	}
	folder = filepath.Join(folder, "ucp")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("skipped: there is no corpus; set STRABO_CORPUS to its folder")
	}
	return folder
}

// Response is the direction of responses; the others are the operations of requests: create, update, complete.
const Response = "response"

// Schemas are those of one release as they hold for one direction.
type Schemas struct {
	compiler *jsonschema.Compiler
	base     string
}

// Load reads the schemas of a release from the corpus. What a request must have, may have and must not have is said by
// the annotation ucp_request, which is applied to them.
func Load(t testing.TB, corpus, release, direction string) Schemas {
	t.Helper()
	folder := filepath.Join(corpus, "v"+release)
	s := Schemas{compiler: jsonschema.NewCompiler(), base: "https://schemas.invalid/" + release + "/"}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		document, err := jsonschema.UnmarshalJSON(file)
		if err = errorsOf(err, file.Close()); err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return s.compiler.AddResource(s.base+filepath.ToSlash(relative), applied(document, direction))
	}))
	return s
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Check holds a JSON text to the schema at a path below the release's folder, such as schemas/shopping/checkout.json.
func (s Schemas) Check(t testing.TB, reference string, text []byte) {
	t.Helper()
	schema, err := s.compiler.Compile(s.base + reference)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err, string(text))
	require.NoError(t, schema.Validate(value), "%s: %s", reference, text)
}

// applied gives a schema for one direction, below a base of its own.
func applied(value any, direction string) any {
	switch value := value.(type) {
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = applied(value[i], direction)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			if name != "$id" {
				out[name] = applied(member, direction)
			}
		}
		annotate(out, direction)
		return out
	}
	return value
}

func annotate(schema map[string]any, direction string) {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil || direction == Response {
		return
	}
	needed := map[string]bool{}
	if required, ok := schema["required"].([]any); ok {
		for _, name := range required {
			if name, ok := name.(string); ok {
				needed[name] = true
			}
		}
	}
	for name, property := range properties {
		property, _ := property.(map[string]any)
		if property == nil {
			continue
		}
		rule, _ := property["ucp_request"].(string)
		if by, ok := property["ucp_request"].(map[string]any); ok {
			rule, _ = by[direction].(string)
		}
		switch rule {
		case "omit":
			delete(needed, name)
			properties[name] = false
		case "optional":
			delete(needed, name)
		case "required":
			needed[name] = true
		}
	}
	required := []any{}
	for name := range needed {
		required = append(required, name)
	}
	schema["required"] = required
}
