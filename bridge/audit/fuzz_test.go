package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/audit"
)

// FuzzDecode looks for a line that panics, or that is another record when it is written again.
func FuzzDecode(f *testing.F) {
	line, err := audit.Encode(whole())
	require.NoError(f, err)
	f.Add(line)
	f.Add([]byte(`{"kind":"denied","enactment":null,"at":"2026-01-01T00:00:00+02:00","more":[1]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := audit.Decode(line)
		if err != nil {
			return
		}
		text, err := audit.Encode(r)
		if err != nil {
			return // such as a year that JSON cannot write
		}
		again, err := audit.Decode(text)
		require.NoError(t, err)
		twice, err := audit.Encode(again)
		require.NoError(t, err)
		if len(r.Request) <= audit.MaxBody && len(r.Response) <= audit.MaxBody && len(line) < audit.MaxText {
			require.Empty(t, cmp.Diff(string(text), string(twice)))
		}
	})
}
