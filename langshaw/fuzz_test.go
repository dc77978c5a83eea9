package langshaw_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

// FuzzParse holds what is promised of any text: no panic, sound diagnostics, a consistent model, and a text without
// errors means the same in its canonical spelling.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.lsh")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, cases := range [][]diagnosticCase{ruleCases, syntaxCases, cascadeCases} {
		for _, test := range cases {
			f.Add([]byte(test.text))
		}
	}
	for _, test := range hostile {
		f.Add([]byte(test.text(300)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		protocol, diagnostics := langshaw.Parse(text)
		requireSound(t, string(text), diagnostics)
		requireConsistent(t, protocol)
		requireOccurrences(t, text, protocol, false)
		place := langshaw.PlaceAt(text, len(text)/2)
		require.True(t, place.From <= len(text)/2 && len(text)/2 <= place.To)
		require.NoError(t, langshaw.WriteText(io.Discard, "f", text, diagnostics))
		require.NoError(t, langshaw.WriteJSON(io.Discard, "f", protocol, diagnostics))
		if diagnostics.HasErrors() {
			return
		}
		again, repeated := langshaw.Parse([]byte(describe(protocol)))
		require.False(t, repeated.HasErrors(), "%v in\n%s", repeated, describe(protocol))
		require.Equal(t, describe(protocol), describe(again))
	})
}

// requireConsistent checks what the model promises, whatever the text was.
func requireConsistent(t require.TestingT, p *langshaw.Protocol) {
	index := 0
	for a := range p.Actions() {
		require.Equal(t, index, a.Index())
		index++
		require.True(t, p.HasRole(a.Role()))
		found, ok := p.Action(a.Name())
		require.True(t, ok && found == a)
		require.True(t, a.Carries(a.Name()))
		for name := range a.Attributes() {
			require.True(t, a.Carries(name))
			require.NotContains(t, name, "@")
			_, ok := p.Attribute(name)
			require.True(t, ok)
		}
		for key := range a.Keys() {
			require.True(t, p.IsKey(key) && a.Carries(key))
		}
	}
	require.Equal(t, index, p.ActionCount())
	for a := range p.Attributes() {
		for role := range a.Sayso() {
			require.True(t, p.HasRole(role) && a.MayBind(role) && !a.IsAction())
		}
		for key := range a.Scope() {
			for carrier := range a.Carriers() {
				keyed := false
				for range carrier.Keys() {
					keyed = true
				}
				require.True(t, carrier.Carries(key) || !keyed)
			}
		}
	}
	for n := range p.Nonos() {
		var all []string
		for name := range n.Actions() {
			_, ok := p.Action(name)
			require.True(t, ok)
			all = append(all, name)
		}
		require.GreaterOrEqual(t, len(all), 2)
		require.True(t, p.Excludes(all[0], all[len(all)-1]) && p.Excludes(all[1], all[0]))
	}
	for n := range p.Nogos() {
		require.True(t, p.Blocks(n.First(), n.Then()))
		require.False(t, n.First() == n.Then())
	}
	require.False(t, strings.ContainsAny(p.Name(), "#\n\r"))
}
