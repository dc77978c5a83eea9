package ucp_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInboundServesThePublicClient plays the requests of the public sample client again, as they were recorded against
// the public Python shop, with the ids that the bridge gives in place of the recorded ones: every status is the same,
// what the client leaves out of its updates is kept, and it ends with an order.
func TestInboundServesThePublicClient(t *testing.T) {
	root := os.Getenv("STRABO_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	recorded, err := os.Open(filepath.Join(root, "ucp", "traces", "client-vs-python.jsonl"))
	if err != nil {
		t.Skip("the recorded exchanges are not there: ", err)
	}
	defer recorded.Close()

	s := newSystem(t, nil)
	s.stall.more = map[string]int64{"bouquet_roses": 3500, "pot_ceramic": 1500}
	// The shop knows another way to be paid.
	renamed := []string{`"mock_payment_handler"`, `"purse"`, `"success_token"`, `"` + goodToken + `"`}
	var last response
	scanner := bufio.NewScanner(recorded)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var exchange struct {
			Request struct {
				Method, Path string
				Headers      map[string]string
				Body         json.RawMessage
			}
			Response struct {
				Status int
				Body   struct {
					ID        string
					LineItems []struct{ ID string } `json:"line_items"`
				}
			}
		}
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &exchange))
		ids := strings.NewReplacer(renamed...)
		body := ids.Replace(string(exchange.Request.Body))
		if body == "null" {
			body = ""
		}
		var headers []string
		for _, name := range []string{"UCP-Agent", "request-signature", "idempotency-key", "request-id"} {
			headers = append(headers, name, exchange.Request.Headers[name])
		}
		last = s.ask(exchange.Request.Method, ids.Replace(exchange.Request.Path), body, headers...)
		require.Equal(t, exchange.Response.Status, last.status, "%s %s\n%s", exchange.Request.Method, exchange.Request.Path, last.raw)
		if exchange.Response.Body.ID == "" {
			continue
		}
		requireSchema(t, checkoutSchema, last.raw)
		require.Contains(t, last.raw, "john.doe@example.com")
		lines, _ := last.body["line_items"].([]any)
		require.Len(t, lines, len(exchange.Response.Body.LineItems))
		renamed = append(renamed, exchange.Response.Body.ID, last.id())
		for i, line := range exchange.Response.Body.LineItems {
			renamed = append(renamed, line.ID, lines[i].(map[string]any)["id"].(string))
		}
	}
	require.NoError(t, scanner.Err())
	require.Equal(t, http.StatusOK, last.status)
	require.Equal(t, "completed", last.state())
	require.EqualValues(t, 3500+2*1500+50, last.total("total"))
}
