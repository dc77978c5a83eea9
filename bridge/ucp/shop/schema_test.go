package shop_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// corpus is where real inputs are.
func corpus(parts ...string) string {
	root := os.Getenv("STRABO_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// schemas are the public schemas of the release that the bridge speaks.
var schemas = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	root := corpus("ucp", "v2026-01-11")
	if _, err := os.Stat(root); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(schemaLoader(root))
	return compiler, nil
})

// schemaLoader finds a schema by its URL; some of the public ones refer to others by way of schemas/schemas.
type schemaLoader string

func (root schemaLoader) Load(url string) (any, error) {
	name := strings.Replace(strings.TrimPrefix(url, "https://ucp.dev/"), "schemas/schemas/", "schemas/", 1)
	name = strings.Replace(name, "schemas/discovery/profile.json", "discovery/profile_schema.json", 1)
	file, err := os.Open(filepath.Join(string(root), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(file)
}

var compiled sync.Map // of *jsonschema.Schema, by name

// requireSchema holds an answer against the public schema of what it shows. Where the corpus is absent it holds nothing,
// and TestSchemas says so.
func requireSchema(t testing.TB, path string, a answer) {
	t.Helper()
	compiler, err := schemas()
	if err != nil || a.status > 201 {
		return
	}
	schema := ""
	switch {
	case strings.HasPrefix(path, "/checkout-sessions"):
		schema = "schemas/shopping/fulfillment.json#/$defs/checkout"
	case strings.HasPrefix(path, "/orders"):
		schema = "schemas/shopping/order.json"
	case strings.HasPrefix(path, "/.well-known"):
		schema = "schemas/discovery/profile.json"
	default:
		return
	}
	known, ok := compiled.Load(schema)
	if !ok {
		made, err := compiler.Compile("https://ucp.dev/" + schema)
		require.NoError(t, err)
		known, _ = compiled.LoadOrStore(schema, made)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(a.raw))
	require.NoError(t, err)
	require.NoError(t, known.(*jsonschema.Schema).Validate(value), a.raw)
}

func TestSchemas(t *testing.T) {
	if _, err := schemas(); err != nil {
		t.Skip("answers are not held against the public schemas: ", err)
	}
	s := newStall(t)
	defer s.stop()
	discovery := s.ask(t, "GET", "/.well-known/ucp", "")
	require.Equal(t, 200, discovery.status)
	require.Contains(t, discovery.raw, `"endpoint":"http://example.com"`)
}

// TestPublishedData reads the data of the public samples.
func TestPublishedData(t *testing.T) {
	dir := corpus("ucp", "flower_shop")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the published data are not there: ", err)
	}
	data, err := shop.ReadData(os.DirFS(dir))
	require.NoError(t, err)
	require.Len(t, data.Products, 6)
	require.EqualValues(t, 1000, data.Pieces["bouquet_roses"])
	require.Len(t, data.Addresses["john.doe@example.com"], 2)
	require.Equal(t, []string{"bouquet_roses"}, data.Promotions[1].Products)
	_, err = shop.Open(data, keyvalue.NewMemory(0), shop.Terms{Currency: "USD", OrderURL: "https://flowers.example/orders/"}, nil)
	require.NoError(t, err)
}
