package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoadLooksAtAnswers: a success that does not say what was asked for counts as failed.
func TestLoadLooksAtAnswers(t *testing.T) {
	t.Parallel()
	s := startShop(t, "--durability", "none")
	tap := newWiretap(t)
	to, err := url.Parse(s.URL)
	require.NoError(t, err)
	tap.to = to
	lies := []struct{ of, truth, lie, says string }{
		{"create", `"id":"wick-cotton"`, `"id":"lamp"`, "the answer is not a checkout of one wick-cotton"},
		{"create", `"quantity":1`, `"quantity":2`, "the answer is not a checkout of one wick-cotton"},
		{"create", `"id":"chk_`, `"name":"chk_`, "it has no id"},
		{"create", `"id":"chk_`, `"id":7,"name":"chk_`, "the answer is no checkout"},
		{"get", `"id":"chk_`, `"id":"chk_another`, `the answer is about "chk_another`},
		{"update", `"Buyer `, `"Client `, `the answer has the buyer "Client `},
		{"complete", `"completed"`, `"complete_in_progress"`, `the checkout is "complete_in_progress"`},
		{"complete", `{"ucp"`, `["ucp"`, "the answer is no checkout"},
	}
	for _, lie := range lies {
		tap.changing(func(r *http.Request, body []byte) []byte {
			operation := map[string]string{http.MethodGet: "get", http.MethodPut: "update", http.MethodPost: "create"}[r.Method]
			if strings.HasSuffix(r.URL.Path, "/complete") {
				operation = "complete"
			}
			if operation != lie.of {
				return body
			}
			return bytes.ReplaceAll(body, []byte(lie.truth), []byte(lie.lie))
		})
		out := strabo(t, exitNo, "load", tap.URL, "--item", "wick-cotton", "--option", "post", "--requests", "1", "--workers", "1", "--json")
		told := false
		for line := range strings.Lines(out) {
			var record loadRecord
			require.NoError(t, json.Unmarshal([]byte(line), &record))
			if record.Operation != lie.of {
				require.Zero(t, record.Failed, line)
				require.Equal(t, 1, record.Requests, line)
				continue
			}
			told = true
			require.Equal(t, 1, record.Failed, line)
			require.Zero(t, record.Requests, line)
			require.Contains(t, record.Failure, lie.says)
		}
		require.True(t, told, out)
	}
}
