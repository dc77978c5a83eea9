package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
)

// TestBuyAsksFirst: with --ask a purchase waits until somebody else agrees, in another process or not.
func TestBuyAsksFirst(t *testing.T) {
	for name, test := range map[string]struct {
		granted bool
		code    int
		says    string
		paid    int
	}{
		"granted": {true, 0, "Order O1 placed, ", 1},
		"denied":  {false, exitNo, "Not asked of the shop: policy: checkout_complete denied: not approved: denied by ben: too dear", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := openPaperShop(t, nil)
			dir := t.TempDir()
			questions, file := filepath.Join(dir, "questions"), filepath.Join(dir, "audit.jsonl")
			type result struct {
				code     int
				out, err string
			}
			done := make(chan result, 1)
			go func() {
				code, out, err := runStrabo("", shop.buy("--ask", questions, "--audit", file)...)
				done <- result{code, out, err}
			}()
			store, err := approval.OpenFileStore(questions, approval.FileOptions{})
			require.NoError(t, err)
			defer store.Close()
			var asked []approval.Entry
			require.Eventually(t, func() bool {
				asked, err = store.List(t.Context())
				return err == nil && len(asked) == 1
			}, time.Minute, 5*time.Millisecond)
			require.Empty(t, shop.keys("complete"))
			q := asked[0].Request
			require.Equal(t, "checkout.complete", q.Scope)
			require.NotContains(t, string(q.Arguments), "SECRETTOKEN123")
			for _, command := range [][]string{{"ls"}, {"ls", "--json"}, {"show", q.ID}, {"show", "--json", q.ID}} {
				code, out, errors := runStrabo("", append([]string{"approvals", command[0], "--dir", questions}, command[1:]...)...)
				require.Zero(t, code, errors)
				require.Contains(t, out, q.ID)
				require.NotContains(t, out+errors, "SECRETTOKEN123")
			}
			require.NoError(t, store.Decide(t.Context(), q.ID, approval.Verdict{Granted: test.granted, Digest: q.Digest, By: "ben", Reason: "too dear"}))
			r := <-done
			require.Equal(t, test.code, r.code, r.out+r.err)
			require.Contains(t, r.out, test.says)
			require.Contains(t, r.err, "strabo: waiting until somebody agrees to pay: strabo approvals ls --dir "+questions)
			require.Len(t, shop.keys("complete"), test.paid)

			written, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(written), "SECRETTOKEN123")
			require.Equal(t, test.paid, strings.Count(string(written), `"kind":"intent","enactment":{"cid":`)-1, "each write was intended")
			code, out, errors := runStrabo("", "audit", "--file", file, "--kind", "approval_requested,approval_decided")
			require.Zero(t, code, errors)
			require.Equal(t, 2, strings.Count(out, "\n"), out)
		})
	}
}

// TestBuyUnderARuntime: what the operator wants only tightens, and holds.
func TestBuyUnderARuntime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runtime.yaml")
	buy := func(runtime string) (int, string, string) {
		require.NoError(t, os.WriteFile(file, []byte("version: 1\n"+runtime), 0o600))
		shop := openPaperShop(t, nil)
		code, out, err := runStrabo("", shop.buy("--policy", file)...)
		if code != 0 {
			require.Empty(t, shop.keys("complete"))
		}
		return code, out, err
	}
	code, _, err := buy("operations: {checkout_complete: {timeout: 1h}}\n")
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, err, "runtime.yaml:2:")
	code, out, err := buy("operations: {checkout_complete: {enabled: false}}\n")
	require.Equal(t, exitNo, code, err)
	require.Contains(t, out, "Not asked of the shop: policy: checkout_complete denied: the operation is not enabled")
	code, _, err = buy("defaults: {audit: {required: true}}\n")
	require.Equal(t, exitWrongUse, code, "an audit that nobody keeps is none")
	require.Contains(t, err, "--audit is needed")
	code, out, err = buy("defaults: {timeout: 20s}\n")
	require.Zero(t, code, out+err)
}
