package langshaw_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

func TestPublicCorpus(t *testing.T) {
	expected := map[string][]string{
		"purchase.lsh":  {"24:14 error[unknown-action] Instruct"},
		"purchase2.lsh": {"24:14 error[unknown-action] Instruct"},
		"rescind.lsh":   {"13:11 warning[keyless-action]"},
	}
	for _, file := range corpus(t, "public/*.lsh") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			protocol, diagnostics := langshaw.Parse(read(t, file))
			require.Empty(t, cmp.Diff(expected[filepath.Base(file)], summaries(diagnostics)))
			require.NotEmpty(t, protocol.Name())
			require.GreaterOrEqual(t, protocol.ActionCount(), 2)
		})
	}
}

func TestEdgeCorpus(t *testing.T) {
	var expected map[string]struct{ Worst, By string }
	require.NoError(t, json.Unmarshal(read(t, corpus(t, "edge/expect.json")[0]), &expected))
	for _, file := range corpus(t, "edge/*.lsh") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			expect, ok := expected[filepath.Base(file)]
			require.True(t, ok, "expect.json says nothing of the file")
			if expect.By == "verify" {
				expect.Worst = "ok"
			}
			_, diagnostics := langshaw.Parse(read(t, file))
			worst := "ok"
			for _, d := range diagnostics {
				if worst == "ok" || d.Severity == langshaw.Error {
					worst = string(d.Severity)
				}
			}
			require.Equal(t, expect.Worst, worst, "%v", summaries(diagnostics))
		})
	}
}

// TestRandomCorpus also checks that what is read is what is written: the canonical spelling means the same.
func TestRandomCorpus(t *testing.T) {
	for _, file := range corpus(t, "random/*.lsh") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			protocol, diagnostics := langshaw.Parse(read(t, file))
			require.False(t, diagnostics.HasErrors(), "%v", summaries(diagnostics))
			again, _ := langshaw.Parse([]byte(describe(protocol)))
			require.Empty(t, cmp.Diff(describe(protocol), describe(again)))
		})
	}
}
