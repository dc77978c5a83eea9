package compact_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/compact"
)

func TestOthers(t *testing.T) {
	for _, text := range []string{``, `1`, `"{"`, `null`, `[]`, `{}`} {
		require.Empty(t, maps.Collect(compact.Members(text)))
		require.Empty(t, slices.Collect(compact.Elements(text)))
		_, found := compact.Member(text, "")
		require.False(t, found)
	}
}

func TestKinds(t *testing.T) {
	kinds := func(text string) (all []bool) {
		_, text1 := compact.String(text)
		return []bool{compact.IsObject(text), compact.IsArray(text), compact.IsNumber(text), text1}
	}
	for text, want := range map[string][]bool{
		`{}`: {true, false, false, false}, `[]`: {false, true, false, false}, `-1`: {false, false, true, false}, `0`: {false, false, true, false},
		`"a"`: {false, false, false, true}, `"\""`: {false, false, false, true}, `null`: {false, false, false, false}, ``: {false, false, false, false},
	} {
		require.Equal(t, want, kinds(text), text)
	}
}

// FuzzCompact takes apart what encoding/json takes apart, in the same way, and is not hurt by what is no JSON.
func FuzzCompact(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a":"}","b":[{"c":"]\"\\"}],"d\\":null,"":{"x":{}}}`, `{"a":"\\"}`, `{"a\"":"{","\u0061":1}`, `[1,"\\",[2,{"a":[]}],null]`,
		`[`, `{"`, `{"a`, `{"a":`, `[1,`, `["\\`, `}`, `]`, `,`, `"`, `"\`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			for range compact.Members(string(text)) {
			}
			for range compact.Elements(string(text)) {
			}
			_, _ = compact.String(string(text))
			return
		}
		var sound bytes.Buffer
		require.NoError(t, json.Compact(&sound, text))
		var object map[string]json.RawMessage
		members := make(map[string]json.RawMessage)
		for name, member := range compact.Members(sound.String()) {
			members[name] = json.RawMessage(member)
		}
		if json.Unmarshal(sound.Bytes(), &object) == nil && object != nil {
			require.Equal(t, object, members)
		} else {
			require.Empty(t, members)
		}
		var array, elements []json.RawMessage
		for element := range compact.Elements(sound.String()) {
			elements = append(elements, json.RawMessage(element))
		}
		if json.Unmarshal(sound.Bytes(), &array) == nil && len(array) > 0 {
			require.Equal(t, array, elements)
		} else {
			require.Empty(t, elements)
		}
		var want string
		got, ok := compact.String(sound.String())
		isString := sound.Len() > 0 && sound.Bytes()[0] == '"'
		require.Equal(t, isString, ok)
		if isString {
			require.NoError(t, json.Unmarshal(sound.Bytes(), &want))
			require.Equal(t, want, got)
		}
	})
}

func TestQuoted(t *testing.T) {
	for text, want := range map[string]int{`"a":1`: 3, `""`: 2, `"\""]`: 4, `"\\",`: 4, `"\\\"`: 5, `"`: 1} {
		require.Equal(t, want, compact.Quoted(text), text)
	}
}
