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
	witness := func(question, name string) []string {
		return []string{"graph", "--format", "svg", "--sequence", "--witness", question, "../../protocols/" + name + ".lsh"}
	}
	draw := map[string][]string{
		"purchase-deliver":          witness("possible Deliver", "purchase"),
		"simple-ucp-completed":      witness("possible Completed", "simple-ucp"),
		"simple-ucp-update-updated": witness("possible Completed after Updated", "simple-ucp-update"),
	}
	records := make(map[string]string)
	for name, steps := range stories {
		records[name] = tell(t, steps)
		draw[name] = []string{"graph", "--format", "svg", "--sequence", "--run", "-", "../../protocols/ucp-incremental.lsh"}
	}
	for _, name := range protocols.Names() {
		draw[name] = []string{"graph", "--format", "svg", "../../protocols/" + name + ".lsh"}
	}
	for name, arguments := range draw {
		code, picture, err := runStrabo(records[name], arguments...)
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
