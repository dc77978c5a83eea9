package ucp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
)

// FuzzMembers takes objects apart as the engine's own reader does. Names are as they are written, escapes and all.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"a":{"b":[1,{"c":"}"}]},"d":"\"]"}`, `{"a\\":"\\","b":[],"c":{}}`, ` { "a" : [ 1 , 2 ] , "b" : null } `, `{"a":",","b":":"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := enactment.ParseValues(text)
		if err != nil {
			return
		}
		whole, err := enactment.ParseValue(text)
		require.NoError(t, err)
		found := 0
		for name, member := range ucp.Members(whole.String()) {
			decoded, err := enactment.ParseValue([]byte(`"` + name + `"`))
			require.NoError(t, err)
			var plain string
			require.NoError(t, decoded.Decode(&plain))
			require.Equal(t, values[plain].String(), member)
			found++
		}
		require.Len(t, values, found)
	})
}
