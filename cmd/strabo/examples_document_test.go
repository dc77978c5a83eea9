package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exampleSources gives the text of all examples.
func exampleSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	root := os.DirFS(filepath.Join("..", "..", "docs", "examples"))
	require.NoError(t, fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		all.Write(text)
		return err
	}))
	return all.String()
}

// What the documents quote of the examples is what is built and tested.
func TestExamplesInDocuments(t *testing.T) {
	sources := exampleSources(t)
	for _, name := range []string{"agents.md", "shop.md"} {
		text := document(t, "docs", name)
		quoted := append(fenced(text, "go"), fenced(text, "langshaw")...)
		require.NotEmpty(t, quoted, name)
		for _, block := range quoted {
			require.Contains(t, sources, block, name)
		}
	}
}
