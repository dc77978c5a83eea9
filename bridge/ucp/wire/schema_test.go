package wire_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// corpus is the folder with the public schemas and recorded exchanges of UCP.
func corpus(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("STRABO_CORPUS")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	folder = filepath.Join(folder, "ucp")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("skipped: there is no corpus; set STRABO_CORPUS to its folder")
	}
	return folder
}

const response = "response"

// schemas are those of one release as they hold for one direction: a request of an operation (create, update, complete)
// or a response.
type schemas struct {
	compiler *jsonschema.Compiler
	base     string
}

// loadSchemas reads the schemas of a release. What a request must have, may have and must not have is said by the
// annotation ucp_request, which is applied to them.
func loadSchemas(t testing.TB, release wire.Release, direction string) schemas {
	t.Helper()
	folder := filepath.Join(corpus(t), "v"+string(release))
	s := schemas{compiler: jsonschema.NewCompiler(), base: "https://schemas.invalid/" + string(release) + "/"}
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

func (s schemas) compile(t testing.TB, reference string) *jsonschema.Schema {
	t.Helper()
	schema, err := s.compiler.Compile(s.base + reference)
	require.NoError(t, err)
	return schema
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
	if properties == nil || direction == response {
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

// plain gives an object the form in which schemas look at it.
func plain(t testing.TB, object wire.Object) any {
	t.Helper()
	text, err := wire.Encode(object)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	return value
}

func decode(t testing.TB, text string) wire.Object {
	t.Helper()
	object, err := wire.Decode([]byte(text))
	require.NoError(t, err)
	return object
}

func encoded(t testing.TB, object wire.Object) string {
	t.Helper()
	text, err := json.MarshalIndent(object, "", "  ")
	require.NoError(t, err)
	return string(text)
}
