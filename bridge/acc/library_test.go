package acc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/internal/testspeed"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	m.Run()
}

// referring is a document with a condition about amount, whose body is what is given.
func referring(body string) string {
	return `openapi: 3.1.0
paths:
  /refunds:
    post:
      parameters: [{$ref: 'shared/parameters.yaml#/Key'}]
      requestBody: ` + body + `
      x-agent-capability: {version: 1, enabled: true, scope: r, approval: {when: [{param: amount, op: '>', value: 10}]}}
components: {schemas: {Money: {type: number}, elsewhere.1: {type: string}}}
`
}

const schemaBody = `{required: true, content: {application/json: {schema: {$ref: '%s'}}}}`

func folder(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{
		"api/shared/parameters.yaml": {Data: []byte("Key: {name: Idempotency-Key, in: header, schema: {$ref: '#/definitions/Key'}}\ndefinitions: {Key: {type: string, minLength: 3}}")},
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func TestOtherDocuments(t *testing.T) {
	const refund = "type: object\nrequired: [amount]\nproperties:\n  amount: {$ref: '%s'}\n  next: {$ref: '#'}\n"
	for name, test := range map[string]struct {
		body  string
		files map[string]string
	}{
		"a schema": {fmt.Sprintf(schemaBody, "shared/schemas.yaml#/Refund"), map[string]string{
			"api/shared/schemas.yaml": "Refund: {type: object, required: [amount], properties: {amount: {$ref: '#/Deep/Money'}}}\nDeep: {Money: {type: number}}",
		}},
		"a document": {fmt.Sprintf(schemaBody, "./refund.json"), map[string]string{
			"api/refund.json": `{"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}}`,
		}},
		"one that leads on and back": {fmt.Sprintf(schemaBody, "a/refund.yaml"), map[string]string{
			"api/a/refund.yaml": strings.NewReplacer("'#'", "'refund.yaml'").Replace(fmt.Sprintf(refund, "../b/money.yaml")),
			"api/b/money.yaml":  "$ref: '../shop.yaml#/components/schemas/Money'",
		}},
		"a body": {"{$ref: 'shared/bodies.yaml#/Refund'}", map[string]string{
			"api/shared/bodies.yaml": "Refund: {required: true, content: {application/json: {schema: {type: object, required: [amount], properties: {amount: {type: number}}}}}}",
		}},
		"escaped names": {fmt.Sprintf(schemaBody, "my%20schemas.yaml#/a~1b/c%25"), map[string]string{
			"api/my schemas.yaml": "a/b: {'c%': {type: object, required: [amount], properties: {amount: {type: number}}}}",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			document, found := acc.ParseIn([]byte(referring(test.body)), "api/shop.yaml", folder(test.files))
			require.Empty(t, found)
			require.Len(t, document.Operations, 1)
			operation := document.Operations[0]
			require.Contains(t, operation.Input.Names(), "Idempotency-Key")
			require.Equal(t, acc.ApprovalRequired, operation.Gate.Decide(arguments(t, `{"amount":11}`)).Outcome)
			require.Equal(t, acc.Allow, operation.Gate.Decide(arguments(t, `{"amount":10,"Idempotency-Key":"abc"}`)).Outcome)
			require.Equal(t, acc.RejectInvalidArguments, operation.Gate.Decide(arguments(t, `{"amount":"10"}`)).Outcome)
			require.Equal(t, acc.RejectInvalidArguments, operation.Gate.Decide(arguments(t, `{"amount":10,"Idempotency-Key":"a"}`)).Outcome, "of the parameter's document")

			// Alone, the same document cannot be used.
			document, found = acc.Parse([]byte(referring(test.body)))
			require.True(t, found.HasErrors())
			require.Len(t, document.Skipped, 1)
		})
	}
}

func TestOtherDocumentsRefused(t *testing.T) {
	chain := map[string]string{}
	for i := range 300 {
		chain[fmt.Sprintf("api/%d.yaml", i)] = fmt.Sprintf("{type: object, properties: {amount: {type: number}, a: {$ref: '%d.yaml'}}}", i+1)
	}
	for name, test := range map[string]struct {
		reference, want string
		files           map[string]string
	}{
		"out of the folder": {"../../secret.yaml", "leads out of the folder", nil},
		"absolute":          {"/etc/passwd", "leads out of the folder", nil},
		"a URL":             {"https://shop.example/schema.json", "nothing is fetched", nil},
		"a file URL":        {"file:///etc/passwd", "nothing is fetched", nil},
		"a host":            {"//shop.example/schema.json", "nothing is fetched", nil},
		"a query":           {"schema.json?x=1", "nothing is fetched", nil},
		"missing":           {"missing.yaml#/A", "does not exist", nil},
		"a folder":          {"shared", "no file", nil},
		"nothing there":     {"shared/parameters.yaml#/B", "does not lead to anything", nil},
		"an anchor":         {"shared/parameters.yaml#B", "does not lead to anything", nil},
		"broken":            {"broken.yaml", "api/broken.yaml:1:", map[string]string{"api/broken.yaml": "a: ["}},
		"too large":         {"large.yaml", "more text than is read", map[string]string{"api/large.yaml": strings.Repeat(" ", acc.MaximumText)}},
		"no schema":         {"text.yaml", "not valid OpenAPI", map[string]string{"api/text.yaml": "hello"}},
		"an own dialect":    {"dialect.yaml", "api/dialect.yaml:1:10", map[string]string{"api/dialect.yaml": "$schema: http://json-schema.org/draft-04/schema#"}},
		"a circle":          {"circle.yaml", "not valid OpenAPI", map[string]string{"api/circle.yaml": "$ref: circle.yaml"}},
		"too many":          {"0.yaml", "one document more than may be read", chain},
	} {
		t.Run(name, func(t *testing.T) {
			document, found := acc.ParseIn([]byte(referring(fmt.Sprintf(schemaBody, test.reference))), "api/shop.yaml", folder(test.files))
			require.Empty(t, document.Operations)
			require.Len(t, document.Skipped, 1)
			require.Len(t, found, 1)
			require.Contains(t, found[0].Message, test.want)
			require.NotZero(t, found[0].Start.Line)
			require.LessOrEqual(t, found[0].Start.Line, 8, "in this document")
		})
	}
	_, found := acc.ParseIn([]byte("openapi: 3.1.0\npaths: {/a: {$ref: 'a.yaml'}}"), "shop.yaml", fstest.MapFS{"a.yaml": {Data: []byte("get: {x-agent-capability: {version: 1, enabled: true, scope: a}}")}})
	require.Len(t, found, 1)
	require.Contains(t, found[0].Message, "a path stands in the document itself")
}

// TestOtherDocumentsOnDisk holds that a link does not lead out of a folder either.
func TestOtherDocumentsOnDisk(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.yaml"), []byte("{type: object}"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "api"), 0o700))
	if err := os.Symlink(filepath.Join(dir, "secret.yaml"), filepath.Join(dir, "api", "link.yaml")); err != nil {
		t.Skip("no links here: ", err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "api"))
	require.NoError(t, err)
	defer root.Close()
	const document = "openapi: 3.1.0\npaths: {/a: {post: {requestBody: {content: {application/json: {schema: {$ref: link.yaml}}}}, x-agent-capability: {version: 1, enabled: true, scope: a}}}}"
	_, found := acc.ParseIn([]byte(document), "shop.yaml", root.FS())
	require.Len(t, found, 1)
	require.Equal(t, acc.CodeUnsupportedDocument, found[0].Code)
}
