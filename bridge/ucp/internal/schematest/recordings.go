package schematest

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recorded is one exchange of a recording between public programs. Recordings say either the URL or the path.
type Recorded struct {
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
		Path   string `json:"path"`
	} `json:"request"`
	Response struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	} `json:"response"`
}

// Recordings reads the recordings of the corpus, by file.
func Recordings(t testing.TB, corpus string) map[string][]Recorded {
	t.Helper()
	folder := filepath.Join(corpus, "traces")
	found := make(map[string][]Recorded)
	for _, name := range []string{"python.json", "node.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		var whole struct {
			Exchanges []Recorded `json:"exchanges"`
		}
		require.NoError(t, json.Unmarshal(text, &whole))
		found[name] = whole.Exchanges
	}
	for _, name := range []string{"client-vs-node.jsonl", "client-vs-python.jsonl", "conformance-vs-python.jsonl"} {
		file, err := os.Open(filepath.Join(folder, name))
		require.NoError(t, err)
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var r Recorded
			require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
			found[name] = append(found[name], r)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, file.Close())
	}
	return found
}
