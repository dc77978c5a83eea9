package verify_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

func corpus(t testing.TB) string {
	dir := os.Getenv("STRABO_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the corpus of real protocols is not here; set STRABO_CORPUS to its folder")
	}
	return dir
}

type expected struct {
	File      string
	Worst     string
	Live      *bool
	Safe      *bool
	Dead      []string
	Immediate *expected
}

func check(t *testing.T, file string, want expected, options verify.Options) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	p, _ := langshaw.Parse(text)
	r := verify.Verify(t.Context(), p, options)
	require.True(t, r.Exhaustive)
	require.Equal(t, *want.Live, r.Live == verify.Yes, "live")
	require.Equal(t, *want.Safe, r.Safe == verify.Yes, "safe")
	slices.Sort(want.Dead)
	slices.Sort(r.Dead)
	if len(want.Dead)+len(r.Dead) > 0 {
		require.Equal(t, want.Dead, r.Dead)
	}
}

func TestCorpus(t *testing.T) {
	dir := filepath.Join(corpus(t), "langshaw")
	var edge, random map[string]expected
	for name, into := range map[string]any{"edge/expect.json": &edge, "random/verdicts.json": &random} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	for name, want := range edge {
		if want.Live == nil {
			continue
		}
		t.Run("edge/"+name, func(t *testing.T) {
			check(t, filepath.Join(dir, "edge", name), want, verify.Options{})
			if want.Immediate != nil {
				check(t, filepath.Join(dir, "edge", name), *want.Immediate, verify.Options{Immediate: true})
			}
		})
	}
	for name, want := range random {
		t.Run("random/"+name, func(t *testing.T) { check(t, filepath.Join(dir, "random", name), want, verify.Options{}) })
	}
	lines, err := os.Open(filepath.Join(dir, "public-verdicts.jsonl"))
	require.NoError(t, err)
	defer lines.Close()
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		var want expected
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &want))
		t.Run("public/"+want.File, func(t *testing.T) { check(t, filepath.Join(dir, "public", want.File), want, verify.Options{}) })
	}
}
