package acc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// corpus gives a folder of real inputs, which are not part of the project.
func corpus(t testing.TB, folder string) string {
	root := os.Getenv("STRABO_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	path := filepath.Join(root, folder)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the corpus is not here: %s (see STRABO_CORPUS)", path)
	}
	return path
}

// vector is one case of the public conformance vectors, and of ours, which have more kinds.
type vector struct {
	ID        string `json:"id"`
	Profile   string `json:"profile"`
	Kind      string `json:"kind"`
	Assertion string `json:"assertion"`
	Input     struct {
		Declaration     json.RawMessage  `json:"declaration"`
		HTTPMethod      string           `json:"http_method"`
		ScopeAllowed    bool             `json:"scope_allowed"`
		TrustedSubject  bool             `json:"trusted_subject"`
		ParameterSchema enactment.Value  `json:"parameter_schema"`
		Args            enactment.Values `json:"args"`
		Local           *localPolicy     `json:"local"`
		DeadlineMS      *int64           `json:"deadline_ms"`
	} `json:"input"`
	Expected json.RawMessage `json:"expected"`
}

type vectors struct {
	Vectors []vector `json:"vectors"`
}

// TestConformance runs the public vectors of ACC v1: the package implements the ACC v1 Parser and Runtime profiles.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus(t, "acc"), "conformance", "v1", "vectors.json"))
	require.NoError(t, err)
	var all vectors
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Vectors)
	for _, v := range all.Vectors {
		t.Run(v.ID, func(t *testing.T) { requireVector(t, v) })
	}
	t.Logf("%d vectors", len(all.Vectors))
}

// TestExamples reads the public examples: every operation is usable, and nothing is wrong with its contract.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t, "acc"), "examples", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		document, diagnostics := acc.Parse(text)
		require.Empty(t, diagnostics)
		require.Empty(t, document.Skipped)
		require.Len(t, document.Operations, 1)
	}
}

// TestLargeDocuments puts a contract on every operation of real documents, and reads them: what is not usable must be
// so because of a reference to another document.
func TestLargeDocuments(t *testing.T) {
	var files []string
	for _, pattern := range []string{"ucp/*/services/shopping/*openapi.json", "ucp/*/handlers/*/openapi.json", "acp/*/spec/*/openapi/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(corpus(t, ""), pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		document, diagnostics := acc.Parse(govern(t, text))
		t.Logf("%s: %d operations, %d skipped", file, len(document.Operations), len(document.Skipped))
		for _, d := range diagnostics {
			if d.Severity == langshaw.Error {
				require.Equal(t, acc.CodeUnresolvedReference, d.Code, "%s: %v", file, d)
			}
		}
	}
}
