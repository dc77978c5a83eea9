package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/protocols"
)

// TestPicturesAreFresh compares the pictures in the documentation with what is drawn; with STRABO_UPDATE set it draws
// them anew.
func TestPicturesAreFresh(t *testing.T) {
	const folder = "../../docs/pictures"
	draw := map[string][]string{
		"purchase-deliver": {"graph", "--format", "svg", "--sequence", "--witness", "possible Deliver", "../../protocols/purchase.lsh"},
	}
	for _, name := range protocols.Names() {
		draw[name] = []string{"graph", "--format", "svg", "../../protocols/" + name + ".lsh"}
	}
	for name, arguments := range draw {
		code, picture, err := runStrabo("", arguments...)
		require.Zero(t, code, err)
		file := filepath.Join(folder, name+".svg")
		if os.Getenv("STRABO_UPDATE") != "" {
			require.NoError(t, os.WriteFile(file, []byte(picture), 0o644))
		}
		drawn, failure := os.ReadFile(file)
		require.NoError(t, failure)
		require.Equal(t, string(drawn), picture, "run STRABO_UPDATE=1 go test ./cmd/strabo")
	}
}
