package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

func corpus(t testing.TB) string { t.Helper(); return schematest.Corpus(t, 3) }

func schemas(t testing.TB, release wire.Release, direction string) schematest.Schemas {
	t.Helper()
	return schematest.Load(t, corpus(t), string(release), direction)
}

// plain gives an object the form in which schemas look at it.
func plain(t testing.TB, object wire.Object) []byte {
	t.Helper()
	text, err := wire.Encode(object)
	require.NoError(t, err)
	return text
}

func decode(t testing.TB, text string) wire.Object {
	t.Helper()
	object, err := wire.Decode([]byte(text))
	require.NoError(t, err)
	return object
}

func encoded(t testing.TB, object wire.Object) string {
	t.Helper()
	text, err := json.MarshalIndent(object, "", "  ")
	require.NoError(t, err)
	return string(text)
}
